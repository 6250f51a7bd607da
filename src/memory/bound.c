/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds of what swapping costs: which bytes can leave when, as a covering problem.
 */
#include "memory/bound_int.h"

#include <math.h>

#include "base/alloc.h"
#include "memory/place.h"

static sl_status begin(struct sl_bounder *b)
{
	size_t uses, n_ops = b->t->n_ops;

	SL_TRY(sl_trace_index_init(b->t, &b->x));
	uses = b->x.first[b->t->n_values];
	b->need = sl_calloc(n_ops + 1, sizeof(*b->need));
	b->row = sl_calloc(n_ops + 1, sizeof(*b->row));
	b->covers = sl_calloc(uses + 1, sizeof(*b->covers));
	b->gaps = sl_calloc(uses + 1, sizeof(*b->gaps));
	b->widest = sl_calloc(uses + b->t->n_values + 1, sizeof(*b->widest));
	if (!b->need || !b->row || !b->covers || !b->gaps || !b->widest)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a traffic bound");
	return SL_OK;
}

void sl_bounder_finish(struct sl_bounder *b)
{
	sl_trace_index_finish(&b->x);
	sl_free(b->need);
	sl_free(b->row);
	sl_free(b->covers);
	sl_free(b->gaps);
	sl_free(b->widest);
}

/* Bytes live while each op runs, as differences that may wrap below zero. What persists
 * and is never used needs no place at all. */
static void add_live(struct sl_bounder *b, uint32_t v)
{
	const struct sl_trace_value *value = &b->t->values[v];
	uint32_t from = b->x.first[v], to = b->x.first[v + 1];
	bool lasting = sl_class_persistent(value->cls);

	if (value->alias != SL_NO_ID ||
		(from == to && !(lasting && sl_value_fixed(value))))
		return;
	if (lasting) {
		b->need[0] += value->bytes;
		return;
	}
	b->need[b->x.uses[from].op] += value->bytes;
	b->need[b->x.uses[to - 1].op + 1] -= value->bytes;
}

/* Rows are the ops that are over the budget; need becomes their excess. */
static void excess(struct sl_bounder *b, uint64_t budget)
{
	uint64_t live = 0;

	for (uint32_t v = 0; v < b->t->n_values; v++)
		add_live(b, v);
	for (uint32_t i = 0; i < b->t->n_ops; i++) {
		uint64_t level;

		live += b->need[i];
		level = live + b->t->ops[i].workspace_bytes;
		b->row[i] = b->n_rows;
		if (level > budget)
			b->need[b->n_rows++] = level - budget;
	}
	b->row[b->t->n_ops] = b->n_rows;
}

/* The ops of a gap: [from, to), or from `from` to the end and on to `to`. */
static void add_gap(struct sl_bounder *b, uint32_t v, uint32_t from, uint32_t to,
	bool wraps, uint32_t version)
{
	uint32_t rows = b->row[to] + (wraps ? b->n_rows : 0) - b->row[from];

	if (rows == 0)
		return;
	b->gaps[b->n] = (struct sl_bound_gap){.version = version, .value = v};
	b->covers[b->n++] = (struct sl_cover){.first = b->row[from] % b->n_rows,
		.rows = rows,
		.bytes = b->t->values[v].bytes};
}

/* A version lasts from one write to the next; over the boundary, if the value does. */
static void add_gaps(struct sl_bounder *b, uint32_t v)
{
	const struct sl_trace_use *uses = &b->x.uses[b->x.first[v]];
	uint32_t n = b->x.first[v + 1] - b->x.first[v];
	bool lasting = sl_class_persistent(b->t->values[v].cls);
	uint32_t version = SL_NO_ID, before = b->n_versions, first = b->n;

	for (uint32_t i = 0; i < n; i++) /* the last write of the iteration before */
		if (lasting && uses[i].writes)
			version = before;
	for (uint32_t i = 0; i < n; i++) {
		bool last = i + 1 == n;

		if (uses[i].writes)
			version = ++b->n_versions;
		if (last && !lasting)
			continue;
		/* The version of the boundary has the last write's number. */
		add_gap(b, v, uses[i].op + 1, uses[last ? 0 : i + 1].op, last, version);
	}
	for (uint32_t i = first; i < b->n; i++)
		if (b->gaps[i].version == before)
			b->gaps[i].version = version;
	b->n_versions++;
}

/* Charges a version's copy out to the gap that covers most rows, where leaving is worth
 * most. */
