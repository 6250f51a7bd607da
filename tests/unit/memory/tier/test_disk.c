/* SPDX-License-Identifier: Apache-2.0 */
/* The disk tier on each of its paths: O_DIRECT or buffered, io_uring or pread and pwrite.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/harness.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "memory/tier/tier.h"

#define MIB ((size_t)1 << 20)

static const unsigned all_flags[] = {0, SL_TIER_DISK_NO_URING, SL_TIER_DISK_BUFFERED,
	SL_TIER_DISK_BUFFERED | SL_TIER_DISK_NO_URING};

static const char *folder(void)
{
	const char *dir = getenv("SLUICE_DISK");

	return dir ? dir : "/var/tmp";
}

static struct sl_tier *disk(uint64_t bytes, unsigned flags)
{
	struct sl_tier *t = NULL;

	assert_int_equal(sl_tier_disk_create_forced(folder(), bytes, flags, &t), SL_OK);
	return t;
}

static uint8_t *pattern(size_t len, uint32_t seed)
{
	uint8_t *p = sl_alloc_aligned(4096, len);

	assert_non_null(p);
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)((i * 2654435761u + seed) >> 13);
	return p;
}

/* The unlinked file of the newest tier; tests only. */
static int tier_fd(void)
{
	char link[64], target[512];

	for (int fd = 3; fd < 256; fd++) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strncmp(target, folder(), strlen(folder())) == 0 &&
			strstr(target, "(deleted)"))
			return fd;
	}
	return -1;
}

static void what_was_put_comes_back_on_every_path(void **state)
{
	const size_t lens[] = {4096, 4 * MIB, 4 * MIB + 4096, 19 * MIB};

	(void)state;
	for (size_t f = 0; f < SL_COUNT(all_flags); f++) {
		struct sl_tier *t = disk(64 * MIB, all_flags[f]);
		for (size_t i = 0; i < SL_COUNT(lens); i++) {
			uint8_t *in = pattern(lens[i], (uint32_t)(i + f));
			uint8_t *back = pattern(lens[i], 77);
			assert_int_equal(sl_tier_put(t, i * 8192, in, lens[i]), SL_OK);
			assert_int_equal(sl_tier_get(t, i * 8192, back, lens[i]), SL_OK);
			assert_memory_equal(in, back, lens[i]);
			sl_free_aligned(in);
			sl_free_aligned(back);
		}
		sl_tier_destroy(t);
	}
}

static void any_aligned_part_of_a_put_can_be_read_and_rewritten(void **state)
{
	struct sl_tier *t = disk(16 * MIB, 0);
	uint8_t *in = pattern(8 * MIB, 1), *part = pattern(8192, 2),
		*back = pattern(8 * MIB, 3);

	(void)state;
	assert_int_equal(sl_tier_put(t, 4096, in, 8 * MIB), SL_OK);
	assert_int_equal(sl_tier_put(t, 4096 * 3, part, 8192), SL_OK);
	memcpy(in + 8192, part, 8192);
	assert_int_equal(sl_tier_get(t, 4096, back, 8 * MIB), SL_OK);
	assert_memory_equal(in, back, 8 * MIB);
	assert_int_equal(sl_tier_get(t, 4096 * 4, back, 4096), SL_OK);
	assert_memory_equal(part + 4096, back, 4096);
	sl_tier_destroy(t);
	sl_free_aligned(in);
	sl_free_aligned(part);
	sl_free_aligned(back);
}

static void bytes_never_put_read_as_zeros(void **state)
{
	(void)state;
	for (size_t f = 0; f < SL_COUNT(all_flags); f++) {
		struct sl_tier *t = disk(MIB, all_flags[f]);
		uint8_t *in = pattern(4096, 1), *back = pattern(MIB, 9);
		assert_int_equal(sl_tier_put(t, 8192, in, 4096), SL_OK);
		assert_int_equal(sl_tier_get(t, 0, back, MIB), SL_OK);
		assert_memory_equal(back + 8192, in, 4096);
		memset(back + 8192, 0, 4096);
		for (size_t i = 0; i < MIB; i++)
			assert_int_equal(back[i], 0);
		sl_tier_destroy(t);
		sl_free_aligned(in);
		sl_free_aligned(back);
	}
}

static void a_changed_block_on_disk_is_an_error_with_its_offset(void **state)
{
	(void)state;
	for (size_t f = 0; f < SL_COUNT(all_flags); f++) {
		struct sl_tier *t = disk(MIB, all_flags[f]);
		uint8_t *in = pattern(16384, 1);
		int fd = tier_fd();
		assert_int_equal(sl_tier_put(t, 0, in, 16384), SL_OK);
		assert_true(fd >= 0);
		in[100] ^= 1;
		assert_int_equal(pwrite(fd, in, 4096, 8192), 4096);
		assert_int_equal(sl_tier_get(t, 0, in, 8192), SL_OK);
		assert_int_equal(sl_tier_get(t, 0, in, 16384), SL_E_IO);
		assert_non_null(strstr(sl_last_error(), "8192"));
		assert_non_null(strstr(sl_last_error(), "--disk"));
		sl_tier_destroy(t);
		sl_free_aligned(in);
	}
}

