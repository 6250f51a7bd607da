/* SPDX-License-Identifier: Apache-2.0 */
/* mimose: which blocks are picked for what is missing, and what a picked one gives up. */
#include "harness/harness.h"

#include "memory/policy/mimose.h"
#include "memory/policy/policy.h"
#include "unit/memory/policy/tp_util.h"

#define LAYERS 4

/* Picks for savings that end at 0; which ones, as bits. */
static unsigned picks(const uint64_t *savings, uint64_t need)
{
	struct sl_mimose_block blocks[8] = {{0}};
	unsigned bits = 0;
	uint32_t n = 0;

	for (; savings[n] > 0; n++)
		blocks[n].saving = savings[n];
	sl_assert_ok(sl_mimose_pick(blocks, n, need));
	for (uint32_t i = 0; i < n; i++)
		bits |= (unsigned)blocks[i].picked << i;
	return bits;
}

#define SAVINGS(...) ((const uint64_t[]){__VA_ARGS__, 0})

static void what_is_missing_is_covered_by_the_smallest_that_suffices(void **state)
{
	(void)state;
	assert_int_equal(picks(SAVINGS(100, 50, 200), 0), 0);
	/* Less than the smallest: that one. */
	assert_int_equal(picks(SAVINGS(100, 50, 200), 10), 1u << 1);
	assert_int_equal(picks(SAVINGS(100, 50, 200), 60), 1u << 0);
	assert_int_equal(picks(SAVINGS(100, 50, 200), 101), 1u << 2);
	/* None suffices: the largest first, then the smallest for the rest. */
	assert_int_equal(picks(SAVINGS(100, 50, 200), 240), 1u << 2 | 1u << 1);
	assert_int_equal(picks(SAVINGS(100, 50, 200), 300), 1u << 2 | 1u << 0);
	assert_int_equal(picks(SAVINGS(100, 50, 200), 1000), 7);
}

static void in_a_bucket_the_earlier_layer_comes_first(void **state)
{
	(void)state;
	assert_int_equal(picks(SAVINGS(100, 100, 100), 80), 1u << 0);
	assert_int_equal(picks(SAVINGS(100, 100, 100), 150), 1u << 0 | 1u << 1);
	/* 95 and 91 lie within 10 % of 100, 89 does not. */
	assert_int_equal(picks(SAVINGS(95, 100, 91), 90), 1u << 0);
	assert_int_equal(picks(SAVINGS(100, 89, 95), 85), 1u << 1);
	assert_int_equal(picks(SAVINGS(100, 89, 95), 90), 1u << 0);
	/* An earlier one that is too small is passed over. */
	assert_int_equal(picks(SAVINGS(92, 100, 95), 94), 1u << 1);
}

static const char *const scopes[LAYERS] = {
	"net.layer.0.in", "net.layer.1.in", "net.layer.2.in", "net.layer.3.in"};
static const char *const outer[LAYERS] = {
	"net.layer.0.out", "net.layer.1.out", "net.layer.2.out", "net.layer.3.out"};

/*
 * A layer reads x, bears h of 100 MB and the next x of 10; its gradient reads both and
 * takes 10 ms, the halves of the layer 4 and 1. Values in order: x0, then h and x of
 * each, then gradients.
 */
static struct gen net(void)
{
	struct gen g = TP_EMPTY;
	uint32_t d;

	(void)tp_value(&g, SL_CLASS_INPUT, 10);
	tp_op(&g, 1, GEN_NONE, GEN_L(0, GEN_E), GEN_NONE)->pure = false;
	for (uint32_t i = 0; i < LAYERS; i++) {
		uint32_t h = tp_value(&g, SL_CLASS_ACT, 100);
		uint32_t x = tp_value(&g, SL_CLASS_ACT, 10);

		tp_op(&g, 4, GEN_L(h - 1, GEN_E), GEN_L(h, GEN_E), GEN_NONE)->scope =
			scopes[i];
		tp_op(&g, 1, GEN_L(h, GEN_E), GEN_L(x, GEN_E), GEN_NONE)->scope =
			outer[i];
	}
	d = tp_value(&g, SL_CLASS_GRAD, 10);
	tp_op(&g, 1, GEN_L(2 * LAYERS, GEN_E), GEN_L(d, GEN_E), GEN_NONE)->scope = "loss";
	for (uint32_t i = LAYERS; i-- > 0; d++) {
		(void)tp_value(&g, SL_CLASS_GRAD, 10);
		tp_op(&g, 10, GEN_L(2 * i, 2 * i + 1, d, GEN_E), GEN_L(d + 1, GEN_E),
			GEN_NONE)
			->scope = scopes[i];
	}
	sl_assert_ok(gen_end(&g));
	return g;
}

