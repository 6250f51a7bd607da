/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans without copies by simulation with the future known. A simulation is cheap (as a
 * rule under a millisecond a hundred ops), so many are made: for exponents, for limits
 * below the budget where addresses need more than bytes, and with other weights.
 *
 * Where the inputs of an op cannot be rebuilt beside what is there when its turn comes,
 * they are brought before an earlier op and held.
 */
#include "memory/policy/ahead.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"
#include "memory/place.h"
#include "memory/policy/dtr.h"

#define MOST_EARLY 12 /* ops that inputs are brought ahead of their own */
#define MENDS 40 /* simulations to find out which */
#define LIMITS 10
#define SEARCHES 12 /* for addresses, while weights change */
#define FEW 4 /* points */
#define SMALL 1024 /* part of the budget: what is less has the weight 1 */
#define CHANGED 4 /* weights at a time, at most */

/* How scores are made. */
struct point {
	double far;
	bool fit;
	bool dtr; /* DTR's own rule, whatever the rest says */
};

struct ahead {
	const struct sl_trace *t;
	const struct sl_ahead *how;
	struct sl_lineage l;
	struct sl_runs runs;
	struct sl_dtr_rules rules;
	struct sl_dtr_result result;
	uint32_t *early; /* [n_ops] */
	double *weight; /* [n_values] */
	uint32_t *movable; /* values that may leave and matter */
	uint32_t n_movable;
	uint64_t work, randoms;
	struct sl_plan best;
	uint64_t best_ns, best_limit;
	struct point best_at;
	int thorough; /* searches for addresses that are left, where the best plan needed
		       * one
		       */
};

static const struct point points[] = {{.far = 0.3}, {.far = 0}, {.far = 0.6},
	{.far = 0.3, .fit = true}, {.far = 0.1}, {.far = 1, .fit = true}, {.far = 0.45},
	{.far = 1}, {.far = 0.1, .fit = true}, {.far = 0.2}};

static sl_status begin(struct ahead *a, const struct sl_trace *t)
{
	SL_TRY(sl_lineage_init(&a->l, t));
	SL_TRY(sl_runs_init(&a->runs, t));
	a->early = sl_calloc((size_t)t->n_ops + 1, sizeof(*a->early));
	a->weight = sl_calloc((size_t)t->n_values + 1, sizeof(*a->weight));
	a->movable = sl_calloc((size_t)t->n_values + 1, sizeof(*a->movable));
	if (!a->early || !a->weight || !a->movable)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (uint32_t v = 0; v < t->n_values; v++) {
		a->weight[v] = 1;
		if (!sl_lineage_stays(&a->l, v) && a->l.birth[v] != SL_NO_ID &&
			a->l.expires[v] > a->l.birth[v] + 1 &&
			a->l.death[v] > a->l.birth[v] + 1 &&
			sl_room_value(&t->values[v]) >= a->how->budget / SMALL)
			a->movable[a->n_movable++] = v;
	}
	for (uint32_t i = 0; i < t->n_ops; i++)
		a->early[i] = i;
	return SL_OK;
}

static void finish(struct ahead *a)
{
	sl_plan_finish(&a->best);
	sl_lineage_finish(&a->l);
	sl_runs_finish(&a->runs);
	sl_free(a->early);
	sl_free(a->weight);
	sl_free(a->movable);
}

/* One simulation; with mends, inputs are
 * brought earlier until it fits or nothing helps.
 */
static sl_status simulate(
	struct ahead *a, uint64_t limit, const struct point *at, int mends)
{
	a->rules = (struct sl_dtr_rules){.budget = limit,
		.most_again_ns = a->best_ns - 1,
		.score = at->dtr ? SL_DTR_EXACT : SL_DTR_AHEAD,
		.far = at->far,
		.fit = at->fit,
		.weight = a->weight,
		.early = a->early};
	for (;;) {
		uint32_t op;

		SL_TRY(sl_dtr_simulate(&a->l, &a->rules, &a->runs, &a->result));
		a->work += a->result.work;
		op = a->result.failed_at;
		if (at->dtr || a->result.fits ||
			a->result.again_ns > a->rules.most_again_ns || mends-- == 0 ||
			a->early[op] == 0 || op - a->early[op] >= MOST_EARLY)
			return SL_OK;
		a->early[op]--;
	}
}

/* Takes the runs for the best plan if they are cheaper and have addresses; *over: bytes
 * that they lack. */
