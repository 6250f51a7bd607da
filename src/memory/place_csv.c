/* SPDX-License-Identifier: Apache-2.0 */
/* The address planner's table: reading and writing CSV without losing a column. */
#include "memory/place_csv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/map.h"

#define MAX_FILE_BYTES ((size_t)1 << 30)
#define MAX_LINE_BYTES 4096
#define MAX_COLUMNS 64
#define MAX_ROWS ((size_t)4 << 20)
#define MAX_NUMBER ((uint64_t)1 << 62)
#define NUMBER_TEXT 32

static const char *const column_names[SL_PLACE_COLUMNS] = {
	"id", "lower", "upper", "size", "alignment", "offset", "gaps"};

struct field {
	const char *text;
	size_t len;
};

struct parse {
	struct sl_place_table *t;
	const char *next; /* the first byte not read */
	uint32_t line;
	size_t cap_rows, cap_items;
	uint64_t sum; /* of the sizes */
	uint64_t room, top; /* what the free ones can take; where the others end */
	struct sl_map ids;
};

static sl_status fail(const struct parse *p, sl_status st, const char *fmt, ...)
	SL_PRINTF(3, 4);
static sl_status fail(const struct parse *p, sl_status st, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return SL_FAIL(st, "%s:%u: %s", p->t->source, p->line, what);
}

/* What a message shows of a field: printable, short. */
static const char *shown(const struct field *f, char text[SL_PLACE_ID_TEXT])
{
	size_t n = f->len < SL_PLACE_ID_TEXT - 1 ? f->len : SL_PLACE_ID_TEXT - 1;

	for (size_t i = 0; i < n; i++)
		text[i] =
			(char)(f->text[i] >= ' ' && f->text[i] < 127 ? f->text[i] : '?');
	text[n] = '\0';
	return text;
}

/* The next line that is not empty, without its end; false at the end of the text. */
static sl_status next_line(struct parse *p, struct field *out, bool *more)
{
	const char *end = p->t->text.data + p->t->text.len;

	*more = false;
	while (p->next && p->next < end && !*more) {
		const char *stop = memchr(p->next, '\n', (size_t)(end - p->next));

		if (!stop)
			stop = end;
		*out = (struct field){p->next, (size_t)(stop - p->next)};
		p->next = stop < end ? stop + 1 : end;
		p->line++;
		if (out->len > 0 && out->text[out->len - 1] == '\r')
			out->len--;
		*more = out->len > 0;
	}
	if (!*more)
		return SL_OK;
	if (out->len > MAX_LINE_BYTES)
		return fail(p, SL_E_LIMIT, "the line has over %d bytes", MAX_LINE_BYTES);
	if (memchr(out->text, '"', out->len) || memchr(out->text, '\0', out->len))
		return fail(p, SL_E_FORMAT,
			"quotes and zero bytes are not read; fields are plain text");
	return SL_OK;
}

/* Cuts the line at its commas, blanks around fields dropped; the number of fields. */
static uint32_t split(const struct field *line, struct field fields[MAX_COLUMNS])
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
		if (n < MAX_COLUMNS)
			fields[n] = (struct field){from, (size_t)(to - from)};
		if (!stop)
			return n + 1;
		at = stop + 1;
	}
}

static bool is_name(const struct field *f, const char *name)
{
	return f->len == strlen(name) && memcmp(f->text, name, f->len) == 0;
}

static sl_status read_header(struct parse *p)
{
	struct sl_place_table *t = p->t;
	struct field line, fields[MAX_COLUMNS];
	bool more;

	SL_TRY(next_line(p, &line, &more));
	if (!more)
		return fail(p, SL_E_FORMAT,
			"the file is empty; the first line is to be "
			"id,lower,upper,size");
	t->header = line.text;
	t->header_len = (uint32_t)line.len;
	t->n_columns = split(&line, fields);
	if (t->n_columns > MAX_COLUMNS)
		return fail(p, SL_E_LIMIT, "%u columns, at most %d", t->n_columns,
			MAX_COLUMNS);
	for (int c = 0; c < SL_PLACE_COLUMNS; c++) {
		t->column[c] = -1;
		for (uint32_t i = 0; i < t->n_columns; i++) {
			if (!is_name(&fields[i], column_names[c]))
				continue;
			if (t->column[c] >= 0)
				return fail(p, SL_E_FORMAT, "two columns are called %s",
					column_names[c]);
			t->column[c] = (int)i;
		}
		if (c <= SL_PLACE_BYTES && t->column[c] < 0)
			return fail(p, SL_E_FORMAT,
				"no column is called %s; the first line is to name id, "
				"lower, upper and size",
				column_names[c]);
	}
	return SL_OK;
}