static void ops_of_one_layer_are_a_block(void **state)
{
	(void)state;
	struct gen g = net();
	struct sl_mimose m = {0};

	sl_assert_ok(sl_mimose_open(&m, &g.t));
	assert_int_equal(m.n, 1 + LAYERS);
	assert_int_equal(m.blocks[0].end_op, 1);
	assert_int_equal(m.blocks[0].saving, 0);
	for (uint32_t i = 1; i < m.n; i++) {
		assert_int_equal(m.blocks[i].first_op, 2 * i - 1);
		assert_int_equal(m.blocks[i].end_op, 2 * i + 1);
		/* Not its output. */
		assert_true(
			m.blocks[i].saving >= 100 * MB && m.blocks[i].saving < 101 * MB);
	}
	sl_mimose_close(&m);
	for (uint32_t i = 0; i < g.t.n_ops; i++)
		g.t.ops[i].scope = "";
	sl_assert_ok(sl_mimose_open(&m, &g.t));
	assert_int_equal(m.n, 3); /* nine ops */
	assert_int_equal(m.blocks[1].first_op, 3);
	sl_mimose_close(&m);
	g.t.ops[3].pure = false; /* bears the h of the second layer */
	sl_assert_ok(sl_mimose_open(&m, &g.t));
	assert_true(m.blocks[1].saving < 101 * MB);
	sl_mimose_close(&m);
	sl_trace_finish(&g.t);
}

/* Which ops the plan runs again, as bits. */
static uint64_t again(const struct gen *g, uint64_t mb, struct sl_plan_price *price)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t bits = 0;

	sl_assert_ok(sl_policy_plan(&sl_mem_policy_mimose, &g->t, mb * MB, &p));
	assert_string_equal(p.policy, "mimose");
	sl_assert_ok(sl_plan_price(&g->t, &p, price));
	for (uint32_t i = 0; i < p.n_actions; i++) {
		if (p.actions[i].kind == SL_ACTION_RECOMPUTE)
			bits |= (uint64_t)1 << p.actions[i].again;
	}
	sl_plan_finish(&p);
	return bits;
}

/* The peak is 4 h, 5 x and two gradients, 470 MB. */
static void earlier_layers_run_again_as_many_as_it_takes(void **state)
{
	(void)state;
	struct gen g = net();
	struct sl_plan_price price;

	assert_int_equal(again(&g, 500, &price), 0);
	assert_int_equal(again(&g, 400, &price), 1u << 1);
	assert_int_equal(price.recompute_ns, 4 * MS);
	assert_int_equal(again(&g, 300, &price), 1u << 1 | 1u << 3);
	assert_int_equal(price.iter_ns - price.base_iter_ns, 8 * MS);
	assert_int_equal(again(&g, 200, &price), 1u << 1 | 1u << 3 | 1u << 5);
	sl_trace_finish(&g.t);
}

static void without_a_tier_all_blocks_give_the_least_budget(void **state)
{
	(void)state;
	struct gen g = net();
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least, bytes;

	sl_assert_ok(sl_policy_least(&sl_mem_policy_mimose, &g.t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_belady, &g.t, &bytes));
	assert_true(least < bytes && least < 200 * MB);
	sl_assert_fails(sl_policy_plan(&sl_mem_policy_mimose, &g.t, least / 2, &p),
		SL_E_INFEASIBLE, "without a tier");
	sl_trace_finish(&g.t);
}

static void below_what_blocks_can_do_the_net_steps_in(void **state)
{
	(void)state;
	struct gen g = net();
	struct sl_plan_price price;

	gen_tier(&g, "host", 1000 * MB, 1000 * MB);
	sl_assert_ok(gen_end(&g));
	(void)again(&g, 150, &price);
	assert_true(price.swap_out_bytes > 0);
	(void)again(&g, 200, &price);
	assert_int_equal(price.swap_out_bytes, 0);
	sl_trace_finish(&g.t);
}

static sl_status plan_three(void *ctx)
{
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st = sl_policy_plan(&sl_mem_policy_mimose, ctx, 300 * MB, &p);
	uint64_t least;

	sl_plan_finish(&p);
	return st == SL_OK ? sl_policy_least(&sl_mem_policy_mimose, ctx, &least) : st;
}

static void picking_survives_every_failing_allocation(void **state)
{
	(void)state;
	struct gen g = net();

	assert_true(sl_torture(plan_three, &g.t) > 20);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_is_missing_is_covered_by_the_smallest_that_suffices),
		SL_TEST(in_a_bucket_the_earlier_layer_comes_first),
		SL_TEST(ops_of_one_layer_are_a_block),
		SL_TEST(earlier_layers_run_again_as_many_as_it_takes),
		SL_TEST(without_a_tier_all_blocks_give_the_least_budget),
		SL_TEST(picking_survives_every_failing_allocation),
		SL_TEST(below_what_blocks_can_do_the_net_steps_in),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
