/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's text, whole, torn and hostile; and a daemon that finds such a file. */
#include "share/serve/journal.h"

#include "unit/share/serve/peers.h"

#define A 1000

static const struct sl_journal_job sample = {.id = 7,
	.user = 1000,
	.row = 1,
	.lane = 2,
	.pid = 12,
	.pid_start = 99,
	.token_high = UINT64_MAX,
	.token_low = 5,
	.told = 1,
	.persistent_bytes = 8192,
	.ephemeral_bytes = 4096,
	.asked = {.name = "a b%\xc3\xa9",
		.priority = -3,
		.menu = {.n = 2, .rows = {{1, 2, 3}, {4, 5, 6}}}}};

static void put_sample(struct sl_buf *out)
{
	struct sl_journal_job other = sample;

	other.id = 3;
	other.lane = SL_LANE_NONE;
	sl_assert_ok(sl_journal_put_head(out, 9));
	sl_assert_ok(sl_journal_put_policy(out, "srtf"));
	sl_assert_ok(sl_journal_put_limit(out, 1000, 4096));
	sl_assert_ok(sl_journal_put_job(out, &sample));
	sl_assert_ok(sl_journal_put_job(out, &other));
	sl_assert_ok(sl_journal_put_mem(
		out, &(struct sl_journal_mem){
			     .lane = 2, .user = 1000, .inode = 4, .bytes = 4096}));
	other.turns = 12;
	sl_assert_ok(sl_journal_put_job(out, &other));
	sl_assert_ok(sl_journal_put_end(out, 55));
}

static void what_is_printed_is_read_back(void **state)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_journal_book b = {0};

	(void)state;
	put_sample(&text);
	sl_assert_ok(sl_journal_parse("j", text.data, text.len, &b));
	assert_int_equal(b.n_jobs, 2);
	assert_int_equal(b.jobs[0].id, 3);
	assert_int_equal(b.jobs[0].turns, 12);
	assert_memory_equal(&b.jobs[1], &sample, sizeof(sample));
	assert_int_equal(b.n_mems, 1);
	assert_int_equal(b.limits[0].bytes, 4096);
	assert_string_equal(b.policy, "srtf");
	assert_int_equal(b.next_job, 9);
	assert_false(b.torn);
	sl_journal_finish(&b);
	sl_assert_ok(sl_journal_put_end(&text, 7));
	sl_assert_ok(
		sl_journal_put_mem(&text, &(struct sl_journal_mem){2, 1000, 0, 0, 0}));
	sl_assert_ok(sl_journal_parse("j", text.data, text.len, &b));
	assert_int_equal(b.n_jobs, 1);
	assert_int_equal(b.n_mems, 0);
	sl_journal_finish(&b);
	sl_buf_finish(&text);
}

static void torn_at_any_byte_the_whole_lines_count(void **state)
{
	struct sl_buf text = SL_BUF_INIT;

	(void)state;
	put_sample(&text);
	for (size_t n = 0; n <= text.len; n++) {
		struct sl_journal_book b = {0};
		size_t lines = 0;

		for (size_t i = 0; i < n; i++)
			lines += text.data[i] == '\n';
		sl_assert_ok(sl_journal_parse("j", text.data, n, &b));
		assert_int_equal(b.torn, n > 0 && text.data[n - 1] != '\n');
		assert_int_equal(b.n_jobs, lines >= 5 ? 2 : lines >= 4);
		sl_journal_finish(&b);
	}
	sl_buf_finish(&text);
}

static void any_changed_byte_is_noticed(void **state)
{
	struct sl_buf text = SL_BUF_INIT;

	(void)state;
	put_sample(&text);
	for (size_t i = 0; i < text.len - 1; i++) {
		struct sl_journal_book b = {0};
		char was = text.data[i];
		sl_status st;

		text.data[i] = (char)(was ^ 1);
		st = sl_journal_parse("j", text.data, text.len, &b);
		assert_int_equal(st, SL_E_FORMAT);
		assert_null(b.jobs);
		text.data[i] = was;
	}
	sl_buf_finish(&text);
}