static sl_status read_number(const struct parse *p, const struct field *fields,
	enum sl_place_column c, uint64_t *out)
{
	const struct field *f = &fields[p->t->column[c]];
	char text[NUMBER_TEXT], seen[SL_PLACE_ID_TEXT];

	if (f->len < NUMBER_TEXT) {
		memcpy(text, f->text, f->len);
		text[f->len] = '\0';
		if (sl_u64_parse(text, out) == SL_OK && *out <= MAX_NUMBER)
			return SL_OK;
	}
	return fail(p, SL_E_FORMAT, "%s '%s' is not a whole number from 0 to 2^62",
		column_names[c], shown(f, seen));
}

/* A column that may be absent or empty. */
static bool is_given(
	const struct parse *p, const struct field *fields, enum sl_place_column c)
{
	return p->t->column[c] >= 0 && fields[p->t->column[c]].len > 0;
}

static sl_status read_options(const struct parse *p, const struct field *fields,
	struct sl_place_row *row, struct sl_place_item *it)
{
	it->align = 1;
	if (is_given(p, fields, SL_PLACE_ALIGNMENT)) {
		SL_TRY(read_number(p, fields, SL_PLACE_ALIGNMENT, &it->align));
		if (it->align == 0 || (it->align & (it->align - 1)) != 0)
			return fail(p, SL_E_FORMAT,
				"alignment %llu is not a power of two",
				(unsigned long long)it->align);
	}
	row->has_offset = is_given(p, fields, SL_PLACE_OFFSET);
	if (row->has_offset)
		SL_TRY(read_number(p, fields, SL_PLACE_OFFSET, &it->offset));
	if (is_given(p, fields, SL_PLACE_GAPS))
		return fail(p, SL_E_FORMAT,
			"gaps in a lifetime are not supported; leave the column empty, "
			"which keeps the buffer live throughout");
	return SL_OK;
}

static sl_status read_row(const struct parse *p, const struct field *line,
	struct sl_place_row *row, struct sl_place_item *it)
{
	struct field fields[MAX_COLUMNS];
	uint32_t n = split(line, fields);

	*row = (struct sl_place_row){
		.text = line->text, .len = (uint32_t)line->len, .line = p->line};
	*it = (struct sl_place_item){0};
	if (n != p->t->n_columns)
		return fail(p, SL_E_FORMAT, "%u fields, but the header names %u columns",
			n, p->t->n_columns);
	SL_TRY(read_number(p, fields, SL_PLACE_LOWER, &row->lower));
	SL_TRY(read_number(p, fields, SL_PLACE_UPPER, &row->upper));
	SL_TRY(read_number(p, fields, SL_PLACE_BYTES, &it->bytes));
	if (row->lower >= row->upper)
		return fail(p, SL_E_FORMAT,
			"lower %llu is not below upper %llu: [lower, upper) is empty",
			(unsigned long long)row->lower, (unsigned long long)row->upper);
	return read_options(p, fields, row, it);
}

/* The load and all heights stay below 2^63, whatever the placement. */
static sl_status add_up(
	struct parse *p, const struct sl_place_row *row, const struct sl_place_item *it)
{
	uint64_t end = row->has_offset ? it->offset + it->bytes : 0, height = 0;

	p->top = end > p->top ? end : p->top;
	if (!sl_add_u64(p->sum, it->bytes, &p->sum) || p->sum > SL_PLACE_MAX_BYTES ||
		(!row->has_offset &&
			!sl_add_u64(p->room, it->bytes + it->align - 1, &p->room)) ||
		!sl_add_u64(p->room, p->top, &height) || height > SL_PLACE_MAX_BYTES)
		return fail(p, SL_E_LIMIT,
			"sizes, alignments and given offsets add up past 2^63 bytes");
	return SL_OK;
}

static sl_status add_id(struct parse *p)
{
	struct sl_place_table *t = p->t;
	char key[MAX_LINE_BYTES + 1], text[SL_PLACE_ID_TEXT];
	struct field line = {t->rows[t->n].text, t->rows[t->n].len}, fields[MAX_COLUMNS];
	const struct field *id = &fields[t->column[SL_PLACE_ID]];
	uint32_t other;

	(void)split(&line, fields);
	if (id->len == 0)
		return fail(p, SL_E_FORMAT, "the id is empty");
	memcpy(key, id->text, id->len);
	key[id->len] = '\0';
	if (sl_map_find(&p->ids, key, &other))
		return fail(p, SL_E_FORMAT, "the id '%s' is taken by line %u",
			shown(id, text), t->rows[other].line);
	return sl_map_add(&p->ids, key, (uint32_t)t->n);
}

