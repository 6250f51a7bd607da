/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of the checker, one broken plan each, from sound plans written by hand. */
#include "harness/harness.h"

#include "unit/memory/plan_util.h"

static sl_status check_text(const char *text, uint64_t budget)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st;

	plan_trace(&t);
	sl_assert_ok(plan_parse(&t, text, &p));
	st = sl_plan_check(&t, &p, budget, NULL);
	sl_plan_finish(&p);
	sl_trace_finish(&t);
	return st;
}

static void sound_plans_pass_with_their_peak(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t peak = 0;

	plan_trace(&t);
	sl_assert_ok(plan_parse(&t, PLAN_SWAP, &p));
	sl_assert_ok(sl_plan_check(&t, &p, 65536, &peak));
	assert_int_equal(peak, 16512);
	assert_int_equal(p.peak, 16512);
	assert_int_equal(p.p_bytes, 16448);
	sl_assert_ok(sl_plan_check(&t, &p, 16512, &peak));
	sl_assert_fails(
		sl_plan_check(&t, &p, 16511, &peak), SL_E_NO, "beyond the budget");
	p.peak--;
	sl_assert_fails(sl_plan_check(&t, &p, 65536, &peak), SL_E_NO, "states a peak");
	sl_plan_finish(&p);
	sl_trace_finish(&t);
	sl_assert_ok(check_text(PLAN_KEEP, 16512));
}

#define LINE(position, rest) position " delay_ns=0 " rest "\n"
#define OUT0 LINE("after 0", "out v0 tier=disk channel=0 offset=4096")
#define IN0 LINE("before 3", "in v0 tier=disk channel=1 offset=0")
#define START1 "start v1 tier=disk offset=0\n"
#define IN1 LINE("before 3", "in v1 tier=disk channel=1 offset=4096")
#define OUT1 LINE("after 3", "out v1 tier=disk channel=0 offset=0")
#define ONE "place v0 region=P offset=0\n"

static const struct {
	const char *text;
	const char *part;
} broken[] = {
	/* residency */
	{PLAN_KEEP OUT0, "op 3 (d): v0 is not on the device"},
	{PLAN_KEEP OUT0 OUT0 IN0, "after op 0 (a): out v0: v0 is not on the device"},
	{PLAN_KEEP IN0, "on the device already"},
	{PLAN_KEEP OUT0 IN0 IN0, "on the device already"},
	{PLAN_KEEP LINE("after 0", "drop v0") IN0, "no current copy"},
	{PLAN_KEEP LINE("after 0", "drop-clean v0") IN0, "no current copy below"},
	{PLAN_KEEP LINE("before 3", "drop-clean v0"), "no current copy below"},
	{PLAN_KEEP LINE("before 0", "out v2 tier=disk channel=0 offset=0"), "not alive"},
	{PLAN_KEEP LINE("after 2", "out v2 tier=disk channel=0 offset=0"), "not alive"},
	/* addresses */
	{PLAN_HEAD PLAN_BOTH
		"place v3 region=lane offset=12288\nplace v4 region=P offset=16384\n",
		"v2 has no place"},
	{PLAN_HEAD PLAN_BOTH
		"place v2 region=lane offset=8192\nplace v3 region=lane offset=8192\n"
		"place v4 region=P offset=16384\nplace w1 region=lane offset=20480\n",
		"v3 would lie on bytes that v2 holds"},
	{PLAN_HEAD ONE PLAN_PLACES, "v1 has no place"},
	{PLAN_HEAD "place v0 region=P offset=64\nplace v1 region=P "
		   "offset=20480\n" PLAN_PLACES,
		"not at a multiple of 4096"},
	{PLAN_HEAD "place v0 region=P offset=0\nplace v1 region=P offset=0\n" PLAN_PLACES,
		"v1 would lie on bytes that v0 holds"},
	{PLAN_HEAD "place v0 region=P offset=18446744073709547520\n"
		   "place v1 region=P offset=4096\n" PLAN_PLACES,
		"beyond the budget"},
	{PLAN_KEEP "place w0 region=lane offset=0\n", "w0 has a place but no bytes"},
	{PLAN_KEEP LINE("before 1", "move v0 offset=4096"),
		"v0 would lie on bytes that v1 holds"},
	{PLAN_KEEP LINE("before 1", "move v0 offset=20480"), "v0 is not where it starts"},
	{PLAN_KEEP LINE("before 1", "move v0 offset=20481"), "not at a multiple"},
	{PLAN_KEEP LINE("before 1", "move v4 offset=20480"), "not to be moved"},
	{PLAN_KEEP LINE("before 1", "out v4 tier=disk channel=0 offset=0"),
		"not to be moved"},
	/* tiers and channels */
	{PLAN_KEEP LINE("after 0", "out v0 tier=disk channel=2 offset=0") IN0,
		"does not join"},
	{PLAN_KEEP LINE("after 0", "out v0 tier=disk channel=9 offset=0") IN0,
		"no channel 9"},
	{PLAN_KEEP LINE("after 0", "out v0 tier=device channel=0 offset=0") IN0,
		"tier 0 is none"},
	{PLAN_KEEP LINE("after 0", "out v0 tier=disk channel=0 offset=16384") IN0,
		"ends beyond the 16384 bytes of tier disk"},
	{PLAN_KEEP LINE("after 0", "out v0 tier=far channel=2 offset=0") IN0,
		"no current copy in tier disk"},
	{PLAN_KEEP OUT0 LINE("after 0", "out v1 tier=disk channel=0 offset=8000"),
		"v1 would lie on bytes that v0 holds disk"},
	/* start and end */
	{PLAN_HEAD ONE PLAN_PLACES START1 IN1,
		"v1 has no current copy in tier disk at 0"},
	{PLAN_HEAD ONE PLAN_PLACES START1 IN1 LINE(
		 "after 3", "out v1 tier=disk channel=0 offset=4096"),
		"no current copy in tier disk at 0"},
	{PLAN_HEAD PLAN_BOTH PLAN_PLACES START1, "starts below the device"},
	{PLAN_HEAD ONE PLAN_PLACES START1 OUT1, "op 3 (d): v1 is not on the device"},
	{PLAN_HEAD PLAN_BOTH PLAN_PLACES START1 "start v1 tier=device\n",
		"no current copy in tier disk"},
	{PLAN_HEAD ONE PLAN_PLACES START1 START1 IN1 OUT1, "two lines for one tier"},
	{PLAN_KEEP "start v2 tier=disk offset=0\n", "only roots that persist"},
	{PLAN_HEAD PLAN_BOTH
		"start v4 tier=disk offset=0\nplace v2 region=lane offset=8192\n"
		"place v3 region=lane offset=12288\nplace w1 region=lane offset=16448\n",
		"cannot leave the device"},
	/* reserved */
	{PLAN_KEEP LINE("before 1", "send v0 tier=disk channel=0"), "send is reserved"},
	{PLAN_KEEP "before 1 delay_ns=0 move v0 offset=20480 iter=+1\n",
		"iter=+1 is reserved"},
};

