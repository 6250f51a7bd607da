/* SPDX-License-Identifier: Apache-2.0 */
/* The address planner on a table: placing it, or checking the offsets that it holds. */
#include "sluice/memory.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "memory/place_csv.h"
#include "session/place_race.h"

#define MANY 512 /* rows from which exact search alone is too slow to improve much */

struct job {
	struct sl_place_table table;
	const struct sl_place_config *config;
	struct sl_place_report *report;
};

static unsigned long long u(uint64_t v)
{
	return v;
}

/* Two rows that share bytes, by name. */
static sl_status fail_pair(const struct job *j, const size_t pair[2], const char *what)
{
	const struct sl_place_table *t = &j->table;
	const struct sl_place_row *a = &t->rows[pair[0]], *b = &t->rows[pair[1]];
	const struct sl_place_item *x = &t->items[pair[0]], *y = &t->items[pair[1]];
	char one[SL_PLACE_ID_TEXT], two[SL_PLACE_ID_TEXT];

	return SL_FAIL(SL_E_NO,
		"%s: %s'%s' (line %u: [%llu, %llu) at %llu to %llu) and '%s' (line %u: "
		"[%llu, %llu) at %llu to %llu) overlap",
		t->source, what, sl_place_table_id(t, pair[0], one), a->line, u(a->lower),
		u(a->upper), u(x->offset), u(x->offset + x->bytes),
		sl_place_table_id(t, pair[1], two), b->line, u(b->lower), u(b->upper),
		u(y->offset), u(y->offset + y->bytes));
}

/* Rows with an offset: aligned, within the capacity, and apart. Rows without one are left
 * out of the check by having no bytes in it. */
static sl_status check_offsets(const struct job *j, const char *what)
{
	const struct sl_place_table *t = &j->table;
	uint64_t capacity = j->config->capacity_bytes;
	struct sl_place_item *given = sl_alloc((t->n + 1) * sizeof(*given));
	size_t pair[2] = {0, 0};
	char id[SL_PLACE_ID_TEXT];
	bool clash = false;
	sl_status st = SL_OK;

	if (!given)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu rows", t->n);
	for (size_t i = 0; i < t->n && st == SL_OK; i++) {
		struct sl_place_item *it = &given[i];

		*it = t->items[i];
		if (!t->rows[i].has_offset)
			it->bytes = it->offset = 0;
		if (it->offset % it->align != 0)
			st = SL_FAIL(SL_E_NO,
				"%s:%u: '%s' lies at %llu, no multiple of its alignment "
				"%llu",
				t->source, t->rows[i].line, sl_place_table_id(t, i, id),
				u(it->offset), u(it->align));
		else if (capacity > 0 && it->offset + it->bytes > capacity)
			st = SL_FAIL(SL_E_NO,
				"%s:%u: '%s' ends at %llu, above the capacity of %llu",
				t->source, t->rows[i].line, sl_place_table_id(t, i, id),
				u(it->offset + it->bytes), u(capacity));
	}
	SL_TRY_OUT(st);
	SL_TRY_OUT(sl_place_check(given, t->n, &clash, pair));
	if (clash)
		st = fail_pair(j, pair, what);
out:
	sl_free(given);
	return st;
}

static sl_status validate(const struct job *j)
{
	const struct sl_place_table *t = &j->table;

	for (size_t i = 0; i < t->n; i++) {
		uint64_t end = t->items[i].offset + t->items[i].bytes;
		char id[SL_PLACE_ID_TEXT];

		if (!t->rows[i].has_offset)
			return SL_FAIL(SL_E_FORMAT,
				"%s:%u: '%s' has no offset to check; `sluice place -o` "
				"writes them",
				t->source, t->rows[i].line, sl_place_table_id(t, i, id));
		if (end > j->report->height_bytes)
			j->report->height_bytes = end;
	}
	return check_offsets(j, "");
}

/* Why the capacity is not met. */
static sl_status fail_capacity(const struct job *j, uint64_t bound)
{
	const struct sl_place_report *r = j->report;
	const char *source = j->table.source;
	uint64_t capacity = r->capacity_bytes;

	if (capacity < bound)
		return SL_FAIL(SL_E_NO,
			"%s: impossible in %llu bytes: %llu are live at one time; the "
			"lowest placement found ends at %llu",
			source, u(capacity), u(r->load_bytes), u(r->height_bytes));
	if (capacity < r->bound_bytes)
		return SL_FAIL(SL_E_NO,
			"%s: impossible in %llu bytes: a search of all placements found "
			"none; the lowest placement found ends at %llu",
			source, u(capacity), u(r->height_bytes));
	return SL_FAIL(SL_E_NO,
		"%s: no placement found in %llu bytes, though one may exist: %llu are "
		"live at one time, the lowest placement found ends at %llu",
		source, u(capacity), u(r->load_bytes), u(r->height_bytes));
}

