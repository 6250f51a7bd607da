/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon that starts again, and the jobs of the one before. */
#include "unit/share/serve/peers.h"

#define A 1000
#define B 1001

/* Two jobs of one user in a lane; the first has the turn. */
static void open_two(struct rig *r, struct peer p[2])
{
	rig_init(r, "1MiB");
	rig_set(r, "quantum", "0");
	rig_start(r);
	for (int i = 0; i < 2; i++)
		peer_join(r, &p[i], A, job_of(1 + (uint64_t)i, 8));
	assert_true(sl_turn_try(p[0].page));
}

static void close_two(struct rig *r, struct peer p[2])
{
	peer_close(&p[0]);
	peer_close(&p[1]);
	rig_turn(r);
	rig_stop(r);
}

static void jobs_come_back_and_the_holder_runs_on(void **state)
{
	struct rig r;
	struct peer p[2];

	(void)state;
	open_two(&r, p);
	rig_restart(&r);
	/* Nobody else may have the turn before all are back. */
	peer_again(&r, &p[1], A);
	peer_send(&r, &p[1], attach_of(&p[1]));
	peer_want(&p[1], SL_MSG_DONE);
	peer_send(&r, &p[1], (struct sl_msg){.number = SL_MSG_READY});
	assert_false(sl_turn_try(p[1].page));
	peer_run(&r, &p[0], 3);
	peer_again(&r, &p[0], A);
	peer_send(&r, &p[0], attach_of(&p[0]));
	peer_want(&p[0], SL_MSG_DONE);
	assert_false(sl_turn_try(p[1].page));
	assert_true(sl_turn_try(p[0].page));
	assert_true(sl_turn_asked(p[0].page));
	peer_report(&r, &p[0]);
	assert_true(sl_turn_try(p[0].page) != sl_turn_try(p[1].page));
	for (int i = 0; i < 10; i++) {
		struct peer *has = &p[sl_turn_try(p[1].page)];

		peer_run(&r, has, 1);
		if (sl_turn_asked(has->page))
			peer_report(&r, has);
	}
	assert_true(p[0].turns >= 5 && p[1].turns >= 4);
	close_two(&r, p);
}

static void who_cannot_prove_itself_changes_nothing(void **state)
{
	struct rig r;
	struct peer p[2];
	struct sl_msg m;

	(void)state;
	open_two(&r, p);
	rig_restart(&r);
	peer_again(&r, &p[0], A);
	m = attach_of(&p[0]);
	m.u.attach.token_low ^= 1;
	peer_send(&r, &p[0], m);
	peer_want_error(&p[0], SL_E_NO, "not this process's");
	peer_again(&r, &p[0], B);
	peer_send(&r, &p[0], attach_of(&p[0]));
	peer_want_error(&p[0], SL_E_NO, "not this process's");
	m.u.attach.job = 77;
	peer_send(&r, &p[0], m);
	peer_want_error(&p[0], SL_E_NOT_FOUND, "no job 77");
	peer_again(&r, &p[0], A);
	peer_send(&r, &p[0], attach_of(&p[0]));
	peer_want(&p[0], SL_MSG_DONE);
	peer_send(&r, &p[0], attach_of(&p[0]));
	peer_want_error(&p[0], SL_E_BUSY, "here already");
	close_two(&r, p);
}

static void swapped_memory_is_the_end_of_the_job(void **state)
{
	struct rig r;
	struct peer p[2];
	struct sl_msg m;
	int swap;

	(void)state;
	open_two(&r, p);
	rig_restart(&r);
	peer_again(&r, &p[0], A);
	m = attach_of(&p[0]);
	swap = m.fds[1];
	m.fds[1] = m.fds[2];
	m.fds[2] = swap;
	peer_send(&r, &p[0], m);
	peer_want(&p[0], SL_MSG_LOST);
	assert_int_equal(p[0].last.seq, p[0].seq);
	peer_again(&r, &p[1], A);
	m = attach_of(&p[1]);
	m.fds[0] = p[0].page_fd;
	peer_send(&r, &p[1], m);
	peer_want(&p[1], SL_MSG_LOST);
	assert_non_null(strstr(p[1].last.u.lost.text, "page of turns"));
	close_two(&r, p);
}

