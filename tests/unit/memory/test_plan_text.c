/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's text form: round trip, order of actions, and hostile texts. */
#include "harness/harness.h"

#include "unit/memory/plan_util.h"

static void printing_and_parsing_give_the_same_text(void **state)
{
	(void)state;
	static const char text[] = PLAN_SWAP
		"select 1 kernel=ref layout=plain split=1 threads=2 workspace=64\n"
		"select 2 kernel=-\n"
		"before 2 delay_ns=0 recompute v3 again=1 offset=0 workspace=8\n"
		"before 2 delay_ns=0 recompute v3 again=0 offset=-\nprice 4000\nstall "
		"12\npeak 16512\n";
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT, back = SL_PLAN_INIT;
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;

	plan_trace(&t);
	sl_assert_ok(plan_parse(&t, text, &p));
	assert_string_equal(p.policy, "hand");
	assert_string_equal(p.selects[0].kernel, "ref");
	assert_int_equal(p.price_ns, 4000);
	assert_int_equal(p.stall_ns, 12);
	sl_assert_ok(sl_plan_print(&p, &t, &first));
	sl_assert_ok(plan_parse(&t, sl_buf_text(&first), &back));
	sl_assert_ok(sl_plan_print(&back, &t, &second));
	assert_string_equal(sl_buf_text(&first), sl_buf_text(&second));
	sl_buf_finish(&first);
	sl_buf_finish(&second);
	sl_plan_finish(&p);
	sl_plan_finish(&back);
	sl_trace_finish(&t);
}

static void actions_are_sorted_by_position_and_else_keep_their_order(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;

	plan_trace(&t);
	sl_assert_ok(plan_parse(&t,
		PLAN_KEEP "after 2 delay_ns=0 move v0 offset=1\nbefore 2 delay_ns=0 move "
			  "v0 offset=2\n"
			  "after 0 delay_ns=5 move v0 offset=3\nafter 2 delay_ns=0 move "
			  "v1 offset=4\n"
			  "before 2 delay_ns=0 move v0 offset=5\n",
		&p));
	static const uint64_t want[] = {3, 2, 5, 1, 4};

	assert_int_equal(p.n_actions, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(p.actions[i].offset, want[i]);
	assert_int_equal(p.actions[0].delay_ns, 5);
	sl_plan_finish(&p);
	sl_trace_finish(&t);
}

static const struct {
	const char *text;
	const char *part;
} hostile[] = {
	{"", "no plan"},
	{"trace 1\n", "no plan"},
	{"plan\n", "version is missing"},
	{"plan 9 budget=1 policy=a order=seal\n", "re-plan"},
	{"plan 1 budget=1 policy=a\n", "order= is missing"},
	{"plan 1 budget=1 policy=a order=seal colour=red\n", "`colour` is no key"},
	{"plan 1 budget=1 policy=0123456789012345678901234567890123456789 order=seal\n",
		"too long"},
	{PLAN_HEAD "nonsense\n", "begins no line"},
	{PLAN_HEAD "place v9 region=P offset=0\n", "the trace has 5 values"},
	{PLAN_HEAD "place w4 region=P offset=0\n", "the trace has 4 ops"},
	{PLAN_HEAD "place x0 region=P offset=0\n", "x0"},
	{PLAN_HEAD "place v0 region=Q offset=0\n", "region=Q"},
	{PLAN_HEAD "place v0 region=P\n", "offset= is missing"},
	{PLAN_HEAD "place v0 region=P offset=18446744073709551615\n", "no such offset"},
	{PLAN_HEAD "place v0 region=P offset=0\nplace v0 region=P offset=0\n",
		"placed twice"},
	{PLAN_HEAD "start v0 tier=moon\n", "tier=moon"},
	{PLAN_HEAD "start v0\n", "tier= is missing"},
	{PLAN_HEAD "before 4 delay_ns=0 drop v0\n", "the trace has 4"},
	{PLAN_HEAD "before 0 drop v0\n", "delay_ns="},
	{PLAN_HEAD "before 0 delay_ns=0 fly v0\n", "`fly` is no action"},
	{PLAN_HEAD "before 0 delay_ns=0 drop\n", "the value is missing"},
	{PLAN_HEAD "before 0 delay_ns=0 drop v0 iter=1\n", "+k"},
	{PLAN_HEAD "before 0 delay_ns=0 drop v0 channel=4294967296\n", "32 bits"},
	{PLAN_HEAD "before 2 delay_ns=0 drop v0 again=1\n", "`again` is no key"},
	{PLAN_HEAD "before 2 delay_ns=0 in v0 offset=-\n", "-"},
	{PLAN_HEAD "before 2 delay_ns=0 recompute v2 offset=0\n", "again= is missing"},
	{PLAN_HEAD "before 2 delay_ns=0 recompute v2 again=0\n", "offset= is missing"},
	{PLAN_HEAD "before 2 delay_ns=0 recompute v2 again=4 offset=0\n",
		"the trace has 4 ops"},
	{PLAN_HEAD "before 2 delay_ns=0 recompute v2 again=0 offset=0 tier=disk\n",
		"`tier` is no key"},
	{PLAN_HEAD "select 7 kernel=a\n", "the trace has 4"},
	{PLAN_HEAD "select 0\n", "kernel= is missing"},
	{PLAN_HEAD "peak 1\n", "states a peak of 1"},
	{PLAN_HEAD "price 1\nprice 2\n", "stands twice"},
	{PLAN_HEAD "stall 1 2\n", "goes on"},
	{PLAN_HEAD "stall\n", "number is missing"},
};

static void hostile_texts_are_refused_with_the_reason(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;

	plan_trace(&t);
	for (size_t i = 0; i < SL_COUNT(hostile); i++) {
		struct sl_plan p = SL_PLAN_INIT;

		sl_assert_fails(plan_parse(&t, hostile[i].text, &p), SL_E_FORMAT,
			hostile[i].part);
		assert_null(p.value_offset);
	}
	sl_trace_finish(&t);
}

static void every_cut_of_a_good_text_ends_in_a_status(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;

	plan_trace(&t);
	for (size_t len = 0; len < sizeof(PLAN_SWAP); len++) {
		struct sl_plan p = SL_PLAN_INIT;

		if (sl_plan_parse("cut", PLAN_SWAP, len, &t, &p) == SL_OK)
			(void)!sl_plan_check(&t, &p, 65536, NULL);
		sl_plan_finish(&p);
	}
	sl_trace_finish(&t);
}

static sl_status round_trip(void *ctx)
{
	struct sl_trace *t = ctx;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_buf out = SL_BUF_INIT;
	sl_status st = plan_parse(t,
		PLAN_SWAP
		"select 1 kernel=ref layout=plain\nbefore 0 delay_ns=0 drop v0\n",
		&p);

	if (st == SL_OK)
		st = sl_plan_print(&p, t, &out);
	sl_buf_finish(&out);
	sl_plan_finish(&p);
	return st;
}

static void the_text_survives_every_failing_allocation(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;

	plan_trace(&t);
	assert_true(sl_torture(round_trip, &t) > 5);
	sl_trace_finish(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(printing_and_parsing_give_the_same_text),
		SL_TEST(actions_are_sorted_by_position_and_else_keep_their_order),
		SL_TEST(hostile_texts_are_refused_with_the_reason),
		SL_TEST(every_cut_of_a_good_text_ends_in_a_status),
		SL_TEST(the_text_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
