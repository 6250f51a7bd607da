/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is made, emptied and revoked by one and used by another. */
#include "harness/harness.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "device/shared.h"

#define PAGE ((size_t)SL_SHARED_PAGE)

static void scrubbed_memory_reads_zero(void **state)
{
	struct sl_memfd_info info;
	uint8_t *p;
	int fd;

	(void)state;
	sl_assert_ok(sl_shared_create(8 * PAGE, "test", &fd));
	p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	memset(p, 0x5a, 8 * PAGE);
	sl_assert_ok(sl_shared_identity(fd, &info));
	assert_int_equal(info.held_bytes, 8 * PAGE);
	sl_assert_ok(sl_shared_scrub(fd, 2 * PAGE, 3 * PAGE));
	sl_assert_ok(sl_shared_scrub(fd, 2 * PAGE, 0));
	sl_assert_ok(sl_shared_identity(fd, &info));
	assert_int_equal(info.held_bytes, 5 * PAGE);
	for (size_t i = 0; i < 8 * PAGE; i++)
		assert_int_equal(p[i], i / PAGE >= 2 && i / PAGE < 5 ? 0 : 0x5a);
	munmap(p, 8 * PAGE);
	sl_fs_close(fd);
}

static void what_another_process_wrote_is_gone_after_a_scrub(void **state)
{
	uint8_t *p;
	int fd, status = 1;
	pid_t pid;

	(void)state;
	sl_assert_ok(sl_shared_create(PAGE, "test", &fd));
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		memcpy(p, "secret", 7);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_string_equal((char *)p, "secret");
	sl_assert_ok(sl_shared_scrub(fd, 0, PAGE));
	assert_int_equal(p[0], 0);
	munmap(p, PAGE);
	sl_fs_close(fd);
}

static void sizes_are_whole_pages(void **state)
{
	int fd;

	(void)state;
	sl_assert_fails(sl_shared_create(0, "test", &fd), SL_E_INVALID, "0 bytes");
	sl_assert_fails(sl_shared_create(100, "test", &fd), SL_E_INVALID, "100 bytes");
	sl_assert_ok(sl_shared_create(PAGE, "test", &fd));
	sl_assert_fails(sl_shared_scrub(fd, 1, PAGE), SL_E_INVALID, "whole pages");
	sl_assert_fails(
		sl_shared_scrub(fd, PAGE, UINT64_MAX / 2), SL_E_INVALID, "whole pages");
	assert_int_equal(ftruncate(fd, 8192), -1);
	sl_fs_close(fd);
}

static void revoked_memory_stays_revoked(void **state)
{
	struct sl_memfd_info info;
	int fd;

	(void)state;
	sl_assert_ok(sl_shared_create(4 * PAGE, "test", &fd));
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	sl_assert_ok(sl_shared_trim(fd, 3 * PAGE));
	sl_assert_ok(sl_shared_identity(fd, &info));
	assert_int_equal(info.bytes, 3 * PAGE);
	assert_int_equal(info.held_bytes, PAGE);
	sl_assert_ok(sl_shared_revoke(fd));
	sl_assert_ok(sl_shared_identity(fd, &info));
	assert_int_equal(info.bytes, 0);
	assert_int_equal(info.held_bytes, 0);
	assert_int_equal(ftruncate(fd, PAGE), -1);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	sl_fs_close(fd);
}

static void the_identity_follows_the_memory_and_not_the_descriptor(void **state)
{
	struct sl_memfd_info a, b;
	int fd, twin, other;

	(void)state;
	sl_assert_ok(sl_shared_create(PAGE, "test", &fd));
	sl_assert_ok(sl_shared_create(PAGE, "test", &other));
	twin = dup(fd);
	assert_true(twin >= 0);
	sl_assert_ok(sl_shared_identity(fd, &a));
	sl_assert_ok(sl_shared_identity(twin, &b));
	assert_true(a.device == b.device && a.inode == b.inode);
	sl_assert_ok(sl_shared_identity(other, &b));
	assert_false(a.device == b.device && a.inode == b.inode);
	sl_fs_close(fd);
	sl_fs_close(twin);
	sl_fs_close(other);
}

static void memory_that_cannot_be_revoked_is_not_taken_back(void **state)
{
	struct sl_memfd_info info;
	int fd;

	(void)state;
	sl_assert_ok(sl_memfd_create("test", PAGE, &fd));
	sl_assert_fails(sl_shared_identity(fd, &info), SL_E_INVALID, "seals");
	sl_assert_ok(sl_memfd_seal(fd, SL_MEMFD_GROW | SL_MEMFD_SHRINK | SL_MEMFD_SEAL));
	sl_assert_fails(sl_shared_identity(fd, &info), SL_E_INVALID, "seals");
	sl_fs_close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(scrubbed_memory_reads_zero),
		SL_TEST(what_another_process_wrote_is_gone_after_a_scrub),
		SL_TEST(sizes_are_whole_pages),
		SL_TEST(revoked_memory_stays_revoked),
		SL_TEST(the_identity_follows_the_memory_and_not_the_descriptor),
		SL_TEST(memory_that_cannot_be_revoked_is_not_taken_back),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
