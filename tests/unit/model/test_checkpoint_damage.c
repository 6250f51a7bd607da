/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/model/sample.h"

/* Opens a changed copy; it must be refused. */
static void expect_refused(const char *data, size_t len)
{
	struct sl_st_file f;
	struct sl_checkpoint_info got;

	/* Thousands of files: a new one each, since file systems flush one that was
	 * truncated. */
	(void)unlink(sl_test_path("bad"));
	FILE *out = fopen(sl_test_path("bad"), "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
	sl_status st = sl_checkpoint_open(sl_test_path("bad"), &f, &got);
	assert_true(st == SL_E_FORMAT || st == SL_E_LIMIT);
}

static void every_flipped_bit_is_found(void **state)
{
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(write_pieces(sl_test_path("c"), 64));
	sl_assert_ok(sl_fs_read(sl_test_path("c"), 8192, &b));
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ 1 << bit % 8);
		expect_refused(b.data, b.len);
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ 1 << bit % 8);
	}
	sl_buf_finish(&b);
}

static void every_cut_is_found(void **state)
{
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(write_pieces(sl_test_path("c"), 64));
	sl_assert_ok(sl_fs_read(sl_test_path("c"), 8192, &b));
	for (size_t len = 0; len < b.len; len++)
		expect_refused(b.data, len);
	sl_assert_ok(sl_buf_append(&b, "x", 1));
	expect_refused(b.data, b.len);
	sl_buf_finish(&b);
}

static void wrong_amounts_of_data_leave_no_file(void **state)
{
	struct sl_st_writer *w = NULL;
	char data[DATA_BYTES + 1] = {0};
	struct sl_st_decl twice[] = {tensors[0], tensors[0]};

	(void)state;
	sl_assert_ok(sl_checkpoint_create(sl_test_path("w"), &what, &w));
	sl_assert_fails(
		sl_st_write(w, data, sizeof(data)), SL_E_INVALID, "more data than");
	sl_assert_fails(sl_st_commit(w), SL_E_INVALID, "the tensors hold more");
	sl_assert_ok(sl_checkpoint_create(sl_test_path("w"), &what, &w));
	sl_assert_ok(sl_st_write(w, data, DATA_BYTES - 1));
	sl_assert_fails(sl_st_commit(w), SL_E_INVALID, "the tensors hold more");
	assert_int_equal(access(sl_test_path("w"), F_OK), -1);
	sl_assert_fails(sl_st_create(sl_test_path("w"), twice, 2, NULL, 0, &w),
		SL_E_FORMAT, "for the second time");
}

static void two_writers_leave_one_whole_file(void **state)
{
	struct sl_st_writer *a = NULL, *b = NULL;
	char data[DATA_BYTES] = {0};
	struct sl_st_file f;
	struct sl_checkpoint_info got;

	(void)state;
	sl_assert_ok(sl_checkpoint_create(sl_test_path("two"), &what, &a));
	sl_assert_ok(sl_checkpoint_create(sl_test_path("two"), &what, &b));
	sl_assert_ok(sl_st_write(a, data, 50));
	sl_assert_ok(sl_st_write(b, data, sizeof(data)));
	sl_assert_ok(sl_st_write(a, data + 50, sizeof(data) - 50));
	sl_assert_ok(sl_st_commit(b));
	sl_assert_ok(sl_st_commit(a));
	sl_assert_ok(sl_checkpoint_open(sl_test_path("two"), &f, &got));
	sl_st_close(&f);
}

static sl_status save(void *ctx)
{
	return write_pieces(ctx, 64);
}

/* Commits sync to the disk, which takes long; allocations happen before. */
static sl_status begin_and_cancel(void *ctx)
{
	struct sl_st_writer *w = NULL;

	SL_TRY(sl_checkpoint_create(ctx, &what, &w));
	sl_st_cancel(w);
	return SL_OK;
}

static sl_status load(void *ctx)
{
	struct sl_st_file f;
	struct sl_checkpoint_info got;

	SL_TRY(sl_checkpoint_open(ctx, &f, &got));
	sl_status st = sl_checkpoint_match(&f, &what, false);
	sl_st_close(&f);
	return st;
}

static void a_failed_save_keeps_the_old_file(void **state)
{
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s", sl_test_path("old"));
	sl_assert_ok(save(path));
	assert_true(sl_torture(begin_and_cancel, path) > 8);
	for (long n = 1;; n++) {
		sl_fs_fail_at(n, ENOSPC);
		sl_status st = save(path);
		bool failed = sl_fs_failed();
		sl_fs_fail_at(0, 0);
		sl_assert_ok(load(path));
		if (!failed)
			break;
		assert_int_equal(st, SL_E_NOSPACE);
	}
	assert_true(sl_torture(load, path) > 8);
	assert_true(sl_torture_fs(load, path, EIO) > 4);
	sl_assert_fails(save((char[]){"/proc/no/such/folder"}), SL_E_WRITE, "/proc/no");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_flipped_bit_is_found),
		SL_TEST(every_cut_is_found),
		SL_TEST(wrong_amounts_of_data_leave_no_file),
		SL_TEST(two_writers_leave_one_whole_file),
		SL_TEST(a_failed_save_keeps_the_old_file),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
