/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of lanes: emptied, replaced, made smaller; never under a job that runs. */
#include <signal.h>
#include <sys/wait.h>

#include "device/shared.h"
#include "unit/share/serve/peers.h"

#define A 1000
#define B 1001
#define HUGE_PAGES \
	((uint64_t)524288) /* 2 GiB: rounds and rounds to empty; no page is there */

static struct sl_memfd_info info_of(int fd)
{
	struct sl_memfd_info info;

	sl_assert_ok(sl_shared_identity(fd, &info));
	return info;
}

static void a_turn_that_comes_back_ends_the_emptying(void **state)
{
	const off_t last = (off_t)(HUGE_PAGES - 1) * PAGE;
	struct rig r;
	struct peer p, q;
	char c = 0;

	(void)state;
	rig_init(&r, "3GiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, HUGE_PAGES));
	peer_run(&r, &p, 1);
	peer_join(&r, &q, B, job_of(1, HUGE_PAGES));
	assert_int_equal(pwrite(p.lane_fd, "x", 1, last), 1);
	peer_report(&r, &p);
	/* The lane is being emptied for the other user, who then goes. */
	assert_false(sl_turn_try(p.page) || sl_turn_try(q.page));
	peer_close(&q);
	rig_turn(&r);
	assert_true(sl_turn_try(p.page));
	assert_int_equal(pwrite(p.lane_fd, "y", 1, last), 1);
	for (int i = 0; i < 8; i++)
		rig_turn(&r);
	assert_int_equal(pread(p.lane_fd, &c, 1, last), 1);
	assert_int_equal(c, 'y');
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_lane_is_as_small_as_its_jobs_allow(void **state)
{
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 8));
	peer_run(&r, &p, 1);
	peer_join(&r, &q, A, job_of(1, 3));
	assert_int_equal(info_of(q.lane_fd).bytes, 8 * PAGE);
	assert_true(info_of(q.lane_fd).inode == info_of(p.lane_fd).inode);
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_END});
	peer_close(&p);
	rig_turn(&r);
	assert_int_equal(info_of(q.lane_fd).bytes, 3 * PAGE);
	assert_true(sl_turn_try(q.page));
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_turn_waits_until_what_another_user_left_is_gone(void **state)
{
	const off_t last = (off_t)(HUGE_PAGES - 1) * PAGE;
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "3GiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, HUGE_PAGES));
	peer_run(&r, &p, 1);
	peer_join(&r, &q, B, job_of(1, HUGE_PAGES));
	assert_int_equal(pwrite(p.lane_fd, "x", 1, last), 1);
	/* It ends in its turn: its memory is nobody's, and full. */
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_END});
	for (int i = 0; i < 8 && !sl_turn_try(q.page); i++)
		rig_turn(&r);
	assert_true(sl_turn_try(q.page));
	assert_int_equal(info_of(p.lane_fd).held_bytes, 0);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

/* It is cut off, or closes its connection, and may still be at work. */
static void memory_of_one_that_lives_and_is_off_the_list_is_nobodys(void **state)
{
	struct rig r;
	struct peer p, q;
	uint64_t before;

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 8));
	peer_run(&r, &p, 1);
	peer_join(&r, &q, A, job_of(1, 8));
	before = info_of(q.lane_fd).inode;
	assert_true(sl_turn_try(p.page));
	sl_link_destroy(p.link);
	p.link = NULL;
	rig_turn(&r);
	assert_true(sl_turn_revoked(p.page));
	assert_int_equal(info_of(p.lane_fd).bytes, 0);
	assert_false(sl_turn_try(q.page));
	peer_want(&q, SL_MSG_LANE);
	sl_fs_close(q.lane_fd);
	q.lane_fd = sl_link_take(q.link, 0);
	assert_true(info_of(q.lane_fd).inode != before);
	peer_send(&r, &q, (struct sl_msg){.number = SL_MSG_READY});
	assert_true(sl_turn_try(q.page));
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

/* Of one that was killed nothing is at work any more. */
static void memory_of_one_that_was_killed_is_the_others_as_it_is(void **state)
{
	pid_t child = fork();
	struct rig r;
	struct peer p, q;

	(void)state;
	if (child == 0)
		for (;;)
			(void)pause();
	assert_true(child > 0);
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_hello_as(&r, &p, A, child);
	peer_send(&r, &p, job_of(1, 8));
	peer_registered(&p);
	peer_admitted(&r, &p);
	peer_run(&r, &p, 1);
	peer_join(&r, &q, A, job_of(1, 8));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	peer_close(&p);
	rig_turn(&r);
	assert_int_equal(info_of(q.lane_fd).bytes, 8 * PAGE);
	assert_true(sl_turn_try(q.page));
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static struct sl_msg ready_for(int lane_fd)
{
	return (struct sl_msg){.number = SL_MSG_READY,
		.u.ready.memory = (uint32_t)info_of(lane_fd).inode};
}

static void who_is_ready_for_memory_that_was_replaced_is_not_ready(void **state)
{
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "128KiB");
	rig_start(&r);
	peer_hello(&r, &p, A);
	peer_send(&r, &p, job_of(1, 2));
	peer_registered(&p);
	peer_want(&p, SL_MSG_ADMITTED);
	p.p_fd = sl_link_take(p.link, 0);
	p.lane_fd = sl_link_take(p.link, 1);
	/* Grows the lane: other memory for the first, too. */
	peer_hello(&r, &q, A);
	peer_send(&r, &q, job_of(1, 8));
	peer_registered(&q);
	/* This crosses the message that says so. */
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_READY, .u.ready.memory = 7});
	assert_false(sl_turn_try(p.page));
	peer_want(&p, SL_MSG_LANE);
	sl_fs_close(p.lane_fd);
	p.lane_fd = sl_link_take(p.link, 0);
	assert_int_equal(info_of(p.lane_fd).bytes, 8 * PAGE);
	peer_send(&r, &p, ready_for(p.lane_fd));
	assert_true(sl_turn_try(p.page));
	peer_close(&q);
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_turn_that_comes_back_ends_the_emptying),
		SL_TEST(a_turn_waits_until_what_another_user_left_is_gone),
		SL_TEST(memory_of_one_that_lives_and_is_off_the_list_is_nobodys),
		SL_TEST(memory_of_one_that_was_killed_is_the_others_as_it_is),
		SL_TEST(a_lane_is_as_small_as_its_jobs_allow),
		SL_TEST(who_is_ready_for_memory_that_was_replaced_is_not_ready),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