static void a_hostile_file_is_kept_aside_and_the_daemon_starts_clean(void **state)
{
	struct rig r;
	struct peer p;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 1));
	sl_serve_close(r.s);
	sl_assert_ok(sl_fs_write(sl_test_path("d.sock.journal"), "journal 1\nx\n", 12));
	sl_assert_ok(rig_try_start(&r));
	assert_int_equal(access(sl_test_path("d.sock.journal.bad"), F_OK), 0);
	peer_again(&r, &p, A);
	peer_send(&r, &p, attach_of(&p));
	peer_want_error(&p, SL_E_NOT_FOUND, "no job 1");
	peer_send(&r, &p, job_of(1, 1));
	peer_want(&p, SL_MSG_REGISTERED);
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

/* Wherever its end is torn off, a daemon starts, and the job is told where it stands. */
static void a_daemon_starts_from_a_journal_torn_anywhere(void **state)
{
	struct sl_buf text = SL_BUF_INIT;
	struct rig r;
	struct peer p;
	const char *path;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	peer_join(&r, &p, A, job_of(1, 1));
	peer_report(&r, &p);
	sl_serve_close(r.s);
	path = sl_test_path("d.sock.journal");
	sl_assert_ok(sl_fs_read(path, 1 << 20, &text));
	for (size_t n = 0; n <= text.len; n += 7) {
		sl_assert_ok(sl_fs_write(path, text.data, n));
		r.now += SECOND;
		sl_assert_ok(rig_try_start(&r));
		rig_turn(&r);
		peer_again(&r, &p, A);
		peer_send(&r, &p, attach_of(&p));
		assert_true(peer_next(&p));
		assert_true(p.last.number == SL_MSG_DONE ||
			    p.last.number == SL_MSG_ERROR ||
			    p.last.number == SL_MSG_LOST);
		sl_serve_close(r.s);
		path = sl_test_path("d.sock.journal");
	}
	sl_buf_finish(&text);
	peer_close(&p);
	sl_assert_ok(rig_try_start(&r));
	rig_stop(&r);
}

static void a_full_disk_stops_nobody_and_is_made_good(void **state)
{
	struct rig r;
	struct peer p;

	(void)state;
	rig_init(&r, "1MiB");
	rig_start(&r);
	/* No file can be made where a folder is in the way. */
	assert_int_equal(mkdir(sl_test_path("d.sock.journal.new"), 0700), 0);
	assert_int_equal(unlink(sl_test_path("d.sock.journal")), 0);
	sl_serve_close(r.s);
	sl_assert_ok(rig_try_start(&r));
	peer_join(&r, &p, A, job_of(1, 1));
	assert_true(sl_turn_try(p.page));
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_STATUS});
	peer_want(&p, SL_MSG_STATE);
	assert_int_equal(p.last.u.state.journal_ok, 0);
	while (peer_next(&p))
		;
	assert_int_equal(rmdir(sl_test_path("d.sock.journal.new")), 0);
	rig_pass(&r, 2 * SECOND);
	peer_send(&r, &p, (struct sl_msg){.number = SL_MSG_STATUS});
	peer_want(&p, SL_MSG_STATE);
	assert_int_equal(p.last.u.state.journal_ok, 1);
	rig_restart(&r);
	peer_again(&r, &p, A);
	peer_send(&r, &p, attach_of(&p));
	peer_want(&p, SL_MSG_DONE);
	peer_close(&p);
	rig_turn(&r);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_is_printed_is_read_back),
		SL_TEST(torn_at_any_byte_the_whole_lines_count),
		SL_TEST(any_changed_byte_is_noticed),
		SL_TEST(a_hostile_file_is_kept_aside_and_the_daemon_starts_clean),
		SL_TEST(a_daemon_starts_from_a_journal_torn_anywhere),
		SL_TEST(a_full_disk_stops_nobody_and_is_made_good),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