static void who_does_not_come_back_in_time_loses_its_place(void **state)
{
	struct rig r;
	struct peer p[2];
	struct stat info;

	(void)state;
	open_two(&r, p);
	rig_restart(&r);
	peer_again(&r, &p[1], A);
	peer_send(&r, &p[1], attach_of(&p[1]));
	peer_want(&p[1], SL_MSG_DONE);
	rig_pass(&r, 3 * SECOND);
	assert_false(peer_next(&p[1]));
	rig_pass(&r, 3 * SECOND);
	/* The lane's memory, in which the absent one may be at work, is gone. */
	assert_int_equal(fstat(p[0].lane_fd, &info), 0);
	assert_int_equal(info.st_size, 0);
	peer_want(&p[1], SL_MSG_LANE);
	peer_send(&r, &p[1], (struct sl_msg){.number = SL_MSG_READY});
	assert_true(sl_turn_try(p[1].page));
	/* Its part stays charged until it comes, too late, or dies. */
	peer_send(&r, &p[1], (struct sl_msg){.number = SL_MSG_STATUS});
	peer_want(&p[1], SL_MSG_STATE);
	assert_int_equal(p[1].last.u.state.granted_bytes, (1 + 2 + 8) * PAGE);
	while (peer_next(&p[1]))
		;
	peer_again(&r, &p[0], A);
	peer_send(&r, &p[0], attach_of(&p[0]));
	peer_want(&p[0], SL_MSG_LOST);
	peer_send(&r, &p[1], (struct sl_msg){.number = SL_MSG_STATUS});
	peer_want(&p[1], SL_MSG_STATE);
	assert_int_equal(p[1].last.u.state.granted_bytes, (2 + 8) * PAGE);
	close_two(&r, p);
}

static void a_waiting_job_keeps_its_place_in_the_queue(void **state)
{
	struct rig r;
	struct peer p, q, late;

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(8, 4));
	peer_hello(&r, &q, B);
	peer_send(&r, &q, job_of(8, 4));
	peer_registered(&q);
	rig_restart(&r);
	peer_hello(&r, &late, B);
	peer_send(&r, &late, job_of(8, 4));
	peer_registered(&late);
	assert_int_equal(late.job, q.job + 1);
	peer_again(&r, &q, B);
	peer_send(&r, &q, attach_of(&q));
	peer_want(&q, SL_MSG_DONE);
	peer_again(&r, &p, A);
	peer_send(&r, &p, attach_of(&p));
	peer_want(&p, SL_MSG_DONE);
	peer_close(&p);
	rig_turn(&r);
	peer_admitted(&r, &q);
	assert_false(peer_next(&late));
	peer_close(&q);
	peer_close(&late);
	rig_turn(&r);
	rig_stop(&r);
}

static void limits_policy_and_pauses_outlive_a_restart(void **state)
{
	struct rig r;
	struct peer p, root;

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_hello(&r, &root, 0);
	peer_send(&r, &root,
		(struct sl_msg){.number = SL_MSG_POLICY, .u.policy = {.name = "srtf"}});
	peer_want(&root, SL_MSG_WORDS);
	peer_send(&r, &root,
		(struct sl_msg){
			.number = SL_MSG_LIMIT, .u.limit = {.user = B, .bytes = PAGE}});
	peer_want(&root, SL_MSG_DONE);
	peer_join(&r, &p, A, job_of(1, 4));
	peer_send(&r, &root,
		(struct sl_msg){.number = SL_MSG_PAUSE, .u.pause = {.job = p.job}});
	peer_want(&root, SL_MSG_DONE);
	rig_restart(&r);
	peer_again(&r, &root, 0);
	peer_send(&r, &root, (struct sl_msg){.number = SL_MSG_POLICY});
	peer_want(&root, SL_MSG_WORDS);
	assert_memory_equal(root.last.u.words.text.data, "srtf", 4);
	peer_again(&r, &p, A);
	peer_send(&r, &p, attach_of(&p));
	peer_want(&p, SL_MSG_DONE);
	peer_report(&r, &p);
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_READY});
	assert_false(sl_turn_try(p.page));
	peer_send(&r, &root,
		(struct sl_msg){.number = SL_MSG_RESUME, .u.resume = {.job = p.job}});
	peer_want(&root, SL_MSG_DONE);
	assert_true(sl_turn_try(p.page));
	peer_close(&p);
	peer_hello(&r, &p, B);
	peer_send(&r, &p, job_of(1, 1));
	peer_want_error(&p, SL_E_INFEASIBLE, "its user's limit");
	peer_close(&p);
	peer_close(&root);
	rig_turn(&r);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(jobs_come_back_and_the_holder_runs_on),
		SL_TEST(who_cannot_prove_itself_changes_nothing),
		SL_TEST(swapped_memory_is_the_end_of_the_job),
		SL_TEST(who_does_not_come_back_in_time_loses_its_place),
		SL_TEST(a_waiting_job_keeps_its_place_in_the_queue),
		SL_TEST(limits_policy_and_pauses_outlive_a_restart),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
