/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits, in words; what would fit; logs that begin with jobs at work. */
#include "events.h"

#include <string.h>

#include "share/sim.h"

#define HOUR ((sl_ns)3600 * 1000000000)
#define MIB ((uint64_t)1 << 20)

static const char *name_of(void *ctx, uint32_t job)
{
	(void)ctx;
	return job == 3 ? "train resnet18" : NULL;
}

static void assert_words(struct desk *d, uint32_t job, const char *want)
{
	static const struct sl_share_names names = {.name = name_of};
	struct sl_buf out = SL_BUF_INIT;

	sl_assert_ok(sl_share_explain(&d->s, job, &names, &out));
	assert_string_equal(sl_buf_text(&out), want);
	sl_buf_finish(&out);
}

static bool has_words(struct desk *d, uint32_t job, sl_ns now, const char *words)
{
	const struct sl_share_names names = {.now_ns = now};
	struct sl_buf out = SL_BUF_INIT;
	bool has;

	sl_assert_ok(sl_share_explain(&d->s, job, &names, &out));
	has = strstr(sl_buf_text(&out), words) != NULL;
	sl_buf_finish(&out);
	return has;
}

static void assert_reason(struct desk *d, uint32_t job, const char *want)
{
	char text[SL_SHARE_REASON];

	sl_share_reason(&d->s, job, text);
	assert_string_equal(text, want);
}

/* 1000 MiB: job 3 has 300 + 400, job 4 has 100 + 200 in the same lane; 200 are free. */
static void open_busy(struct desk *d, const char *policy, uint32_t lanes)
{
	desk_open(d, policy, 1000 * MIB, lanes, 6 * HOUR);
	desk_event(d, arrives(0, 3, 300 * MIB, 400 * MIB, HOUR));
	desk_event(d, arrives(0, 4, 100 * MIB, 200 * MIB, 2 * HOUR));
	desk_event(d, arrives(HOUR / 2, 5, 150 * MIB, 512 * MIB, HOUR));
}

static void a_job_without_room_hears_who_has_it_and_what_would_fit(void **state)
{
	struct desk d;

	(void)state;
	open_busy(&d, "fair", 0);
	desk_event(&d, says(SL_STEP_TICK, HOUR, 0));
	assert_words(&d, 5,
		"job 5 (662.00 MiB) waits: needs 662.00 MiB, free 200.00 MiB; until job "
		"3 "
		"ends; number 1 of 1.\n"
		"It takes P 150.00 MiB between turns and E 512.00 MiB more in a turn.\n"
		"The device has 1000.00 MiB; granted are 800.00 MiB: P of 2 resident "
		"jobs 400.00 MiB, 1 lane 400.00 MiB.\n"
		"It fits when job 3 (train resnet18, 700.00 MiB) ends.\n"
		"It would fit now with E of at most 450.00 MiB: --allow-slowdown lets it "
		"plan for less.\n"
		"It is number 1 of 1 that wait.\n"
		"It has waited 30.0 min; it comes of age in 5.5 h, and then goes "
		"first.\n");
	assert_reason(&d, 5,
		"needs 662.00 MiB, free 200.00 MiB; until job 3 ends; number 1 of 1");
	assert_words(&d, 3,
		"job 3 (train resnet18, 700.00 MiB) is resident: has the turn.\n"
		"It takes P 300.00 MiB between turns and E 400.00 MiB more in a turn.\n"
		"It has the turn of lane 0.\n");
	assert_reason(&d, 3, "has the turn");
	assert_reason(&d, 4, "waits for its turn after job 3");
	assert_words(&d, 9, "");
	assert_true(
		has_words(&d, 5, 2 * HOUR, "waited 90.0 min; it comes of age in 4.5 h"));
	assert_reason(&d, 9, "");
	desk_close(&d);
}

static void who_would_fit_at_a_boundary_hears_whose(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d, "srtf", 100, 0, 0);
	desk_event(&d, arrives(0, 0, 1, 1, 5));
	desk_event(&d, arrives(0, 1, 1, 1, 9));
	assert_reason(&d, 1, "fits, after job 0's turn; number 1 of 1");
	assert_int_equal(sl_share_key(&d.s, sl_share_find(&d.s, 1)), 9);
	desk_close(&d);
}

