/* SPDX-License-Identifier: Apache-2.0 */
/* The address planner's table: reading and writing CSV without losing a column. */
#include "memory/place_csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/map.h"

#define MAX_FILE_BYTES ((size_t)1 << 30)
#define MAX_ROWS ((size_t)4 << 20)
#define MAX_NUMBER ((uint64_t)1 << 62)
#define NUMBER_TEXT 32
#define MAX_GAPS ((size_t)16 << 20)

static const char *const column_names[SL_PLACE_COLUMNS] = {
	"id", "lower", "upper", "size", "alignment", "offset", "gaps"};

struct parse {
	struct sl_place_table *t;
	struct sl_csv csv;
	size_t cap_rows, cap_items, cap_pauses;
	uint64_t sum; /* of the sizes */
	uint64_t room, top; /* what the free ones can take; where the others end */
	struct sl_map ids;
};

static sl_status read_header(struct parse *p)
{
	struct sl_place_table *t = p->t;

	SL_TRY(sl_csv_begin(&p->csv, t->source, sl_buf_text(&t->text), t->text.len,
		"id,lower,upper,size"));
	t->header = p->csv.row.text;
	t->header_len = (uint32_t)p->csv.row.len;
	t->n_columns = p->csv.n_columns;
	for (int c = 0; c < SL_PLACE_COLUMNS; c++) {
		SL_TRY(sl_csv_column(&p->csv, column_names[c], &t->column[c]));
		if (c <= SL_PLACE_BYTES && t->column[c] < 0)
			return sl_csv_fail(&p->csv, SL_E_FORMAT,
				"no column is called %s; the first line is to name id, "
				"lower, upper and size",
				column_names[c]);
	}
	return SL_OK;
}

static sl_status read_number(const struct parse *p, enum sl_place_column c, uint64_t *out)
{
	const struct sl_csv_field *f = &p->csv.fields[p->t->column[c]];
	char text[NUMBER_TEXT], seen[SL_PLACE_ID_TEXT];

	if (f->len < NUMBER_TEXT) {
		memcpy(text, f->text, f->len);
		text[f->len] = '\0';
		if (sl_u64_parse(text, out) == SL_OK && *out <= MAX_NUMBER)
			return SL_OK;
	}
	return sl_csv_fail(&p->csv, SL_E_FORMAT,
		"%s '%s' is not a whole number from 0 to 2^62", column_names[c],
		sl_csv_shown(f, seen));
}

/* A column that may be absent or empty. */
static bool is_given(const struct parse *p, enum sl_place_column c)
{
	return p->t->column[c] >= 0 && p->csv.fields[p->t->column[c]].len > 0;
}

static sl_status read_options(
	const struct parse *p, struct sl_place_row *row, struct sl_place_item *it)
{
	it->align = 1;
	if (is_given(p, SL_PLACE_ALIGNMENT)) {
		SL_TRY(read_number(p, SL_PLACE_ALIGNMENT, &it->align));
		if (it->align == 0 || (it->align & (it->align - 1)) != 0)
			return sl_csv_fail(&p->csv, SL_E_FORMAT,
				"alignment %llu is not a power of two",
				(unsigned long long)it->align);
	}
	row->has_offset = is_given(p, SL_PLACE_OFFSET);
	if (row->has_offset)
		SL_TRY(read_number(p, SL_PLACE_OFFSET, &it->offset));
	return SL_OK;
}

static bool read_digits(const char **at, const char *end, uint64_t *out)
{
	const char *from = *at;

	*out = 0;
	for (; *at < end && **at >= '0' && **at <= '9' && *out <= MAX_NUMBER; (*at)++)
		*out = *out * 10 + (uint64_t)(**at - '0');
	return *at > from && *out <= MAX_NUMBER;
}

