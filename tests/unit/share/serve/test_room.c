/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets memory: menus, parking, other sizes, channels, idle jobs. */
#include "unit/share/serve/peers.h"

#define A 1000
#define B 1001

static void a_waiting_job_gets_the_row_that_lets_it_in(void **state)
{
	struct rig r;
	struct peer p, q;
	struct sl_msg m = job_of(6, 6);

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(6, 4));
	m.u.reg.menu.n = 3;
	m.u.reg.menu.rows[1] = (struct sl_wire_option){6 * PAGE, 5 * PAGE, 1100000};
	m.u.reg.menu.rows[2] = (struct sl_wire_option){6 * PAGE, 4 * PAGE, 1300000};
	m.u.reg.allow_slowdown_ppm = 400000;
	peer_hello(&r, &q, A);
	peer_send(&r, &q, m);
	peer_registered(&q);
	peer_want(&q, SL_MSG_ADMITTED);
	assert_int_equal(q.last.u.admitted.row, 2);
	assert_int_equal(q.last.u.admitted.ephemeral_bytes, 4 * PAGE);
	peer_close(&q);
	m.u.reg.allow_slowdown_ppm = 200000;
	peer_hello(&r, &q, A);
	peer_send(&r, &q, m);
	peer_registered(&q);
	assert_false(peer_next(&q));
	peer_close(&p);
	rig_turn(&r);
	peer_want(&q, SL_MSG_ADMITTED);
	assert_int_equal(q.last.u.admitted.row, 0);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_resident_parks_for_one_of_better_rank_and_comes_back(void **state)
{
	struct rig r;
	struct peer p, q;
	struct sl_msg m = job_of(8, 4);

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(8, 4));
	peer_run(&r, &p, 1);
	m.u.reg.priority = 5;
	peer_hello(&r, &q, B);
	peer_send(&r, &q, m);
	peer_registered(&q);
	assert_true(sl_turn_asked(p.page));
	peer_report(&r, &p);
	peer_want(&p, SL_MSG_PARK);
	assert_false(peer_next(&q));
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_PARKED});
	peer_admitted(&r, &q);
	assert_int_equal(q.last.u.admitted.restore, 0);
	assert_true(sl_turn_try(q.page));
	peer_close(&q);
	rig_turn(&r);
	peer_want(&p, SL_MSG_ADMITTED);
	assert_int_equal(p.last.u.admitted.restore, 1);
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_READY});
	assert_true(sl_turn_try(p.page));
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

static void one_that_is_asked_to_park_and_does_not_is_struck_off(void **state)
{
	struct rig r;
	struct peer p, q;
	struct sl_msg m = job_of(8, 4);

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(8, 4));
	m.u.reg.priority = 5;
	peer_hello(&r, &q, B);
	peer_send(&r, &q, m);
	peer_registered(&q);
	peer_report(&r, &p);
	peer_want(&p, SL_MSG_PARK);
	rig_pass(&r, 200 * SECOND);
	peer_want(&p, SL_MSG_LOST);
	peer_admitted(&r, &q);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void other_sizes_come_with_other_memory(void **state)
{
	struct sl_msg m = {.number = SL_MSG_RESIZE,
		.u.resize = {
			.persistent_bytes = 3 * PAGE - 1, .ephemeral_bytes = 5 * PAGE}};
	struct rig r;
	struct peer p;
	struct stat info;
	int fd;

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(2, 4));
	peer_send(&r, &p, m);
	peer_want_error(&p, SL_E_BUSY, "without the turn");
	peer_report(&r, &p);
	/* It has the turn again at once; it leaves it for good. */
	sl_turn_yield(p.page);
	peer_send(&r, &p,
		(struct sl_msg){.number = SL_MSG_REPORT, .u.report = {.idle = 1}});
	assert_false(sl_turn_try(p.page));
	peer_send(&r, &p, m);
	peer_want(&p, SL_MSG_RESIZED);
	assert_int_equal(p.last.u.resized.persistent_bytes, 3 * PAGE);
	assert_int_equal(p.last.n_fds, 2);
	fd = sl_link_take(p.link, 1);
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_size, 5 * PAGE);
	sl_fs_close(fd);
	m.u.resize.ephemeral_bytes = 30 * PAGE;
	peer_send(&r, &p, m);
	peer_want_error(&p, SL_E_NOMEM_DEVICE, "cannot grow");
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_AWAKE});
	assert_true(sl_turn_try(p.page));
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

static void an_idle_job_leaves_the_lane_to_the_other(void **state)
{
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 4));
	peer_join(&r, &q, A, job_of(1, 4));
	sl_turn_yield(p.page);
	peer_send(&r, &p,
		(struct sl_msg){.number = SL_MSG_REPORT, .u.report = {.idle = 1}});
	assert_true(sl_turn_try(q.page));
	peer_run(&r, &q, 3);
	rig_pass(&r, SECOND);
	assert_false(sl_turn_asked(q.page));
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_AWAKE});
	assert_true(sl_turn_asked(q.page));
	peer_report(&r, &q);
	assert_true(sl_turn_try(p.page));
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void lanes_that_copy_share_the_channels(void **state)
{
	struct rig r;
	struct peer p, q;
	struct sl_msg m = job_of(1, 4);

	(void)state;
	rig_init(&r, "1MiB");
	rig_set(&r, "policy", "pack");
	rig_start(&r);
	m.u.reg.channels = 1;
	peer_join(&r, &p, A, m);
	assert_int_equal(p.last.u.admitted.channel_ppm, 1000000);
	peer_join(&r, &q, A, m);
	assert_int_equal(q.last.u.admitted.channel_ppm, 500000);
	peer_want(&p, SL_MSG_CHANNEL);
	assert_int_equal(p.last.u.channel.ppm, 500000);
	peer_close(&q);
	rig_turn(&r);
	peer_want(&p, SL_MSG_CHANNEL);
	assert_int_equal(p.last.u.channel.ppm, 1000000);
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_waiting_job_gets_the_row_that_lets_it_in),
		SL_TEST(a_resident_parks_for_one_of_better_rank_and_comes_back),
		SL_TEST(one_that_is_asked_to_park_and_does_not_is_struck_off),
		SL_TEST(other_sizes_come_with_other_memory),
		SL_TEST(an_idle_job_leaves_the_lane_to_the_other),
		SL_TEST(lanes_that_copy_share_the_channels),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
