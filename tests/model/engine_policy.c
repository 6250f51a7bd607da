/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of every policy, at the least budget and above, carried out with late copies;
 * and budgets that shrink. */
#include "harness/engine_rig.h"
#include "harness/harness.h"

#include <string.h>

#include "memory/policy/policy.h"

#define TIER_BYTES ((uint64_t)16 << 20)

static void run_policy(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t budget)
{
	struct sl_rig_opts o = {
		.budget = budget, .tier_bytes = TIER_BYTES, .delays = true};
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_rig rig = {0};
	struct sl_engine_stats stats;

	sl_assert_ok(sl_policy_plan(policy, t, budget, &p));
	sl_assert_ok(sl_rig_open(&rig, &o, t, &p));
	for (int i = 0; i < 3; i++)
		sl_assert_ok(sl_rig_step(&rig));
	sl_assert_ok(sl_rig_compare(&rig));
	sl_engine_stats(rig.engine, &stats);
	assert_true(stats.peak_tier_bytes[0] <= TIER_BYTES);
	sl_rig_close(&rig);
	sl_plan_finish(&p);
}

static void contents_are_right_under_every_policy(void **state)
{
	struct sl_rng rng = {.key = {.seed = 23}};

	(void)state;
	for (int i = 0; i < 12; i++) {
		struct sl_trace t = SL_TRACE_INIT;

		sl_assert_ok(sl_random_trace(&rng, 10 + 3 * (uint32_t)i, TIER_BYTES, &t));
		for (size_t k = 0; sl_policy_at(k); k++) {
			uint64_t least = 0;

			sl_assert_ok(sl_policy_least(sl_policy_at(k), &t, &least));
			run_policy(sl_policy_at(k), &t, least);
			run_policy(sl_policy_at(k), &t, least + 16384);
		}
		sl_trace_finish(&t);
	}
}

/* What is on the device at a boundary lies within the budget. */
static void within(const struct sl_rig *rig, const struct sl_trace *t, uint64_t budget)
{
	const uint64_t *offsets = sl_engine_offsets(rig->engine);

	for (uint32_t v = 0; v < t->n_values; v++) {
		if (offsets[v] != SL_NO_OFFSET)
			assert_true(offsets[v] + t->values[v].bytes <= budget);
	}
}

/* Runs at a budget, then at less, then at the first one again. */
static void run_shrinking(const struct sl_mem_policy *policy, const struct sl_trace *t,
	uint64_t less, uint64_t budget)
{
	struct sl_rig_opts o = {
		.budget = budget, .tier_bytes = TIER_BYTES, .delays = true};
	struct sl_plan p = SL_PLAN_INIT, small = SL_PLAN_INIT;
	struct sl_rig rig = {0};

	sl_assert_ok(sl_policy_plan(policy, t, budget, &p));
	sl_assert_ok(sl_policy_plan(policy, t, less, &small));
	sl_assert_ok(sl_rig_open(&rig, &o, t, &p));
	sl_assert_ok(sl_rig_step(&rig));
	sl_assert_ok(sl_engine_adopt(rig.engine, t, &small));
	within(&rig, t, less);
	for (int i = 0; i < 2; i++) {
		sl_assert_ok(sl_rig_step(&rig));
		within(&rig, t, less);
	}
	sl_assert_ok(sl_rig_compare(&rig));
	sl_assert_ok(sl_engine_adopt(rig.engine, t, &p));
	sl_assert_ok(sl_rig_step(&rig));
	sl_assert_ok(sl_rig_compare(&rig));
	sl_rig_close(&rig);
	sl_plan_finish(&p);
	sl_plan_finish(&small);
}

static void a_budget_may_shrink_below_the_plan_between_steps(void **state)
{
	static const char *const evictors[] = {"delta", "dtr"};
	struct sl_rng rng = {.key = {.seed = 45}};

	(void)state;
	for (int i = 0; i < 12; i++) {
		struct sl_trace t = SL_TRACE_INIT;
		uint64_t keep = 0, least = 0;

		sl_assert_ok(sl_random_trace(&rng, 10 + 3 * (uint32_t)i, TIER_BYTES, &t));
		sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &t, &keep));
		for (size_t k = 0; k < SL_COUNT(evictors); k++) {
			const struct sl_mem_policy *p = sl_policy_find(evictors[k]);

			sl_assert_ok(sl_policy_least(p, &t, &least));
			run_shrinking(p, &t, least, keep > least ? keep : least);
		}
		sl_trace_finish(&t);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(contents_are_right_under_every_policy),
		SL_TEST(a_budget_may_shrink_below_the_plan_between_steps),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