/* "LOWER-UPPER", and the blanks behind it. */
static bool read_pause(const char **at, const char *end, struct sl_place_pause *out)
{
	if (!read_digits(at, end, &out->lower) || *at == end || *(*at)++ != '-' ||
		!read_digits(at, end, &out->upper) || (*at < end && **at != ' '))
		return false;
	while (*at < end && **at == ' ')
		(*at)++;
	return true;
}

/* Gaps within the life, in order and apart. */
static sl_status read_gaps(const struct parse *p, struct sl_place_row *row, size_t *cap)
{
	struct sl_place_table *t = p->t;
	const struct sl_csv_field *f = &p->csv.fields[t->column[SL_PLACE_GAPS]];
	const char *at = f->text, *end = f->text + f->len;
	uint64_t from = row->lower;
	char seen[SL_PLACE_ID_TEXT];

	while (at < end) {
		struct sl_place_pause pause;

		if (!read_pause(&at, end, &pause) || pause.lower < from ||
			pause.lower >= pause.upper || pause.upper > row->upper)
			return sl_csv_fail(&p->csv, SL_E_FORMAT,
				"gaps '%s' are not LOWER-UPPER within the lifetime, in "
				"order and apart, with blanks between them",
				sl_csv_shown(f, seen));
		if (t->n_gaps == MAX_GAPS)
			return sl_csv_fail(
				&p->csv, SL_E_LIMIT, "over %zu gaps", MAX_GAPS);
		if (sl_grow((void **)&t->pauses, cap, t->n_gaps + 1, sizeof(pause),
			    MAX_GAPS))
			return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu gaps",
				t->n_gaps + 1);
		t->pauses[t->n_gaps++] = pause;
		row->n_gaps++;
		from = pause.upper;
	}
	return SL_OK;
}

static sl_status read_row(
	const struct parse *p, struct sl_place_row *row, struct sl_place_item *it)
{
	*row = (struct sl_place_row){.text = p->csv.row.text,
		.len = (uint32_t)p->csv.row.len,
		.line = p->csv.line};
	*it = (struct sl_place_item){0};
	SL_TRY(read_number(p, SL_PLACE_LOWER, &row->lower));
	SL_TRY(read_number(p, SL_PLACE_UPPER, &row->upper));
	SL_TRY(read_number(p, SL_PLACE_BYTES, &it->bytes));
	if (row->lower >= row->upper)
		return sl_csv_fail(&p->csv, SL_E_FORMAT,
			"lower %llu is not below upper %llu: [lower, upper) is empty",
			(unsigned long long)row->lower, (unsigned long long)row->upper);
	return read_options(p, row, it);
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
		return sl_csv_fail(&p->csv, SL_E_LIMIT,
			"sizes, alignments and given offsets add up past 2^63 bytes");
	return SL_OK;
}

static sl_status add_id(struct parse *p)
{
	struct sl_place_table *t = p->t;
	char key[SL_CSV_LINE_BYTES + 1], text[SL_PLACE_ID_TEXT];
	const struct sl_csv_field *id = &p->csv.fields[t->column[SL_PLACE_ID]];
	uint32_t other;

	if (id->len == 0)
		return sl_csv_fail(&p->csv, SL_E_FORMAT, "the id is empty");
	memcpy(key, id->text, id->len);
	key[id->len] = '\0';
	if (sl_map_find(&p->ids, key, &other))
		return sl_csv_fail(&p->csv, SL_E_FORMAT,
			"the id '%s' is taken by line %u", sl_csv_shown(id, text),
			t->rows[other].line);
	return sl_map_add(&p->ids, key, (uint32_t)t->n);
}

