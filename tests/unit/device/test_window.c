/* SPDX-License-Identifier: Apache-2.0 */
/* The window on shared memory, and what happens in it when that is taken away. */
#include "harness/harness.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atom.h"
#include "base/fs.h"
#include "device/shared.h"
#include "device/window.h"

#define PAGE ((size_t)SL_SHARED_PAGE)

static struct sl_window *open_window(size_t p_pages, size_t lane_pages, int fd[2])
{
	struct sl_window *w;

	sl_assert_ok(sl_window_create((p_pages + lane_pages) * PAGE, &w));
	sl_assert_ok(sl_shared_create(p_pages * PAGE, "p", &fd[0]));
	sl_assert_ok(sl_shared_create(lane_pages * PAGE, "lane", &fd[1]));
	sl_assert_ok(sl_window_map(w, fd[0], p_pages * PAGE, fd[1], lane_pages * PAGE));
	return w;
}

static void close_window(struct sl_window *w, const int fd[2])
{
	sl_fs_close(fd[0]);
	sl_fs_close(fd[1]);
	sl_window_destroy(w);
}

static void both_parts_lie_side_by_side(void **state)
{
	struct sl_memfd_info info;
	struct sl_window *w;
	uint8_t *base;
	char text[8];
	int fd[2];

	(void)state;
	w = open_window(2, 3, fd);
	base = sl_window_base(w);
	assert_int_equal(sl_window_most(w), 5 * PAGE);
	assert_int_equal(sl_window_p_bytes(w), 2 * PAGE);
	assert_int_equal(sl_window_lane_bytes(w), 3 * PAGE);
	memcpy(base + 2 * PAGE - 4, "sluices", 8);
	assert_int_equal(pread(fd[0], text, 4, 2 * PAGE - 4), 4);
	assert_memory_equal(text, "slui", 4);
	assert_int_equal(pread(fd[1], text, 4, 0), 4);
	assert_memory_equal(text, "ces", 4);
	sl_assert_ok(sl_window_populate(w));
	sl_assert_ok(sl_shared_identity(fd[1], &info));
	assert_int_equal(info.held_bytes, 3 * PAGE);
	assert_memory_equal(base + 2 * PAGE - 4, "sluices", 8);
	assert_false(sl_window_lost(w));
	close_window(w, fd);
}

static void other_memory_comes_to_the_same_place(void **state)
{
	struct sl_window *w;
	uint8_t *base;
	int fd[2], lane;

	(void)state;
	w = open_window(2, 2, fd);
	base = sl_window_base(w);
	base[0] = 1;
	base[2 * PAGE] = 2;
	sl_assert_ok(sl_shared_create(PAGE, "lane", &lane));
	sl_assert_ok(sl_window_map_lane(w, lane, PAGE));
	assert_int_equal(base[0], 1);
	assert_int_equal(base[2 * PAGE], 0);
	assert_int_equal(sl_window_lane_bytes(w), PAGE);
	sl_window_unmap(w);
	assert_int_equal(sl_window_p_bytes(w), 0);
	sl_assert_ok(sl_window_map(w, fd[0], 2 * PAGE, fd[1], 2 * PAGE));
	assert_ptr_equal(sl_window_base(w), base);
	assert_int_equal(base[0], 1);
	assert_int_equal(base[2 * PAGE], 2);
	sl_fs_close(lane);
	close_window(w, fd);
}

static void wrong_memory_is_refused_and_nothing_is_mapped(void **state)
{
	struct sl_window *w;
	int fd[2], plain;

	(void)state;
	w = open_window(2, 2, fd);
	sl_assert_fails(sl_window_map(w, fd[0], 3 * PAGE, fd[1], 2 * PAGE), SL_E_INVALID,
		"do not fit");
	assert_int_equal(sl_window_p_bytes(w), 0);
	sl_assert_fails(
		sl_window_map(w, fd[0], 100, fd[1], PAGE), SL_E_INVALID, "do not fit");
	sl_assert_fails(
		sl_window_map(w, fd[0], 3 * PAGE, -1, 0), SL_E_LOST, "taken away");
	sl_assert_ok(sl_memfd_create("test", PAGE, &plain));
	sl_assert_fails(
		sl_window_map(w, fd[0], PAGE, plain, PAGE), SL_E_INVALID, "seals");
	assert_int_equal(sl_window_p_bytes(w), 0);
	sl_assert_ok(sl_window_map(w, -1, 0, fd[1], PAGE));
	sl_assert_fails(sl_window_map_lane(w, plain, PAGE), SL_E_INVALID, "seals");
	sl_fs_close(plain);
	close_window(w, fd);
	sl_assert_fails(sl_window_create(0, &w), SL_E_INVALID, "0 bytes");
	sl_assert_fails(sl_window_create(10, &w), SL_E_INVALID, "10 bytes");
}

