/* SPDX-License-Identifier: Apache-2.0 */
/* capuchin: most free time first, recomputation where copies would show, and copies in
 * that are triggered earlier while they come late. */
#include "harness/harness.h"

#include "memory/policy/policy.h"
#include "unit/memory/policy/tp_util.h"

static void tier(struct gen *g, uint64_t mb_per_s)
{
	gen_tier(g, "host", 1000 * MB, mb_per_s * MB);
	g->t.links[0].latency_ns = g->t.links[1].latency_ns = 0;
}

static void plan(const struct gen *g, uint64_t mb, struct sl_plan *p)
{
	sl_assert_ok(gen_end(g));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_capuchin, &g->t, mb * MB, p));
	assert_string_equal(p->policy, "capuchin");
}

static void want(const struct sl_plan *p, uint32_t i, struct sl_action action)
{
	assert_true(i < p->n_actions);
	assert_int_equal(p->actions[i].op, action.op);
	assert_int_equal(p->actions[i].phase, action.phase);
	assert_int_equal(p->actions[i].kind, action.kind);
	assert_int_equal(p->actions[i].value, action.value);
}

/* Free times: x1 40 ms, x2 20, x3 0; x1 alone brings 500 MB to 400. */
static void what_has_most_free_time_is_swapped(void **state)
{
	(void)state;
	struct gen g = tp_chain();
	struct sl_plan p = SL_PLAN_INIT;

	tier(&g, 20000);
	plan(&g, 400, &p);
	assert_int_equal(p.n_actions, 2);
	want(&p, 0, (struct sl_action){1, SL_AFTER, SL_ACTION_OUT, .value = 0});
	want(&p, 1, (struct sl_action){6, SL_BEFORE, SL_ACTION_IN, .value = 0});
	assert_int_equal(p.stall_ns, 0);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

/* Copies of 100 ms never hide; running f1 again takes 10. */
static void what_would_be_waited_for_is_recomputed(void **state)
{
	(void)state;
	struct gen g = tp_chain();
	struct sl_plan p = SL_PLAN_INIT;

	tier(&g, 1000);
	plan(&g, 400, &p);
	assert_int_equal(p.n_actions, 2);
	want(&p, 0, (struct sl_action){1, SL_AFTER, SL_ACTION_DROP, .value = 0});
	want(&p, 1, (struct sl_action){7, SL_BEFORE, SL_ACTION_RECOMPUTE, .value = 0});
	assert_int_equal(p.actions[1].again, 0);
	assert_int_equal(p.price_ns, 90 * MS);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void what_cannot_run_again_is_swapped_and_waited_for(void **state)
{
	(void)state;
	struct gen g = tp_chain();
	struct sl_plan p = SL_PLAN_INIT;

	tier(&g, 5000);
	for (uint32_t i = 0; i < g.t.n_ops; i++)
		g.t.ops[i].pure = false;
	plan(&g, 400, &p);
	assert_true(p.stall_ns > 0);
	for (uint32_t i = 0; i < p.n_actions; i++)
		assert_int_not_equal(p.actions[i].kind, SL_ACTION_RECOMPUTE);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

/* Op of the earliest copy in of a plan where two values of 100 MB are due together. */
static void two_that_are_due_together_are_triggered_earlier(void **state)
{
	(void)state;
	struct gen g = TP_EMPTY;
	struct sl_plan p = SL_PLAN_INIT;
	uint32_t ins = 0;

	tier(&g, 20000);
	(void)tp_value(&g, SL_CLASS_ACT, 100);
	(void)tp_value(&g, SL_CLASS_ACT, 100);
	(void)tp_value(&g, SL_CLASS_ACT, 300);
	tp_op(&g, 2, GEN_NONE, GEN_L(0, 1, GEN_E), GEN_NONE)->pure = false;
	for (int i = 0; i < 10; i++)
		TP_PAUSE(&g, 2);
	tp_op(&g, 2, GEN_NONE, GEN_L(2, GEN_E), GEN_NONE); /* op 11 */
	for (int i = 0; i < 20; i++)
		TP_PAUSE(&g, 2);
	tp_op(&g, 2, GEN_L(0, 1, GEN_E), GEN_NONE, GEN_NONE); /* op 32, at 64 ms */
	plan(&g, 300, &p);
	for (uint32_t i = 0; i < p.n_actions; i++) {
		if (p.actions[i].kind != SL_ACTION_IN)
			continue;
		ins++;
		/* At 59 ms runs op 29, from 58 on; ten rounds lead by 2.5 ms more. */
		assert_int_equal(p.actions[i].op, 28);
	}
	assert_int_equal(ins, 2);
	assert_int_equal(p.stall_ns, 2 * MS); /* not 4 */
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void weights_never_leave_unless_the_net_steps_in(void **state)
{
	(void)state;
	struct gen g = gen_training(12, 256, 512, 1ull << 31);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t keep = 0;

	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &keep));
	plan(&g, keep * 8 / 10 / MB, &p);
	assert_true(p.n_actions > 0);
	for (uint32_t i = 0; i < p.n_actions; i++)
		assert_false(sl_class_persistent(g.t.values[p.actions[i].value].cls));
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void the_least_budget_is_that_of_belady(void **state)
{
	(void)state;
	struct gen g = gen_training(3, 64, 32, 1 << 26);
	uint64_t least = 0, want_bytes = 0;

	sl_assert_ok(sl_policy_least(&sl_mem_policy_capuchin, &g.t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_belady, &g.t, &want_bytes));
	assert_int_equal(least, want_bytes);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_has_most_free_time_is_swapped),
		SL_TEST(what_would_be_waited_for_is_recomputed),
		SL_TEST(what_cannot_run_again_is_swapped_and_waited_for),
		SL_TEST(two_that_are_due_together_are_triggered_earlier),
		SL_TEST(weights_never_leave_unless_the_net_steps_in),
		SL_TEST(the_least_budget_is_that_of_belady),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
