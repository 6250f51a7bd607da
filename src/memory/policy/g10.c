/* SPDX-License-Identifier: Apache-2.0 */
/*
 * g10: periods of tensors by bytes x overloaded time relieved, to the far tier where its
 * channel is free in time, else to the near one; copies in as late as buckets allow, then
 * as early as bytes allow [g10]. `host=0` is G10-GDS: the far tier alone. `eager=0`
 * leaves stage 3 out.
 *
 * Departures:
 * 1. Granularity is the value, not the page, and a value has one place below: where its
 * first period goes, the others go.
 * 2. What page faults fetch and evict at run time, where the plan does not meet the
 * target, is planned too (g10_fault.c): copies out that are under way are waited for,
 * then goes what was used least recently; it comes back on demand. `wait=0` does not
 * wait. A fault costs no more than its copy.
 * 3. Latencies are those of the trace's links.
 * 4. The benefit is by the channel with more room left, of both; the published code has
 * only the far one's. Periods round the boundary are booked like others, each copy in its
 * own iteration.
 * 5. What has a current copy below is dropped without a copy out.
 * 6. Allocation takes no time; there are no hints before birth and at death.
 * 7. Choices are repeated with a lower target where addresses need more than bytes.
 * 8. Where nothing fits the budget belady's plan is used (baseline.h).
 */
#include "memory/policy/baseline.h"
#include "memory/policy/g10_int.h"
#include "memory/policy/policy.h"

#define LIMIT_ROUNDS 16
#define LIMIT_STEPS 32

enum option { HOST, EAGER, WAIT, MARGIN, TARGET };

static sl_status search(
	struct sl_g10 *x, uint64_t budget, const int64_t *options, struct sl_plan *out)
{
	uint64_t height = 0, step;

	x->limit = budget / 1000 * (uint64_t)options[TARGET];
	for (int i = 0; i < LIMIT_ROUNDS; i++) {
		sl_gaps_reset(x->g);
		sl_g10_choose(x);
		if (options[EAGER] != 0)
			sl_g10_eager(x);
		if (!sl_g10_fault(x, options[WAIT] != 0))
			return SL_OK;
		SL_TRY(sl_baseline_lower(x->g, budget, "g10", out, &height));
		if (height <= budget)
			return SL_OK;
		/* A height far above the budget is only an estimate. */
		step = height - budget < x->limit / LIMIT_STEPS ? height - budget
								: x->limit / LIMIT_STEPS;
		x->limit -= step;
	}
	return SL_OK;
}

static sl_status fates(struct sl_gaps *g, uint64_t budget, const char *name,
	const void *ctx, struct sl_plan *out)
{
	const int64_t *options = ctx;
	struct sl_g10 x;
	sl_status st;

	(void)name;
	SL_TRY(sl_g10_init(&x, g, options[HOST] != 0));
	x.margin_percent = (unsigned)options[MARGIN];
	st = search(&x, budget, options, out);
	sl_g10_finish(&x);
	return st;
}

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *options,
	struct sl_plan *out)
{
	return sl_baseline_own(t, budget, "g10", fates, options, out);
}

static const struct sl_policy_option options[] = {
	[HOST] = {"host", 0, 1, 1, "0: the slowest tier alone"},
	[EAGER] = {"eager", 0, 1, 1, "0: copies in are not moved up"},
	[WAIT] = {"wait", 0, 1, 1,
		"0: faults evict what was used least recently, whatever is leaving"},
	[MARGIN] = {"margin", 0, 1000, 50,
		"percent of a copy in that a period is longer by"},
	[TARGET] = {"target", 1, 1000, 990, "of 1000 parts of the budget"},
	{.name = NULL},
};

const struct sl_mem_policy sl_mem_policy_g10 = {
	.name = "g10",
	.source = "g10",
	.summary = "swaps by bytes x overloaded time relieved, to host and disk",
	.options = options,
	.own = own,
	.least = sl_baseline_least,
};
