/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtr: dynamic tensor rematerialization as a plan. DTR's run time (dtr.h) walks the trace
 * once, with the trace's times, and what it did is the plan [dtr].
 *
 * Departures:
 * 1. The run time counts bytes and knows no addresses; where the stays need more than the
 * budget, it is run again with less, ROUNDS times at most.
 * 2. Persistent values are its constants and stay. A value that is dead leaves at once
 * (the paper's eager eviction); one that is rebuilt for another's sake is gone after its
 * last touch and not only when its bytes are wanted.
 * 3. An op in place makes no copy of what it changes. What cannot be rebuilt any more
 * because something it came from was overwritten is rebuilt before that, if it is still
 * needed, and stays (the paper's banishing, which there follows a value's permanent end).
 * 4. No sampling of candidates and no least size.
 * 5. It has failed, as in the paper's comparisons, when more than the time of an
 * iteration goes into running again. Then belady's plan is used, if there is a tier
 * (alone.h).
 */
#include "memory/policy/dtr.h"

#include "base/units.h"
#include "memory/place.h"
#include "memory/policy/alone.h"
#include "memory/policy/policy.h"

#define ROUNDS 12

static uint64_t next_limit(uint64_t limit, uint64_t over)
{
	uint64_t step = over > limit / 256 ? over : limit / 256;

	return limit > step + SL_PAGE_BYTES ? limit - step - SL_PAGE_BYTES : 0;
}

/* *out stays empty if nothing fits. */
static sl_status find(
	const struct sl_trace *t, uint64_t budget, const void *ctx, struct sl_plan *out)
{
	const int64_t *option = ctx;
	struct sl_dtr_rules rules = {
		.budget = budget, .score = (enum sl_dtr_score)option[0]};
	struct sl_dtr_result result = {0};
	struct sl_lineage l = {0};
	struct sl_runs runs = {0};
	uint64_t height = 0;
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_lineage_init(&l, t));
	SL_TRY_OUT(sl_runs_init(&runs, t));
	for (uint32_t i = 0; i < t->n_ops; i++)
		rules.most_again_ns = sl_add_ns(rules.most_again_ns, t->ops[i].dur_ns);
	for (int round = 0; round < ROUNDS && rules.budget > 0; round++) {
		SL_TRY_OUT(sl_dtr_simulate(&l, &rules, &runs, &result));
		if (!result.fits)
			goto out;
		SL_TRY_OUT(sl_runs_lower(&runs, budget, "dtr", out, &height));
		if (height <= budget)
			goto out;
		rules.budget = next_limit(rules.budget, height - budget);
	}
out:
	sl_lineage_finish(&l);
	sl_runs_finish(&runs);
	return st;
}

static const struct sl_policy_option options[] = {
	{"score", 0, 2, 0,
		"what is gone around a value counts: 0 all, 1 by classes, 2 not"},
	{0},
};

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	return find(t, budget, option, out);
}

static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	static const int64_t usual[] = {SL_DTR_EXACT};

	return sl_alone_least(t, find, usual, out_bytes);
}

const struct sl_mem_policy sl_mem_policy_dtr = {
	.name = "dtr",
	.source = "dtr",
	.summary =
		"recomputes by DTR's online rule, simulated over the trace (a baseline)",
	.options = options,
	.own = own,
	.least = least,
};
