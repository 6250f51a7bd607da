/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time by hand: 1 GB/s is a byte a nanosecond, a page is 4096 ns and 100 ns of
 * latency. */
#include "harness/harness.h"

#include "unit/memory/plan_util.h"

static struct sl_plan_price price_text(const char *trace, const char *text)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price = {0};

	sl_assert_ok(sl_trace_parse("hand.trace", trace, strlen(trace), &t));
	sl_assert_ok(plan_parse(&t, text, &p));
	sl_assert_ok(sl_plan_check(&t, &p, 65536, NULL));
	sl_assert_ok(sl_plan_price(&t, &p, &price));
	sl_plan_finish(&p);
	sl_trace_finish(&t);
	return price;
}

static struct sl_plan_price bound_text(const char *trace, const char *text)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price = {0};

	sl_assert_ok(sl_trace_parse("hand.trace", trace, strlen(trace), &t));
	sl_assert_ok(plan_parse(&t, text, &p));
	sl_assert_ok(sl_plan_price_anywhere(&t, &p, &price, NULL));
	sl_plan_finish(&p);
	sl_trace_finish(&t);
	return price;
}

static void without_actions_the_iteration_takes_the_sum_of_its_ops(void **state)
{
	(void)state;
	struct sl_plan_price price = price_text(PLAN_TRACE, PLAN_KEEP);

	assert_int_equal(price.base_iter_ns, 4000);
	assert_int_equal(price.iter_ns, 4000);
	assert_int_equal(price.stall_ns, 0);
}

static void copies_queue_on_their_channel_and_ops_wait_for_them(void **state)
{
	(void)state;
	/*
	 * out v0 1000..5196. Before op 3, at 3000: in v1 3000..7196, then in v0
	 * 7196..11392 on the same channel. Op 3 11392..12392. out v1 12392..16588: the
	 * iteration ends there.
	 */
	struct sl_plan_price price = price_text(PLAN_TRACE, PLAN_SWAP);

	assert_int_equal(price.iter_ns, 16588);
	assert_int_equal(price.stall_ns, 12588);
	assert_int_equal(price.swap_in_bytes, 8192);
	assert_int_equal(price.swap_out_bytes, 8192);
	assert_int_equal(price.move_bytes, 0);
}

static void a_delay_postpones_the_copy(void **state)
{
	(void)state;
	struct sl_plan_price price = price_text(PLAN_TRACE,
		PLAN_KEEP "after 2 delay_ns=0 out v0 tier=disk channel=0 offset=0\n"
			  "after 2 delay_ns=9000 in v0 tier=disk channel=1 offset=0\n");

	/* out 3000..7196; in would start at 12000; op 3 ends at 12000 + 4196 + 1000. */
	assert_int_equal(price.iter_ns, 17196);
}

#define DUPLEX(kind) \
	"trace 1\njob 0 name=t iterations=0\ntier disk bytes=16384\n" \
	"link device disk bytes_per_s=1000000000 duplex=" kind "\n" \
	"value v0 bytes=4096 align=4096 class=param\n" \
	"value v1 bytes=4096 align=4096 class=param\n" \
	"op 0 kind=a dur_ns=100 in=v0\nop 1 kind=a dur_ns=100 in=v1\n"

#define DUPLEX_PLAN \
	PLAN_HEAD "place v0 region=P offset=0\nstart v1 tier=disk offset=0\n" \
		  "after 0 delay_ns=0 out v0 tier=disk channel=0 offset=4096\n" \
		  "after 0 delay_ns=0 in v1 tier=disk channel=0 offset=4096\n" \
		  "after 1 delay_ns=0 drop-clean v1\n" \
		  "after 1 delay_ns=0 in v0 tier=disk channel=0 offset=0\n"

