/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that lie, and what others must not lose by it. */
#include "unit/share/serve/peers.h"

#define A 1000
#define B 1001

static void who_never_takes_its_memory_into_use_makes_room_for_who_waits(void **state)
{
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	peer_hello(&r, &p, B);
	peer_send(&r, &p, job_of(8, 4));
	peer_registered(&p);
	peer_want(&p, SL_MSG_ADMITTED);
	/* Nobody waits: it may take its time. */
	rig_pass(&r, 100 * SECOND);
	assert_false(peer_next(&p));
	peer_hello(&r, &q, A);
	peer_send(&r, &q, job_of(8, 4));
	peer_registered(&q);
	rig_pass(&r, SECOND);
	peer_want(&p, SL_MSG_LOST);
	peer_admitted(&r, &q);
	assert_true(sl_turn_try(q.page));
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void who_says_its_turns_are_long_is_not_waited_for_for_ever(void **state)
{
	struct rig r;
	struct peer p, q;
	struct sl_msg m = job_of(1, 8);

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	m.u.reg.turn_ns = (int64_t)1 << 59;
	m.u.reg.menu.rows[0].turn_ns = (uint64_t)1 << 59;
	peer_join(&r, &p, B, m);
	assert_true(sl_turn_try(p.page));
	peer_join(&r, &q, A, job_of(1, 8));
	for (int i = 0; i < 700 && !sl_turn_try(q.page); i++)
		rig_pass(&r, SECOND);
	assert_true(sl_turn_try(q.page));
	peer_want(&p, SL_MSG_LOST);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void the_name_of_a_service_is_its_users(void **state)
{
	struct rig r;
	struct peer p, q;
	struct sl_msg m = job_of(1, 1);

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	m.u.reg.kind = SL_WIRE_SERVICE;
	peer_join(&r, &p, A, m);
	peer_hello(&r, &q, B);
	peer_send(&r, &q, m);
	peer_want_error(&q, SL_E_NO, "user 1000's");
	m.u.reg.kind = 0;
	peer_send(&r, &q, m);
	peer_registered(&q);
	peer_close(&q);
	/* One of the same user shares the work. */
	m.u.reg.kind = SL_WIRE_SERVICE;
	peer_join(&r, &q, A, m);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void memory_that_a_job_cut_short_is_given_to_nobody(void **state)
{
	struct rig r;
	struct peer p, q;
	struct stat info;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 8));
	assert_int_equal(ftruncate(p.lane_fd, 0), 0);
	peer_join(&r, &q, A, job_of(1, 8));
	assert_int_equal(fstat(q.lane_fd, &info), 0);
	assert_int_equal(info.st_size, 8 * PAGE);
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void reports_that_give_no_turn_back_count_as_others_do(void **state)
{
	struct rig r;
	struct peer p;

	(void)state;
	rig_init(&r, "1MiB");
	rig_set(&r, "messages_per_second", "20");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 8));
	assert_true(sl_turn_try(p.page));
	for (int i = 0; i < 30; i++)
		peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_REPORT});
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_POLICY});
	assert_false(peer_next(&p));
	for (int i = 0; i < 40; i++)
		rig_pass(&r, SECOND / 10);
	peer_want(&p, SL_MSG_WORDS);
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_report_that_is_there_is_heard_before_its_job_is_late(void **state)
{
	struct rig r;
	struct peer p, q;
	struct sl_msg m = {.number = SL_MSG_REPORT};
	bool empty;

	(void)state;
	rig_init(&r, "1MiB");
	rig_set(&r, "quantum", "0");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 8));
	peer_join(&r, &q, A, job_of(1, 8));
	assert_true(sl_turn_try(p.page) && sl_turn_asked(p.page));
	sl_turn_yield(p.page);
	sl_assert_ok(sl_link_send(p.link, &m));
	sl_assert_ok(sl_link_flush(p.link, &empty));
	rig_pass(&r, 100 * SECOND);
	assert_false(peer_next(&p));
	assert_true(sl_turn_try(q.page));
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void totals_that_cannot_be_are_not_believed(void **state)
{
	struct rig r;
	struct peer p;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 8));
	sl_turn_count(p.page, INT64_MAX);
	sl_turn_count(p.page, INT64_MAX);
	for (int i = 0; i < 3; i++) {
		rig_pass(&r, 3 * SECOND);
		peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_LIST});
		peer_want(&p, SL_MSG_JOB);
		assert_int_equal(p.last.u.job.turns, i < 2 ? 2 : 3);
		assert_in_range(p.last.u.job.used_ns, 0, 10 * SECOND);
		assert_in_range(p.last.u.job.rate_milli, 0, 1000);
		peer_want(&p, SL_MSG_DONE);
		if (i == 1) /* now it is little */
			sl_turn_count(p.page, SECOND);
	}
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

static void who_cannot_be_watched_and_does_not_come_back_is_off_the_list(void **state)
{
	struct rig r;
	struct peer p, q;

	(void)state;
	rig_init(&r, "64KiB");
	rig_start(&r);
	p = (struct peer){.page_fd = -1, .p_fd = -1, .lane_fd = -1};
	/* Of another name space of processes. */
	peer_open_as(&r, &p, B, 0);
	peer_send(&r, &p,
		(struct sl_msg){.number = SL_MSG_HELLO,
			.u.hello = {SL_WIRE_MAGIC, SL_WIRE_VERSION}});
	peer_want(&p, SL_MSG_WELCOME);
	peer_send(&r, &p, job_of(8, 4));
	peer_registered(&p);
	peer_admitted(&r, &p);
	rig_restart(&r);
	rig_pass(&r, 10 * SECOND);
	peer_join(&r, &q, A, job_of(8, 4));
	peer_close(&p);
	peer_close(&q);
	rig_turn(&r);
	rig_stop(&r);
}

static void a_file_that_somebody_put_in_the_journals_way_is_not_written_to(void **state)
{
	struct rig r;
	struct sl_buf text = SL_BUF_INIT;

	(void)state;
	rig_init(&r, "1MiB");
	sl_assert_ok(sl_fs_write(sl_test_path("other"), "mine", 4));
	(void)unlink(sl_test_path("d.sock.journal.new"));
	assert_int_equal(
		link(sl_test_path("other"), sl_test_path("d.sock.journal.new")), 0);
	rig_start(&r);
	sl_assert_ok(sl_fs_read(sl_test_path("other"), 100, &text));
	assert_string_equal(sl_buf_text(&text), "mine");
	sl_buf_finish(&text);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(who_never_takes_its_memory_into_use_makes_room_for_who_waits),
		SL_TEST(who_says_its_turns_are_long_is_not_waited_for_for_ever),
		SL_TEST(the_name_of_a_service_is_its_users),
		SL_TEST(memory_that_a_job_cut_short_is_given_to_nobody),
		SL_TEST(reports_that_give_no_turn_back_count_as_others_do),
		SL_TEST(a_report_that_is_there_is_heard_before_its_job_is_late),
		SL_TEST(totals_that_cannot_be_are_not_believed),
		SL_TEST(who_cannot_be_watched_and_does_not_come_back_is_off_the_list),
		SL_TEST(a_file_that_somebody_put_in_the_journals_way_is_not_written_to),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
