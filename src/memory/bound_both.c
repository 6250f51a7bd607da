/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bound on swapping and recomputing together. Both cover the same excess over the
 * budget, at prices that add up to one: a linear program for each division of the price,
 * and the best division by sections, since the least cost is concave in it.
 */
#include "memory/bound_int.h"

#include <math.h>

#include "base/alloc.h"

#define SECTIONS 7 /* each leaves two thirds of the divisions */
#define MOST_OPS 4000u /* with more it takes seconds */
#define SURE (1 - 1e-6) /* sums of doubles */

struct both {
	struct sl_bounder b;
	struct sl_cover *covers; /* copies, then runs again */
	double *copy_ns, *again_ns; /* [b.n] a byte; again_ns negative: it cannot be */
	uint32_t n;
	uint64_t base_ns;
};

/* Bytes that op bears for this iteration; 0: it cannot run again. */
static uint64_t born_bytes(const struct sl_trace *t, uint32_t op)
{
	const struct sl_trace_op *o = &t->ops[op];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < o->n_out; i++) {
		const struct sl_trace_value *v = &t->values[sl_trace_root(t, o->out[i])];

		if (sl_class_persistent(v->cls))
			return 0;
		bytes += v->bytes;
	}
	return o->pure ? bytes : 0;
}

/* The first use of what does not persist bears it. */
static double again_ns(const struct both *w, uint32_t v)
{
	const struct sl_trace *t = w->b.t;
	uint32_t op = w->b.x.uses[w->b.x.first[v]].op;
	uint64_t bytes = sl_class_persistent(t->values[v].cls) ? 0 : born_bytes(t, op);

	return bytes > 0 ? (double)t->ops[op].dur_ns / (double)bytes : -1;
}

static sl_status begin(struct both *w, const struct sl_trace *t, uint64_t budget)
{
	uint32_t n;

	SL_TRY(sl_bounder_begin(&w->b, t, budget));
	n = w->b.n;
	w->covers = sl_calloc(2 * (size_t)n + 1, sizeof(*w->covers));
	w->copy_ns = sl_calloc((size_t)n + 1, sizeof(*w->copy_ns));
	w->again_ns = sl_calloc((size_t)n + 1, sizeof(*w->again_ns));
	if (!w->covers || !w->copy_ns || !w->again_ns)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a bound");
	for (uint32_t i = 0; i < n; i++)
		w->again_ns[i] = again_ns(w, w->b.gaps[i].value);
	return SL_OK;
}

static void finish(struct both *w)
{
	sl_bounder_finish(&w->b);
	sl_free(w->covers);
	sl_free(w->copy_ns);
	sl_free(w->again_ns);
}

static void add(struct both *w, uint32_t gap, double cost)
{
	w->covers[w->n] = w->b.covers[gap];
	w->covers[w->n++].cost = cost;
}

/* Nanoseconds for a share of copies; 0 where nothing covers the excess. */
static sl_status bound_at(struct both *w, double share, bool copies, double *out)
{
	bool possible = true;
	double cost = 0;

	w->n = 0;
	for (uint32_t i = 0; i < w->b.n; i++) {
		if (copies)
			add(w, i, share * w->copy_ns[i]);
		if (w->again_ns[i] >= 0)
			add(w, i, (1 - share) * w->again_ns[i]);
	}
	SL_TRY(sl_cover_solve(w->b.need, w->b.n_rows, w->covers, w->n, &cost, &possible));
	*out = possible ? (cost + (1 - share) * (double)w->base_ns) * SURE : 0;
	return SL_OK;
}

static sl_status search(struct both *w, double *best)
{
	double low = 0, high = 1, all = 0;

	SL_TRY(bound_at(w, 1, true, &all));
	*best = fmax(*best, all);
	for (int i = 0; i < SECTIONS; i++) {
		double at[2] = {low + (high - low) / 3, high - (high - low) / 3}, ns[2];

		for (int k = 0; k < 2; k++) {
			SL_TRY(bound_at(w, at[k], true, &ns[k]));
			*best = fmax(*best, ns[k]);
		}
		if (ns[0] < ns[1])
			low = at[0];
		else
			high = at[1];
	}
	return SL_OK;
}

static void price_copies(struct both *w, double in_rate, double out_rate)
{
	for (uint32_t i = 0; i < w->b.n; i++)
		w->copy_ns[i] = (in_rate > 0 ? 1e9 / in_rate : 0) +
				(out_rate > 0 ? w->b.gaps[i].out * 1e9 / out_rate : 0);
}

/* Either way by itself, and both ways over all wires. */
static sl_status search_ways(struct both *w, double *best)
{
	struct sl_bound_rates r = sl_bound_rates(w->b.t);

	if (r.in <= 0 || r.out <= 0)
		return bound_at(w, 0, false, best);
	price_copies(w, r.in, 0);
	SL_TRY(search(w, best));
	price_copies(w, 0, r.out);
	SL_TRY(search(w, best));
	if (r.both >= r.in + r.out)
		return SL_OK;
	price_copies(w, r.both, r.both);
	return search(w, best);
}

sl_status sl_joint_bound(const struct sl_trace *t, uint64_t budget, uint64_t *out_ns)
{
	struct both w = {0};
	double best = 0;
	sl_status st = SL_OK;

	for (uint32_t i = 0; i < t->n_ops; i++)
		w.base_ns += t->ops[i].dur_ns;
	*out_ns = w.base_ns;
	if (t->n_ops > MOST_OPS)
		return SL_OK;
	SL_TRY_OUT(begin(&w, t, budget));
	if (w.b.n_rows > 0)
		SL_TRY_OUT(search_ways(&w, &best));
	if (best > (double)w.base_ns && best < 9e18)
		*out_ns = (uint64_t)best;
out:
	finish(&w);
	return st;
}