static void half_duplex_takes_turns_and_full_duplex_overlaps(void **state)
{
	(void)state;
	/* Full: out 100..4196 beside in 100..4196; op 1 to 4296; in v0 4296..8392. */
	assert_int_equal(price_text(DUPLEX("full"), DUPLEX_PLAN).iter_ns, 8392);
	/* Half: out 100..4196, in 4196..8292; op 1 to 8392; in v0 to 12488. */
	assert_int_equal(price_text(DUPLEX("half"), DUPLEX_PLAN).iter_ns, 12488);
}

static void bytes_that_are_still_read_hold_up_those_who_come_next(void **state)
{
	(void)state;
	/* v1 comes in where v0 goes out: in waits for the end of out although another
	 * channel. */
	static const char plan[] =
		PLAN_HEAD "place v0 region=P offset=0\nstart v1 tier=disk offset=0\n"
			  "after 0 delay_ns=0 out v0 tier=disk channel=0 offset=4096\n"
			  "after 0 delay_ns=0 in v1 tier=disk channel=0 offset=0\n"
			  "after 1 delay_ns=0 drop-clean v1\n"
			  "after 1 delay_ns=0 in v0 tier=disk channel=0 offset=0\n";

	/* out 100..4196, in v1 4196..8292, op 1 to 8392, in v0 8392..12488. */
	assert_int_equal(price_text(DUPLEX("full"), plan).iter_ns, 12488);
	/* Beside each other, if addresses did not matter; v0 waits for its copy. */
	assert_int_equal(bound_text(DUPLEX("full"), plan).iter_ns, 8392);
}

static void waits_add_up_to_the_stall_and_name_values(void **state)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	struct sl_plan_wait waits[5];
	uint64_t start_ns[4];

	(void)state;
	plan_trace(&t);
	sl_assert_ok(plan_parse(&t, PLAN_SWAP, &p));
	sl_assert_ok(sl_plan_price_waits(&t, &p, &price, start_ns, waits));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(waits[i].ns, 0);
		assert_int_equal(waits[i].value, SL_NO_ID);
	}
	/* v1 is there first, v0 behind it; at the end v1 goes out. */
	assert_int_equal(start_ns[3], 11392);
	assert_int_equal(waits[3].ns, 8392);
	assert_int_equal(waits[3].value, 0);
	assert_false(waits[3].leaving);
	assert_int_equal(waits[4].ns, 4196);
	assert_int_equal(waits[4].value, 1);
	assert_true(waits[4].leaving);
	assert_int_equal(waits[3].ns + waits[4].ns, price.stall_ns);
	sl_plan_finish(&p);
	sl_trace_finish(&t);
}

static void a_move_costs_a_pass_through_memory(void **state)
{
	(void)state;
	struct sl_plan_price price = price_text(PLAN_TRACE,
		PLAN_KEEP "after 0 delay_ns=0 move v0 offset=20480\n"
			  "after 3 delay_ns=0 move v0 offset=0\n");

	assert_int_equal(price.move_bytes, 8192);
	assert_int_equal(price.stall_ns, 2 * (4096 / 8));
}

static void what_is_no_plan_for_the_trace_is_refused(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;

	plan_trace(&t);
	sl_assert_fails(sl_plan_price(&t, &p, &price), SL_E_INVALID, "another trace");
	sl_assert_ok(plan_parse(&t, PLAN_KEEP "before 1 delay_ns=0 send v0\n", &p));
	sl_assert_fails(sl_plan_price(&t, &p, &price), SL_E_INVALID, "cannot be priced");
	sl_plan_finish(&p);
	sl_trace_finish(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(without_actions_the_iteration_takes_the_sum_of_its_ops),
		SL_TEST(copies_queue_on_their_channel_and_ops_wait_for_them),
		SL_TEST(a_delay_postpones_the_copy),
		SL_TEST(half_duplex_takes_turns_and_full_duplex_overlaps),
		SL_TEST(bytes_that_are_still_read_hold_up_those_who_come_next),
		SL_TEST(waits_add_up_to_the_stall_and_name_values),
		SL_TEST(a_move_costs_a_pass_through_memory),
		SL_TEST(what_is_no_plan_for_the_trace_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
