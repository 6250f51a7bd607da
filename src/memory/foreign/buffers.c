/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of sizes and lifetimes as traces that have nothing else, and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/foreign/foreign.h"
#include "memory/place_csv.h"

/* A buffer's begin or end. */
struct edge {
	uint64_t time;
	uint32_t row;
	bool end;
};

struct reader {
	struct sl_place_table table;
	struct sl_trace t;
	uint32_t *values; /* of rows; SL_NO_ID: of no bytes */
	struct edge *edges;
	size_t n_edges;
	uint32_t *in, *out; /* of an op */
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static sl_status add_row(struct reader *r, size_t i)
{
	const struct sl_place_row *row = &r->table.rows[i];
	const struct sl_place_item *it = &r->table.items[i];
	char id[SL_PLACE_ID_TEXT];
	struct sl_trace_value v = {.bytes = it->bytes,
		.align = it->align,
		.alias = SL_NO_ID,
		.cls = SL_CLASS_ACT,
		.name = id};

	r->values[i] = SL_NO_ID;
	if (it->align > SL_PAGE_BYTES)
		return SL_FAIL(SL_E_FORMAT,
			"%s:%u: alignment %llu is above 4096, the most that a trace has",
			r->table.source, row->line, (unsigned long long)it->align);
	if (it->bytes == 0)
		return SL_OK;
	sl_place_table_id(&r->table, i, id);
	for (char *c = id; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	r->values[i] = r->t.n_values;
	r->edges[r->n_edges++] = (struct edge){row->lower, (uint32_t)i, false};
	r->edges[r->n_edges++] = (struct edge){row->upper, (uint32_t)i, true};
	return sl_trace_add_value(&r->t, &v);
}

static sl_status add_values(struct reader *r)
{
	size_t n = r->table.n + 1;

	r->values = sl_alloc(n * sizeof(*r->values));
	r->edges = sl_alloc(2 * n * sizeof(*r->edges));
	r->in = sl_alloc(n * sizeof(*r->in));
	r->out = sl_alloc(n * sizeof(*r->out));
	if (r->values == NULL || r->edges == NULL || r->in == NULL || r->out == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu rows", n - 1);
	for (size_t i = 0; i < r->table.n; i++)
		SL_TRY(add_row(r, i));
	if (r->n_edges > 0)
		qsort(r->edges, r->n_edges, sizeof(*r->edges), by_time);
	return SL_OK;
}

/* The edges of one time, and those of the next: what begins at the first is born; what
 * ends at the second and began before is read for the last time. */
static sl_status add_span(struct reader *r, size_t at, size_t next, size_t after)
{
	uint64_t from = r->edges[at].time, to = r->edges[next].time;
	char scope[24];
	struct sl_trace_op op = {.kind = "span",
		.scope = scope,
		.dur_ns = to - from,
		.in = r->in,
		.out = r->out};

	snprintf(scope, sizeof(scope), "t%llu", (unsigned long long)from);
	for (size_t e = at; e < next; e++)
		if (!r->edges[e].end)
			r->out[op.n_out++] = r->values[r->edges[e].row];
	for (size_t e = next; e < after; e++)
		if (r->edges[e].end && r->table.rows[r->edges[e].row].lower < from)
			r->in[op.n_in++] = r->values[r->edges[e].row];
	return sl_trace_add_op(&r->t, &op);
}

static size_t same_time(const struct reader *r, size_t at)
{
	uint64_t time = r->edges[at].time;

	while (at < r->n_edges && r->edges[at].time == time)
		at++;
	return at;
}

static sl_status add_spans(struct reader *r)
{
	size_t at = 0, next = r->n_edges > 0 ? same_time(r, 0) : 0;

	while (next < r->n_edges) {
		size_t after = same_time(r, next);

		SL_TRY(add_span(r, at, next, after));
		at = next;
		next = after;
	}
	return SL_OK;
}

sl_status sl_buffers_parse(const struct sl_foreign_text *text, struct sl_trace *out)
{
	struct reader r = {.t = SL_TRACE_INIT,
		.table = {.source = text->source, .text = SL_BUF_INIT}};
	sl_status st;

	r.t.job_name = "buffers";
	SL_TRY_OUT(sl_buf_append(&r.table.text, text->data, text->len));
	SL_TRY_OUT(sl_place_table_parse(&r.table));
	SL_TRY_OUT(add_values(&r));
	SL_TRY_OUT(add_spans(&r));
	SL_TRY_OUT(sl_foreign_take(&r.t, text->source, out));
out:
	sl_place_table_finish(&r.table);
	sl_free(r.values);
	sl_free(r.edges);
	sl_free(r.in);
	sl_free(r.out);
	sl_trace_finish(&r.t);
	return st;
}

static sl_status print_row(struct sl_buf *out, char letter, uint32_t id,
	const uint32_t lives[2], uint64_t bytes, uint64_t align)
{
	return sl_buf_printf(out, "%c%u,%u,%u,%llu,%llu\n", letter, id, lives[0],
		lives[1], (unsigned long long)bytes, (unsigned long long)align);
}

static sl_status print_values(
	const struct sl_trace *t, const struct sl_trace_index *x, struct sl_buf *out)
{
	for (uint32_t v = 0; v < t->n_values; v++) {
		const struct sl_trace_value *value = &t->values[v];
		uint32_t from = x->first[v], to = x->first[v + 1];
		uint32_t lives[2] = {0, t->n_ops};

		if (value->alias != SL_NO_ID)
			continue;
		if (!sl_class_persistent(value->cls)) {
			lives[0] = from < to ? x->uses[from].op : 0;
			lives[1] = from < to ? x->uses[to - 1].op + 1 : 0;
		}
		if (lives[0] < lives[1])
			SL_TRY(print_row(out, 'v', v, lives, value->bytes, value->align));
	}
	return SL_OK;
}

sl_status sl_buffers_print(
	const struct sl_trace *t, struct sl_buf *out, struct sl_buf *none)
{
	struct sl_trace_index x;
	sl_status st;

	(void)none;
	SL_TRY(sl_trace_index_init(t, &x));
	SL_TRY_OUT(sl_buf_puts(out, "id,lower,upper,size,alignment\n"));
	SL_TRY_OUT(print_values(t, &x, out));
	for (uint32_t o = 0; o < t->n_ops; o++)
		if (t->ops[o].workspace_bytes > 0)
			SL_TRY_OUT(print_row(out, 'w', o, (uint32_t[2]){o, o + 1},
				t->ops[o].workspace_bytes, 1));
out:
	sl_trace_index_finish(&x);
	return st;
}