static sl_status add_row(struct parse *p, const struct field *line)
{
	struct sl_place_table *t = p->t;
	struct sl_place_row row;
	struct sl_place_item it;

	SL_TRY(read_row(p, line, &row, &it));
	SL_TRY(add_up(p, &row, &it));
	if (t->n == MAX_ROWS)
		return fail(p, SL_E_LIMIT, "over %zu rows", MAX_ROWS);
	if (sl_grow((void **)&t->rows, &p->cap_rows, t->n + 1, sizeof(row), MAX_ROWS) ||
		sl_grow((void **)&t->items, &p->cap_items, t->n + 1, sizeof(it),
			MAX_ROWS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu rows", t->n + 1);
	it.fixed = row.has_offset;
	t->rows[t->n] = row;
	t->items[t->n] = it;
	SL_TRY(add_id(p));
	t->n++;
	return SL_OK;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint32_t rank_of(const uint64_t *times, size_t n, uint64_t time)
{
	const uint64_t *at = bsearch(&time, times, n, sizeof(*times), by_value);

	return at ? (uint32_t)(at - times) : 0;
}

/* Closed ranges of 32 bits with the same overlaps; durations too are kept if they fit. */
static sl_status set_times(struct sl_place_table *t)
{
	uint64_t *times = sl_alloc((2 * t->n + 1) * sizeof(*times));
	size_t kept = 0;

	if (!times)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu rows", t->n);
	for (size_t i = 0; i < t->n; i++) {
		times[2 * i] = t->rows[i].lower;
		times[2 * i + 1] = t->rows[i].upper;
	}
	qsort(times, 2 * t->n, sizeof(*times), by_value);
	for (size_t i = 0; i < 2 * t->n; i++)
		if (kept == 0 || times[i] != times[kept - 1])
			times[kept++] = times[i];
	for (size_t i = 0; i < t->n; i++) {
		const struct sl_place_row *r = &t->rows[i];
		bool small = times[kept - 1] - times[0] <= UINT32_MAX;

		t->items[i].first = small ? (uint32_t)(r->lower - times[0])
					  : rank_of(times, kept, r->lower);
		t->items[i].last = small ? (uint32_t)(r->upper - 1 - times[0])
					 : rank_of(times, kept, r->upper) - 1;
	}
	sl_free(times);
	return SL_OK;
}

sl_status sl_place_table_parse(struct sl_place_table *t)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */
	sl_status st;
	struct parse p = {.t = t, .next = t->text.data};
	struct field line;
	bool more = true;

	if (t->text.len >= 3 && memcmp(t->text.data, mark, 3) == 0)
		p.next += 3;
	SL_TRY_OUT(read_header(&p));
	for (;;) {
		SL_TRY_OUT(next_line(&p, &line, &more));
		if (!more)
			break;
		SL_TRY_OUT(add_row(&p, &line));
	}
	SL_TRY_OUT(set_times(t));
out:
	sl_map_finish(&p.ids);
	return st;
}

sl_status sl_place_table_read(struct sl_place_table *t, const char *path)
{
	t->source = path;
	t->text = SL_BUF_MAX(MAX_FILE_BYTES);
	SL_TRY(sl_fs_read(path, MAX_FILE_BYTES, &t->text));
	return sl_place_table_parse(t);
}

void sl_place_table_finish(struct sl_place_table *t)
{
	sl_buf_finish(&t->text);
	sl_free(t->rows);
	sl_free(t->items);
	*t = (struct sl_place_table){0};
}

const char *sl_place_table_id(
	const struct sl_place_table *t, size_t i, char text[SL_PLACE_ID_TEXT])
{
	struct field line = {t->rows[i].text, t->rows[i].len}, fields[MAX_COLUMNS];

	(void)split(&line, fields);
	return shown(&fields[t->column[SL_PLACE_ID]], text);
}

static sl_status write_row(const struct sl_place_table *t, size_t i, struct sl_buf *out)
{
	const struct sl_place_row *r = &t->rows[i];
	struct field line = {r->text, r->len}, fields[MAX_COLUMNS];
	unsigned long long offset = t->items[i].offset;
	const struct field *f;
	const char *rest;

	if (t->column[SL_PLACE_OFFSET] < 0)
		return sl_buf_printf(out, "%.*s,%llu\n", (int)r->len, r->text, offset);
	(void)split(&line, fields);
	f = &fields[t->column[SL_PLACE_OFFSET]];
	rest = f->text + f->len;
	return sl_buf_printf(out, "%.*s%llu%.*s\n", (int)(f->text - r->text), r->text,
		offset, (int)(r->text + r->len - rest), rest);
}

sl_status sl_place_table_write(const struct sl_place_table *t, struct sl_buf *out)
{
	SL_TRY(sl_buf_printf(out, "%.*s%s\n", (int)t->header_len, t->header,
		t->column[SL_PLACE_OFFSET] < 0 ? ",offset" : ""));
	for (size_t i = 0; i < t->n; i++)
		SL_TRY(write_row(t, i, out));
	return SL_OK;
}