static void every_broken_plan_is_refused_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(broken); i++)
		sl_assert_fails(
			check_text(broken[i].text, 65536), SL_E_NO, broken[i].part);
}

static void a_write_makes_copies_stale_and_their_bytes_free(void **state)
{
	(void)state;
	/* v0 takes the bytes of v1's old copy after op 3 wrote v1: v1 must not come from
	 * there. */
	sl_assert_fails(check_text(PLAN_HEAD ONE PLAN_PLACES START1 IN1 LINE(
					   "after 3", "drop-clean v1"),
				65536),
		SL_E_NO, "no current copy below");
	sl_assert_ok(
		check_text(PLAN_HEAD PLAN_BOTH PLAN_PLACES LINE(
				   "after 3", "out v0 tier=disk channel=0 offset=0")
				   LINE("after 3", "in v0 tier=disk channel=1 offset=0"),
			65536));
}

static void a_clean_value_may_start_on_the_device_and_below(void **state)
{
	(void)state;
	sl_assert_ok(check_text(PLAN_KEEP
		"start v0 tier=device\nstart v0 tier=disk offset=4096\n" LINE(
			"after 0", "drop-clean v0") IN0,
		65536));
}

static void a_move_may_overlap_its_own_bytes(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	static const char text[] = "trace 1\njob 0 name=t iterations=0\n"
				   "value v0 bytes=128 align=64 class=act\n"
				   "op 0 kind=a out=v0\nop 1 kind=b in=v0\n";

	sl_assert_ok(sl_trace_parse("t", text, sizeof(text) - 1, &t));
	sl_assert_ok(plan_parse(&t,
		PLAN_HEAD
		"place v0 region=lane offset=64\n" LINE("before 1", "move v0 offset=0"),
		&p));
	sl_assert_ok(sl_plan_check(&t, &p, 192, NULL));
	sl_plan_finish(&p);
	sl_trace_finish(&t);
}

static sl_status check_swap(void *ctx)
{
	struct sl_trace *t = ctx;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	sl_status st = plan_parse(t, PLAN_SWAP, &p);

	if (st == SL_OK)
		st = sl_plan_check(t, &p, 65536, NULL);
	if (st == SL_OK)
		st = sl_plan_price(t, &p, &price);
	sl_plan_finish(&p);
	return st;
}

static void checking_and_pricing_survive_every_failing_allocation(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;

	plan_trace(&t);
	assert_true(sl_torture(check_swap, &t) > 20);
	sl_trace_finish(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(sound_plans_pass_with_their_peak),
		SL_TEST(every_broken_plan_is_refused_with_the_reason),
		SL_TEST(a_write_makes_copies_stale_and_their_bytes_free),
		SL_TEST(a_clean_value_may_start_on_the_device_and_below),
		SL_TEST(a_move_may_overlap_its_own_bytes),
		SL_TEST(checking_and_pricing_survive_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
