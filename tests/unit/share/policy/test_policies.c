/* SPDX-License-Identifier: Apache-2.0 */
/* Job policies: golden decisions of each on one small log, and what holds of all. */
#include "../events.h"

#include <stdio.h>

#include "base/rng.h"
#include "share/sim.h"

/* Whoever holds lane 0 reports two of service, until it has had `length` in all. */
static void turn(struct desk *d, sl_ns at, const sl_ns *length)
{
	for (uint32_t i = 0; i < d->s.lanes.n; i++) {
		const struct sl_lane *v = &d->s.lanes.items[i];
		const struct sl_job *j;

		if (!v->open || v->holder == SL_JOB_NONE)
			continue;
		j = sl_share_find(&d->s, v->holder);
		desk_event(d, reports(j->attained_ns + 2 >= length[j->id] ? SL_STEP_END
									  : SL_STEP_TURN,
				      at, j->id, 2));
	}
}

static void golden(const char *policy)
{
	static const sl_ns length[] = {8, 4, 2, 6};
	struct desk d;
	struct sl_buf text = SL_BUF_INIT;
	struct sl_log back = {0};
	struct sl_step urgent = arrives(5, 3, 1, 5, 6);
	char name[64];

	desk_open(&d, policy, 16, 0, 100);
	desk_event(&d, arrives(0, 0, 1, 6, length[0]));
	desk_event(&d, arrives(1, 1, 1, 5, length[1]));
	turn(&d, 2, length);
	desk_event(&d, arrives(3, 2, 2, 7, length[2]));
	turn(&d, 4, length);
	urgent.priority = 10;
	desk_event(&d, urgent);
	for (sl_ns at = 6; d.s.n > 0; at += 2)
		turn(&d, at, length);
	sl_assert_ok(sl_log_print(&d.log, &text));
	snprintf(name, sizeof(name), "share/%s.want", policy);
	sl_test_golden(name, sl_buf_text(&text));
	sl_assert_ok(sl_log_parse("log", text.data, text.len, &back));
	sl_assert_ok(sl_log_replay(&back, d.s.policy));
	sl_log_finish(&back);
	sl_buf_finish(&text);
	desk_close(&d);
}

static void golden_decisions_of_every_policy_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; sl_job_policy_at(i); i++)
		golden(sl_job_policy_at(i)->name);
}

static void a_job_without_a_length_does_not_win(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d, "srtf", 100, 0, 0);
	desk_event(&d, arrives(0, 0, 1, 1, 50));
	desk_event(&d, arrives(1, 1, 1, 1, 0)); /* declares nothing: 600 s */
	desk_event(&d, arrives(1, 2, 1, 1, 40));
	assert_true(sl_share_wants_boundary(&d.s, 0));
	desk_event(&d, reports(SL_STEP_TURN, 2, 0, 2));
	assert_int_equal(d.s.lanes.items[0].holder, 2);
	desk_event(&d, reports(SL_STEP_END, 40, 2, 40));
	assert_int_equal(d.s.lanes.items[0].holder, 1); /* expected: 40, as job 2 had */
	/* It has outlived that, so it is expected to take as long again, and yields. */
	desk_event(&d, reports(SL_STEP_TURN, 90, 1, 50));
	assert_int_equal(d.s.lanes.items[0].holder, 0);
	desk_close(&d);
}

static void a_low_declared_length_is_no_free_win(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d, "srtf", 100, 0, 0);
	desk_event(&d, arrives(0, 0, 1, 1, 1)); /* it lies */
	desk_event(&d, arrives(0, 1, 1, 1, 30));
	desk_event(&d, reports(SL_STEP_TURN, 20, 0, 20));
	assert_int_equal(d.s.lanes.items[0].holder, 0);
	desk_event(&d, reports(SL_STEP_TURN, 40, 0, 20));
	assert_int_equal(d.s.lanes.items[0].holder, 1);
	desk_close(&d);
}

static void a_newcomer_neither_resets_nor_repays_history(void **state)
{
	static const char *const names[] = {"fair", "rr"};
	struct desk d;

	(void)state;
	for (int i = 0; i < 2; i++) {
		desk_open(&d, names[i], 100, 0, 0);
		desk_event(&d, arrives(0, 0, 1, 1, 1000));
		desk_event(&d, reports(SL_STEP_TURN, 100, 0, 100));
		desk_event(&d, arrives(100, 1, 1, 1, 1000));
		assert_int_equal(sl_share_find(&d.s, 1)->level, 100);
		assert_int_equal(sl_share_find(&d.s, 0)->attained_ns, 100);
		desk_event(&d, reports(SL_STEP_TURN, 101, 0, 1));
		assert_int_equal(d.s.lanes.items[0].holder, 1);
		desk_event(&d, reports(SL_STEP_TURN, 102, 1, 2));
		assert_int_equal(d.s.lanes.items[0].holder, 0);
		desk_close(&d);
	}
}

static void an_urgent_job_has_the_next_turn_under_every_policy(void **state)
{
	(void)state;
	for (size_t i = 0; sl_job_policy_at(i); i++) {
		struct sl_step urgent = arrives(3, 2, 1, 1, 5), soon;
		struct desk d;

		desk_open(&d, sl_job_policy_at(i)->name, 100, 1, 0);
		desk_event(&d, arrives(0, 0, 1, 1, 50));
		soon = arrives(2, 1, 1, 1, 50);
		soon.deadline_ns = 60;
		desk_event(&d, soon);
		urgent.priority = 5;
		desk_event(&d, urgent);
		assert_true(sl_share_wants_boundary(&d.s, 0));
		desk_event(&d, reports(SL_STEP_TURN, 4, 0, 4));
		assert_int_equal(d.s.lanes.items[0].holder, 2);
		desk_event(&d, reports(SL_STEP_END, 9, 2, 5));
		assert_int_equal(d.s.lanes.items[0].holder, 1);
		desk_close(&d);
	}
}

static void a_paused_job_has_no_turn_and_does_not_age(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d, "fair", 100, 0, 10);
	desk_event(&d, arrives(0, 0, 1, 1, 50));
	desk_event(&d, reports(SL_STEP_HOLD, 1, 0, 0));
	assert_true(sl_share_wants_boundary(&d.s, 0));
	desk_event(&d, reports(SL_STEP_TURN, 2, 0, 2));
	assert_int_equal(d.s.lanes.items[0].holder, SL_JOB_NONE);
	assert_int_equal(sl_share_next_age(&d.s), -1);
	desk_event(&d, reports(SL_STEP_RELEASE, 30, 0, 0));
	assert_int_equal(d.s.lanes.items[0].holder, 0);
	desk_close(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(golden_decisions_of_every_policy_are_exact),
		SL_TEST(a_job_without_a_length_does_not_win),
		SL_TEST(a_low_declared_length_is_no_free_win),
		SL_TEST(a_newcomer_neither_resets_nor_repays_history),
		SL_TEST(an_urgent_job_has_the_next_turn_under_every_policy),
		SL_TEST(a_paused_job_has_no_turn_and_does_not_age),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
