/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_TEXT_H
#define SL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * The one tokeniser of our line-based formats: a line is words separated by blanks; a
 * word is bare ("trace", "v7") or key=value. '#' starts a comment line. Lines hold at
 * most 1 MiB and words no control characters. Failures name source, line and word.
 */
struct sl_text {
	const char *source; /* for messages; borrowed */
	const char *data; /* borrowed */
	size_t len;
	size_t pos;
	size_t line_end;
	int line;
};

struct sl_word {
	const char *key; /* NULL for a bare word */
	size_t key_len;
	const char *value; /* the bare word itself, or what follows '=' */
	size_t value_len;
};

void sl_text_init(struct sl_text *t, const char *source, const char *data, size_t len);
/* Goes to the next line that is neither empty nor a comment; *more is false at the end.
 */
SL_NODISCARD sl_status sl_text_line(struct sl_text *t, bool *more);
/* Next word of this line; false at its end. */
bool sl_text_word(struct sl_text *t, struct sl_word *out);

bool sl_word_is(const struct sl_word *w, const char *bare);
bool sl_word_key_is(const struct sl_word *w, const char *key);
/* The value as a number; failures are SL_E_FORMAT with source and line. */
SL_NODISCARD sl_status sl_word_u64(
	const struct sl_text *t, const struct sl_word *w, uint64_t *out);
SL_NODISCARD sl_status sl_word_i64(
	const struct sl_text *t, const struct sl_word *w, int64_t *out);
SL_NODISCARD sl_status sl_word_f64(
	const struct sl_text *t, const struct sl_word *w, double *out);
/* "v17" or "17" after the letter: prefix is 'v'. */
SL_NODISCARD sl_status sl_word_id(
	const struct sl_text *t, const struct sl_word *w, char prefix, uint32_t *out);
/* The value copied into text (NUL-terminated), at most cap - 1 bytes. */
SL_NODISCARD sl_status sl_word_copy(
	const struct sl_text *t, const struct sl_word *w, char *text, size_t cap);
/* SL_E_FORMAT "source:line: message". */
sl_status sl_text_fail(const struct sl_text *t, const char *fmt, ...) SL_PRINTF(2, 3);

#endif
