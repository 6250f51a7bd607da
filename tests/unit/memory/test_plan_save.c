/* SPDX-License-Identifier: Apache-2.0 */
/* Copies out that leave their value where it is: what is sound, who waits, what is held.
 * 1 GB/s is a byte a nanosecond, a page is 4096 ns and 100 ns of latency. */
#include "harness/hand_rig.h"
#include "harness/harness.h"

#include "memory/replay.h"
#include "unit/memory/plan_util.h"

#define LINE(position, rest) position " delay_ns=0 " rest "\n"
#define SAVE0 LINE("after 0", "save v0 tier=disk channel=0 offset=4096")
#define DROP0 LINE("after 0", "drop-clean v0")
#define IN0 LINE("before 3", "in v0 tier=disk channel=1 offset=0")
/* v1, which op 3 changes, is at home and below over the boundary. */
#define BOTH1 "start v1 tier=device offset=4096\nstart v1 tier=disk offset=0\n"
#define AWAY1 \
	LINE("before 0", "drop-clean v1") \
	LINE("before 3", "in v1 tier=disk channel=1 offset=4096")
#define SAVE1 LINE("after 3", "save v1 tier=disk channel=0 offset=0")

static void parse(const char *text, struct sl_trace *t, struct sl_plan *p)
{
	*t = SL_TRACE_INIT;
	*p = SL_PLAN_INIT;
	plan_trace(t);
	sl_assert_ok(plan_parse(t, text, p));
}

static void what_is_saved_is_clean_until_it_is_written(void **state)
{
	static const struct {
		const char *text, *part; /* NULL: sound */
	} cases[] = {
		{PLAN_KEEP SAVE0, NULL},
		{PLAN_KEEP SAVE0 DROP0 IN0, NULL},
		{PLAN_KEEP BOTH1 AWAY1 SAVE1, NULL},
		{PLAN_KEEP BOTH1 AWAY1, "v1"},
		{PLAN_KEEP DROP0 SAVE0 IN0, "v0 has no current copy"},
		{PLAN_KEEP SAVE0 LINE("after 0", "out v0 tier=disk channel=0 offset=0")
				SAVE0 IN0,
			"save v0: v0 is not on the device"},
		{PLAN_KEEP LINE("before 3", "save v1 tier=disk channel=0 offset=0")
				LINE("after 3", "drop-clean v1"),
			"v1 has no current copy below"},
		{PLAN_KEEP LINE("after 0", "save v0 tier=disk channel=2 offset=0"),
			"does not join"},
		{PLAN_KEEP LINE("after 0", "save v0 tier=disk channel=0 offset=16384"),
			"ends beyond"},
		{PLAN_KEEP SAVE0 LINE(
			 "after 0", "save v1 tier=disk channel=0 offset=4096"),
			"v1 would lie on bytes that v0 holds"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		struct sl_trace t;
		struct sl_plan p;

		parse(cases[i].text, &t, &p);
		if (cases[i].part)
			sl_assert_fails(sl_plan_check(&t, &p, 65536, NULL), SL_E_NO,
				cases[i].part);
		else
			sl_assert_ok(sl_plan_check(&t, &p, 65536, NULL));
		sl_plan_finish(&p);
		sl_trace_finish(&t);
	}
}

/* By the price and by the replay. */
static void assert_times(const char *text, uint64_t iter_ns, uint64_t held_bytes)
{
	struct sl_trace t;
	struct sl_plan p;
	struct sl_plan_price price;
	struct sl_replay_job job = {.trace = &t, .plan = &p, .iterations = 2};
	struct sl_replay_opts o = {.jobs = &job, .n_jobs = 1};
	struct sl_replay_result r;
	struct sl_replay_total total = {0};

	parse(text, &t, &p);
	sl_assert_ok(sl_plan_check(&t, &p, 65536, NULL));
	sl_assert_ok(sl_plan_price(&t, &p, &price));
	sl_assert_ok(sl_replay(&o, &r, &total));
	assert_int_equal(price.iter_ns, iter_ns);
	assert_int_equal(price.swap_out_bytes, 4096);
	assert_int_equal(r.first_iter_ns, iter_ns);
	assert_int_equal(r.steady_iter_ns, iter_ns);
	assert_int_equal(r.held_peak_bytes, held_bytes);
	sl_replay_total_finish(&total);
	sl_plan_finish(&p);
	sl_trace_finish(&t);
}

static void who_reads_goes_on_and_who_writes_waits(void **state)
{
	(void)state;
	/* v0 1000..5196 while op 3 reads it: only the iteration's end waits. */
	assert_times(PLAN_KEEP SAVE0, 5196, 4 * 4096 + 64 + 64);
	/* v1 3000..7196, then op 3, which changes it. */
	assert_times(PLAN_KEEP LINE("after 2", "save v1 tier=disk channel=0 offset=0"),
		8196, 4 * 4096 + 64 + 64);
	/* So does a move, which takes 512 ns. */
	assert_times(PLAN_KEEP LINE("after 2", "save v1 tier=disk channel=0 offset=0")
			     LINE("after 2", "move v1 offset=20480")
				     LINE("after 3", "move v1 offset=4096"),
		8196 + 2 * 512, 4 * 4096 + 64 + 64);
}

static void what_is_dropped_meanwhile_holds_its_bytes_until_the_end(void **state)
{
	(void)state;
	/* As if it went out: 1000..5196, in ..9392, op 3 ..10392. While op 1 runs its
	 * bytes are still read. */
	assert_times(PLAN_KEEP SAVE0 DROP0 IN0, 10392, 4 * 4096 + 64 + 64);
}

static void the_engine_lets_nobody_write_what_is_being_copied(void **state)
{
	static const char trace[] =
		"trace 1\njob 0 name=small iterations=0\ntier host bytes=65536\n"
		"link device host bytes_per_s=1 latency_ns=0 duplex=full\n"
		"link host device bytes_per_s=1 latency_ns=0 duplex=full\n"
		"value v0 bytes=4096 align=64 class=param\n"
		"op 0 kind=reads dur_ns=1 in=v0\nop 1 kind=changes dur_ns=1 mutates=v0\n";
	struct sl_hand_rig r;
	struct sl_engine_link link;

	(void)state;
	sl_hand_open(&r, trace, 0);
	sl_hand_plan(&r, 0,
		PLAN_HEAD "place v0 region=P offset=0\n"
			  "after 0 delay_ns=0 save v0 tier=host channel=0 offset=0\n");
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_hand_write(&r, 0, 7);
	sl_assert_ok(sl_engine_before(r.e, 0));
	sl_assert_ok(sl_engine_after(r.e, 0));
	sl_assert_ok(sl_engine_before(r.e, 1));
	sl_engine_link(r.e, 0, &link);
	assert_int_equal(link.copies, 1);
	sl_assert_ok(sl_engine_after(r.e, 1));
	sl_assert_ok(sl_engine_end_step(r.e));
	sl_hand_assert(&r, 0, 7);
	sl_hand_close(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_is_saved_is_clean_until_it_is_written),
		SL_TEST(who_reads_goes_on_and_who_writes_waits),
		SL_TEST(what_is_dropped_meanwhile_holds_its_bytes_until_the_end),
		SL_TEST(the_engine_lets_nobody_write_what_is_being_copied),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