static void charge_widest(struct sl_bounder *b)
{
	for (uint32_t i = 0; i <= b->n_versions; i++)
		b->widest[i] = SL_NO_ID;
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t *at;

		if (b->gaps[i].version == SL_NO_ID)
			continue;
		at = &b->widest[b->gaps[i].version];
		if (*at == SL_NO_ID || b->covers[*at].rows < b->covers[i].rows)
			*at = i;
	}
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t version = b->gaps[i].version;

		b->gaps[i].out = version != SL_NO_ID && b->widest[version] == i ? 1 : 0;
	}
}

/* Any charges give a bound, since a copy out is at least the most that is away in any of
 * its version's gaps. */
static sl_status solve(
	struct sl_bounder *b, double in, double out, uint64_t *least, bool *possible)
{
	double cost = 0;

	for (uint32_t i = 0; i < b->n; i++)
		b->covers[i].cost = in + out * b->gaps[i].out;
	SL_TRY(sl_cover_solve(b->need, b->n_rows, b->covers, b->n, &cost, possible));
	/* Sums of doubles: a millionth pays for their errors. */
	*least = (uint64_t)(cost * (1 - 1e-6));
	return SL_OK;
}

sl_status sl_bounder_begin(
	struct sl_bounder *b, const struct sl_trace *t, uint64_t budget)
{
	*b = (struct sl_bounder){.t = t};
	SL_TRY(begin(b));
	excess(b, budget);
	for (uint32_t v = 0; v < t->n_values && b->n_rows > 0; v++)
		if (t->values[v].alias == SL_NO_ID && !sl_value_fixed(&t->values[v]))
			add_gaps(b, v);
	charge_widest(b);
	return SL_OK;
}

struct sl_bound_rates sl_bound_rates(const struct sl_trace *t)
{
	struct sl_bound_rates r = {0};

	for (uint32_t i = 0; i < t->n_links; i++) {
		const struct sl_trace_link *l = &t->links[i];
		double rate = (double)l->bytes_per_s;

		if (l->from != 0 && l->to != 0)
			continue;
		r.out += l->from == 0 ? rate : 0;
		r.in += l->to == 0 ? rate : 0;
		/* Two directions of one wire are two links: each counts for a half. */
		r.both += l->half_duplex ? rate / 2 : rate;
	}
	return r;
}

static double link_ns(double bytes, double rate)
{
	return bytes > 0 && rate > 0 ? bytes / rate * 1e9 : 0;
}

double sl_bound_copy_ns(const struct sl_bound_rates *r, double out_bytes, double in_bytes)
{
	return fmax(link_ns(out_bytes + in_bytes, r->both),
		fmax(link_ns(out_bytes, r->out), link_ns(in_bytes, r->in)));
}

static sl_status set_time(
	const struct sl_bounder *b, uint64_t budget, struct sl_traffic_bound *out)
{
	struct sl_bound_rates r = sl_bound_rates(b->t);
	uint64_t ns = 0;
	double copies = 0, windows = 0;

	for (uint32_t i = 0; i < b->t->n_ops; i++)
		ns += b->t->ops[i].dur_ns;
	if (out->possible && out->in_bytes > 0) {
		SL_TRY(sl_bound_windows(b->t, &b->x, budget, &r, &windows));
		copies = fmax(link_ns((double)out->both_bytes, r.both),
			sl_bound_copy_ns(
				&r, (double)out->out_bytes, (double)out->in_bytes));
		copies = fmax(copies, windows);
	}
	out->iter_ns = copies > (double)ns && copies < 9e18 ? (uint64_t)copies : ns;
	return SL_OK;
}

sl_status sl_traffic_bound(
	const struct sl_trace *t, uint64_t budget, struct sl_traffic_bound *out)
{
	struct sl_bounder b = {0};
	struct sl_traffic_bound bound = {.possible = true};
	sl_status st;

	SL_TRY_OUT(sl_bounder_begin(&b, t, budget));
	SL_TRY_OUT(solve(&b, 1, 0, &bound.in_bytes, &bound.possible));
	SL_TRY_OUT(solve(&b, 0, 1, &bound.out_bytes, &bound.possible));
	SL_TRY_OUT(solve(&b, 1, 1, &bound.both_bytes, &bound.possible));
	if (bound.both_bytes < bound.in_bytes + bound.out_bytes)
		bound.both_bytes = bound.in_bytes + bound.out_bytes;
	if (!bound.possible)
		bound = (struct sl_traffic_bound){0};
	SL_TRY_OUT(set_time(&b, budget, &bound));
	*out = bound;
out:
	sl_bounder_finish(&b);
	return st;
}