#define WRITERS 4
#define PART 64

struct writer {
	uint8_t *at;
	struct sl_atom32 rounds, stop;
};

static void *writes(void *arg)
{
	struct writer *t = arg;

	while (!sl_atom32_load(&t->stop)) {
		for (size_t i = 0; i < PART * PAGE; i += PAGE / 2)
			t->at[i] = (uint8_t)(i + 1);
		(void)sl_atom32_add(&t->rounds, 1);
	}
	return NULL;
}

static void go_on(struct writer *t)
{
	for (int i = 0; i < WRITERS; i++) {
		uint32_t from = sl_atom32_load(&t[i].rounds);

		while (sl_atom32_load(&t[i].rounds) < from + 2)
			sched_yield();
	}
}

static void writers_survive_that_memory_is_revoked(void **state)
{
	struct writer t[WRITERS];
	struct sl_window *w;
	pthread_t id[WRITERS];
	int fd[2];

	(void)state;
	w = open_window(2 * PART, 2 * PART, fd);
	sl_assert_ok(sl_window_populate(w));
	for (int i = 0; i < WRITERS; i++) {
		t[i] = (struct writer){.at = sl_window_base(w) + (size_t)i * PART * PAGE};
		assert_int_equal(pthread_create(&id[i], NULL, writes, &t[i]), 0);
	}
	go_on(t);
	assert_false(sl_window_lost(w));
	sl_assert_ok(sl_shared_revoke(fd[1]));
	go_on(t);
	assert_true(sl_window_lost(w));
	sl_assert_ok(sl_shared_revoke(fd[0]));
	go_on(t);
	for (int i = 0; i < WRITERS; i++) {
		sl_atom32_store(&t[i].stop, 1);
		pthread_join(id[i], NULL);
	}
	sl_assert_fails(sl_window_populate(w), SL_E_LOST, "taken away");
	close_window(w, fd);
}

static void new_memory_clears_the_mark(void **state)
{
	struct sl_window *w;
	int fd[2], lane;

	(void)state;
	w = open_window(1, 1, fd);
	sl_assert_ok(sl_shared_revoke(fd[1]));
	sl_assert_fails(sl_window_populate(w), SL_E_LOST, "taken away");
	assert_false(sl_window_lost(w));
	sl_window_base(w)[PAGE] = 1;
	assert_true(sl_window_lost(w));
	sl_assert_ok(sl_shared_create(PAGE, "lane", &lane));
	sl_assert_ok(sl_window_map_lane(w, lane, PAGE));
	assert_false(sl_window_lost(w));
	assert_int_equal(sl_window_base(w)[PAGE], 0);
	sl_fs_close(lane);
	close_window(w, fd);
}

static void a_child_of_fork_has_no_window(void **state)
{
	struct sl_window *w;
	unsigned char there;
	int fd[2], status = 1;
	pid_t pid;

	(void)state;
	w = open_window(1, 1, fd);
	sl_window_base(w)[0] = sl_window_base(w)[PAGE] = 1;
	pid = fork();
	if (pid == 0)
		_exit(mincore(sl_window_base(w), PAGE, &there) == 0 ||
			mincore(sl_window_base(w) + PAGE, PAGE, &there) == 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close_window(w, fd);
}

static int count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	int c, n = 0;

	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	assert_int_equal(fclose(f), 0);
	return n;
}

static void windows_leave_no_mapping_and_end_at_a_limit(void **state)
{
	struct sl_window *w[SL_WINDOWS_MAX + 1];
	int before, fd[2];

	(void)state;
	close_window(open_window(1, 1, fd), fd);
	before = count_lines("/proc/self/maps");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < SL_WINDOWS_MAX; i++) {
			w[i] = open_window(1, 1, fd);
			sl_fs_close(fd[0]);
			sl_fs_close(fd[1]);
		}
		sl_assert_fails(sl_window_create(PAGE, &w[SL_WINDOWS_MAX]), SL_E_LIMIT,
			"at most 64");
		for (int i = 0; i < SL_WINDOWS_MAX; i++)
			sl_window_destroy(w[i]);
	}
	/* Reservations may merge with a neighbour that was there before. */
	assert_true(count_lines("/proc/self/maps") <= before + 2);
	sl_window_destroy(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(both_parts_lie_side_by_side),
		SL_TEST(other_memory_comes_to_the_same_place),
		SL_TEST(wrong_memory_is_refused_and_nothing_is_mapped),
		SL_TEST(writers_survive_that_memory_is_revoked),
		SL_TEST(new_memory_clears_the_mark),
		SL_TEST(a_child_of_fork_has_no_window),
		SL_TEST(windows_leave_no_mapping_and_end_at_a_limit),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