static sl_status search(struct job *j, uint64_t goal)
{
	struct sl_place_report *r = j->report;
	struct sl_race race = {.config = j->config,
		.items = j->table.items,
		.n = j->table.n,
		.height = r->height_bytes,
		.bound = r->bound_bytes};

	if (r->height_bytes <= goal || j->config->fast)
		return SL_OK;
	SL_TRY(sl_place_race(&race));
	r->height_bytes = race.height;
	r->bound_bytes = race.bound;
	r->nodes = race.nodes;
	r->interrupted = race.interrupted;
	return SL_OK;
}

static sl_status check_base(const struct job *j)
{
	const struct sl_place_table *t = &j->table;
	char id[SL_PLACE_ID_TEXT];

	for (size_t i = 0; i < t->n; i++) {
		if (t->items[i].fixed && t->items[i].offset < j->config->base_bytes)
			return SL_FAIL(SL_E_USAGE,
				"%s:%u: '%s' is fixed at %llu, below --base %llu; give "
				"that or less",
				t->source, t->rows[i].line, sl_place_table_id(t, i, id),
				u(t->items[i].offset), u(j->config->base_bytes));
	}
	return SL_OK;
}

static enum sl_place_effort effort_for(const struct job *j, bool impossible)
{
	if (impossible)
		return SL_PLACE_FAMILY;
	return j->config->fast || j->table.n < MANY ? SL_PLACE_IMPROVE : SL_PLACE_SEARCH;
}

static sl_status place(struct job *j)
{
	struct sl_place_report *r = j->report;
	uint64_t capacity = j->config->capacity_bytes;
	uint64_t bound = r->load_bytes + j->config->base_bytes;
	bool impossible = capacity > 0 && capacity < bound;
	struct sl_place_opts opts = {.base = j->config->base_bytes,
		.capacity = capacity,
		.effort = effort_for(j, impossible)};

	r->bound_bytes = bound;
	SL_TRY(check_base(j));
	SL_TRY(check_offsets(j, "fixed "));
	SL_TRY(sl_place_with(&opts, j->table.items, j->table.n, &r->height_bytes));
	if (!impossible)
		SL_TRY(search(j, capacity > bound ? capacity : bound));
	r->valid = capacity == 0 || r->height_bytes <= capacity;
	if (r->interrupted)
		return SL_FAIL(SL_E_INTERRUPTED,
			"interrupted; the lowest placement found ends at %llu",
			u(r->height_bytes));
	return r->valid ? SL_OK : fail_capacity(j, bound);
}

/* The table and the picture, whatever lies in the offsets. */
static sl_status write_out(const struct job *j, struct sl_buf *csv, struct sl_buf *svg)
{
	if (csv)
		SL_TRY(sl_place_table_write(&j->table, csv));
	if (svg)
		SL_TRY(sl_place_svg(&j->table, j->report->load_bytes,
			j->config->capacity_bytes, svg));
	return SL_OK;
}

sl_status sl_place_file(const char *path, const struct sl_place_config *config,
	struct sl_place_report *out, struct sl_buf *csv, struct sl_buf *svg)
{
	sl_status st, written;
	sl_ns start = sl_clock_now();
	struct job j = {.config = config, .report = out};

	*out = (struct sl_place_report){.capacity_bytes = config->capacity_bytes,
		.base_bytes = config->base_bytes};
	SL_TRY_OUT(sl_place_table_read(&j.table, path));
	out->buffers = j.table.n;
	for (size_t i = 0; i < j.table.n; i++)
		out->fixed += j.table.items[i].fixed;
	SL_TRY_OUT(sl_place_load(j.table.items, j.table.n, &out->load_bytes));
	st = config->validate ? validate(&j) : place(&j);
	if (st != SL_OK && !out->interrupted)
		goto out;
	out->valid |= config->validate;
	written = write_out(&j, csv, svg);
	st = written != SL_OK ? written : st;
out:
	out->place_ns = (uint64_t)(sl_clock_now() - start);
	sl_place_table_finish(&j.table);
	return st;
}
