/* SPDX-License-Identifier: Apache-2.0 */
/* Turns by a page that two processes share. */
#include "harness/harness.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atom.h"
#include "base/fs.h"
#include "base/memfd.h"
#include "share/turn.h"

static void a_turn_is_granted_asked_for_and_given_back(void **state)
{
	struct sl_turn_page *daemon, *job;
	struct sl_turn_seen seen;
	bool got = true;
	int fd;

	(void)state;
	sl_assert_ok(sl_turn_create(&fd, &daemon));
	sl_assert_ok(sl_turn_map(fd, &job));
	sl_fs_close(fd);
	assert_false(sl_turn_try(job));
	sl_assert_ok(sl_turn_wait(job, 0, &got));
	assert_false(got);
	sl_turn_ask(daemon);
	sl_turn_grant(daemon);
	assert_true(sl_turn_try(job));
	assert_false(sl_turn_asked(job));
	sl_assert_ok(sl_turn_wait(job, -1, &got));
	assert_true(got);
	sl_turn_begin(job, 100);
	sl_turn_count(job, 7);
	sl_turn_begin(job, 107);
	sl_turn_count(job, 8);
	sl_turn_look(daemon, &seen);
	assert_int_equal(seen.turns, 2);
	assert_int_equal(seen.used_ns, 15);
	assert_int_equal(seen.began_ns, 107);
	assert_true(seen.has && !seen.yielded);
	sl_turn_ask(daemon);
	assert_true(sl_turn_asked(job));
	sl_turn_unask(daemon);
	assert_false(sl_turn_asked(job));
	sl_turn_yield(job);
	sl_turn_look(daemon, &seen);
	assert_int_equal(seen.began_ns, 0);
	assert_true(!seen.has && seen.yielded);
	assert_false(sl_turn_try(job));
	assert_int_equal(sl_turn_turns(daemon), 2);
	sl_turn_grant_one(daemon);
	assert_true(sl_turn_try(job) && sl_turn_asked(job));
	sl_turn_unmap(daemon);
	sl_turn_unmap(job);
	sl_turn_unmap(NULL);
}

static void a_revoked_job_never_has_a_turn_again(void **state)
{
	struct sl_turn_page *page;
	bool got;
	int fd;

	(void)state;
	sl_assert_ok(sl_turn_create(&fd, &page));
	sl_turn_grant(page);
	assert_false(sl_turn_revoked(page));
	sl_turn_revoke(page);
	assert_true(sl_turn_revoked(page));
	assert_false(sl_turn_try(page));
	sl_turn_yield(page);
	sl_turn_grant(page);
	assert_false(sl_turn_try(page));
	sl_assert_fails(sl_turn_wait(page, -1, &got), SL_E_LOST, "struck off");
	sl_turn_unmap(page);
	sl_fs_close(fd);
}

/* Each process adds to a number in memory that only the turn guards. */
#define ROUNDS 1000

struct table {
	uint64_t sum;
};

static sl_status take_turns(struct sl_turn_page *mine, struct table *t)
{
	bool got;

	for (int i = 0; i < ROUNDS; i++) {
		do
			SL_TRY(sl_turn_wait(mine, -1, &got));
		while (!got);
		sl_turn_begin(mine, i + 1);
		t->sum = 3 * t->sum + 1;
		sl_turn_count(mine, 1);
		sl_turn_yield(mine);
	}
	return SL_OK;
}

/* Hands the turn from one to the other whenever it came back. */
static void hand_out(struct sl_turn_page *page[2])
{
	for (uint64_t i = 0; i < 2 * ROUNDS; i++) {
		struct sl_turn_page *p = page[i % 2];
		struct sl_turn_seen seen;

		sl_turn_grant(p);
		do {
			sched_yield();
			sl_turn_look(p, &seen);
		} while (seen.has);
		assert_int_equal(seen.turns, i / 2 + 1);
	}
}

static void two_processes_take_a_thousand_turns_each(void **state)
{
	struct sl_turn_page *page[2];
	struct table *t = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t want = 0;
	int fd[2], status;
	pid_t pid[2];

	(void)state;
	assert_true(t != MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		sl_assert_ok(sl_turn_create(&fd[i], &page[i]));
		pid[i] = fork();
		if (pid[i] == 0) {
			struct sl_turn_page *mine;

			if (sl_turn_map(fd[i], &mine) != SL_OK)
				_exit(1);
			_exit(take_turns(mine, t) == SL_OK ? 0 : 2);
		}
		sl_fs_close(fd[i]);
	}
	hand_out(page);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
		sl_turn_unmap(page[i]);
	}
	for (int i = 0; i < 2 * ROUNDS; i++)
		want = 3 * want + 1;
	assert_true(t->sum == want);
	munmap(t, 4096);
}

static void *waits(void *arg)
{
	bool got = true;

	if (sl_turn_wait(arg, -1, &got) != SL_OK || got)
		return arg;
	return NULL;
}

static void a_nudge_ends_the_wait_under_way_or_the_next(void **state)
{
	struct sl_turn_page *page;
	void *bad = NULL;
	pthread_t t;
	bool got = true;
	int fd;

	(void)state;
	sl_assert_ok(sl_turn_create(&fd, &page));
	sl_turn_nudge(page);
	sl_assert_ok(sl_turn_wait(page, -1, &got));
	assert_false(got);
	sl_assert_ok(sl_turn_wait(page, 0, &got));
	assert_false(got);
	assert_int_equal(pthread_create(&t, NULL, waits, page), 0);
	sl_turn_nudge(page);
	pthread_join(t, &bad);
	assert_null(bad);
	sl_turn_nudge(page);
	sl_turn_grant(page);
	sl_assert_ok(sl_turn_wait(page, -1, &got));
	assert_true(got);
	sl_turn_unmap(page);
	sl_fs_close(fd);
}

static void a_page_that_could_shrink_is_refused(void **state)
{
	const unsigned all = SL_MEMFD_SHRINK | SL_MEMFD_GROW | SL_MEMFD_SEAL;
	struct sl_turn_page *page;
	int fd;

	(void)state;
	sl_assert_ok(sl_memfd_create("test", SL_TURN_PAGE_BYTES, &fd));
	sl_assert_fails(sl_turn_map(fd, &page), SL_E_INVALID, "seals");
	sl_assert_ok(sl_memfd_seal(fd, all | SL_MEMFD_WRITE));
	sl_assert_fails(sl_turn_map(fd, &page), SL_E_INVALID, "seals");
	sl_fs_close(fd);
	sl_assert_ok(sl_memfd_create("test", 2 * SL_TURN_PAGE_BYTES, &fd));
	sl_assert_ok(sl_memfd_seal(fd, all));
	sl_assert_fails(sl_turn_map(fd, &page), SL_E_INVALID, "and not 8192");
	sl_fs_close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_turn_is_granted_asked_for_and_given_back),
		SL_TEST(a_revoked_job_never_has_a_turn_again),
		SL_TEST(two_processes_take_a_thousand_turns_each),
		SL_TEST(a_nudge_ends_the_wait_under_way_or_the_next),
		SL_TEST(a_page_that_could_shrink_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
