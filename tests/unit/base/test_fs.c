/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole or absent, every failure named, every system call failing once. */
#include "harness/harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

static int entries(void)
{
	DIR *d = opendir(sl_test_path(""));
	int n = -2; /* "." and ".." */

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void what_was_written_is_read(void **state)
{
	const char *path = sl_test_path("file");
	struct sl_buf b = SL_BUF_INIT;
	char part[4] = "";
	uint64_t size = 0;
	int fd = -1;

	(void)state;
	sl_assert_ok(sl_fs_write(path, "hello", 5));
	sl_assert_ok(sl_fs_read(path, 5, &b));
	assert_string_equal(sl_buf_text(&b), "hello");
	sl_assert_ok(sl_fs_write(path, "", 0));
	sl_assert_ok(sl_fs_read(path, 5, &b));
	assert_int_equal(b.len, 0);
	sl_assert_ok(sl_fs_write(path, "abcdef", 6));
	sl_assert_ok(sl_fs_open(path, &fd, &size));
	assert_int_equal(size, 6);
	sl_assert_ok(sl_fs_pread(fd, path, part, 3, 2));
	assert_string_equal(part, "cde");
	sl_assert_fails(sl_fs_pread(fd, path, part, 3, 5), SL_E_READ, "ends at byte 6");
	sl_fs_close(fd);
	sl_fs_close(-1);
	sl_buf_finish(&b);
	assert_int_equal(unlink(path), 0);
}

static void a_wrong_input_is_named(void **state)
{
	struct sl_buf b = SL_BUF_INIT;
	struct sl_buf small = SL_BUF_MAX(2);
	const char *path = sl_test_path("in");

	(void)state;
	sl_assert_fails(sl_fs_read(sl_test_path("no"), 9, &b), SL_E_NOT_FOUND, "/no");
	sl_assert_fails(sl_fs_read(sl_test_path(""), 9, &b), SL_E_READ, "folder");
	assert_int_equal(mkfifo(path, 0600), 0);
	sl_assert_fails(sl_fs_read(path, 9, &b), SL_E_READ, "not a regular file");
	assert_int_equal(unlink(path), 0);
	sl_assert_ok(sl_fs_write(path, "12345", 5));
	sl_assert_fails(sl_fs_read(path, 4, &b), SL_E_LIMIT, "5 bytes");
	sl_assert_fails(sl_fs_read(path, 9, &small), SL_E_LIMIT, "5 bytes");
	assert_null(b.data);
	assert_int_equal(unlink(path), 0);
}

static void a_wrong_output_is_named_and_leaves_nothing(void **state)
{
	int before = entries();

	(void)state;
	sl_assert_fails(
		sl_fs_write(sl_test_path("no/file"), "x", 1), SL_E_WRITE, "no/file");
	sl_assert_fails(
		sl_fs_write(sl_test_path(""), "x", 1), SL_E_WRITE, "not a regular file");
	sl_assert_fails(
		sl_fs_write("/dev/null", "x", 1), SL_E_WRITE, "not a regular file");
	assert_int_equal(entries(), before);
}

static void a_cancelled_file_leaves_the_old_one(void **state)
{
	const char *path = sl_test_path("old");
	struct sl_fs_new f;
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(sl_fs_write(path, "old", 3));
	sl_assert_ok(sl_fs_new_begin(path, &f));
	sl_assert_ok(sl_fs_pwrite(f.fd, path, "new", 3, 0));
	sl_fs_new_cancel(&f);
	sl_assert_ok(sl_fs_read(path, 9, &b));
	assert_string_equal(sl_buf_text(&b), "old");
	assert_int_equal(entries(), 1);
	assert_int_equal(unlink(path), 0);
	sl_buf_finish(&b);
}

static void new_files_have_ordinary_rights(void **state)
{
	const char *path = sl_test_path("rights");
	struct stat info;

	(void)state;
	mode_t mask = umask(022);
	sl_assert_ok(sl_fs_write(path, "x", 1));
	umask(mask);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0644);
	assert_int_equal(unlink(path), 0);
}

