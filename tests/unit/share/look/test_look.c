/* SPDX-License-Identifier: Apache-2.0 */
/* Looking, against an end of the socket that says what a test wants. */
#include "harness/harness.h"

#include <string.h>

#include "base/buf.h"
#include "harness/wire_script.h"

struct seen {
	struct sl_job_row jobs[4];
	struct sl_lane_row lanes[4];
	size_t n;
	struct sl_buf text;
	sl_status st;
};

static sl_status see_job(void *ctx, const struct sl_job_row *row)
{
	struct seen *s = ctx;

	s->jobs[s->n++] = *row;
	return s->st == SL_OK ? SL_OK : SL_FAIL(s->st, "enough");
}

static sl_status see_lane(void *ctx, const struct sl_lane_row *row)
{
	struct seen *s = ctx;

	s->lanes[s->n++] = *row;
	return SL_OK;
}

static sl_status see_text(void *ctx, const char *text, size_t len)
{
	return sl_buf_append(&((struct seen *)ctx)->text, text, len);
}

static void jobs_are_listed_with_their_figures(void **state)
{
	struct sl_script s = {.n = 3,
		.answers = {{.number = SL_MSG_JOB,
				    .u.job = {.job = 3,
					    .state = SL_WIRE_RUNNING,
					    .rate_milli = 2500,
					    .waited_ns = 1500000000,
					    .share_ppm = 250000,
					    .key = -7,
					    .name = "gpt2"}},
			{.number = SL_MSG_JOB,
				.u.job = {.job = 4, .state = 99, .reason = "waits"}},
			{.number = SL_MSG_DONE}}};
	struct sl_daemon *d = sl_script_meet(&s);
	struct seen seen = {0};

	(void)state;
	assert_true(sl_daemon_greeting(d)->ruler);
	assert_string_equal(sl_daemon_greeting(d)->policy, "fair");
	sl_assert_ok(sl_daemon_list(d, true, &seen, see_job));
	sl_script_end(&s, d);
	assert_int_equal(s.asked.number, SL_MSG_LIST);
	assert_int_equal(s.asked.u.list.all, 1);
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.jobs[0].state, "running");
	assert_true(seen.jobs[0].seated);
	assert_true(seen.jobs[0].rate == 2.5 && seen.jobs[0].waited_s == 1.5);
	assert_true(seen.jobs[0].share == 0.25 && seen.jobs[0].key == -7);
	assert_string_equal(seen.jobs[0].name, "gpt2");
	/* A number from a later daemon is no crash. */
	assert_string_equal(seen.jobs[1].state, "unknown");
	assert_string_equal(seen.jobs[1].reason, "waits");
}

static void a_failing_callback_ends_the_list(void **state)
{
	struct sl_script s = {.n = 1, .answers = {{.number = SL_MSG_JOB}}};
	struct sl_daemon *d = sl_script_meet(&s);
	struct seen seen = {.st = SL_E_WRITE};

	(void)state;
	sl_assert_fails(sl_daemon_list(d, false, &seen, see_job), SL_E_WRITE, "enough");
	sl_script_end(&s, d);
}

static void the_state_comes_with_its_lanes(void **state)
{
	struct sl_script s = {.n = 3,
		.answers = {{.number = SL_MSG_STATE,
				    .u.state = {.capacity_bytes = 100,
					    .granted_bytes = 60,
					    .journal_ok = 1,
					    .uptime_ns = 2000000000,
					    .version = "9"}},
			{.number = SL_MSG_LANE_ROW,
				.u.lane_row = {.lane = 2, .holder = 5, .bytes = 10}},
			{.number = SL_MSG_DONE}}};
	struct sl_daemon *d = sl_script_meet(&s);
	struct sl_daemon_state out;
	struct seen seen = {0};

	(void)state;
	sl_assert_ok(sl_daemon_status(d, &out, &seen, see_lane));
	sl_script_end(&s, d);
	assert_int_equal(out.granted_bytes, 60);
	assert_true(out.journal_ok && out.uptime_s == 2);
	assert_string_equal(out.version, "9");
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.lanes[0].holder, 5);
}

static void words_are_harmless_in_a_terminal(void **state)
{
	static const char raw[] = "needs 4 KiB\n\x1b[2J\xc3\xa4\xff\r\t\xe2\x82";
	struct sl_script s = {.n = 1,
		.answers = {{.number = SL_MSG_WORDS,
			.u.words = {.text = {(const uint8_t *)raw, sizeof(raw) - 1}}}}};
	struct sl_daemon *d = sl_script_meet(&s);
	struct sl_buf out = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(sl_daemon_explain(d, 12, &out));
	sl_script_end(&s, d);
	assert_int_equal(s.asked.u.explain.job, 12);
	assert_string_equal(sl_buf_text(&out), "needs 4 KiB\n?[2J\xc3\xa4??\t??");
	sl_buf_finish(&out);
}

static void events_come_until_done(void **state)
{
	static const uint8_t one[] = "one\n", two[] = "two\n";
	struct sl_script s = {.n = 3,
		.answers = {{.number = SL_MSG_WORDS, .u.words = {.text = {one, 4}}},
			{.number = SL_MSG_WORDS, .u.words = {.text = {two, 4}}},
			{.number = SL_MSG_DONE}}};
	struct sl_daemon *d = sl_script_meet(&s);
	struct seen seen = {.text = SL_BUF_INIT};

	(void)state;
	sl_assert_ok(sl_daemon_events(d, 20, false, NULL, &seen, see_text));
	sl_script_end(&s, d);
	assert_int_equal(s.asked.u.events.last, 20);
	assert_int_equal(s.asked.u.events.follow, 0);
	assert_string_equal(sl_buf_text(&seen.text), "one\ntwo\n");
	sl_buf_finish(&seen.text);
}

static void following_ends_when_told_or_when_the_daemon_goes(void **state)
{
	struct sl_script s = {.hangs_up = true};
	volatile sig_atomic_t stop = 1;
	struct sl_daemon *d = sl_script_meet(&s);

	(void)state;
	sl_assert_fails(sl_daemon_events(d, 0, true, &stop, NULL, see_text),
		SL_E_INTERRUPTED, "interrupted");
	sl_script_end(&s, d);
	d = sl_script_meet(&s);
	sl_assert_fails(
		sl_daemon_events(d, 0, true, NULL, NULL, see_text), SL_E_LOST, "gone");
	sl_script_end(&s, d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(jobs_are_listed_with_their_figures),
		SL_TEST(a_failing_callback_ends_the_list),
		SL_TEST(the_state_comes_with_its_lanes),
		SL_TEST(words_are_harmless_in_a_terminal),
		SL_TEST(events_come_until_done),
		SL_TEST(following_ends_when_told_or_when_the_daemon_goes),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
