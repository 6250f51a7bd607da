/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joint: our own. Swapping, recomputation, clean drops, tiers, addresses and the time of
 * channels in one search, beside which the plan of every other policy is a candidate: it
 * is never slower than any of them at the same budget.
 *
 * 1. tensile's search finds a point and bars single gaps; then parameters are copied out
 *    after their last write so that they can be dropped later (tensile_clean.c).
 * 2. The same without recomputation and without copies: a mixture is a candidate beside
 *    its parts, not a promise. Where a bound says that a part cannot win, it is left out.
 * 3. The plans of the other rows of the table.
 * 4. Plans for a ladder of lower budgets: searches are not monotone by themselves, and
 *    what fits in less fits here.
 *
 * Source: docs/adr/0049-joint-search.md.
 */
#include <stdio.h>
#include <string.h>

#include "memory/bound.h"
#include "memory/place.h"
#include "memory/policy/keep_int.h"
#include "memory/policy/policy.h"
#include "memory/policy/tensile_int.h"

#define RUNGS 20 /* equal parts of the unbudgeted peak */
#define MOST_RUNGS 3 /* searched below the budget */
#define HOPE 4 /* a search gains at most so much of what a quick plan loses */
#define SMALL_OPS 4000 /* with more, the own search alone */

enum option { EFFORT, REDO, SWAP, CLEAN, CROSS, OTHERS };

static const struct sl_policy_option options[] = {
	[EFFORT] = {"effort", 0, 2, 2,
		"0: a first plan, quickly; 1: the search alone; 2: beside all others"},
	[REDO] = {"redo", 0, 1, 1, "0: nothing is recomputed"},
	[SWAP] = {"swap", 0, 1, 1, "0: nothing is copied"},
	[CLEAN] = {"clean", 0, 1, 1, "0: nothing is copied out ahead of time"},
	[CROSS] = {"cross", 0, 1, 1, "0: nothing is away over the boundary"},
	[OTHERS] = {"others", 0, 1, 1, "0: no plans of other policies"},
	{0},
};

/* Rows that take long: candidates up to so many ops. */
static const struct {
	const char *name;
	uint32_t most_ops;
} costly[] = {
	{"optimal", 400},
};

struct best {
	const struct sl_trace *t;
	struct sl_trace bare; /* without tiers */
	const int64_t *option;
	uint64_t budget;
	uint64_t total_ns; /* all ops once */
	uint64_t peak; /* unbudgeted */
	struct sl_plan plan;
	struct sl_plan_price price;
	bool found;
};

static bool is_cheaper(const struct sl_plan_price *a, const struct sl_plan_price *b)
{
	if (a->iter_ns != b->iter_ns)
		return a->iter_ns < b->iter_ns;
	return a->swap_in_bytes + a->swap_out_bytes <
	       b->swap_in_bytes + b->swap_out_bytes;
}

/* Takes p, if there is one, for the best so far if it is cheaper. */
static sl_status offer(struct best *b, struct sl_plan *p)
{
	struct sl_plan_price price = {0};

	if (p->value_offset == NULL)
		return SL_OK;
	SL_TRY(sl_plan_price(b->t, p, &price));
	if (b->found && !is_cheaper(&price, &b->price))
		return SL_OK;
	b->found = true;
	b->price = price;
	sl_plan_finish(&b->plan);
	sl_plan_move(&b->plan, p);
	return SL_OK;
}

/* Nothing is left to gain. */
static bool is_done(const struct best *b)
{
	return b->found && b->price.iter_ns <= b->total_ns;
}

static bool is_fatal(sl_status st)
{
	return st == SL_E_NOMEM;
}

static const struct sl_trace *trace_for(const struct best *b, bool swap)
{
	return swap ? b->t : &b->bare;
}

/* Tiers without room and the like: no candidate. */
static sl_status try_search(
	struct best *b, uint64_t budget, const struct sl_tensile_how *how, bool swap)
{
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st = sl_tensile_find(trace_for(b, swap), budget, how, &p);

	if (st == SL_OK)
		st = offer(b, &p);
	sl_plan_finish(&p);
	return is_fatal(st) ? st : SL_OK;
}

static struct sl_tensile_how how_of(const struct best *b)
{
	return (struct sl_tensile_how){.effort = (int)b->option[EFFORT],
		.cross = b->option[CROSS],
		.redo = b->option[REDO],
		.clean = b->option[CLEAN],
		.alone = true,
		.simple = b->option[SWAP]};
}

/* Swapping alone and recomputing alone. */
static sl_status try_parts(struct best *b)
{
	struct sl_tensile_how how = how_of(b);
	struct sl_traffic_bound bound = {0};

	if (b->t->n_links == 0)
		return SL_OK;
	how.alone = false;
	SL_TRY(sl_traffic_bound(b->t, b->budget, &bound));
	if (!is_done(b))
		SL_TRY(try_search(b, b->budget, &how, false));
	how.redo = false;
	if (bound.possible && (!b->found || bound.iter_ns < b->price.iter_ns))
		SL_TRY(try_search(b, b->budget, &how, true));
	return SL_OK;
}

