/* SPDX-License-Identifier: Apache-2.0 */
/* Named columns of the CSVs of other programs. */
#include "memory/foreign/columns_int.h"

#include <string.h>

#include "base/units.h"

#define MAX_NUMBER ((uint64_t)1 << 60)
#define NUMBER_TEXT 32

sl_status sl_columns_begin(struct sl_columns *c, const struct sl_foreign_text *text,
	const char *const *names, int n)
{
	c->names = names;
	SL_TRY(sl_csv_begin(
		&c->csv, text->source, text->data, text->len, "the columns' names"));
	for (int i = 0; i < n; i++) {
		SL_TRY(sl_csv_column(&c->csv, names[i], &c->at[i]));
		if (c->at[i] < 0)
			return sl_csv_fail(
				&c->csv, SL_E_FORMAT, "no column is called %s", names[i]);
	}
	return SL_OK;
}

const struct sl_csv_field *sl_columns_field(const struct sl_columns *c, int column)
{
	return &c->csv.fields[c->at[column]];
}

bool sl_columns_is(const struct sl_csv_field *f, const char *text)
{
	return f->len == strlen(text) && memcmp(f->text, text, f->len) == 0;
}

sl_status sl_columns_u64(const struct sl_columns *c, int column, uint64_t *out)
{
	const struct sl_csv_field *f = sl_columns_field(c, column);
	char text[NUMBER_TEXT], seen[SL_CSV_SHOWN];

	if (f->len < NUMBER_TEXT) {
		memcpy(text, f->text, f->len);
		text[f->len] = '\0';
		if (sl_u64_parse(text, out) == SL_OK && *out <= MAX_NUMBER)
			return SL_OK;
	}
	return sl_csv_fail(&c->csv, SL_E_FORMAT,
		"%s '%s' is not a whole number from 0 to 2^60", c->names[column],
		sl_csv_shown(f, seen));
}

bool sl_columns_copy(const struct sl_csv_field *f, char word[SL_COLUMNS_WORD])
{
	for (size_t i = 0; i < f->len; i++) {
		unsigned char x = (unsigned char)f->text[i];

		if (x <= ' ' || x == 0x7f)
			return false;
	}
	memcpy(word, f->text, f->len);
	word[f->len] = '\0';
	return f->len > 0;
}

sl_status sl_columns_word(
	const struct sl_columns *c, int column, char word[SL_COLUMNS_WORD])
{
	const struct sl_csv_field *f = sl_columns_field(c, column);
	char seen[SL_CSV_SHOWN];

	if (sl_columns_copy(f, word))
		return SL_OK;
	return sl_csv_fail(&c->csv, SL_E_FORMAT,
		"%s '%s' is empty, or has blanks or control characters in it",
		c->names[column], sl_csv_shown(f, seen));
}

bool sl_columns_next(const struct sl_csv_field *f, struct sl_csv_field *w)
{
	const char *at = w->text + w->len, *end = f->text + f->len;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	w->text = at;
	while (at < end && *at != ' ' && *at != '\t')
		at++;
	w->len = (size_t)(at - w->text);
	return w->len > 0;
}