static sl_status add_row(struct parse *p)
{
	struct sl_place_table *t = p->t;
	struct sl_place_row row;
	struct sl_place_item it;

	SL_TRY(read_row(p, &row, &it));
	row.gaps = (uint32_t)t->n_gaps;
	if (is_given(p, SL_PLACE_GAPS))
		SL_TRY(read_gaps(p, &row, &p->cap_pauses));
	SL_TRY(add_up(p, &row, &it));
	if (t->n == MAX_ROWS)
		return sl_csv_fail(&p->csv, SL_E_LIMIT, "over %zu rows", MAX_ROWS);
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

/* All times given, in order, each once. */
static size_t list_times(const struct sl_place_table *t, uint64_t *times)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		times[n++] = t->rows[i].lower;
		times[n++] = t->rows[i].upper;
	}
	for (size_t g = 0; g < t->n_gaps; g++) {
		times[n++] = t->pauses[g].lower;
		times[n++] = t->pauses[g].upper;
	}
	qsort(times, n, sizeof(*times), by_value);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || times[i] != times[kept - 1])
			times[kept++] = times[i];
	return kept;
}

/* [lower, upper) as a closed range of 32 bits. */
static void set_range(const uint64_t *times, size_t n, uint64_t lower, uint64_t upper,
	uint32_t range[2])
{
	bool small = times[n - 1] - times[0] <= UINT32_MAX;

	range[0] = small ? (uint32_t)(lower - times[0]) : rank_of(times, n, lower);
	range[1] =
		small ? (uint32_t)(upper - 1 - times[0]) : rank_of(times, n, upper) - 1;
}

/* Closed ranges of 32 bits with the same overlaps; durations too are kept if they fit. */
static sl_status set_times(struct sl_place_table *t)
{
	uint64_t *times = sl_alloc((2 * (t->n + t->n_gaps) + 1) * sizeof(*times));
	uint32_t range[2];
	size_t kept;

	t->gaps = sl_alloc((t->n_gaps + 1) * sizeof(*t->gaps));
	if (!times || !t->gaps) {
		sl_free(times);
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu rows", t->n);
	}
	kept = list_times(t, times);
	for (size_t g = 0; g < t->n_gaps; g++) {
		set_range(times, kept, t->pauses[g].lower, t->pauses[g].upper, range);
		t->gaps[g] = (struct sl_place_gap){range[0], range[1]};
	}
	for (size_t i = 0; i < t->n; i++) {
		struct sl_place_item *it = &t->items[i];

		set_range(times, kept, t->rows[i].lower, t->rows[i].upper, range);
		it->first = range[0];
		it->last = range[1];
		it->gaps = &t->gaps[t->rows[i].gaps];
		it->n_gaps = t->rows[i].n_gaps;
	}
	sl_free(times);
	return SL_OK;
}

sl_status sl_place_table_parse(struct sl_place_table *t)
{
	sl_status st;
	struct parse p = {.t = t};
	bool more = true;

	SL_TRY_OUT(read_header(&p));
	for (;;) {
		SL_TRY_OUT(sl_csv_row(&p.csv, &more));
		if (!more)
			break;
		SL_TRY_OUT(add_row(&p));
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
	sl_free(t->pauses);
	sl_free(t->gaps);
	*t = (struct sl_place_table){0};
}

const char *sl_place_table_id(
	const struct sl_place_table *t, size_t i, char text[SL_PLACE_ID_TEXT])
{
	struct sl_csv_field line = {t->rows[i].text, t->rows[i].len},
			    fields[SL_CSV_COLUMNS];

	(void)sl_csv_split(&line, fields);
	return sl_csv_shown(&fields[t->column[SL_PLACE_ID]], text);
}

static sl_status write_row(const struct sl_place_table *t, size_t i, struct sl_buf *out)
{
	const struct sl_place_row *r = &t->rows[i];
	struct sl_csv_field line = {r->text, r->len}, fields[SL_CSV_COLUMNS];
	unsigned long long offset = t->items[i].offset;
	const struct sl_csv_field *f;
	const char *rest;

	if (t->column[SL_PLACE_OFFSET] < 0)
		return sl_buf_printf(out, "%.*s,%llu\n", (int)r->len, r->text, offset);
	(void)sl_csv_split(&line, fields);
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
