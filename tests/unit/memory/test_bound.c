/* SPDX-License-Identifier: Apache-2.0 */
/* The least traffic of swapping, by hand. */
#include "harness/harness.h"

#include <string.h>

#include "memory/bound.h"
#include "unit/memory/gen.h"

#define HEAD \
	"trace 1\njob 0 name=t iterations=0\ntier host bytes=1000000000\n" \
	"link device host bytes_per_s=1000000000\nlink host device " \
	"bytes_per_s=500000000\n"

static struct sl_traffic_bound bound_of(const char *text, uint64_t budget)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_traffic_bound b;

	sl_assert_ok(sl_trace_parse("t.trace", text, strlen(text), &t));
	sl_assert_ok(sl_traffic_bound(&t, budget, &b));
	sl_trace_finish(&t);
	return b;
}

/* Within a millionth below. */
static void assert_bytes(uint64_t got, uint64_t want)
{
	assert_true(got <= want && got + 1 + want / 500000 >= want);
}

/* x is not needed while f2 runs; a dies at f2's end. */
#define CHAIN \
	HEAD "value v0 bytes=1000000 class=act\nvalue v1 bytes=3000000 class=act\n" \
	     "value v2 bytes=2000000 class=act\n" \
	     "op 0 kind=f1 dur_ns=1000 out=v0\nop 1 kind=f2 dur_ns=1000 out=v1\n" \
	     "op 2 kind=f3 dur_ns=1000 in=v1 out=v2\nop 3 kind=f4 dur_ns=1000 " \
	     "in=v0,v2\n"

static void what_is_over_the_budget_leaves_and_returns(void **state)
{
	(void)state;
	struct sl_traffic_bound b = bound_of(CHAIN, 5400000);

	assert_true(b.possible);
	assert_bytes(b.out_bytes, 600000);
	assert_bytes(b.in_bytes, 600000);
	assert_bytes(b.both_bytes, 1200000);
	/* The way back is the slower one: 0.6 MB at 0.5 GB/s. */
	assert_bytes(b.iter_ns, 1200000);
	b = bound_of(CHAIN, 6000000);
	assert_true(b.possible && b.in_bytes == 0 && b.iter_ns == 4000);
	b = bound_of(CHAIN, 4999999);
	assert_true(!b.possible && b.in_bytes == 0 && b.iter_ns == 4000);
}

static void a_wire_of_half_duplex_carries_both(void **state)
{
	(void)state;
	struct sl_traffic_bound b = bound_of(
		"trace 1\njob 0 name=t iterations=0\ntier host bytes=1000000000\n"
		"link device host bytes_per_s=1000000000 duplex=half\n"
		"link host device bytes_per_s=1000000000 duplex=half\n"
		"value v0 bytes=1000000 class=act\nvalue v1 bytes=3000000 class=act\n"
		"op 0 kind=f out=v0\nop 1 kind=f out=v1\nop 2 kind=f in=v0\n",
		3000000);

	assert_bytes(b.both_bytes, 2000000);
	assert_bytes(b.iter_ns, 2000000);
}

static void what_nothing_writes_leaves_for_free(void **state)
{
	(void)state;
	struct sl_traffic_bound b = bound_of(HEAD
		"value v0 bytes=1000000 class=const\nvalue v1 bytes=1000000 "
		"class=act\n"
		"op 0 kind=f in=v0\nop 1 kind=f out=v1\nop 2 kind=f in=v0\n",
		1000000);

	assert_true(b.out_bytes == 0);
	assert_bytes(b.in_bytes, 1000000);
	assert_bytes(b.both_bytes, 1000000);
}

/* Round the boundary and between its two reads w is the same content: one way out. */
static void two_gaps_of_one_version_cost_one_copy_out(void **state)
{
	(void)state;
	struct sl_traffic_bound b = bound_of(HEAD
		"value v0 bytes=1000000 class=param\nvalue v1 bytes=1000000 "
		"class=act\n"
		"value v2 bytes=1000000 class=act\n"
		"op 0 kind=f out=v1\nop 1 kind=f in=v0\nop 2 kind=f out=v2\n"
		"op 3 kind=f mutates=v0\n",
		1000000);

	assert_bytes(b.out_bytes, 1000000);
	assert_bytes(b.in_bytes, 2000000);
	assert_bytes(b.both_bytes, 3000000);
}

static void what_is_never_used_needs_no_place(void **state)
{
	(void)state;
	struct sl_traffic_bound b =
		bound_of(HEAD "value v0 bytes=1000000 class=param\nop 0 kind=f\n", 1000);

	assert_true(b.possible && b.both_bytes == 0);
}

static void less_memory_never_moves_less(void **state)
{
	(void)state;
	struct gen g = gen_training(12, 64, 256, 1ull << 30);
	struct sl_traffic_bound last = {0};
	struct sl_least_budget least;

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_trace_least_budget(&g.t, &least));
	for (uint64_t part = 20; part > 3; part--) {
		struct sl_traffic_bound b;

		sl_assert_ok(
			sl_traffic_bound(&g.t, least.live_peak_bytes * part / 20, &b));
		assert_true(b.possible);
		assert_true(b.in_bytes >= last.in_bytes);
		assert_true(b.both_bytes >= last.both_bytes);
		assert_true(b.iter_ns >= last.iter_ns);
		last = b;
	}
	assert_true(last.in_bytes > 0 && last.out_bytes > 0);
	sl_trace_finish(&g.t);
}

static sl_status bound_small(void *ctx)
{
	struct sl_traffic_bound b;

	return sl_traffic_bound(ctx, 100000, &b);
}

static void a_failed_allocation_leaves_nothing(void **state)
{
	(void)state;
	struct gen g = gen_training(2, 64, 64, 1ull << 30);

	sl_assert_ok(gen_end(&g));
	assert_true(sl_torture(bound_small, &g.t) >= 9);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_is_over_the_budget_leaves_and_returns),
		SL_TEST(a_wire_of_half_duplex_carries_both),
		SL_TEST(what_nothing_writes_leaves_for_free),
		SL_TEST(two_gaps_of_one_version_cost_one_copy_out),
		SL_TEST(what_is_never_used_needs_no_place),
		SL_TEST(less_memory_never_moves_less),
		SL_TEST(a_failed_allocation_leaves_nothing),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