static bool may_try(const struct best *b, const struct sl_mem_policy *p)
{
	for (size_t i = 0; i < sizeof(costly) / sizeof(costly[0]); i++)
		if (strcmp(costly[i].name, p->name) == 0)
			return b->t->n_ops <= costly[i].most_ops;
	/* Those are in the search. */
	return p != &sl_mem_policy_joint && p != &sl_mem_policy_keep &&
	       p != &sl_mem_policy_belady && p != &sl_mem_policy_tensile;
}

static sl_status try_others(struct best *b)
{
	const struct sl_mem_policy *row;

	for (size_t i = 0; (row = sl_policy_at(i)) != NULL && !is_done(b); i++) {
		struct sl_policy_choice usual = sl_policy_usual(row);
		struct sl_plan p = SL_PLAN_INIT;
		sl_status st;

		if (!may_try(b, row))
			continue;
		st = sl_policy_apply_own(&usual, b->t, b->budget, &p);
		if (st == SL_OK)
			st = offer(b, &p);
		sl_plan_finish(&p);
		if (is_fatal(st))
			return st;
	}
	return SL_OK;
}

/* Whether more effort in so much less may find a cheaper plan than the best: a quick plan
 * there is not far off. */
static sl_status is_hopeful(struct best *b, uint64_t budget, bool *out)
{
	struct sl_tensile_how how = how_of(b);
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price = {0};
	sl_status st;

	how.effort = 0;
	*out = false;
	st = sl_tensile_find(trace_for(b, b->option[SWAP]), budget, &how, &p);
	if (is_fatal(st) || st != SL_OK || p.value_offset == NULL)
		goto out;
	st = sl_plan_price(b->t, &p, &price);
	*out = st == SL_OK &&
	       (price.iter_ns - b->total_ns) / HOPE <= b->price.iter_ns - b->total_ns;
out:
	sl_plan_finish(&p);
	return is_fatal(st) ? st : SL_OK;
}

static sl_status climb_down(struct best *b)
{
	struct sl_tensile_how how = how_of(b);
	int tried = 0;

	how.alone = false; /* it takes long */
	for (int k = RUNGS - 1; k > 0 && tried < MOST_RUNGS && !is_done(b); k--) {
		double pages = (double)b->peak * k / RUNGS / SL_PAGE_BYTES;
		uint64_t rung = (uint64_t)pages * SL_PAGE_BYTES;
		bool hopeful;

		if (rung >= b->budget)
			continue;
		SL_TRY(is_hopeful(b, rung, &hopeful));
		if (!hopeful)
			return SL_OK;
		SL_TRY(try_search(b, rung, &how, b->option[SWAP]));
		tried++;
	}
	return SL_OK;
}

static sl_status search(struct best *b)
{
	struct sl_tensile_how how = how_of(b);

	SL_TRY(try_search(b, b->budget, &how, b->option[SWAP]));
	if (b->option[EFFORT] < 2 || b->t->n_ops > SMALL_OPS)
		return SL_OK;
	/* A part is a candidate of the whole, so it is no more than its own search. */
	if (!b->option[REDO] || !b->option[SWAP])
		return SL_OK;
	SL_TRY(try_parts(b));
	if (b->option[OTHERS])
		SL_TRY(try_others(b));
	return climb_down(b);
}

/* What to say where nothing was found. */
static sl_status fail(const struct best *b)
{
	int64_t usual[SL_POLICY_MAX_OPTIONS];
	struct sl_policy_choice c = sl_policy_usual(&sl_mem_policy_tensile);
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st;

	c = sl_policy_quick(&c);
	memcpy(usual, c.options, sizeof(usual));
	st = sl_mem_policy_tensile.plan_with(
		trace_for(b, b->option[SWAP]), b->budget, usual, &p);
	sl_plan_finish(&p);
	return st != SL_OK ? st
			   : SL_FAIL(SL_E_INFEASIBLE,
				     "no plan was found for a budget of %llu bytes",
				     (unsigned long long)b->budget);
}

static sl_status plan(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	struct best b = {.t = t,
		.bare = *t,
		.option = option,
		.budget = budget,
		.plan = SL_PLAN_INIT};
	sl_status st;

	b.bare.n_tiers = b.bare.n_links = 0;
	SL_TRY_OUT(sl_keep_plan(t, budget, "joint", &b.plan, &b.peak));
	if (b.peak > budget) {
		sl_plan_finish(&b.plan);
		for (uint32_t i = 0; i < t->n_ops; i++)
			b.total_ns += t->ops[i].dur_ns;
		SL_TRY_OUT(search(&b));
		if (!b.found) {
			st = fail(&b);
			goto out;
		}
	}
	b.plan.budget = budget;
	(void)snprintf(b.plan.policy, sizeof(b.plan.policy), "joint");
	sl_plan_move(out, &b.plan);
out:
	sl_plan_finish(&b.plan);
	return st;
}

static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	return sl_mem_policy_tensile.least(t, out_bytes);
}

const struct sl_mem_policy sl_mem_policy_joint = {
	.name = "joint",
	.source = "joint",
	.summary = "swap, recompute and clean drops in one search, beside all other rows",
	.options = options,
	.plan_with = plan,
	.least = least,
};