static void a_scratch_file_has_no_name(void **state)
{
	char back[4] = "";
	int fd = -1;

	(void)state;
	sl_assert_ok(sl_fs_scratch(sl_test_path(""), &fd));
	assert_int_equal(entries(), 0);
	sl_assert_ok(sl_fs_pwrite(fd, "scratch", "xyz", 3, 1000000));
	sl_assert_ok(sl_fs_pread(fd, "scratch", back, 3, 1000000));
	assert_string_equal(back, "xyz");
	sl_fs_close(fd);
	sl_assert_fails(
		sl_fs_scratch(sl_test_path("no"), &fd), SL_E_WRITE, "not a folder");
	/* Without O_TMPFILE the named way is taken. */
	sl_fs_fail_at(1, EOPNOTSUPP);
	sl_assert_ok(sl_fs_scratch(sl_test_path(""), &fd));
	assert_true(sl_fs_failed());
	assert_int_equal(entries(), 0);
	sl_fs_close(fd);
}

static void ram_file_systems_are_known(void **state)
{
	bool ram = true;

	(void)state;
	sl_assert_ok(sl_fs_is_ram("/proc", &ram));
	assert_false(ram);
	if (sl_fs_is_folder("/dev/shm")) {
		sl_assert_ok(sl_fs_is_ram("/dev/shm", &ram));
		assert_true(ram);
	}
	sl_assert_fails(sl_fs_is_ram(sl_test_path("no"), &ram), SL_E_NOT_FOUND, "no");
	assert_false(sl_fs_is_folder(sl_test_path("no")));
}

static void an_error_number_becomes_the_right_status(void **state)
{
	static const struct {
		int err;
		sl_status written;
		sl_status read;
	} cases[] = {
		{ENOSPC, SL_E_NOSPACE, SL_E_IO},
		{EDQUOT, SL_E_NOSPACE, SL_E_IO},
		{EACCES, SL_E_WRITE, SL_E_READ},
		{EROFS, SL_E_WRITE, SL_E_IO},
		{EIO, SL_E_IO, SL_E_IO},
		{ENOMEM, SL_E_NOMEM, SL_E_NOMEM},
		{ENOENT, SL_E_WRITE, SL_E_NOT_FOUND},
	};
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		sl_fs_fail_at(1, cases[i].err);
		sl_assert_fails(sl_fs_write(sl_test_path("e"), "x", 1), cases[i].written,
			strerror(cases[i].err));
		sl_fs_fail_at(1, cases[i].err);
		sl_assert_fails(
			sl_fs_read(sl_test_path("e"), 9, &b), cases[i].read, "/e");
	}
}

/* Writes "new" over "old": afterwards the file holds one of the two and nothing lies
 * beside. */
static sl_status replace(void *ctx)
{
	const char *path = sl_test_path("torture");
	struct sl_buf b = SL_BUF_INIT;
	bool *broken = ctx;
	int fd = -1;
	char text[4] = "";

	sl_status st = sl_fs_write(path, "new", 3);
	if (st == SL_OK)
		st = sl_fs_read(path, 9, &b);
	sl_buf_finish(&b);
	if (st == SL_OK)
		st = sl_fs_scratch(sl_test_path(""), &fd);
	sl_fs_close(fd);
	/* Looked at behind the back of base/fs.c. */
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, 3) != 3 ||
		(strcmp(text, "old") && strcmp(text, "new")))
		*broken = true;
	close(fd);
	if (entries() != 1)
		*broken = true;
	return st;
}

static void every_failing_call_leaves_the_old_file_or_the_new(void **state)
{
	static const int errors[] = {EIO, ENOSPC, EINTR};
	bool broken = false;

	(void)state;
	sl_assert_ok(sl_fs_write(sl_test_path("torture"), "old", 3));
	/* open write sync link rename, open sync the folder; open stat read; a scratch
	 * file */
	for (size_t i = 0; i < SL_COUNT(errors); i++)
		assert_int_equal(sl_torture_fs(replace, &broken, errors[i]), 11);
	assert_true(sl_torture(replace, &broken) >= 3);
	assert_false(broken);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_was_written_is_read),
		SL_TEST(a_wrong_input_is_named),
		SL_TEST(a_wrong_output_is_named_and_leaves_nothing),
		SL_TEST(a_cancelled_file_leaves_the_old_one),
		SL_TEST(new_files_have_ordinary_rights),
		SL_TEST(a_scratch_file_has_no_name),
		SL_TEST(ram_file_systems_are_known),
		SL_TEST(an_error_number_becomes_the_right_status),
		SL_TEST(every_failing_call_leaves_the_old_file_or_the_new),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
