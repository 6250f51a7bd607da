/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory, windows and pages of turns when the n-th system call fails. */
#include "harness/harness.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "base/fs.h"
#include "device/shared.h"
#include "device/window.h"
#include "share/turn.h"

#define PAGE ((uint64_t)SL_SHARED_PAGE)

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n++;
	assert_int_equal(fclose(f), 0);
	return n;
}

static sl_status use_window(int p, int lane)
{
	struct sl_window *w = NULL;
	sl_status st;

	SL_TRY(sl_window_create(4 * PAGE, &w));
	SL_TRY_OUT(sl_window_map(w, p, 2 * PAGE, lane, PAGE));
	SL_TRY_OUT(sl_window_populate(w));
	sl_window_base(w)[2 * PAGE] = 1;
	SL_TRY_OUT(sl_window_map_lane(w, lane, 2 * PAGE));
	SL_TRY_OUT(sl_window_populate(w));
	assert_int_equal(sl_window_base(w)[2 * PAGE], 1);
out:
	sl_window_destroy(w);
	return st;
}

static sl_status use_shared(void *ctx)
{
	int p = -1, lane = -1;
	sl_status st;

	(void)ctx;
	SL_TRY_OUT(sl_shared_create(2 * PAGE, "p", &p));
	SL_TRY_OUT(sl_shared_create(2 * PAGE, "lane", &lane));
	SL_TRY_OUT(use_window(p, lane));
	SL_TRY_OUT(sl_shared_scrub(lane, 0, 2 * PAGE));
	SL_TRY_OUT(sl_shared_revoke(p));
out:
	sl_fs_close(p);
	sl_fs_close(lane);
	return st;
}

static sl_status use_turns(void *ctx)
{
	struct sl_turn_page *page = NULL, *again = NULL;
	int fd = -1;
	bool got;
	sl_status st;

	(void)ctx;
	SL_TRY(sl_turn_create(&fd, &page));
	SL_TRY_OUT(sl_turn_map(fd, &again));
	SL_TRY_OUT(sl_turn_wait(again, 0, &got));
	sl_turn_grant(page);
	assert_true(sl_turn_try(again));
out:
	sl_fs_close(fd);
	sl_turn_unmap(page);
	sl_turn_unmap(again);
	return st;
}

static void torture(sl_torture_fn fn, long least)
{
	static const int errors[] = {ENOMEM, EMFILE, EPERM};
	int fds, maps;

	sl_assert_ok(fn(NULL));
	fds = count_fds();
	maps = count_maps();
	for (size_t i = 0; i < SL_COUNT(errors); i++)
		assert_true(sl_torture_fs(fn, NULL, errors[i]) >= least);
	assert_int_equal(count_fds(), fds);
	assert_true(count_maps() <= maps + 1);
}

static void no_failed_call_of_shared_memory_leaves_anything(void **state)
{
	(void)state;
	torture(use_shared, 17);
}

static void no_failed_call_of_a_page_of_turns_leaves_anything(void **state)
{
	(void)state;
	torture(use_turns, 7);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(no_failed_call_of_shared_memory_leaves_anything),
		SL_TEST(no_failed_call_of_a_page_of_turns_leaves_anything),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
