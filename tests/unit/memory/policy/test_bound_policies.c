/* SPDX-License-Identifier: Apache-2.0 */
/* No policy that only swaps is better than the bound. */
#include "harness/harness.h"

#include "memory/bound.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

static void assert_above(const struct sl_trace *t, const char *name, uint64_t budget)
{
	struct sl_policy_choice policy;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_plan_price price;
	struct sl_traffic_bound b;

	sl_assert_ok(sl_policy_parse(name, &policy));
	sl_assert_ok(sl_policy_apply(&policy, t, budget, &plan));
	sl_assert_ok(sl_plan_price(t, &plan, &price));
	sl_assert_ok(sl_traffic_bound(t, budget, &b));
	assert_int_equal(price.recompute_ns, 0);
	assert_true(b.possible);
	assert_true(price.swap_out_bytes >= b.out_bytes);
	assert_true(price.swap_in_bytes >= b.in_bytes);
	assert_true(price.swap_in_bytes + price.swap_out_bytes >= b.both_bytes);
	/* Copies that end with the iteration are cut to whole nanoseconds. */
	assert_true(price.iter_ns + 1000 >= b.iter_ns);
	sl_plan_finish(&plan);
}

static void try_budgets(struct gen *g)
{
	struct sl_least_budget least;

	sl_assert_ok(gen_end(g));
	sl_assert_ok(sl_trace_least_budget(&g->t, &least));
	for (int half = 0; half < 2; half++) {
		for (uint32_t i = 0; i < g->t.n_links; i++)
			g->t.links[i].half_duplex = half == 1;
		for (uint64_t part = 0; part < 6; part++) {
			uint64_t more = least.live_peak_bytes > least.bytes
						? least.live_peak_bytes - least.bytes
						: 0;
			uint64_t budget =
				sl_align_up(least.bytes + more * part / 5, 4096);

			assert_above(&g->t, "belady", budget);
			assert_above(&g->t, "tensile:redo=0", budget);
		}
	}
	sl_trace_finish(&g->t);
}

static void random_traces_stay_above(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct gen g = gen_random(seed, 12);

		try_budgets(&g);
	}
}

static void training_traces_stay_above(void **state)
{
	(void)state;
	struct gen g = gen_training(3, 64, 64, 1ull << 30);
	struct gen wide = gen_training(2, 256, 16, 1ull << 30);

	try_budgets(&g);
	try_budgets(&wide);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(random_traces_stay_above),
		SL_TEST(training_traces_stay_above),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
