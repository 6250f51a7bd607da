/* SPDX-License-Identifier: Apache-2.0 */
/* The published schedule as a plan: its worked example, and any budget from B* on. */
#include "harness/harness.h"

#include "memory/policy/policy.h"
#include "unit/memory/policy/tp_util.h"

static sl_status plan(const struct sl_trace *t, uint64_t budget, struct sl_plan *out)
{
	return sl_tensile_published_plan(t, budget, "tensile", NULL, out);
}

static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	return sl_mem_policy_belady.least(t, out_bytes);
}

static const struct sl_mem_policy published = {
	.name = "tensile", .plan = plan, .least = least};

/* The chain, with links as fast as in the worked example. */
static struct gen chain(void)
{
	struct gen g = tp_chain();

	gen_tier(&g, "host", 1000 * MB, 20000 * MB);
	for (uint32_t i = 0; i < 2; i++) {
		g.t.links[i].latency_ns = 0;
		g.t.links[i].half_duplex = true;
	}
	sl_assert_ok(gen_end(&g));
	return g;
}

static void want(const struct sl_plan *p, uint32_t i, struct sl_action action)
{
	assert_true(i < p->n_actions);
	assert_int_equal(p->actions[i].op, action.op);
	assert_int_equal(p->actions[i].phase, action.phase);
	assert_int_equal(p->actions[i].kind, action.kind);
	assert_int_equal(p->actions[i].value, action.value);
	assert_int_equal(p->actions[i].delay_ns, 0);
}

static void the_worked_example_fits_400_mb_and_costs_nothing(void **state)
{
	(void)state;
	struct gen g = chain();
	struct sl_plan p = SL_PLAN_INIT;

	sl_assert_ok(sl_policy_plan(&published, &g.t, 400 * MB, &p));
	/* x3 would go and come while one op runs: it stays. */
	assert_int_equal(p.n_actions, 4);
	want(&p, 0, (struct sl_action){1, SL_AFTER, SL_ACTION_OUT, .value = 0});
	want(&p, 1, (struct sl_action){2, SL_AFTER, SL_ACTION_OUT, .value = 1});
	want(&p, 2, (struct sl_action){5, SL_BEFORE, SL_ACTION_IN, .value = 1});
	want(&p, 3, (struct sl_action){6, SL_BEFORE, SL_ACTION_IN, .value = 0});
	assert_int_equal(p.peak, 400 * MB);
	assert_int_equal(p.stall_ns, 0);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

/* A copy out that starts late is issued after the op that ends before, not after the last
 * access of its value. */
static void a_copy_out_waits_for_the_op_before_it(void **state)
{
	(void)state;
	struct gen g = TP_EMPTY;
	struct sl_plan p = SL_PLAN_INIT;
	uint32_t i = 0;

	gen_tier(&g, "host", 1000 * MB, 20000 * MB);
	g.t.links[0].latency_ns = g.t.links[1].latency_ns = 0;
	(void)tp_value(&g, SL_CLASS_ACT, 200);
	(void)tp_value(&g, SL_CLASS_ACT, 100);
	(void)tp_value(&g, SL_CLASS_ACT, 250);
	tp_op(&g, 1, GEN_NONE, GEN_L(0, 1, GEN_E), GEN_NONE);
	for (int k = 0; k < 8; k++)
		TP_PAUSE(&g, 3);
	tp_op(&g, 10, GEN_NONE, GEN_L(2, GEN_E), GEN_NONE); /* at 25 */
	for (int k = 0; k < 8; k++)
		TP_PAUSE(&g, 3);
	tp_op(&g, 1, GEN_L(0, 1, GEN_E), GEN_NONE, GEN_NONE);
	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_plan(&published, &g.t, 300 * MB, &p));
	/* v0 goes from 1 to 11; v1 from 11 on, 1 ms after op 3 ended at 10. */
	while (i < p.n_actions && p.actions[i].value != 1)
		i++;
	assert_true(i < p.n_actions);
	assert_int_equal(p.actions[i].kind, SL_ACTION_OUT);
	assert_int_equal(p.actions[i].op, 3);
	assert_int_equal(p.actions[i].delay_ns, 1 * MS);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void below_what_the_schedule_needs_swapping_on_demand_steps_in(void **state)
{
	(void)state;
	struct gen g = chain();
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t bytes = 0;

	sl_assert_ok(sl_policy_least(&published, &g.t, &bytes));
	assert_true(bytes < 400 * MB);
	sl_assert_ok(sl_policy_plan(&published, &g.t, bytes, &p));
	assert_string_equal(p.policy, "tensile");
	assert_true(p.stall_ns > 0);
	sl_plan_finish(&p);
	sl_assert_fails(sl_policy_plan(&published, &g.t, bytes - 4096, &p),
		SL_E_INFEASIBLE, "use --budget");
	sl_trace_finish(&g.t);
}

static void every_budget_from_the_least_on_has_a_sound_plan(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 80; seed++) {
		struct gen g = seed % 6 ? gen_random(seed, 1 + (uint32_t)(seed % 40))
					: gen_training(3, 32, 16, 1 << 26);
		uint64_t low = 0, high = 0;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(sl_policy_least(&published, &g.t, &low));
		sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &high));
		for (uint64_t i = 0; i <= 6; i++) {
			struct sl_plan p = SL_PLAN_INIT;
			uint64_t budget = low + (high - low) * i / 6;

			sl_assert_ok(sl_policy_plan(&published, &g.t, budget, &p));
			sl_plan_finish(&p);
		}
		sl_trace_finish(&g.t);
	}
}

static sl_status plan_chain(void *ctx)
{
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st = sl_policy_plan(&published, ctx, 400 * MB, &p);

	sl_plan_finish(&p);
	return st;
}

static void planning_survives_every_failing_allocation(void **state)
{
	(void)state;
	struct gen g = chain();

	assert_true(sl_torture(plan_chain, &g.t) > 30);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_worked_example_fits_400_mb_and_costs_nothing),
		SL_TEST(a_copy_out_waits_for_the_op_before_it),
		SL_TEST(below_what_the_schedule_needs_swapping_on_demand_steps_in),
		SL_TEST(every_budget_from_the_least_on_has_a_sound_plan),
		SL_TEST(planning_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
