/* SPDX-License-Identifier: Apache-2.0 */
/* dtr: who leaves by which score, how much runs again on a chain, what never leaves. */
#include "harness/harness.h"

#include <math.h>

#include "memory/policy/dtr.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

#define PAGE 4096u

static void set_ns(struct gen *g, uint64_t ns)
{
	if (g->st == SL_OK)
		g->t.ops[g->t.n_ops - 1].dur_ns = ns;
}

/* Bears the next value, of so many pages, from at most two others. */
static void node(struct gen *g, uint64_t ns, uint64_t pages, uint32_t a, uint32_t b)
{
	uint32_t v = gen_value(g, SL_CLASS_ACT, pages * PAGE);

	gen_op(g, "node", 0, GEN_L(a, b, GEN_E), GEN_L(v, GEN_E), GEN_NONE);
	set_ns(g, ns);
}

enum { A, B, Q, C, X, Z, P1, P2, P3 };

/*
 * Six nodes fill the budget; then three more come, and one after another leaves. After
 * the long op all are about equally stale, so scores go by cost alone: B (20), then Q
 * (30, with B 50), then C or X. C is 40 by itself, 60 with its ancestor B, and 90 with
 * the class of B, which Q is in.
 */
static struct gen six_nodes(uint64_t x_ns)
{
	struct gen g = {.t = SL_TRACE_INIT};

	node(&g, 1000, 1, GEN_E, GEN_E);
	node(&g, 20, 1, A, GEN_E);
	node(&g, 30, 1, B, GEN_E);
	node(&g, 40, 1, B, GEN_E);
	node(&g, x_ns, 1, GEN_E, GEN_E);
	node(&g, 1000000, 1, GEN_E, GEN_E);
	node(&g, 1, 1, Z, GEN_E);
	node(&g, 1, 1, P1, GEN_E);
	node(&g, 1, 2, P2, GEN_E);
	gen_op(&g, "end", 0, GEN_L(A, B, Q, C, X, Z, GEN_E), GEN_NONE, GEN_NONE);
	set_ns(&g, 1);
	sl_assert_ok(gen_end(&g));
	return g;
}

/* What the values that left took to have again. */
static uint64_t again_ns(uint64_t x_ns, enum sl_dtr_score score)
{
	struct gen g = six_nodes(x_ns);
	struct sl_lineage l = {0};
	struct sl_dtr_rules rules = {.budget = 6 * PAGE,
		.most_again_ns = UINT64_MAX,
		.score = score,
		.bytes = true};
	struct sl_dtr_result r = {0};

	sl_assert_ok(sl_lineage_init(&l, &g.t));
	sl_assert_ok(sl_dtr_simulate(&l, &rules, NULL, &r));
	assert_true(r.fits);
	assert_true(r.peak <= rules.budget);
	sl_lineage_finish(&l);
	sl_trace_finish(&g.t);
	return r.again_ns;
}

static void six_nodes_leave_by_hand_computed_scores(void **state)
{
	(void)state;
	assert_int_equal(again_ns(75, SL_DTR_EXACT), 20 + 30 + 40);
	assert_int_equal(again_ns(75, SL_DTR_CLASSES), 20 + 30 + 75);
	assert_int_equal(again_ns(75, SL_DTR_LOCAL), 20 + 30 + 40);
	assert_int_equal(again_ns(55, SL_DTR_EXACT), 20 + 30 + 55);
	assert_int_equal(again_ns(55, SL_DTR_CLASSES), 20 + 30 + 55);
	assert_int_equal(again_ns(55, SL_DTR_LOCAL), 20 + 30 + 40);
}

/* n values in a row and back. */
static struct gen chain(uint32_t n)
{
	struct gen g = {.t = SL_TRACE_INIT};

	for (uint32_t i = 0; i < n; i++)
		node(&g, 1, 1, i > 0 ? i - 1 : GEN_E, GEN_E);
	for (uint32_t i = n; i-- > 0;)
		node(&g, 1, 1, i, i + 1 < n ? g.t.n_values - 1 : GEN_E);
	sl_assert_ok(gen_end(&g));
	return g;
}