static void a_full_disk_is_said_at_the_write_with_folder_and_hint(void **state)
{
	struct rlimit old, small;
	void (*was)(int) = signal(SIGXFSZ, SIG_IGN);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){.rlim_cur = 6 * MIB, .rlim_max = old.rlim_max};
	struct sl_tier *t = disk(64 * MIB, 0);
	uint8_t *in = pattern(16 * MIB, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	sl_status st = sl_tier_put(t, 0, in, 16 * MIB);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(st, SL_E_NOSPACE);
	assert_non_null(strstr(sl_last_error(), folder()));
	assert_non_null(strstr(sl_last_error(), "16777216 bytes"));
	assert_non_null(strstr(sl_last_error(), "SLUICE_DISK"));
	/* The tier is as good as before for what fits. */
	assert_int_equal(sl_tier_put(t, 0, in, MIB), SL_OK);
	sl_tier_destroy(t);
	sl_free_aligned(in);
	(void)signal(SIGXFSZ, was);
}

static void a_failing_write_or_read_is_said_with_its_reason(void **state)
{
	struct sl_tier *t = disk(16 * MIB, SL_TIER_DISK_NO_URING);
	uint8_t *in = pattern(8 * MIB, 1);

	(void)state;
	sl_fs_fail_at(2, ENOSPC);
	assert_int_equal(sl_tier_put(t, 0, in, 8 * MIB), SL_E_NOSPACE);
	assert_non_null(strstr(sl_last_error(), "disk tier"));
	assert_non_null(strstr(sl_last_error(), folder()));
	sl_fs_fail_at(1, EIO);
	assert_int_equal(sl_tier_put(t, 0, in, 8 * MIB), SL_E_IO);
	assert_int_equal(sl_tier_put(t, 0, in, 8 * MIB), SL_OK);
	sl_fs_fail_at(1, EIO);
	assert_int_equal(sl_tier_get(t, 0, in, 8 * MIB), SL_E_IO);
	sl_fs_fail_at(0, 0);
	sl_tier_destroy(t);
	sl_free_aligned(in);
}

static void unfit_folders_are_refused_with_a_hint(void **state)
{
	struct sl_tier *t = NULL;

	(void)state;
	assert_int_equal(sl_tier_disk_create("/dev/shm", MIB, &t), SL_E_USAGE);
	assert_non_null(strstr(sl_last_error(), "--disk DIR"));
	assert_int_equal(sl_tier_disk_create("/no/such/folder", MIB, &t), SL_E_NOT_FOUND);
	assert_non_null(strstr(sl_last_error(), "/no/such/folder"));
	/* /sys takes no files, not even from root; in a bare chroot it is a plain folder.
	 */
	if (access("/sys/kernel", F_OK) == 0)
		assert_int_equal(sl_tier_disk_create("/sys", MIB, &t), SL_E_WRITE);
	assert_null(t);
}

static void a_buffered_tier_warns_and_keeps_no_page(void **state)
{
	struct sl_tier *t = disk(16 * MIB, SL_TIER_DISK_BUFFERED);
	struct sl_tier *direct = NULL;
	uint8_t *in = pattern(8 * MIB, 1);

	(void)state;
	assert_non_null(t->warning);
	assert_non_null(strstr(t->warning, "O_DIRECT"));
	assert_int_equal(sl_tier_put(t, 0, in, 8 * MIB), SL_OK);
	assert_int_equal(sl_tier_get(t, 0, in, 8 * MIB), SL_OK);
	sl_tier_destroy(t);
	direct = disk(MIB, 0);
	if (direct->warning == NULL)
		assert_true((fcntl(tier_fd(), F_GETFL) & O_DIRECT) != 0);
	sl_tier_destroy(direct);
	sl_free_aligned(in);
}

static sl_status create_and_destroy(void *ctx)
{
	struct sl_tier *t = NULL;

	(void)ctx;
	SL_TRY(sl_tier_disk_create(folder(), MIB, &t));
	sl_tier_destroy(t);
	return SL_OK;
}

static void every_failed_allocation_is_an_error_without_leak(void **state)
{
	(void)state;
	assert_true(sl_torture(create_and_destroy, NULL) >= 3);
}

static void every_failed_system_call_is_an_error_without_leak(void **state)
{
	(void)state;
	assert_true(sl_torture_fs(create_and_destroy, NULL, EACCES) >= 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_was_put_comes_back_on_every_path),
		SL_TEST(any_aligned_part_of_a_put_can_be_read_and_rewritten),
		SL_TEST(bytes_never_put_read_as_zeros),
		SL_TEST(a_changed_block_on_disk_is_an_error_with_its_offset),
		SL_TEST(a_full_disk_is_said_at_the_write_with_folder_and_hint),
		SL_TEST(a_failing_write_or_read_is_said_with_its_reason),
		SL_TEST(unfit_folders_are_refused_with_a_hint),
		SL_TEST(a_buffered_tier_warns_and_keeps_no_page),
		SL_TEST(every_failed_allocation_is_an_error_without_leak),
		SL_TEST(every_failed_system_call_is_an_error_without_leak),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