static void limits_pauses_age_and_moves_are_told(void **state)
{
	struct desk d;

	(void)state;
	open_busy(&d, "fair", 0);
	desk_event(&d, (struct sl_step){
			       .kind = SL_STEP_LIMIT, .at_ns = HOUR, .bytes = 900 * MIB});
	desk_event(&d, arrives(HOUR, 6, MIB, MIB, HOUR));
	assert_reason(&d, 6, "user 0 is limited to 900.00 MiB");
	desk_event(&d, says(SL_STEP_HOLD, HOUR, 6));
	assert_reason(&d, 6, "paused");
	assert_words(&d, 6,
		"job 6 (2.00 MiB) is paused.\n"
		"It takes P 1.00 MiB between turns and E 1.00 MiB more in a turn.\n");
	desk_event(&d, (struct sl_step){.kind = SL_STEP_LIMIT, .at_ns = HOUR});
	desk_event(&d, says(SL_STEP_TICK, 7 * HOUR, 0));
	desk_event(&d, says(SL_STEP_RELEASE, 7 * HOUR, 6));
	assert_reason(&d, 6, "job 4 has waited longest and is first");
	desk_close(&d);
}

static void who_moves_and_who_is_parked_is_told(void **state)
{
	struct desk d;

	(void)state;
	desk_open_parking(&d, "fair", 12, 4, 0);
	desk_event(&d, arrives(0, 0, 10, 2, 50));
	desk_event(&d, arrives(0, 1, 10, 2, 50));
	desk_event(&d, says(SL_STEP_TICK, 5, 0));
	assert_true(sl_share_wants_boundary(&d.s, 0));
	assert_reason(&d, 0, "has the turn; then moves away");
	desk_event(&d, reports(SL_STEP_TURN, 6, 0, 6));
	assert_reason(&d, 0, "moves away for another job");
	desk_event(&d, says(SL_STEP_PARKED, 7, 0));
	assert_reason(
		&d, 0, "parked; needs 12 B, free 0 B; until job 1 ends; number 1 of 1");
	assert_true(has_words(&d, 0, 0, "waits, and is parked: needs 12 B, free 0 B"));
	desk_close(&d);
}

static void menus_ask_what_fits_now_and_ever(void **state)
{
	struct desk d;

	(void)state;
	open_busy(&d, "fair", 0);
	assert_int_equal(sl_share_room(&d.s, 5, 150 * MIB), 450 * MIB);
	assert_true(sl_share_fits_now(&d.s, 5, 150 * MIB, 450 * MIB));
	assert_false(sl_share_fits_now(&d.s, 5, 150 * MIB, 450 * MIB + 1));
	assert_false(sl_share_fits_now(&d.s, 5, 201 * MIB, 0));
	assert_true(sl_share_room(&d.s, 5, 201 * MIB) == UINT64_MAX);
	assert_false(sl_share_fits_now(&d.s, 3, 0, 0)); /* it is resident */
	assert_true(sl_share_fits_ever(&d.s, 0, 600 * MIB, 400 * MIB));
	assert_false(sl_share_fits_ever(&d.s, 0, 600 * MIB, 401 * MIB));
	assert_false(sl_share_fits_ever(&d.s, 0, UINT64_MAX, 2));
	desk_event(&d, (struct sl_step){
			       .kind = SL_STEP_LIMIT, .at_ns = HOUR, .bytes = 100 * MIB});
	assert_false(sl_share_fits_ever(&d.s, 0, 60 * MIB, 41 * MIB));
	assert_true(sl_share_fits_ever(&d.s, 1, 60 * MIB, 41 * MIB));
	assert_true(sl_share_room(&d.s, 5, 1 * MIB) == UINT64_MAX);
	desk_event(&d, (struct sl_step){.kind = SL_STEP_LIMIT, .at_ns = HOUR});
	/* The row that fits is taken by changing the waiting job. */
	desk_event(&d, (struct sl_step){.kind = SL_STEP_RESIZE,
			       .at_ns = HOUR,
			       .job = 5,
			       .persistent_bytes = 150 * MIB,
			       .ephemeral_bytes = 450 * MIB});
	assert_true(sl_share_find(&d.s, 5)->resident);
	desk_close(&d);
}