/* The paper's theorem: with 2 sqrt(n) of memory, O(n) runs in all. */
static void a_chain_in_twice_its_root_runs_a_few_times_over(void **state)
{
	(void)state;
	for (uint32_t n = 64; n <= 1024; n *= 4) {
		struct gen g = chain(n);
		struct sl_lineage l = {0};
		struct sl_dtr_rules rules = {.most_again_ns = UINT64_MAX, .bytes = true};
		struct sl_dtr_result r = {0};

		rules.budget = (uint64_t)(2 * sqrt(n)) * PAGE + 4 * PAGE;
		sl_assert_ok(sl_lineage_init(&l, &g.t));
		sl_assert_ok(sl_dtr_simulate(&l, &rules, NULL, &r));
		assert_true(r.fits);
		assert_true(r.again_ops < 3 * n);
		sl_lineage_finish(&l);
		sl_trace_finish(&g.t);
	}
}

static uint32_t runs_of(const struct sl_plan *p, uint32_t op)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_actions; i++)
		n += p->actions[i].kind == SL_ACTION_RECOMPUTE &&
		     p->actions[i].again == op;
	return n;
}

static void what_is_not_pure_never_leaves(void **state)
{
	struct gen g = chain(24);
	struct sl_plan p = SL_PLAN_INIT;

	(void)state;
	for (uint32_t i = 0; i < 24; i += 3)
		g.t.ops[i].pure = false;
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_dtr, &g.t, 16 * PAGE, &p));
	assert_true(p.n_actions > 0);
	for (uint32_t i = 0; i < 24; i += 3)
		assert_int_equal(runs_of(&p, i), 0);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

/* 0: made of a weight; the weight changes at op 3; 4 reads what was made. */
static void what_was_made_of_an_overwritten_weight_is_back_before(void **state)
{
	struct gen g = {.t = SL_TRACE_INIT};
	struct sl_plan p = SL_PLAN_INIT;
	uint32_t w = gen_value(&g, SL_CLASS_PARAM, PAGE), made = w + 1;

	(void)state;
	node(&g, 10, 2, w, GEN_E);
	node(&g, 1000, 1, GEN_E, GEN_E);
	node(&g, 1000, 2, made + 1, GEN_E);
	gen_op(&g, "update", 0, GEN_NONE, GEN_NONE, GEN_L(w, GEN_E));
	gen_op(&g, "read", 0, GEN_L(made, GEN_E), GEN_NONE, GEN_NONE);
	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_dtr, &g.t, 4 * PAGE, &p));
	assert_int_equal(runs_of(&p, 0), 1);
	for (uint32_t i = 0; i < p.n_actions; i++) {
		if (p.actions[i].kind == SL_ACTION_RECOMPUTE)
			assert_int_equal(p.actions[i].op, 3);
	}
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void too_little_ends_and_is_said(void **state)
{
	struct gen g = chain(64);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0;

	(void)state;
	sl_assert_ok(sl_policy_least(&sl_mem_policy_dtr, &g.t, &least));
	sl_assert_fails(sl_policy_plan(&sl_mem_policy_dtr, &g.t, least - PAGE, &p),
		SL_E_INFEASIBLE, "the least that policy dtr");
	sl_trace_finish(&g.t);
}

static void sound_on_random_traces(void **state)
{
	uint32_t again = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct gen g = gen_random(seed, 24);
		uint64_t keep = 0;

		sl_assert_ok(gen_end(&g));
		g.t.n_tiers = g.t.n_links = 0;
		sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &keep));
		for (uint64_t k = 3; k < 8; k++) {
			struct sl_policy_choice c = sl_policy_usual(&sl_mem_policy_dtr);
			struct sl_plan p = SL_PLAN_INIT;
			sl_status st;

			c.options[0] = (int64_t)(seed % 3);
			st = sl_policy_apply(&c, &g.t, keep / 8 * k, &p);
			assert_true(st == SL_OK || st == SL_E_INFEASIBLE);
			again += p.n_actions;
			sl_plan_finish(&p);
		}
		sl_trace_finish(&g.t);
	}
	assert_true(again > 100);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(six_nodes_leave_by_hand_computed_scores),
		SL_TEST(a_chain_in_twice_its_root_runs_a_few_times_over),
		SL_TEST(what_is_not_pure_never_leaves),
		SL_TEST(what_was_made_of_an_overwritten_weight_is_back_before),
		SL_TEST(too_little_ends_and_is_said),
		SL_TEST(sound_on_random_traces),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
