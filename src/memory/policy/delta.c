/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta: no plan, but a rule that makes room whenever an allocation finds none [delta]. A
 * filter takes the value on the device with the least h = back / (bytes * age), where
 * back is the cheaper one of running its chain again (with what was dropped and is
 * rebuilt through it) and of the copies that nothing hides; the director takes that way;
 * a window of values comes back ahead of its use. The order of a trace is known, so the
 * rule is carried out beforehand, in virtual time, and what it did becomes the plan.
 *
 * Departures (docs/adr/0045):
 * 1. A copy out begins at the value's last use, not when its bytes are wanted: the trace
 * tells which use was the last one.
 * 2. What hides a copy in is known, too: the compute time until its use, less that of
 * copies due before. A copy that would be late makes those behind it late, and that is
 * counted.
 * 3. Values that persist leave by the same rule (weights=0: they stay).
 * 4. What runs again for others stays until its next use, if there is room (gaps.h).
 * 5. The window: as many values as it says start after each op, while the room that is
 * left is the most that an op wanted so far.
 * 6. The same rule with drops alone and with copies alone is carried out, too, and the
 * fastest of the three counts (alone=0: the mixed one).
 * 7. Where addresses need more than bytes, all is done again with a lower limit; where
 * nothing fits, belady's plan is used (baseline.h).
 */
#include "memory/policy/baseline.h"
#include "memory/policy/delta_int.h"
#include "memory/policy/policy.h"

#define LIMIT_ROUNDS 12
#define BARRED_ROUNDS 8
#define ITERATIONS 3 /* what persists is then where it is each time */

enum option { REDO, SWAP, WEIGHTS, KNAPSACK, WINDOW, ALONE };

static const struct sl_policy_option options[] = {
	[REDO] = {"redo", 0, 1, 1, "0: nothing is recomputed"},
	[SWAP] = {"swap", 0, 1, 1, "0: nothing is swapped, but by the net"},
	[WEIGHTS] = {"weights", 0, 1, 1, "0: what persists stays, but by the net"},
	[KNAPSACK] = {"knapsack", 0, 1, 0, "1: sets of least cost, as in 2024"},
	[WINDOW] = {"window", 0, 1000, 4, "values that come ahead after an op"},
	[ALONE] = {"alone", 0, 1, 1,
		"0: the mixed plan even where one way alone is faster"},
	{0},
};

struct search {
	struct sl_gaps *g;
	uint64_t budget;
	const char *name;
	uint64_t best_ns;
	struct sl_plan *best;
};

/* What it could not redo is barred and all begins anew. */
static sl_status walk(struct sl_delta *d, struct sl_gaps *g,
	const struct sl_delta_rule *rule, uint64_t limit, uint64_t budget)
{
	bool broken = true;

	for (int k = 0; k < BARRED_ROUNDS && broken; k++) {
		sl_delta_finish(d);
		sl_gaps_reset(g);
		SL_TRY(sl_delta_init(d, g, rule, limit));
		d->budget = budget;
		for (int i = 0; i < ITERATIONS && !d->broken && !d->over; i++)
			SL_TRY(sl_delta_iteration(d));
		broken = d->broken;
	}
	return SL_OK;
}

/* The plan for the highest limit whose addresses fit; empty if none does. */
static sl_status lower(
	struct search *s, const struct sl_delta_rule *rule, struct sl_plan *out)
{
	struct sl_delta d = {0};
	uint64_t limit = s->budget, height = 0;
	sl_status st = SL_OK;

	for (int i = 0; i < LIMIT_ROUNDS; i++) {
		SL_TRY_OUT(walk(&d, s->g, rule, limit, s->budget));
		if (d.broken || d.over)
			break;
		SL_TRY_OUT(
			sl_gaps_lower(s->g, &d.made, s->budget, s->name, out, &height));
		if (height <= s->budget || height - s->budget > limit / 2)
			break;
		limit -=
			height - s->budget > limit / 32 ? height - s->budget : limit / 32;
	}
out:
	sl_delta_finish(&d);
	/* Tiers that are too small: the net says so, if it cannot do better. */
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

static sl_status offer(struct search *s, const struct sl_delta_rule *rule)
{
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	uint32_t n_tiers = s->g->n_tiers;
	sl_status st = SL_OK;

	if (!rule->swap)
		s->g->n_tiers = 0;
	for (uint32_t i = 0; i < s->g->n; i++)
		s->g->gaps[i].barred = 0;
	SL_TRY_OUT(lower(s, rule, &p));
	if (!p.value_offset)
		goto out;
	SL_TRY_OUT(sl_plan_price(s->g->t, &p, &price));
	if (!s->best->value_offset || price.iter_ns < s->best_ns) {
		s->best_ns = price.iter_ns;
		sl_plan_finish(s->best);
		sl_plan_move(s->best, &p);
	}
out:
	s->g->n_tiers = n_tiers;
	sl_plan_finish(&p);
	return st;
}

static sl_status fates(struct sl_gaps *g, uint64_t budget, const char *name,
	const void *ctx, struct sl_plan *out)
{
	const int64_t *option = ctx;
	struct search s = {.g = g, .budget = budget, .name = name, .best = out};
	struct sl_delta_rule rule = {.redo = option[REDO] != 0,
		.swap = option[SWAP] != 0,
		.weights = option[WEIGHTS] != 0 && option[SWAP] != 0,
		.knapsack = option[KNAPSACK] != 0,
		.window = (uint32_t)option[WINDOW]};
	struct sl_delta_rule drops = rule, copies = rule;

	drops.swap = drops.weights = false;
	copies.redo = false;
	SL_TRY(offer(&s, &rule));
	if (!option[ALONE] || !rule.redo || !rule.swap)
		return SL_OK;
	SL_TRY(offer(&s, &drops));
	return offer(&s, &copies);
}

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	return sl_baseline_own(t, budget, "delta", fates, option, out);
}

const struct sl_mem_policy sl_mem_policy_delta = {
	.name = "delta",
	.source = "delta",
	.summary = "an online rule: least cost of coming back by bytes and age leaves",
	.options = options,
	.own = own,
	.least = sl_baseline_least,
};
