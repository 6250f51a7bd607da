/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autoswap: swaps pairs of accesses around the peak, best score first, until the load is
 * within the limit [autoswap]. `score` is 0 DOA, 1 AOA, 2 WDOA, 3 SWDOA, 4 votes
 * (autoswap.h); `stick=0` is the mode without overhead, which accepts the load that
 * results.
 *
 * Departures:
 * 1. Three faults of the published code are not here: WDOA is summed over the absence and
 * does decide the order; DOA subtracts the copy out once; several copies may start at one
 * op.
 * 2. Accesses and times are the trace's: no iterations are watched first. Copies take
 * what the trace's links say, not two fitted lines.
 * 3. Where the peak has been brought down and another one is above the limit, that one
 * is looked at next; the published choice ends there.
 * 4. What has a current copy below is dropped without a copy out.
 * 5. Votes count the ranks alike; the paper tunes their weights by Bayesian optimisation.
 * 6. Choices are repeated with a lower limit where addresses need more than bytes.
 * 7. Where nothing fits the budget belady's plan is used (baseline.h).
 */
#include "memory/policy/autoswap.h"

#include "memory/policy/baseline.h"
#include "memory/policy/policy.h"

#define LIMIT_ROUNDS 8

enum option { SCORE, STICK, FLOOR };

sl_status sl_as_search(struct sl_as *a, uint64_t budget, bool stick, const char *name,
	struct sl_plan *out)
{
	uint64_t height = 0;

	a->limit = budget;
	for (int i = 0; i < LIMIT_ROUNDS; i++) {
		sl_gaps_reset(a->g);
		sl_gaps_levels(a->g, a->level);
		if (!sl_as_choose(a) && stick)
			return SL_OK;
		sl_as_time(a, stick);
		SL_TRY(sl_baseline_lower(a->g, budget, name, out, &height));
		if (height <= budget || height - budget > a->limit / 2)
			return SL_OK;
		a->limit -= height - budget;
	}
	return SL_OK;
}

static sl_status fates(struct sl_gaps *g, uint64_t budget, const char *name,
	const void *ctx, struct sl_plan *out)
{
	const int64_t *options = ctx;
	struct sl_as a;
	sl_status st;

	SL_TRY(sl_as_init(&a, g));
	a.score = (enum sl_as_score)options[SCORE];
	a.floor_bytes = (uint64_t)options[FLOOR];
	st = sl_as_search(&a, budget, options[STICK] != 0, name, out);
	sl_as_finish(&a);
	return st;
}

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *options,
	struct sl_plan *out)
{
	return sl_baseline_own(t, budget, "autoswap", fates, options, out);
}

static const struct sl_policy_option options[] = {
	[SCORE] = {"score", 0, SL_AS_SCORES - 1, SL_AS_AOA,
		"0 DOA, 1 AOA, 2 WDOA, 3 SWDOA, 4 votes"},
	[STICK] = {"stick", 0, 1, 1,
		"1 waits to stay within the budget, 0 never waits (no overhead)"},
	[FLOOR] = {"floor", 0, INT64_MAX, 0, "bytes; smaller values never leave"},
	{.name = NULL},
};

const struct sl_mem_policy sl_mem_policy_autoswap = {
	.name = "autoswap",
	.source = "autoswap",
	.summary = "swaps pairs of accesses around the peak, by area of absence",
	.options = options,
	.own = own,
	.least = sl_baseline_least,
};
