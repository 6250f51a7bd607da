/* SPDX-License-Identifier: Apache-2.0 */
/* Admission, turns, hand-over, and what happens to who does not answer. */
#include "unit/share/serve/peers.h"

#define A 1000
#define B 1001

static void a_job_is_admitted_and_gets_the_turn_when_it_is_ready(void **state)
{
	struct rig r;
	struct peer p;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_hello(&r, &p, A);
	peer_send(&r, &p, job_of(4, 8));
	peer_registered(&p);
	assert_false(sl_turn_try(p.page));
	peer_admitted(&r, &p);
	assert_true(sl_turn_try(p.page));
	assert_false(sl_turn_asked(p.page));
	peer_run(&r, &p, 3);
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_END, .u.end = {.turns = 3}});
	peer_want(&p, SL_MSG_DONE);
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

static void two_jobs_of_a_lane_take_turns(void **state)
{
	struct rig r;
	struct peer p[2];

	(void)state;
	rig_init(&r, "1MiB");
	rig_set(&r, "quantum", "0");
	rig_start(&r);
	for (int i = 0; i < 2; i++)
		peer_join(&r, &p[i], A, job_of(1, 8));
	assert_true(sl_turn_asked(p[0].page));
	for (int i = 0; i < 50; i++) {
		struct peer *has = &p[sl_turn_try(p[1].page)];

		assert_true(sl_turn_try(p[0].page) != sl_turn_try(p[1].page));
		peer_run(&r, has, 1);
		if (sl_turn_asked(has->page))
			peer_report(&r, has);
	}
	assert_true(p[0].turns >= 23 && p[1].turns >= 23);
	peer_close(&p[0]);
	rig_turn(&r);
	assert_true(sl_turn_try(p[1].page));
	/* Once more, for its place in the ledger moves; then it is alone. */
	if (sl_turn_asked(p[1].page))
		peer_report(&r, &p[1]);
	assert_true(sl_turn_try(p[1].page));
	assert_false(sl_turn_asked(p[1].page));
	peer_close(&p[1]);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_job_that_does_not_fit_now_waits(void **state)
{
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(8, 4));
	peer_hello(&r, &q, B);
	peer_send(&r, &q, job_of(8, 4));
	peer_registered(&q);
	assert_false(peer_next(&q));
	peer_close(&p);
	rig_turn(&r);
	peer_admitted(&r, &q);
	assert_true(sl_turn_try(q.page));
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_job_that_can_never_fit_is_refused_with_what_it_needs(void **state)
{
	struct rig r;
	struct peer p;
	struct sl_msg m = job_of(12, 8);

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_hello(&r, &p, A);
	m.u.reg.menu.n = 2;
	m.u.reg.menu.rows[1] = (struct sl_wire_option){8 * PAGE, 8 * PAGE, 1200000};
	peer_send(&r, &p, m);
	peer_want_error(&p, SL_E_INFEASIBLE, "81920 bytes");
	assert_non_null(strstr(p.last.u.error.text, "--allow-slowdown"));
	m.u.reg.allow_slowdown_ppm = 200000;
	peer_send(&r, &p, m);
	peer_registered(&p);
	peer_admitted(&r, &p);
	assert_int_equal(p.last.u.admitted.row, 1);
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_killed_holder_costs_the_others_nothing(void **state)
{
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 8));
	peer_join(&r, &q, B, job_of(1, 8));
	assert_true(sl_turn_try(p.page));
	sl_turn_begin(p.page, r.now);
	peer_close(&p);
	rig_turn(&r);
	assert_true(sl_turn_try(q.page));
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_holder_that_does_not_answer_is_revoked(void **state)
{
	struct rig r;
	struct peer p, q;
	struct stat info;

	(void)state;
	rig_init(&r, "1MiB");
	rig_set(&r, "turn-timeout", "2s");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 8));
	peer_join(&r, &q, A, job_of(1, 8));
	rig_pass(&r, SECOND);
	assert_false(sl_turn_revoked(p.page));
	rig_pass(&r, 2 * SECOND);
	assert_true(sl_turn_revoked(p.page));
	peer_want(&p, SL_MSG_LOST);
	assert_int_equal(p.last.u.lost.code, SL_E_LOST);
	/* Its memory is gone, the lane's too; the other gets new one. */
	assert_int_equal(fstat(p.p_fd, &info), 0);
	assert_int_equal(info.st_size, 0);
	assert_int_equal(fstat(p.lane_fd, &info), 0);
	assert_int_equal(info.st_size, 0);
	peer_want(&q, SL_MSG_LANE);
	sl_fs_close(q.lane_fd);
	q.lane_fd = sl_link_take(q.link, 0);
	assert_int_equal(fstat(q.lane_fd, &info), 0);
	assert_int_equal(info.st_size, 8 * PAGE);
	assert_false(sl_turn_try(q.page));
	peer_send(&r, &q, (struct sl_msg){.number = SL_MSG_READY});
	assert_true(sl_turn_try(q.page));
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_lane_that_passes_to_another_user_is_emptied(void **state)
{
	struct rig r;
	struct peer p, q;
	struct stat info;
	char text[PAGE] = "secret";

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 10));
	peer_join(&r, &q, B, job_of(1, 10));
	assert_int_not_equal(fstat(p.lane_fd, &info), -1);
	assert_int_equal(pwrite(p.lane_fd, text, sizeof(text), 0), (ssize_t)sizeof(text));
	peer_run(&r, &p, 1);
	peer_report(&r, &p);
	assert_true(sl_turn_try(q.page));
	assert_int_equal(fstat(p.lane_fd, &info), 0);
	assert_int_equal(info.st_blocks, 0);
	assert_int_equal(pread(q.lane_fd, text, sizeof(text), 0), (ssize_t)sizeof(text));
	for (size_t i = 0; i < sizeof(text); i++)
		assert_int_equal(text[i], 0);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_job_is_admitted_and_gets_the_turn_when_it_is_ready),
		SL_TEST(two_jobs_of_a_lane_take_turns),
		SL_TEST(a_job_that_does_not_fit_now_waits),
		SL_TEST(a_job_that_can_never_fit_is_refused_with_what_it_needs),
		SL_TEST(a_killed_holder_costs_the_others_nothing),
		SL_TEST(a_holder_that_does_not_answer_is_revoked),
		SL_TEST(a_lane_that_passes_to_another_user_is_emptied),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
