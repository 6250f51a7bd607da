/* SPDX-License-Identifier: Apache-2.0 */
/* chen: which ops run again, once each, and what segments cannot give up. */
#include "harness/harness.h"

#include "memory/policy/policy.h"
#include "unit/memory/gen.h"
#include "unit/memory/policy/plan_by.h"

#define LAYERS 9u

/* Layers forward, each reading the one before, and backward; no tier. Value l is that of
 * layer l, LAYERS + l its gradient; op l bears value l, op 2 * LAYERS - l its gradient.
 * Layer `stamped` is not pure. */
static struct gen chain(uint32_t stamped)
{
	struct gen g = {.t = SL_TRACE_INIT};

	for (uint32_t l = 0; l < LAYERS; l++)
		(void)gen_value(&g, SL_CLASS_ACT, 65536);
	for (uint32_t l = 0; l <= LAYERS; l++)
		(void)gen_value(&g, SL_CLASS_GRAD, 4096);
	for (uint32_t l = 0; l < LAYERS; l++)
		gen_op(&g, "layer", 0, l > 0 ? GEN_L(l - 1, GEN_E) : GEN_NONE,
			GEN_L(l, GEN_E), GEN_NONE);
	gen_op(&g, "loss", 0, GEN_L(LAYERS - 1, GEN_E), GEN_L(2 * LAYERS, GEN_E),
		GEN_NONE);
	for (uint32_t l = LAYERS; l-- > 0;)
		gen_op(&g, "dx", 0, GEN_L(l, LAYERS + l + 1, GEN_E),
			GEN_L(LAYERS + l, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	if (stamped < LAYERS)
		g.t.ops[stamped].pure = false;
	return g;
}

static uint32_t again(const struct sl_plan *p, uint32_t op, uint32_t before)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_actions; i++) {
		if (p->actions[i].kind != SL_ACTION_RECOMPUTE ||
			p->actions[i].again != op)
			continue;
		assert_int_equal(p->actions[i].op, before);
		n++;
	}
	return n;
}

/* Three segments of three: the ends of the first two stay, the last is whole. */
static void a_chain_of_nine_keeps_two_ends_and_the_last_three(void **state)
{
	struct gen g = chain(LAYERS);
	struct sl_plan p = SL_PLAN_INIT;

	(void)state;
	(void)plan_by(&g.t, "chen", 7 * 65536, &p);
	for (uint32_t l = 0; l < LAYERS; l++)
		assert_int_equal(again(&p, l, l < 3 ? 17 : 14), l < 6 && l % 3 < 2);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void what_is_not_pure_stays(void **state)
{
	struct gen g = chain(1);
	struct sl_plan p = SL_PLAN_INIT;

	(void)state;
	(void)plan_by(&g.t, "chen", 7 * 65536 + 32768, &p);
	assert_int_equal(again(&p, 0, 17), 1); /* with its segment */
	assert_int_equal(again(&p, 1, 0), 0);
	assert_int_equal(again(&p, 3, 14), 1);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void by_bytes_each_op_runs_again_once_at_most(void **state)
{
	struct gen g = chain(LAYERS);
	struct sl_plan p = SL_PLAN_INIT;
	uint32_t n = 0;

	(void)state;
	(void)plan_by(&g.t, "chen:greedy=1", 7 * 65536, &p);
	for (uint32_t i = 0; i < p.n_actions; i++)
		n += p.actions[i].kind == SL_ACTION_RECOMPUTE;
	assert_int_equal(n, 4);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void without_a_tier_the_least_budget_is_named(void **state)
{
	struct gen g = chain(LAYERS);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0;

	(void)state;
	sl_assert_ok(sl_policy_least(&sl_mem_policy_chen, &g.t, &least));
	assert_true(least < 7 * 65536);
	sl_assert_fails(sl_policy_plan(&sl_mem_policy_chen, &g.t, least - 4096, &p),
		SL_E_INFEASIBLE, "the least that policy chen");
	sl_trace_finish(&g.t);
}

static void sound_on_random_traces(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct gen g = gen_random(seed, 24);
		uint64_t keep = 0;

		sl_assert_ok(gen_end(&g));
		g.t.n_tiers = g.t.n_links = 0;
		sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &keep));
		for (int k = 4; k < 8; k++) {
			struct sl_plan p = SL_PLAN_INIT;
			sl_status st = sl_policy_plan(
				&sl_mem_policy_chen, &g.t, keep / 8 * (uint64_t)k, &p);

			assert_true(st == SL_OK || st == SL_E_INFEASIBLE);
			sl_plan_finish(&p);
		}
		sl_trace_finish(&g.t);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_chain_of_nine_keeps_two_ends_and_the_last_three),
		SL_TEST(what_is_not_pure_stays),
		SL_TEST(by_bytes_each_op_runs_again_once_at_most),
		SL_TEST(without_a_tier_the_least_budget_is_named),
		SL_TEST(sound_on_random_traces),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
