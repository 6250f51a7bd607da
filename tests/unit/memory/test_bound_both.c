/* SPDX-License-Identifier: Apache-2.0 */
/* The bound on swapping and recomputing together: worked out by hand, and below every
 * plan that there is. */
#include "harness/harness.h"

#include <string.h>

#include "memory/bound.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

/* A KB of 4096 bytes takes 1 us. v0 (ten KB, 2 us to bear) is away while v1 (ten KB) is
 * there, in a budget of ten KB. */
#define TRACE(pure) \
	"trace 1\njob 0 name=t iterations=0\ntier disk bytes=1048576\n" \
	"link device disk bytes_per_s=4096000000 latency_ns=0 duplex=full\n" \
	"link disk device bytes_per_s=4096000000 latency_ns=0 duplex=full\n" \
	"value v0 bytes=40960 align=4096 class=act\n" \
	"value v1 bytes=40960 align=4096 class=act\n" \
	"op 0 kind=a dur_ns=2000 out=v0 pure=" pure "\n" \
	"op 1 kind=b dur_ns=1000 out=v1\n" \
	"op 2 kind=c dur_ns=1000 in=v1\n" \
	"op 3 kind=d dur_ns=1000 in=v0\n"

static uint64_t bound_of(const char *text, bool tier)
{
	struct sl_trace t = SL_TRACE_INIT;
	uint64_t ns = 0;

	sl_assert_ok(sl_trace_parse("hand.trace", text, strlen(text), &t));
	if (!tier)
		t.n_tiers = t.n_links = 0;
	sl_assert_ok(sl_joint_bound(&t, 40960, &ns));
	sl_trace_finish(&t);
	return ns;
}

static void what_must_run_again_is_counted_where_there_is_no_tier(void **state)
{
	(void)state;
	/* 5 us of ops and 2 more. */
	assert_in_range(bound_of(TRACE("1"), false), 6999, 7000);
}

static void what_cannot_run_again_is_copied(void **state)
{
	(void)state;
	/* Ten KB one way take ten us. */
	assert_in_range(bound_of(TRACE("0"), true), 9990, 10000);
}

static void both_together_are_less_than_either(void **state)
{
	uint64_t ns = bound_of(TRACE("1"), true);

	(void)state;
	/* x of it copied, 1 - x borne again: 10 x = 5 + 2 (1 - x). */
	assert_in_range(ns, 5800, 5834);
}

static void assert_below(const struct sl_trace *t, uint64_t budget)
{
	const struct sl_mem_policy *row;
	uint64_t ns = 0;

	sl_assert_ok(sl_joint_bound(t, budget, &ns));
	for (size_t i = 0; (row = sl_policy_at(i)) != NULL; i++) {
		struct sl_policy_choice c = sl_policy_usual(row);
		struct sl_plan p = SL_PLAN_INIT;

		c = sl_policy_quick(&c);
		if (sl_policy_apply(&c, t, budget, &p) == SL_OK)
			assert_true(p.price_ns + 1000 >= ns);
		sl_plan_finish(&p);
	}
}

static void no_plan_is_below(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct gen g = seed % 3 ? gen_random(seed, 12)
					: gen_training(2, 64, 32, 1 << 28);
		struct sl_least_budget least;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(sl_trace_least_budget(&g.t, &least));
		for (uint32_t i = 0; i < g.t.n_links; i++)
			g.t.links[i].half_duplex = seed % 2;
		for (uint64_t part = 0; part < 4; part++)
			assert_below(
				&g.t, sl_align_up(least.bytes + (least.live_peak_bytes -
									least.bytes) *
									part / 4,
					      4096));
		sl_trace_finish(&g.t);
	}
}

static sl_status bound_once(void *ctx)
{
	uint64_t ns;

	return sl_joint_bound(ctx, 40960, &ns);
}

static void every_allocation_may_fail(void **state)
{
	struct sl_trace t = SL_TRACE_INIT;

	(void)state;
	sl_assert_ok(sl_trace_parse("hand.trace", TRACE("1"), strlen(TRACE("1")), &t));
	assert_true(sl_torture(bound_once, &t) > 5);
	sl_trace_finish(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_must_run_again_is_counted_where_there_is_no_tier),
		SL_TEST(what_cannot_run_again_is_copied),
		SL_TEST(both_together_are_less_than_either),
		SL_TEST(no_plan_is_below),
		SL_TEST(every_allocation_may_fail),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
