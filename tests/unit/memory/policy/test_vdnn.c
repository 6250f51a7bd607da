/* SPDX-License-Identifier: Apache-2.0 */
/* vdnn: what leaves, when it comes back, and what never moves. */
#include "harness/harness.h"

#include <string.h>

#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

#define X 0u /* the layers' inputs: 0 to 2 */
#define W 3u /* 3 to 5 */
#define GRADIENT(l) (9u + (l)) /* of the layer's input */

/* Three layers forward and backward; l reads X + l and W + l. Backward begins at op 5. */
static struct gen layers(const char *kind)
{
	struct gen g = {.t = SL_TRACE_INIT};

	gen_tier(&g, "host", 1 << 20, 1000000000);
	for (int i = 0; i < 3; i++)
		(void)gen_value(&g, SL_CLASS_ACT, 16384);
	for (int i = 0; i < 3; i++)
		(void)gen_value(&g, SL_CLASS_PARAM, 4096);
	for (int i = 0; i < 3; i++)
		(void)gen_value(&g, SL_CLASS_GRAD, 4096); /* 6 to 8, of weights */
	for (int i = 0; i < 4; i++)
		(void)gen_value(&g, SL_CLASS_ACT, 16384); /* of inputs; 12: of the end */
	(void)gen_value(&g, SL_CLASS_ACT, 16384); /* 13, the end */
	gen_op(&g, "feed", 0, GEN_NONE, GEN_L(X, GEN_E), GEN_NONE);
	for (uint32_t l = 0; l < 3; l++)
		gen_op(&g, kind, 0, GEN_L(X + l, W + l, GEN_E),
			GEN_L(l < 2 ? X + l + 1 : 13, GEN_E), GEN_NONE);
	gen_op(&g, "loss", 0, GEN_L(13, GEN_E), GEN_L(12, GEN_E), GEN_NONE);
	for (uint32_t l = 3; l-- > 0;) { /* ops 5 to 7, 8 to 10, 11 to 13 */
		gen_op(&g, "dw", 0, GEN_L(X + l, GRADIENT(l + 1), GEN_E),
			GEN_L(6 + l, GEN_E), GEN_NONE);
		gen_op(&g, "dx", 0, GEN_L(GRADIENT(l + 1), W + l, GEN_E),
			GEN_L(GRADIENT(l), GEN_E), GEN_NONE);
		gen_op(&g, "sgd", 0, GEN_L(6 + l, GEN_E), GEN_NONE, GEN_L(W + l, GEN_E));
	}
	sl_assert_ok(gen_end(&g));
	return g;
}

/* One page below what keep needs. */
static void plan_below_keep(const struct sl_trace *t, struct sl_plan *p)
{
	uint64_t keep = 0;

	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, t, &keep));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_vdnn, t, keep - 4096, p));
}

static void want(const struct sl_plan *p, enum sl_action_kind kind, uint32_t v,
	enum sl_phase phase, uint32_t op)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_actions; i++) {
		if (p->actions[i].kind != kind || p->actions[i].value != v)
			continue;
		n++;
		assert_int_equal(p->actions[i].phase, phase);
		assert_int_equal(p->actions[i].op, op);
	}
	assert_int_equal(n, 1);
}

static void want_layers(const char *kind)
{
	struct gen g = layers(kind);
	struct sl_plan p = SL_PLAN_INIT;

	plan_below_keep(&g.t, &p);
	assert_int_equal(p.n_actions, 6);
	for (uint32_t l = 0; l < 3; l++)
		want(&p, SL_ACTION_OUT, X + l, SL_AFTER, l + 1);
	want(&p, SL_ACTION_IN, X + 2, SL_BEFORE, 5); /* nobody is before it */
	want(&p, SL_ACTION_IN, X + 1, SL_BEFORE, 5); /* while layer 2 is at work */
	want(&p, SL_ACTION_IN, X + 0, SL_BEFORE, 8); /* while layer 1 is */
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void what_convolutions_read_leaves_and_is_back_one_layer_ahead(void **state)
{
	(void)state;
	want_layers("conv2d");
}

static void without_convolutions_matmuls_are_the_layers(void **state)
{
	(void)state;
	want_layers("matmul");
}

static void other_layers_leave_it_to_the_net(void **state)
{
	(void)state;
	struct gen g = layers("attention");
	struct sl_plan p = SL_PLAN_INIT, q = SL_PLAN_INIT;

	plan_below_keep(&g.t, &p);
	assert_string_equal(p.policy, "vdnn");
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_belady, &g.t, p.budget, &q));
	assert_int_equal(p.n_actions, q.n_actions);
	assert_int_equal(p.price_ns, q.price_ns);
	sl_plan_finish(&p);
	sl_plan_finish(&q);
	sl_trace_finish(&g.t);
}

static void the_least_budget_is_that_of_belady(void **state)
{
	(void)state;
	struct gen g = layers("conv2d");
	uint64_t least = 0, want_bytes = 0;

	sl_assert_ok(sl_policy_least(&sl_mem_policy_vdnn, &g.t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_belady, &g.t, &want_bytes));
	assert_int_equal(least, want_bytes);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_convolutions_read_leaves_and_is_back_one_layer_ahead),
		SL_TEST(without_convolutions_matmuls_are_the_layers),
		SL_TEST(other_layers_leave_it_to_the_net),
		SL_TEST(the_least_budget_is_that_of_belady),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
