/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last pass of tensile's search: single gaps. The best plan is priced once more, and
 * what it costs over the bare time is laid at the doors of gaps: a stall at that of the
 * value that was waited for, a run again at that of what it bears. The fates of the
 * dearest gaps are then barred and all others are chosen anew; if the whole plan is
 * cheaper without them the bars stay, else each is tried by itself. Where no gap is left
 * to bar, points near the best one are tried with the bars that there are.
 */
#include "memory/policy/tensile_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"

#define WORK_OPS 350000 /* work (choices) times ops at which no more is begun */
#define WANDER 16 /* points between two passes over gaps */
#define GROUP 4 /* so many are barred together at first */
#define MOST_IDLE 8 /* times without success, then it ends */

struct blame {
	uint64_t ns;
	uint32_t gap;
	uint8_t fate;
};

struct refiner {
	struct sl_tensile *s;
	struct sl_plan_wait *waits; /* [n_ops + 1] */
	struct blame *list;
	size_t n, cap;
	uint8_t *tried; /* [gaps] bits of fates, since the last success */
};

static int by_gap(const void *a, const void *b)
{
	const struct blame *x = a, *y = b;

	if (x->gap != y->gap)
		return x->gap < y->gap ? -1 : 1;
	return (x->fate > y->fate) - (x->fate < y->fate);
}

static int by_cost(const void *a, const void *b)
{
	const struct blame *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return by_gap(a, b);
}

/* The gap of v whose value leaves before op, or comes back for it; SL_NO_ID: none. */
static uint32_t gap_at(const struct sl_gaps *g, uint32_t v, uint32_t op)
{
	uint32_t found = SL_NO_ID;

	for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++) {
		const struct sl_gap *gap = &g->gaps[i];

		if (gap->from_op == SL_NO_ID)
			continue;
		if (gap->from_op < op || (gap->wraps && op <= gap->to_op))
			found = i;
	}
	return found;
}

static sl_status blame(
	struct refiner *r, uint32_t v, uint32_t op, enum sl_fate fate, uint64_t ns)
{
	uint32_t gap = v == SL_NO_ID ? SL_NO_ID : gap_at(&r->s->g, v, op);

	if (gap == SL_NO_ID || ns == 0)
		return SL_OK;
	if (sl_grow((void **)&r->list, &r->cap, r->n + 1, sizeof(*r->list),
		    SIZE_MAX / 64))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	r->list[r->n++] = (struct blame){ns, gap, (uint8_t)fate};
	return SL_OK;
}

static void join(struct refiner *r)
{
	size_t n = 0;

	qsort(r->list, r->n, sizeof(*r->list), by_gap);
	for (size_t i = 0; i < r->n; i++) {
		if (n > 0 && by_gap(&r->list[n - 1], &r->list[i]) == 0)
			r->list[n - 1].ns += r->list[i].ns;
		else
			r->list[n++] = r->list[i];
	}
	r->n = n;
	qsort(r->list, r->n, sizeof(*r->list), by_cost);
}

/* Who is to blame for the time of the best plan. */
static sl_status find_blame(struct refiner *r)
{
	const struct sl_trace *t = r->s->g.t;
	const struct sl_plan *p = &r->s->best;
	struct sl_plan_price price;

	r->n = 0;
	SL_TRY(sl_plan_price_waits(t, p, &price, NULL, r->waits));
	for (uint32_t op = 0; op <= t->n_ops; op++)
		SL_TRY(blame(r, r->waits[op].value, op, SL_FATE_SWAP, r->waits[op].ns));
	for (uint32_t i = 0; i < p->n_actions; i++) {
		const struct sl_action *a = &p->actions[i];

		if (a->kind == SL_ACTION_RECOMPUTE && a->offset != SL_NO_OFFSET)
			SL_TRY(blame(r, a->value, a->op, SL_FATE_REDO,
				t->ops[a->again].dur_ns));
	}
	join(r);
	return SL_OK;
}

static bool is_tried(const struct refiner *r, const struct blame *b)
{
	return (r->tried[b->gap] | r->s->g.gaps[b->gap].barred) & 1u << b->fate;
}

/* Bars k untried fates, from the dearest on; they stay barred if that is better. */
static sl_status bar(struct refiner *r, const struct sl_tensile_point *at, size_t i,
	size_t k, bool *better)
{
	struct sl_gaps *g = &r->s->g;
	uint64_t before = r->s->best_price.iter_ns, ns;
	size_t n = 0;
	struct blame set[GROUP];

	for (; i < r->n && n < k; i++) {
		if (is_tried(r, &r->list[i]))
			continue;
		set[n++] = r->list[i];
		g->gaps[r->list[i].gap].barred |= (uint8_t)(1u << r->list[i].fate);
	}
	SL_TRY(sl_tensile_attempt(r->s, at, &ns));
	*better = r->s->best_price.iter_ns < before;
	for (size_t j = 0; j < n && !*better; j++) {
		g->gaps[set[j].gap].barred &= (uint8_t) ~(1u << set[j].fate);
		if (n == 1)
			r->tried[set[j].gap] |= (uint8_t)(1u << set[j].fate);
	}
	return SL_OK;
}

static size_t first_untried(const struct refiner *r)
{
	size_t i = 0;

	while (i < r->n && is_tried(r, &r->list[i]))
		i++;
	return i;
}

/* Until no gap is left to bar. */
static sl_status refine(
	struct refiner *r, const struct sl_tensile_point *at, uint64_t most_work)
{
	struct sl_tensile_point try = *at;
	bool better = true;
	size_t k = GROUP, i;

	try.rounds = 3;
	while (r->s->work < most_work && r->s->best_price.iter_ns > r->s->total_ns) {
		if (better)
			SL_TRY(find_blame(r));
		i = first_untried(r);
		if (i == r->n)
			return SL_OK;
		r->s->fitted = r->s->limit;
		SL_TRY(bar(r, &try, i, k, &better));
		k = better ? GROUP : 1;
	}
	return SL_OK;
}

/* Gaps and points in turn, until the work is done or nothing helps any more. */
static sl_status repeat(struct refiner *r, struct sl_tensile_point *at)
{
	struct sl_tensile *s = r->s;
	uint64_t most = WORK_OPS / (s->g.t->n_ops + 1);
	int idle = 0;

	while (s->work < most && idle < MOST_IDLE &&
		s->best_price.iter_ns > s->total_ns) {
		uint64_t before = s->best_price.iter_ns;

		SL_TRY(refine(r, at, s->work + (most - s->work) / 2));
		s->point_ns = s->best_price.iter_ns;
		SL_TRY(sl_tensile_wander(s, at, WANDER));
		idle++;
		if (s->best_price.iter_ns < before) {
			memset(r->tried, 0, s->g.n + 1);
			idle = 0;
		}
	}
	return SL_OK;
}

sl_status sl_tensile_refine(struct sl_tensile *s, struct sl_tensile_point *at)
{
	struct refiner r = {.s = s};
	sl_status st = SL_OK;

	if (!s->found)
		return SL_OK;
	r.waits = sl_calloc((size_t)s->g.t->n_ops + 1, sizeof(*r.waits));
	r.tried = sl_calloc((size_t)s->g.n + 1, sizeof(*r.tried));
	if (!r.waits || !r.tried) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		goto out;
	}
	SL_TRY_OUT(repeat(&r, at));
out:
	sl_free(r.waits);
	sl_free(r.tried);
	sl_free(r.list);
	return st;
}
