/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_FOREIGN_DTR_INT_H
#define SL_MEMORY_FOREIGN_DTR_INT_H

#include "base/map.h"
#include "memory/foreign/foreign.h"
#include "memory/foreign/json_line_int.h"

/* Reading a log of operators: dtr_read.c the names, dtr_ops.c the ops. */
#define SL_DTR_NAME 4096

struct sl_dtr_note {
	uint32_t refs; /* names that stand for the value */
	uint64_t stamp; /* of the last list that has it */
};

struct sl_dtr {
	struct sl_trace t;
	struct sl_json_line l;
	struct sl_map names; /* to slots */
	uint32_t *slots; /* the value of a name; SL_NO_ID: of no bytes */
	struct sl_dtr_note *notes; /* [n_values] */
	uint64_t stamp; /* of the list being gathered */
	size_t n_slots, cap_slots, cap_notes;
	/* Lists of the op being read. */
	uint32_t *ids;
	size_t cap_ids;
	bool backward;
};

sl_status sl_dtr_no_memory(void);
/* As a word: blanks become underscores. */
SL_NODISCARD sl_status sl_dtr_name(
	const struct sl_dtr *r, const struct sl_json_word *w, char name[SL_DTR_NAME + 1]);
/* The slot of a name; none: a failure. */
SL_NODISCARD sl_status sl_dtr_find(
	const struct sl_dtr *r, const struct sl_json_word *w, uint32_t *slot);
/* A new name for a value; there already: a failure. */
SL_NODISCARD sl_status sl_dtr_define(
	struct sl_dtr *r, const struct sl_json_word *w, uint32_t value);
/* A new value; of no bytes is none: SL_NO_ID. */
SL_NODISCARD sl_status sl_dtr_value(struct sl_dtr *r, const struct sl_json_word *w,
	int64_t bytes, enum sl_class cls, uint32_t *out);
/* Reads the line `what` that must follow about the tensor `of`, and its number `key`. */
SL_NODISCARD sl_status sl_dtr_follow(struct sl_dtr *r, const char *what, const char *key,
	const struct sl_json_word *of, int64_t *out);

SL_NODISCARD sl_status sl_dtr_call(struct sl_dtr *r);
SL_NODISCARD sl_status sl_dtr_mutate(struct sl_dtr *r);
/* What names still stand for at the end is the result, and there all at once. */
SL_NODISCARD sl_status sl_dtr_output(struct sl_dtr *r);

#endif
