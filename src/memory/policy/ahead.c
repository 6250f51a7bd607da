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
#define FEW 3 /* exponents */
#define CHANGED 4 /* weights at a time, at most */
#define AS_DTR (-1.0) /* for an exponent: DTR's own rule */

struct ahead {
	const struct sl_trace *t;
	const struct sl_ahead *how;
	struct sl_lineage l;
	struct sl_runs runs;
	struct sl_dtr_rules rules;
	struct sl_dtr_result result;
	uint32_t *early; /* [n_ops] */
	double *weight; /* [n_values] */
	uint32_t *movable; /* values that may leave at all */
	uint32_t n_movable;
	uint64_t work, randoms;
	struct sl_plan best;
	uint64_t best_ns, best_limit;
	double best_far;
};

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
			a->l.death[v] > a->l.birth[v] + 1)
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

/* One simulation, by DTR's own rule for a negative exponent; with mends, inputs are
 * brought earlier until it fits or nothing helps.
 */
static sl_status simulate(struct ahead *a, uint64_t limit, double far, int mends)
{
	bool dtr = far < 0;

	a->rules = (struct sl_dtr_rules){.budget = limit,
		.most_again_ns = a->best_ns - 1,
		.score = dtr ? SL_DTR_EXACT : SL_DTR_AHEAD,
		.far = far,
		.weight = a->weight,
		.early = a->early};
	for (;;) {
		uint32_t at;

		SL_TRY(sl_dtr_simulate(&a->l, &a->rules, &a->runs, &a->result));
		a->work += a->result.work;
		at = a->result.failed_at;
		if (dtr || a->result.fits ||
			a->result.again_ns > a->rules.most_again_ns || mends-- == 0 ||
			a->early[at] == 0 || at - a->early[at] >= MOST_EARLY)
			return SL_OK;
		a->early[at]--;
	}
}

/* Takes the runs for the best plan if they are cheaper and have addresses; *over: bytes
 * that they lack. */
static sl_status offer(struct ahead *a, double far, uint64_t *over)
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
	a->best_far = far < 0 ? 0.3 : far;
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
static sl_status try_far(struct ahead *a, double far, bool thorough)
{
	uint64_t limit = a->how->budget;

	for (int i = 0; i < LIMITS && limit > 0; i++) {
		uint64_t before = a->best_ns, over;

		SL_TRY(simulate(a, limit, far, MENDS));
		if (!a->result.fits)
			return SL_OK;
		a->runs.thorough = thorough;
		SL_TRY(offer(a, far, &over));
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
	double was[CHANGED], far = a->best_far;
	uint64_t before = a->best_ns, limit = a->best_limit, over;

	for (uint32_t i = 0; i < n; i++) {
		v[i] = a->movable[draw(a, a->n_movable)];
		was[i] = a->weight[v[i]];
		a->weight[v[i]] *= exp(((double)draw(a, 401) - 200) / 80);
	}
	if (draw(a, 4) == 0)
		far = draw(a, 100) / 100.0;
	if (draw(a, 4) == 0)
		limit = a->how->budget - a->how->budget / 1000 * draw(a, 60);
	SL_TRY(simulate(a, limit, far, 0));
	SL_TRY(offer(a, far, &over));
	for (uint32_t i = n; i-- > 0 && a->best_ns == before;)
		a->weight[v[i]] = was[i];
	return SL_OK;
}

/* With a search for addresses a few, until there is a plan. */
static sl_status try_fars(struct ahead *a, bool thorough)
{
	static const double fars[] = {0.3, 0, 0.6, 0.1, 0.45, 1, 0.2, 0.8};
	size_t n = thorough ? FEW : sizeof(fars) / sizeof(fars[0]);

	for (size_t i = 0; i < n; i++) {
		bool quick = a->how->most_work == 0 && i >= FEW;

		if (a->best.value_offset && (thorough || quick))
			return SL_OK;
		SL_TRY(try_far(a, fars[i], thorough));
	}
	return SL_OK;
}

static sl_status search(struct ahead *a)
{
	SL_TRY(try_fars(a, false));
	if (a->how->most_work == 0)
		return SL_OK;
	SL_TRY(try_far(a, AS_DTR, false));
	SL_TRY(try_fars(a, true));
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
