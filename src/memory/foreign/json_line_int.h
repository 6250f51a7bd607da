/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_FOREIGN_JSON_LINE_INT_H
#define SL_MEMORY_FOREIGN_JSON_LINE_INT_H

#include "memory/foreign/foreign.h"

/*
 * Lines that each hold one flat JSON object: members are texts, whole numbers or lists of
 * these. Escapes within texts are kept as they stand. Failures are SL_E_FORMAT,
 * SL_E_LIMIT or SL_E_NOMEM, "source:line: what".
 */
#define SL_JSON_LINE_FIELDS 16

struct sl_json_word {
	const char *text; /* not ended by a zero */
	size_t len;
};

struct sl_json_field {
	struct sl_json_word key;
	size_t first, n; /* into words */
	bool list;
};

struct sl_json_line {
	const char *source, *next, *end, *stop;
	uint32_t line, n_fields;
	struct sl_json_field fields[SL_JSON_LINE_FIELDS];
	struct sl_json_word *words; /* of this line */
	size_t n_words, cap_words;
};

void sl_json_line_init(struct sl_json_line *l, const struct sl_foreign_text *text);
void sl_json_line_finish(struct sl_json_line *l);
/* The next line that is not blank; *more false at the end. */
SL_NODISCARD sl_status sl_json_line_next(struct sl_json_line *l, bool *more);
sl_status sl_json_line_fail(
	const struct sl_json_line *l, sl_status st, const char *fmt, ...) SL_PRINTF(3, 4);
/* Of this line, by key; missing or of the other shape: a failure. */
SL_NODISCARD sl_status sl_json_line_word(
	const struct sl_json_line *l, const char *key, struct sl_json_word *out);
SL_NODISCARD sl_status sl_json_line_list(const struct sl_json_line *l, const char *key,
	const struct sl_json_word **out, size_t *n);
bool sl_json_word_is(const struct sl_json_word *w, const char *text);
/* From -1 to 2^60, also within quotes. */
SL_NODISCARD sl_status sl_json_line_number(const struct sl_json_line *l, const char *what,
	const struct sl_json_word *w, int64_t *out);

#endif
