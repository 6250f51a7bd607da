/* SPDX-License-Identifier: Apache-2.0 */
/* Plans by simulation with the future known: never dearer than DTR's, and possible where
 * a rule that waits for an op's turn fails. */
#include "harness/harness.h"

#include "memory/policy/ahead.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

#define PAGE 4096u

/* Bears the next value, of so many pages, from at most two others. */
static uint32_t node(struct gen *g, uint64_t pages, uint32_t a, uint32_t b)
{
	uint32_t v = gen_value(g, SL_CLASS_ACT, pages * PAGE);

	gen_op(g, "node", 0, GEN_L(a, b, GEN_E), GEN_L(v, GEN_E), GEN_NONE);
	return v;
}

static bool plan(
	const struct sl_trace *t, uint64_t budget, uint64_t work, uint64_t *again_ns)
{
	struct sl_ahead how = {.budget = budget,
		.policy = "ahead",
		.most_again_ns = (uint64_t)1 << 40,
		.most_work = work};
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price = {0};
	bool found;

	sl_assert_ok(sl_ahead_plan(t, &how, &p, again_ns));
	found = p.value_offset != NULL;
	if (found) {
		sl_assert_ok(sl_plan_check(t, &p, budget, NULL));
		sl_assert_ok(sl_plan_price(t, &p, &price));
		assert_int_equal(price.recompute_ns, *again_ns);
		assert_int_equal(price.stall_ns, 0);
	}
	sl_plan_finish(&p);
	return found;
}

/* A concatenation of two pages is read by the op after the one that bears two others: to
 * be rebuilt in its turn it would need seven pages, before that op five. */
static void inputs_come_before_an_earlier_op_where_they_fit_there(void **state)
{
	struct gen g = {.t = SL_TRACE_INIT};
	struct sl_plan p = SL_PLAN_INIT;
	uint32_t left, right, both, dy, dx;
	uint64_t ns = 0;

	(void)state;
	left = node(&g, 1, GEN_E, GEN_E);
	right = node(&g, 1, GEN_E, GEN_E);
	both = node(&g, 2, left, right);
	(void)node(&g, 5, GEN_E, GEN_E); /* all leave */
	dy = node(&g, 1, GEN_E, GEN_E);
	dx = node(&g, 2, dy, GEN_E);
	(void)node(&g, 1, both, dx);
	g.t.ops[6].n_out = 0;
	sl_assert_ok(gen_end(&g));
	g.t.ops[4].pure = g.t.ops[5].pure = false;
	assert_true(plan(&g.t, 5 * PAGE, 0, &ns));
	assert_int_equal(ns, g.t.ops[0].dur_ns + g.t.ops[1].dur_ns + g.t.ops[2].dur_ns);
	sl_assert_fails(sl_policy_plan(&sl_mem_policy_dtr, &g.t, 5 * PAGE, &p),
		SL_E_INFEASIBLE, "");
	sl_trace_finish(&g.t);
}

static void never_dearer_than_dtr_and_always_sound(void **state)
{
	uint32_t compared = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 150; seed++) {
		struct gen g = gen_random(seed, 24);
		uint64_t keep = 0, ns = 0;

		sl_assert_ok(gen_end(&g));
		g.t.n_tiers = g.t.n_links = 0;
		sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &keep));
		for (uint64_t k = 8; k < 16; k++) {
			struct sl_plan p = SL_PLAN_INIT;
			struct sl_plan_price price = {0};
			bool found = plan(&g.t, keep / 16 * k, 20000, &ns);

			if (sl_policy_plan(&sl_mem_policy_dtr, &g.t, keep / 16 * k, &p) ==
				SL_OK) {
				sl_assert_ok(sl_plan_price(&g.t, &p, &price));
				assert_true(found);
				assert_true(ns <= price.recompute_ns);
				compared++;
			}
			sl_plan_finish(&p);
		}
		sl_trace_finish(&g.t);
	}
	assert_true(compared > 10);
}

/* All three simulate, lower and keep their best. */
static sl_status plan_by_all(void *ctx)
{
	static const char *const names[] = {"chen", "dtr", "dtr:score=1"};
	struct gen *g = ctx;
	struct sl_ahead how = {.budget = 20 * PAGE,
		.policy = "ahead",
		.most_again_ns = (uint64_t)1 << 40,
		.most_work = 4000};
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t ns = 0;
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_ahead_plan(&g->t, &how, &p, &ns));
	for (size_t i = 0; i < SL_COUNT(names); i++) {
		struct sl_policy_choice c;

		sl_plan_finish(&p);
		SL_TRY_OUT(sl_policy_parse(names[i], &c));
		SL_TRY_OUT(sl_policy_apply(&c, &g->t, 24 * PAGE, &p));
	}
out:
	sl_plan_finish(&p);
	return st;
}

static void every_allocation_may_fail(void **state)
{
	struct gen g = {.t = SL_TRACE_INIT};
	uint32_t last = GEN_E;

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		last = node(&g, 2, last, GEN_E);
	for (uint32_t i = 16; i-- > 0;) {
		last = gen_value(&g, SL_CLASS_GRAD, PAGE);
		gen_op(&g, "dx", 0, GEN_L(i, i < 15 ? last - 1 : i, GEN_E),
			GEN_L(last, GEN_E), GEN_NONE);
	}
	sl_assert_ok(gen_end(&g));
	assert_true(sl_torture(plan_by_all, &g) > 50);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(inputs_come_before_an_earlier_op_where_they_fit_there),
		SL_TEST(never_dearer_than_dtr_and_always_sound),
		SL_TEST(every_allocation_may_fail),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
