/* SPDX-License-Identifier: Apache-2.0 */
/* optimal beside chains: what it searches for, when it swaps, what it leaves to others.
 */
#include "harness/harness.h"

#include "memory/policy/policy.h"
#include "unit/memory/gen.h"
#include "unit/memory/policy/plan_by.h"

#define PAGE ((uint64_t)4096)

static uint64_t again_ns(const struct sl_trace *t, const char *policy, uint64_t budget)
{
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;

	(void)plan_by(t, policy, budget, &p);
	sl_assert_ok(sl_plan_price(t, &p, &price));
	sl_plan_finish(&p);
	return price.recompute_ns;
}

/* Op 0 bears a small value in no time, of which ops 1 and 2 make large ones; op 3 wants
 * room, ops 4 and 5 read the large ones, the dearer of them first. */
static struct gen two_to_choose_from(void)
{
	struct gen g = {.t = SL_TRACE_INIT};

	(void)gen_value(&g, SL_CLASS_ACT, PAGE);
	for (int i = 0; i < 2; i++)
		(void)gen_value(&g, SL_CLASS_ACT, 4 * PAGE);
	for (int i = 0; i < 3; i++)
		(void)gen_value(&g, SL_CLASS_ACT, PAGE);
	gen_op(&g, "a", 0, GEN_NONE, GEN_L(0, GEN_E), GEN_NONE);
	gen_op(&g, "b", 0, GEN_L(0, GEN_E), GEN_L(1, GEN_E), GEN_NONE);
	gen_op(&g, "c", 0, GEN_L(0, GEN_E), GEN_L(2, GEN_E), GEN_NONE);
	gen_op(&g, "d", 4 * PAGE, GEN_L(0, GEN_E), GEN_L(3, GEN_E), GEN_NONE);
	gen_op(&g, "e", 0, GEN_L(1, 3, GEN_E), GEN_L(4, GEN_E), GEN_NONE);
	gen_op(&g, "f", 0, GEN_L(2, 4, GEN_E), GEN_L(5, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	g.t.ops[0].dur_ns = 1;
	g.t.ops[1].dur_ns = 900;
	g.t.ops[2].dur_ns = 400;
	return g;
}

static void what_is_cheaper_runs_again(void **state)
{
	struct gen g = two_to_choose_from();
	(void)state;

	/* One of them may stay beside op d; its input stays, too. */
	assert_int_equal(again_ns(&g.t, "optimal", 10 * PAGE), 400);
	/* Neither may stay; the input as well must be born again. */
	assert_int_equal(again_ns(&g.t, "optimal", 9 * PAGE), 900 + 400);
	assert_int_equal(again_ns(&g.t, "optimal", 14 * PAGE), 0);
	sl_trace_finish(&g.t);
}

static void what_is_impure_stays(void **state)
{
	struct gen g = two_to_choose_from();
	(void)state;

	g.t.ops[2].pure = false;
	assert_int_equal(again_ns(&g.t, "optimal", 10 * PAGE), 900);
	sl_trace_finish(&g.t);
}

/* A value that is changed in place is born and changed once more, in this order. */
static void what_was_changed_in_place_is_changed_again(void **state)
{
	struct gen g = {.t = SL_TRACE_INIT};
	struct sl_plan p = SL_PLAN_INIT;
	(void)state;

	for (int i = 0; i < 3; i++)
		(void)gen_value(&g, SL_CLASS_ACT, (i == 0 ? 4 : 1) * PAGE);
	gen_op(&g, "a", 0, GEN_NONE, GEN_L(0, GEN_E), GEN_NONE);
	gen_op(&g, "b", 0, GEN_NONE, GEN_NONE, GEN_L(0, GEN_E));
	gen_op(&g, "c", 4 * PAGE, GEN_NONE, GEN_L(1, GEN_E), GEN_NONE);
	gen_op(&g, "d", 0, GEN_L(0, 1, GEN_E), GEN_L(2, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	(void)plan_by(&g.t, "optimal", 6 * PAGE, &p);
	assert_int_equal(p.n_actions, 3);
	assert_int_equal(p.actions[0].kind, SL_ACTION_DROP);
	assert_int_equal(p.actions[1].again, 0);
	assert_int_equal(p.actions[2].again, 1);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void a_fast_link_beats_runs_again_unless_it_is_not_asked(void **state)
{
	struct gen g = two_to_choose_from();
	struct sl_plan p = SL_PLAN_INIT;
	(void)state;

	for (uint32_t i = 0; i < 2; i++)
		sl_assert_ok(sl_trace_add_link(
			&g.t, &(struct sl_trace_link){.from = i,
				      .to = 1 - i,
				      .bytes_per_s = (uint64_t)1 << 50}));
	sl_assert_ok(sl_trace_add_tier(&g.t, "host", 64 * PAGE));
	assert_int_equal(again_ns(&g.t, "optimal", 10 * PAGE), 0);
	assert_int_equal(again_ns(&g.t, "optimal:swap=0", 10 * PAGE), 400);
	/* Below what recomputing can do it is the net in any case. */
	(void)plan_by(&g.t, "optimal:swap=0", 6 * PAGE, &p);
	assert_string_equal(p.policy, "optimal");
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

/* The least is 6043, of runs that fit in bytes and have no addresses there. */
static void where_the_least_runs_have_no_addresses_others_are_taken(void **state)
{
	static const struct {
		uint32_t in[8], pages, workspace, ns; /* a list has eight */
	} rows[] = {{{GEN_E}, 13, 0, 908}, {{0, GEN_E}, 11, 0, 168},
		{{0, GEN_E}, 4, 0, 934}, {{0, GEN_E}, 14, 0, 746},
		{{0, 1, GEN_E}, 16, 0, 1057}, {{3, GEN_E}, 15, 0, 845},
		{{1, GEN_E}, 9, 6, 516}, {{2, 4, 6, GEN_E}, 16, 1, 451},
		{{1, 5, GEN_E}, 11, 0, 879}, {{2, 6, GEN_E}, 15, 0, 761},
		{{8, 9, GEN_E}, 8, 5, 966}, {{0, 1, 4, GEN_E}, 10, 7, 605}};
	struct gen g = {.t = SL_TRACE_INIT};

	(void)state;
	for (uint32_t i = 0; i < SL_COUNT(rows); i++)
		(void)gen_value(&g, SL_CLASS_ACT, rows[i].pages * PAGE);
	for (uint32_t i = 0; i < SL_COUNT(rows); i++)
		gen_op(&g, "op", rows[i].workspace * PAGE, rows[i].in, GEN_L(i, GEN_E),
			GEN_NONE);
	sl_assert_ok(gen_end(&g));
	for (uint32_t i = 0; i < SL_COUNT(rows); i++)
		g.t.ops[i].dur_ns = rows[i].ns;
	assert_in_range(again_ns(&g.t, "optimal", 57 * PAGE), 6043, 6100);
	sl_trace_finish(&g.t);
}

static sl_status plan_tight(void *ctx)
{
	const struct sl_trace *t = ctx;
	struct sl_policy_choice c;
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st = SL_OK;

	sl_assert_ok(sl_policy_parse("optimal", &c));
	SL_TRY_OUT(sl_policy_apply(&c, t, 10 * PAGE, &p));
out:
	sl_plan_finish(&p);
	return st;
}

/* Four layers forward and backward, so that both solvers are at work. */
static struct gen layers(void)
{
	struct gen g = {.t = SL_TRACE_INIT};

	for (int i = 0; i < 9; i++)
		(void)gen_value(
			&g, i < 4 ? SL_CLASS_ACT : SL_CLASS_GRAD, i < 4 ? 4 * PAGE : 64);
	for (uint32_t i = 0; i < 4; i++)
		gen_op(&g, "f", 0, i > 0 ? GEN_L(i - 1, GEN_E) : GEN_NONE,
			GEN_L(i, GEN_E), GEN_NONE);
	gen_op(&g, "loss", 0, GEN_L(3, GEN_E), GEN_L(8, GEN_E), GEN_NONE);
	for (uint32_t i = 4; i-- > 0;)
		gen_op(&g, "b", 0, GEN_L(i, 5 + i, GEN_E), GEN_L(4 + i, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	return g;
}

static void planning_survives_every_failing_allocation(void **state)
{
	struct gen g = two_to_choose_from(), chain = layers();
	(void)state;

	assert_true(sl_torture(plan_tight, &g.t) > 30);
	assert_true(again_ns(&chain.t, "optimal", 10 * PAGE) > 0);
	assert_true(sl_torture(plan_tight, &chain.t) > 60);
	sl_trace_finish(&g.t);
	sl_trace_finish(&chain.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_is_cheaper_runs_again),
		SL_TEST(what_is_impure_stays),
		SL_TEST(what_was_changed_in_place_is_changed_again),
		SL_TEST(a_fast_link_beats_runs_again_unless_it_is_not_asked),
		SL_TEST(where_the_least_runs_have_no_addresses_others_are_taken),
		SL_TEST(planning_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