static void a_log_may_begin_with_jobs_at_work(void **state)
{
	struct desk d;
	struct sl_step e = {.kind = SL_STEP_SEAT, .job = 1, .lane = 2, .bytes = 6};

	(void)state;
	desk_open(&d, "fair", 32, 0, 0);
	d.s.now_ns = 0;
	for (uint32_t i = 0; i < 3; i++) {
		struct sl_step a = arrives(0, i, 4, 5, 100);

		sl_assert_ok(sl_share_apply(&d.s, &a));
		sl_assert_ok(sl_log_add(&d.log, &a));
	}
	e.used_ns = 40;
	e.turns = 20;
	e.flag = 1;
	sl_assert_ok(sl_share_apply(&d.s, &e));
	sl_assert_ok(sl_log_add(&d.log, &e));
	e.job = 0;
	sl_assert_fails(sl_share_apply(&d.s, &e), SL_E_INVALID, "cannot sit");
	e.flag = 0;
	e.bytes = 25;
	sl_assert_fails(sl_share_apply(&d.s, &e), SL_E_NOMEM_DEVICE, "");
	e.bytes = 4;
	sl_assert_ok(sl_share_apply(&d.s, &e));
	sl_assert_ok(sl_log_add(&d.log, &e));
	desk_event(&d, (struct sl_step){.kind = SL_STEP_PAST,
			       .job = 2,
			       .used_ns = 7,
			       .turns = 1,
			       .flag = 1});
	assert_int_equal(d.s.lanes.items[2].holder, 1);
	assert_int_equal(sl_share_find(&d.s, 2)->attained_ns, 7);
	desk_event(&d, reports(SL_STEP_TURN, 3, 1, 3));
	assert_int_equal(sl_share_find(&d.s, 1)->attained_ns, 43);
	sl_assert_ok(sl_log_replay(&d.log, d.s.policy));
	desk_close(&d);
}

static void the_policy_may_change_under_way(void **state)
{
	struct desk d;
	struct sl_step e;

	(void)state;
	desk_open(&d, "pack", 32, 0, 50);
	desk_event(&d, arrives(0, 0, 4, 5, 100));
	desk_event(&d, arrives(0, 1, 4, 5, 100));
	assert_int_equal(d.s.lanes.open, 2);
	desk_event(&d, sl_share_policy_event(&d.s, sl_job_policy_find("fair"), 2));
	assert_string_equal(d.s.rules.policy, "fair");
	assert_int_equal(d.s.lanes.most, 1);
	desk_event(&d, arrives(3, 2, 4, 5, 100)); /* opens no third lane */
	assert_int_equal(d.s.lanes.open, 2);
	desk_event(&d, reports(SL_STEP_END, 4, 0, 4));
	desk_event(&d, reports(SL_STEP_TURN, 4, 1, 4));
	desk_event(&d,
		(struct sl_step){
			.kind = SL_STEP_PRIORITY, .at_ns = 5, .job = 1, .priority = 3});
	assert_int_equal(sl_share_find(&d.s, 1)->priority, 3);
	sl_assert_ok(sl_log_replay_with(
		&d.log, sl_job_policy_find("pack"), sl_job_policy_find));
	sl_assert_fails(sl_log_replay(&d.log, sl_job_policy_find("pack")), SL_E_FORMAT,
		"cannot become fair");
	e = sl_share_policy_event(&d.s, sl_job_policy_find("srtf"), 6);
	memcpy(e.policy, "none", 5);
	sl_assert_fails(sl_share_apply(&d.s, &e), SL_E_INVALID, "cannot become none");
	desk_close(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_job_without_room_hears_who_has_it_and_what_would_fit),
		SL_TEST(who_would_fit_at_a_boundary_hears_whose),
		SL_TEST(limits_pauses_age_and_moves_are_told),
		SL_TEST(who_moves_and_who_is_parked_is_told),
		SL_TEST(menus_ask_what_fits_now_and_ever),
		SL_TEST(a_log_may_begin_with_jobs_at_work),
		SL_TEST(the_policy_may_change_under_way),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
