/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with a descriptor, and what its seals prove. */
#include "harness/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/memfd.h"

static void new_memory_is_zero_and_has_no_pages(void **state)
{
	struct sl_memfd_info info;
	char bytes[8] = "0123456";
	int fd;

	(void)state;
	sl_assert_ok(sl_memfd_create("test", 12345, &fd));
	sl_assert_ok(sl_memfd_check(fd, 0, SL_MEMFD_SEAL, &info));
	assert_int_equal(info.bytes, 12345);
	assert_int_equal(info.held_bytes, 0);
	assert_true(info.inode != 0);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 12000), sizeof(bytes));
	assert_int_equal(bytes[0] | bytes[7], 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	sl_fs_close(fd);
}

static void seals_hold(void **state)
{
	struct sl_memfd_info info;
	int fd;

	(void)state;
	sl_assert_ok(sl_memfd_create("test", 4096, &fd));
	sl_assert_ok(sl_memfd_seal(fd, SL_MEMFD_GROW | SL_MEMFD_SHRINK | SL_MEMFD_SEAL));
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 8192), -1);
	sl_assert_fails(sl_memfd_seal(fd, SL_MEMFD_WRITE), SL_E_IO, "cannot seal");
	sl_assert_ok(sl_memfd_check(fd, SL_MEMFD_SHRINK, SL_MEMFD_WRITE, &info));
	sl_assert_fails(sl_memfd_check(fd, SL_MEMFD_WRITE, 0, &info), SL_E_INVALID,
		"not all of 8");
	sl_assert_fails(
		sl_memfd_check(fd, 0, SL_MEMFD_GROW, &info), SL_E_INVALID, "one of 4");
	sl_fs_close(fd);
}

static void other_descriptors_are_no_shared_memory(void **state)
{
	struct sl_memfd_info info;
	int fd, ends[2];

	(void)state;
	sl_assert_ok(sl_fs_scratch(sl_test_path(""), &fd));
	sl_assert_fails(
		sl_memfd_check(fd, 0, 0, &info), SL_E_INVALID, "not shared memory");
	sl_fs_close(fd);
	assert_int_equal(pipe(ends), 0);
	sl_assert_fails(
		sl_memfd_check(ends[0], 0, 0, &info), SL_E_INVALID, "not shared memory");
	close(ends[0]);
	close(ends[1]);
	sl_assert_fails(sl_memfd_check(-1, 0, 0, &info), SL_E_IO, "cannot look");
	/* A file of /dev/shm lies on the same file system, but nobody can seal it. */
	fd = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0)
		sl_assert_fails(sl_memfd_check(fd, SL_MEMFD_GROW, 0, &info), SL_E_INVALID,
			"seals");
	sl_fs_close(fd);
}

static void a_size_that_is_none_is_refused(void **state)
{
	int fd;

	(void)state;
	sl_assert_fails(
		sl_memfd_create("test", UINT64_MAX, &fd), SL_E_INVALID, "are no size");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(new_memory_is_zero_and_has_no_pages),
		SL_TEST(seals_hold),
		SL_TEST(other_descriptors_are_no_shared_memory),
		SL_TEST(a_size_that_is_none_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
