/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of plain text between commas. */
#include "base/csv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

sl_status sl_csv_fail(const struct sl_csv *c, sl_status st, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return SL_FAIL(st, "%s:%u: %s", c->source, c->line, what);
}

const char *sl_csv_shown(const struct sl_csv_field *f, char text[SL_CSV_SHOWN])
{
	size_t n = f->len < SL_CSV_SHOWN - 1 ? f->len : SL_CSV_SHOWN - 1;

	for (size_t i = 0; i < n; i++)
		text[i] =
			(char)(f->text[i] >= ' ' && f->text[i] < 127 ? f->text[i] : '?');
	text[n] = '\0';
	return text;
}

/* The next line that is not empty, without its end; false at the end of the text. */
static sl_status next_line(struct sl_csv *c, bool *more)
{
	struct sl_csv_field *out = &c->row;

	*more = false;
	while (c->next && c->next < c->end && !*more) {
		const char *stop = memchr(c->next, '\n', (size_t)(c->end - c->next));

		if (!stop)
			stop = c->end;
		*out = (struct sl_csv_field){c->next, (size_t)(stop - c->next)};
		c->next = stop < c->end ? stop + 1 : c->end;
		c->line++;
		if (out->len > 0 && out->text[out->len - 1] == '\r')
			out->len--;
		*more = out->len > 0;
	}
	if (!*more)
		return SL_OK;
	if (out->len > SL_CSV_LINE_BYTES)
		return sl_csv_fail(
			c, SL_E_LIMIT, "the line has over %d bytes", SL_CSV_LINE_BYTES);
	if (memchr(out->text, '"', out->len) || memchr(out->text, '\0', out->len))
		return sl_csv_fail(c, SL_E_FORMAT,
			"quotes and zero bytes are not read; fields are plain text");
	return SL_OK;
}

uint32_t sl_csv_split(
	const struct sl_csv_field *line, struct sl_csv_field fields[SL_CSV_COLUMNS])
{
	const char *at = line->text, *end = line->text + line->len;
	uint32_t n = 0;

	for (;; n++) {
		const char *stop = memchr(at, ',', (size_t)(end - at)), *from = at;
		const char *to = stop ? stop : end;

		while (from < to && (*from == ' ' || *from == '\t'))
			from++;
		while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
			to--;
		if (n < SL_CSV_COLUMNS)
			fields[n] = (struct sl_csv_field){from, (size_t)(to - from)};
		if (!stop)
			return n + 1;
		at = stop + 1;
	}
}

sl_status sl_csv_begin(struct sl_csv *c, const char *source, const char *data, size_t len,
	const char *hint)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */
	bool more;

	*c = (struct sl_csv){.source = source, .next = data, .end = data + len};
	if (len >= 3 && memcmp(data, mark, 3) == 0)
		c->next += 3;
	SL_TRY(next_line(c, &more));
	if (!more)
		return sl_csv_fail(c, SL_E_FORMAT,
			"the file is empty; the first line is to be %s", hint);
	c->n_columns = sl_csv_split(&c->row, c->names);
	if (c->n_columns > SL_CSV_COLUMNS)
		return sl_csv_fail(c, SL_E_LIMIT, "%u columns, at most %d", c->n_columns,
			SL_CSV_COLUMNS);
	return SL_OK;
}

sl_status sl_csv_column(struct sl_csv *c, const char *name, int *out)
{
	size_t len = strlen(name);

	*out = -1;
	for (uint32_t i = 0; i < c->n_columns; i++) {
		if (c->names[i].len != len || memcmp(c->names[i].text, name, len) != 0)
			continue;
		if (*out >= 0)
			return sl_csv_fail(
				c, SL_E_FORMAT, "two columns are called %s", name);
		*out = (int)i;
	}
	return SL_OK;
}

sl_status sl_csv_row(struct sl_csv *c, bool *more)
{
	uint32_t n;

	SL_TRY(next_line(c, more));
	if (!*more)
		return SL_OK;
	n = sl_csv_split(&c->row, c->fields);
	if (n != c->n_columns)
		return sl_csv_fail(c, SL_E_FORMAT,
			"%u fields, but the header names %u columns", n, c->n_columns);
	return SL_OK;
}
