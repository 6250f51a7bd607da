/* SPDX-License-Identifier: Apache-2.0 */
/* keep: the unbudgeted peak is near the most live bytes, and persistent values agree over
 * instances. */
#include "harness/harness.h"

#include <stdio.h>

#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

static void the_peak_of_training_is_within_three_percent_of_the_live_bytes(void **state)
{
	(void)state;
	static const struct {
		uint32_t blocks;
		uint64_t d, n;
	} nets[] = {{1, 64, 32}, {2, 128, 64}, {6, 64, 64}, {12, 256, 512},
		{24, 512, 128}, {12, 768, 16}, {40, 32, 2048}, {5, 100, 33}};

	for (size_t i = 0; i < SL_COUNT(nets); i++) {
		struct gen g = gen_training(nets[i].blocks, nets[i].d, nets[i].n, 0);
		struct sl_least_budget least = {0};
		struct sl_plan p = SL_PLAN_INIT;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(sl_trace_least_budget(&g.t, &least));
		sl_assert_ok(sl_policy_plan(&sl_mem_policy_keep, &g.t, UINT64_MAX, &p));
		assert_int_equal(p.n_actions, 0);
		assert_true(p.peak >= least.live_peak_bytes);
		assert_true(p.peak * 100 <= least.live_peak_bytes * 103);
		assert_int_equal(p.stall_ns, 0);
		sl_plan_finish(&p);
		sl_trace_finish(&g.t);
	}
}

static void instances_with_the_same_persistent_values_give_them_the_same_offsets(
	void **state)
{
	(void)state;
	struct gen a = gen_training(3, 64, 32, 0), b = gen_training(3, 64, 8, 0);
	struct sl_plan pa = SL_PLAN_INIT, pb = SL_PLAN_INIT;

	sl_assert_ok(gen_end(&a));
	sl_assert_ok(gen_end(&b));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_keep, &a.t, UINT64_MAX, &pa));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_keep, &b.t, UINT64_MAX, &pb));
	assert_int_equal(pa.p_bytes, pb.p_bytes);
	assert_true(pa.p_bytes > 0);
	for (uint32_t v = 0; v < a.t.n_values; v++) {
		if (sl_class_persistent(a.t.values[v].cls))
			assert_int_equal(pa.value_offset[v], pb.value_offset[v]);
	}
	sl_plan_finish(&pa);
	sl_plan_finish(&pb);
	sl_trace_finish(&a.t);
	sl_trace_finish(&b.t);
}

static void below_its_peak_the_message_names_the_budget_that_works(void **state)
{
	(void)state;
	struct gen g = gen_training(2, 32, 16, 0);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0;
	char need[64];

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &least));
	(void)snprintf(need, sizeof(need), "use --budget %llu or more",
		(unsigned long long)least);
	sl_assert_fails(sl_policy_plan(&sl_mem_policy_keep, &g.t, least - 4096, &p),
		SL_E_INFEASIBLE, need);
	assert_null(p.value_offset);
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_keep, &g.t, least, &p));
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_peak_of_training_is_within_three_percent_of_the_live_bytes),
		SL_TEST(instances_with_the_same_persistent_values_give_them_the_same_offsets),
		SL_TEST(below_its_peak_the_message_names_the_budget_that_works),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
