/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensile: swapping and recomputation by tensor, with copies booked ahead of time and
 * values away over the boundary of iterations. Source: Zhang et al., TENSILE, arXiv
 * 2105.13336.
 *
 * What is kept of the paper: latencies are known before the first step, so there is no
 * passive one; copies out take the earliest gap of their channel and copies in the
 * latest; a copy below that is still current makes the second eviction free; parameters
 * and optimizer states may be away over the boundary; recomputation is chosen by bytes
 * won per second; swapping on demand (belady) is the safety net. Belady's plan is a
 * candidate, too; comparisons with it are of the search alone (option simple=0).
 *
 * Departures, because they leave value on the table there (option published=1 is the
 * paper's greedy as it was, tensile_published.c):
 * - Swap or recompute is one choice, by a price for the time on the link, instead of
 *   recomputation only when no swap is left and never swapping again afterwards. Several
 *   prices are tried and whole plans compared.
 * - Single gaps that turn out to cost the whole plan time are barred and all is chosen
 *   anew (tensile_refine.c).
 * - Chains are recomputed together and stay where there is room, so each op runs about
 * once more; how long a chain may be is searched for, too.
 * - Copies are spread over the iteration: those that make others wait get dearer.
 * - A worthless swap is never made: gaps are chosen against the excess over the budget,
 * and what turns out not to be needed is given back.
 * - Without copies, or where those are slow, plans are also made by simulation (ahead.h).
 * - The budget is a promise, with addresses; the paper lowers a sum of bytes as far as it
 *   goes.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/units.h"
#include "memory/place.h"
#include "memory/policy/ahead.h"
#include "memory/policy/alone.h"
#include "memory/policy/keep_int.h"
#include "memory/policy/policy.h"
#include "memory/policy/tensile_int.h"
#include "memory/policy/tensile_published.h"

#define AHEAD_WORK 20000000 /* half a second or so */
#define CLEAN_POINTS 32

static sl_status begin(struct sl_tensile *s, const struct sl_trace *t, uint64_t budget)
{
	*s = (struct sl_tensile){
		.budget = budget, .best = SL_PLAN_INIT, .point_ns = UINT64_MAX};
	SL_TRY(sl_gaps_init(&s->g, t));
	s->total_ns = s->g.start_ns[t->n_ops];
	s->level = sl_calloc((size_t)t->n_ops + 1, sizeof(*s->level));
	s->ahead = sl_calloc((size_t)t->n_values + 1, sizeof(*s->ahead));
	s->weight = sl_calloc((size_t)s->g.n + 1, sizeof(*s->weight));
	for (uint32_t i = 0; s->weight && i < s->g.n; i++)
		s->weight[i] = 1;
	return s->level && s->weight && s->ahead
		       ? SL_OK
		       : SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static void finish(struct sl_tensile *s)
{
	sl_plan_finish(&s->best);
	sl_gaps_finish(&s->g);
	sl_free(s->level);
	sl_free(s->weight);
	sl_free(s->out_price);
	sl_free(s->in_price);
	sl_free(s->ahead);
}

/* The safety net; without a tier it has nothing to offer. */
static sl_status offer_belady(struct sl_tensile *s)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t ns;
	sl_status st;

	if (s->g.n_tiers == 0)
		return SL_OK;
	SL_TRY_OUT(sl_mem_policy_belady.plan(s->g.t, s->asked, &p));
	SL_TRY_OUT(sl_plan_seal(&p, s->g.t));
	SL_TRY_OUT(sl_tensile_offer(s, &p, &ns));
out:
	sl_plan_finish(&p);
	/* Tiers may be too small for it, and not for what was found. */
	return st == SL_E_INFEASIBLE && s->found ? SL_OK : st;
}

/* What recomputation alone can do, with what it takes to try other weights. */
static sl_status offer_ahead(struct sl_tensile *s, uint64_t most_work)
{
	struct sl_ahead how = {.budget = s->budget,
		.policy = "tensile",
		.most_again_ns = sl_add_ns(s->total_ns, s->total_ns),
		.most_work = most_work};
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t ns = 0;
	sl_status st = SL_OK;

	if (!s->redo || (s->found && s->best_price.iter_ns <= s->total_ns))
		return SL_OK;
	if (s->found)
		how.most_again_ns = s->best_price.iter_ns - s->total_ns - 1;
	SL_TRY_OUT(sl_ahead_plan(s->g.t, &how, &p, &ns));
	if (p.value_offset)
		SL_TRY_OUT(sl_tensile_offer(s, &p, &ns));
out:
	sl_plan_finish(&p);
	return st;
}

enum option { PUBLISHED, EFFORT, CROSS, REDO, SIMPLE };

static const struct sl_policy_option options[] = {
	[PUBLISHED] = {"published", 0, 1, 0, "1: the paper's greedy as it was"},
	[EFFORT] = {"effort", 0, 2, 2,
		"0: a first plan, quickly; 1: many points, no gap by itself"},
	[CROSS] = {"cross", 0, 1, 1,
		"0: nothing is away over the boundary, but by the net"},
	[REDO] = {"redo", 0, 1, 1, "0: nothing is recomputed"},
	[SIMPLE] = {"simple", 0, 1, 1, "0: belady's plan is no candidate, only the net"},
	{0},
};

static sl_status plan_published(const struct sl_trace *t, uint64_t budget,
	const int64_t *option, struct sl_plan *out)
{
	return sl_tensile_published_plan(t, budget, "tensile",
		&(struct sl_tp_options){.no_cross_iteration = !option[CROSS],
			.no_recompute = !option[REDO]},
		out);
}

/* What is copied out ahead of time; other points suit that. */
static sl_status clean(struct sl_tensile *s, const struct sl_tensile_how *how,
	struct sl_tensile_point *at)
{
	SL_TRY(sl_tensile_hours(s, at));
	SL_TRY(sl_tensile_wander(s, at, CLEAN_POINTS));
	SL_TRY(sl_tensile_clean(s, at));
	s->work = 0; /* single gaps are looked at as long as before */
	if (how->effort > 1)
		SL_TRY(sl_tensile_refine(s, at));
	return sl_tensile_thrift(s, at);
}

static sl_status search(struct sl_tensile *s, const struct sl_tensile_how *how)
{
	struct sl_tensile_point at;
	bool last;

	if (how->effort > 0)
		SL_TRY(sl_tensile_search(s, &at));
	if (how->effort > 1)
		SL_TRY(sl_tensile_refine(s, &at));
	if (!s->found) /* what is found quickly is found in any case */
		SL_TRY(sl_tensile_search_quickly(s));
	last = !s->found && s->g.n_tiers == 0;
	if ((how->effort > 0 && how->alone) || last)
		SL_TRY(offer_ahead(s, how->effort > 1 ? AHEAD_WORK : 0));
	if (!s->found || (how->effort > 0 && how->simple))
		SL_TRY(offer_belady(s));
	return how->effort > 0 && how->clean ? clean(s, how, &at) : SL_OK;
}

sl_status sl_tensile_find(const struct sl_trace *t, uint64_t budget,
	const struct sl_tensile_how *how, struct sl_plan *out)
{
	struct sl_tensile s = {0};
	sl_status st = SL_OK;

	SL_TRY_OUT(begin(&s, t, budget & ~(SL_PAGE_BYTES - 1)));
	s.asked = budget;
	s.cross = how->cross;
	s.redo = how->redo;
	SL_TRY_OUT(search(&s, how));
	if (!s.found)
		goto out;
	s.best.budget = budget;
	(void)snprintf(s.best.policy, sizeof(s.best.policy), "tensile");
	sl_plan_move(out, &s.best);
out:
	finish(&s);
	return st;
}

static sl_status find_quickly(
	const struct sl_trace *t, uint64_t budget, const void *ctx, struct sl_plan *out)
{
	static const struct sl_tensile_how quick = {.cross = true, .redo = true};

	(void)ctx;
	return sl_tensile_find(t, budget, &quick, out);
}

static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	return sl_alone_least(t, find_quickly, NULL, out_bytes);
}

static sl_status plan(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	const struct sl_tensile_how how = {.effort = (int)option[EFFORT],
		.cross = option[CROSS],
		.redo = option[REDO],
		.alone = true,
		.simple = option[SIMPLE]};
	uint64_t peak = 0, bytes;

	SL_TRY(sl_keep_within(t, budget, "tensile", out, &peak));
	if (peak <= budget)
		return SL_OK;
	if (option[PUBLISHED])
		return plan_published(t, budget, option, out);
	SL_TRY(sl_tensile_find(t, budget, &how, out));
	if (out->value_offset)
		return SL_OK;
	SL_TRY(least(t, &bytes));
	return sl_alone_fail(budget, "tensile", bytes);
}

const struct sl_mem_policy sl_mem_policy_tensile = {
	.name = "tensile",
	.source = "tensile",
	.summary = "swap and recompute by tensor, copies booked ahead, across iterations",
	.options = options,
	.plan_with = plan,
	.least = least,
};
