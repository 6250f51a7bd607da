/* SPDX-License-Identifier: Apache-2.0 */
/* delta: the filter's h and the director's prices on a graph of six values against a hand
 * count, and the knapsack. */
#include "harness/harness.h"

#include "memory/policy/delta_int.h"
#include "memory/policy/policy.h"
#include "unit/memory/policy/tp_util.h"

enum { A, B, C, D, E, F };

/*
 * a = f() 4 ms; b = f(a) 10; c = f(b) 20; d = f(a) 6; e = f(c, d) 8; f = f(e) 2; then
 * backward ops of 10 ms each that read (e, f), (c, d), (a, b). 100 MB each, but b 200 and
 * d 50. Before the backward pass 50 ms are over; last accesses ended at a 40, b 34, c and
 * d 48, e and f 50.
 */
static struct gen six(uint64_t mb_per_s)
{
	static const uint64_t mb[] = {100, 200, 100, 50, 100, 100};
	struct gen g = TP_EMPTY;

	gen_tier(&g, "host", 10000 * MB, mb_per_s * MB);
	g.t.links[0].latency_ns = g.t.links[1].latency_ns = 0;
	for (size_t i = 0; i < SL_COUNT(mb); i++)
		(void)tp_value(&g, SL_CLASS_ACT, mb[i]);
	for (int i = 0; i < 3; i++)
		(void)tp_value(&g, SL_CLASS_GRAD, 10);
	tp_op(&g, 4, GEN_NONE, GEN_L(A, GEN_E), GEN_NONE);
	tp_op(&g, 10, GEN_L(A, GEN_E), GEN_L(B, GEN_E), GEN_NONE);
	tp_op(&g, 20, GEN_L(B, GEN_E), GEN_L(C, GEN_E), GEN_NONE);
	tp_op(&g, 6, GEN_L(A, GEN_E), GEN_L(D, GEN_E), GEN_NONE);
	tp_op(&g, 8, GEN_L(C, D, GEN_E), GEN_L(E, GEN_E), GEN_NONE);
	tp_op(&g, 2, GEN_L(E, GEN_E), GEN_L(F, GEN_E), GEN_NONE);
	tp_op(&g, 10, GEN_L(E, F, GEN_E), GEN_L(6, GEN_E), GEN_NONE);
	tp_op(&g, 10, GEN_L(C, D, 6, GEN_E), GEN_L(7, GEN_E), GEN_NONE);
	tp_op(&g, 10, GEN_L(A, B, 7, GEN_E), GEN_L(8, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	return g;
}

struct fixture {
	struct gen gen;
	struct sl_gaps gaps;
	struct sl_delta d;
};

/* Just before the backward pass; nothing has left. */
static void begin(struct fixture *f, uint64_t mb_per_s)
{
	const struct sl_delta_rule rule = {.redo = true, .swap = true, .window = 4};

	f->gen = six(mb_per_s);
	sl_assert_ok(sl_gaps_init(&f->gaps, &f->gen.t));
	sl_assert_ok(sl_delta_init(&f->d, &f->gaps, &rule, 10000 * MB));
	sl_delta_begin(&f->d);
	for (f->d.op = 0; f->d.op < 6; f->d.op++)
		sl_assert_ok(sl_delta_step(&f->d));
	assert_int_equal(f->d.now_ns, 50 * MS);
	assert_int_equal(f->d.turn, 6);
}

static void end(struct fixture *f)
{
	sl_delta_finish(&f->d);
	sl_gaps_finish(&f->gaps);
	sl_trace_finish(&f->gen.t);
}

static void want(struct fixture *f, uint32_t v, uint64_t redo_ms, uint64_t swap_ms)
{
	struct sl_delta_cost c = {0};

	sl_assert_ok(sl_delta_price(&f->d, v, &c));
	assert_int_equal(c.redo_ns, redo_ms * MS);
	assert_int_equal(c.swap_ns, swap_ms * MS);
	assert_int_equal(c.back_ns, (redo_ms < swap_ms ? redo_ms : swap_ms) * MS);
}

/* 100 MB take 5 ms: only c's copy out, from 48 to 53, is not over yet. */
static void a_fast_link_makes_copies_the_cheaper_way(void **state)
{
	(void)state;
	struct fixture f = {0};

	begin(&f, 20000);
	want(&f, A, 4, 0);
	want(&f, B, 10, 0);
	want(&f, C, 20, 3);
	end(&f);
}

/* 100 MB take 50 ms. a: out from 40 to 90, in 30 more than the 20 until its use. */
static void a_slow_link_makes_running_again_the_cheaper_way(void **state)
{
	(void)state;
	struct fixture f = {0};

	begin(&f, 2000);
	want(&f, A, 4, 40 + 30);
	want(&f, B, 10, 84 + 80);
	want(&f, C, 20, 48 + 40);
	want(&f, D, 6, 23 + 15);
	end(&f);
}

static void h_of(struct fixture *f, uint32_t v, double want_h)
{
	struct sl_delta_cost c = {0};
	double h;

	sl_assert_ok(sl_delta_price(&f->d, v, &c));
	h = sl_delta_h(
		c.back_ns, f->gen.t.values[v].bytes, f->d.now_ns - f->d.v[v].last_ns);
	/* One ns is added above and below. */
	assert_true(h > want_h * 0.99999 && h < want_h * 1.00001);
}

/* By the cheaper way back, bytes and age: 4 ms / (100 MB * 10 ms), and so on. */
static void h_is_the_way_back_by_bytes_and_age(void **state)
{
	(void)state;
	struct fixture f = {0};

	begin(&f, 2000);
	h_of(&f, A, 4.0 / (100e6 * 10));
	h_of(&f, B, 10.0 / (200e6 * 16));
	h_of(&f, C, 20.0 / (100e6 * 2));
	h_of(&f, D, 6.0 / (50e6 * 2));
	end(&f);
}

static void dropped_ancestors_are_part_of_the_price(void **state)
{
	(void)state;
	struct fixture f = {0};

	begin(&f, 2000);
	sl_delta_evict(&f.d, B, SL_FATE_REDO);
	want(&f, C, 20 + 10, 88);
	sl_delta_evict(&f.d, A, SL_FATE_REDO);
	want(&f, C, 20 + 10 + 4, 88);
	want(&f, D, 6 + 4, 38);
	end(&f);
}

static void what_is_rebuilt_through_a_value_counts_in_the_filter(void **state)
{
	(void)state;
	struct fixture f = {0};

	begin(&f, 2000);
	sl_delta_evict(&f.d, B, SL_FATE_REDO);
	sl_delta_evict(&f.d, C, SL_FATE_REDO);
	assert_int_equal(sl_delta_descendants(&f.d, A), (10 + 20) * MS);
	assert_int_equal(sl_delta_descendants(&f.d, D), 0);
	end(&f);
}

/* a's copy in is 50 ms, its copy out made all later ones wait until 90. */
static void ancestors_on_the_host_cost_their_copy_in(void **state)
{
	(void)state;
	struct fixture f = {0};

	begin(&f, 2000);
	sl_delta_evict(&f.d, B, SL_FATE_REDO);
	sl_delta_evict(&f.d, A, SL_FATE_SWAP);
	assert_int_equal(f.d.now_ns, 90 * MS);
	/* Out from 90 to 140; in: 50, and the 30 that a is late for already. */
	want(&f, C, 20 + 10 + 50, 50 + 50);
	end(&f);
}

/* The rule op by op: the time of its third iteration, when it repeats itself. */
static uint64_t walked(const struct sl_trace *t, uint64_t budget)
{
	const struct sl_delta_rule rule = {
		.redo = true, .swap = true, .weights = true, .window = 4};
	struct sl_gaps g;
	struct sl_delta d;
	uint64_t before = 0, after;

	sl_assert_ok(sl_gaps_init(&g, t));
	sl_assert_ok(sl_delta_init(&d, &g, &rule, budget));
	d.budget = budget;
	for (int i = 0; i < 3; i++) {
		before = d.now_ns;
		sl_assert_ok(sl_delta_iteration(&d));
	}
	after = d.now_ns;
	sl_delta_finish(&d);
	sl_gaps_finish(&g);
	return after - before;
}

static uint64_t planned(const struct sl_trace *t, uint64_t budget)
{
	struct sl_policy_choice c;
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t ns;

	sl_assert_ok(sl_policy_parse("delta:alone=0", &c));
	sl_assert_ok(sl_policy_apply(&c, t, budget, &p));
	assert_true(p.n_actions > 0);
	ns = p.price_ns;
	sl_plan_finish(&p);
	return ns;
}

/* Evicting as it goes and carrying the plan out take the same time to the nanosecond,
 * with drops, hidden copies and copies that are waited for. */
static void the_plan_takes_as_long_as_the_rule_that_runs(void **state)
{
	static const uint64_t rates[] = {1000, 2000, 5000, 20000, 100000};
	struct gen g = tp_chain();

	(void)state;
	gen_tier(&g, "host", 1000 * MB, MB);
	g.t.links[0].latency_ns = g.t.links[1].latency_ns = 0;
	sl_assert_ok(gen_end(&g));
	for (int pure = 0; pure < 2; pure++) {
		for (uint32_t i = 0; i < g.t.n_ops; i++)
			g.t.ops[i].pure = pure == 1;
		for (size_t i = 0; i < SL_COUNT(rates); i++) {
			g.t.links[0].bytes_per_s = rates[i] * MB;
			g.t.links[1].bytes_per_s = rates[i] * MB;
			assert_int_equal(walked(&g.t, 400 * MB), planned(&g.t, 400 * MB));
		}
	}
	sl_trace_finish(&g.t);
}

static struct sl_delta_item item(uint64_t bytes, uint64_t back_ns)
{
	return (struct sl_delta_item){.bytes = bytes,
		.rank = (double)back_ns / (double)bytes,
		.cost = {.back_ns = back_ns}};
}

static uint64_t cost_of_taken(const struct sl_delta_item *items, size_t n, uint64_t need)
{
	uint64_t bytes = 0, cost = 0;

	for (size_t i = 0; i < n; i++) {
		bytes += items[i].taken ? items[i].bytes : 0;
		cost += items[i].taken ? items[i].cost.back_ns : 0;
	}
	assert_true(bytes >= need);
	return cost;
}

/* By density 100:10 and 90:27 would be taken; then 10:5 does for the second. */
static void one_exchange_makes_the_set_cheaper(void **state)
{
	(void)state;
	struct sl_delta_item items[] = {item(10, 5), item(90, 27), item(100, 10)};

	sl_delta_knapsack(items, 3, 110);
	assert_int_equal(cost_of_taken(items, 3, 110), 15);
}

/* 10:1 is taken first, but 100:20 covers all by itself. */
static void what_a_set_does_not_need_is_left_out(void **state)
{
	(void)state;
	struct sl_delta_item items[] = {item(10, 1), item(100, 20), item(100, 90)};

	sl_delta_knapsack(items, 3, 100);
	assert_int_equal(cost_of_taken(items, 3, 100), 20);
	assert_false(items[0].taken);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_fast_link_makes_copies_the_cheaper_way),
		SL_TEST(a_slow_link_makes_running_again_the_cheaper_way),
		SL_TEST(h_is_the_way_back_by_bytes_and_age),
		SL_TEST(dropped_ancestors_are_part_of_the_price),
		SL_TEST(what_is_rebuilt_through_a_value_counts_in_the_filter),
		SL_TEST(ancestors_on_the_host_cost_their_copy_in),
		SL_TEST(the_plan_takes_as_long_as_the_rule_that_runs),
		SL_TEST(one_exchange_makes_the_set_cheaper),
		SL_TEST(what_a_set_does_not_need_is_left_out),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
