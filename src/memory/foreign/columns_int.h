/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_FOREIGN_COLUMNS_INT_H
#define SL_MEMORY_FOREIGN_COLUMNS_INT_H

#include "base/csv.h"
#include "memory/foreign/foreign.h"

/* A CSV whose columns are found by name, in any order; others are passed over. */
#define SL_COLUMNS_MAX 8
#define SL_COLUMNS_WORD (SL_CSV_LINE_BYTES + 1)

struct sl_columns {
	struct sl_csv csv;
	const char *const *names;
	int at[SL_COLUMNS_MAX]; /* in the file */
};

/* All of the names are needed. */
SL_NODISCARD sl_status sl_columns_begin(struct sl_columns *c,
	const struct sl_foreign_text *text, const char *const *names, int n);
const struct sl_csv_field *sl_columns_field(const struct sl_columns *c, int column);
bool sl_columns_is(const struct sl_csv_field *f, const char *text);
/* A whole number up to 2^60, the most that a trace holds. */
SL_NODISCARD sl_status sl_columns_u64(
	const struct sl_columns *c, int column, uint64_t *out);
/* A word without blanks or control characters, not empty. */
SL_NODISCARD sl_status sl_columns_word(
	const struct sl_columns *c, int column, char word[SL_COLUMNS_WORD]);
/* The next word of a field with blanks between them, w being the last one (at first:
 * the field's begin, length 0); false at its end. */
bool sl_columns_next(const struct sl_csv_field *f, struct sl_csv_field *w);
/* Ended by a zero; false: it is no word. */
bool sl_columns_copy(const struct sl_csv_field *f, char word[SL_COLUMNS_WORD]);

#endif