static sl_status offer(struct ahead *a, const struct point *at, uint64_t *over)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t height = 0;
	sl_status st;

	*over = 0;
	if (!a->result.fits || a->result.again_ns >= a->best_ns)
		return SL_OK;
	SL_TRY_OUT(sl_runs_lower(&a->runs, a->how->budget, a->how->policy, &p, &height));
	if (p.value_offset == NULL) {
		*over = height - a->how->budget;
		goto out;
	}
	a->best_ns = a->result.again_ns;
	a->best_limit = a->rules.budget;
	a->best_at = at->dtr ? points[0] : *at;
	if (a->runs.thorough && a->thorough == 0)
		a->thorough = SEARCHES;
	sl_plan_finish(&a->best);
	sl_plan_move(&a->best, &p);
out:
	sl_plan_finish(&p);
	return st;
}

static uint64_t lower_limit(uint64_t limit, uint64_t over)
{
	uint64_t step = over > limit / 256 ? over : limit / 256;

	return limit > step + SL_PAGE_BYTES ? limit - step : 0;
}

/* Limits fall until addresses are found; the first one that simulates to more than the
 * best plan ends it. */
static sl_status try_point(struct ahead *a, const struct point *at, bool thorough)
{
	uint64_t limit = a->how->budget;

	for (int i = 0; i < LIMITS && limit > 0; i++) {
		uint64_t before = a->best_ns, over;

		SL_TRY(simulate(a, limit, at, MENDS));
		if (!a->result.fits)
			return SL_OK;
		a->runs.thorough = thorough;
		SL_TRY(offer(a, at, &over));
		a->runs.thorough = false;
		if (a->best_ns < before)
			return SL_OK;
		limit = lower_limit(limit, thorough ? limit / 256 : over);
	}
	return SL_OK;
}

static uint32_t draw(struct ahead *a, uint32_t below)
{
	const struct sl_rng_key key = {.seed = 1604};

	return below > 0 ? sl_rng_u32(&key, a->randoms++) % below : 0;
}

/* Other weights for some values, best first as they were; what is no better is undone. */
static sl_status change(struct ahead *a)
{
	uint32_t v[CHANGED], n = 1 + draw(a, CHANGED);
	double was[CHANGED];
	struct point at = a->best_at;
	uint64_t before = a->best_ns, limit = a->best_limit, over;

	for (uint32_t i = 0; i < n; i++) {
		v[i] = a->movable[draw(a, a->n_movable)];
		was[i] = a->weight[v[i]];
		a->weight[v[i]] *= exp(((double)draw(a, 401) - 200) / 80);
	}
	if (draw(a, 4) == 0)
		at.far = draw(a, 100) / 100.0;
	if (draw(a, 8) == 0)
		at.fit = !at.fit;
	if (draw(a, 4) == 0)
		limit = a->how->budget - a->how->budget / 1000 * draw(a, 60);
	SL_TRY(simulate(a, limit, &at, 0));
	a->runs.thorough = a->thorough > 1;
	if (a->runs.thorough && a->result.fits)
		a->thorough--;
	SL_TRY(offer(a, &at, &over));
	a->runs.thorough = false;
	for (uint32_t i = n; i-- > 0 && a->best_ns == before;)
		a->weight[v[i]] = was[i];
	return SL_OK;
}

/* With a search for addresses a few, until there is a plan. */
static sl_status try_points(struct ahead *a, bool thorough)
{
	size_t n = thorough ? FEW : sizeof(points) / sizeof(points[0]);

	for (size_t i = 0; i < n; i++) {
		bool quick = a->how->most_work == 0 && i >= FEW;

		if (a->best.value_offset && (thorough || quick))
			return SL_OK;
		SL_TRY(try_point(a, &points[i], thorough));
	}
	return SL_OK;
}

static sl_status search(struct ahead *a)
{
	static const struct point dtr = {.dtr = true};

	SL_TRY(try_points(a, false));
	if (a->how->most_work == 0)
		return SL_OK;
	SL_TRY(try_point(a, &dtr, false));
	SL_TRY(try_points(a, true));
	while (a->best.value_offset && a->best_ns > 0 && a->n_movable > 0 &&
		a->work < a->how->most_work)
		SL_TRY(change(a));
	return SL_OK;
}

sl_status sl_ahead_plan(const struct sl_trace *t, const struct sl_ahead *how,
	struct sl_plan *out, uint64_t *again_ns)
{
	struct ahead a = {.t = t,
		.how = how,
		.best = SL_PLAN_INIT,
		.best_ns = sl_add_ns(how->most_again_ns, 1)};
	sl_status st = SL_OK;

	SL_TRY_OUT(begin(&a, t));
	SL_TRY_OUT(search(&a));
	*again_ns = a.best_ns;
	if (a.best.value_offset)
		sl_plan_move(out, &a.best);
out:
	finish(&a);
	return st;
}
