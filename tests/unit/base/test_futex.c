/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a word: who wakes, who does not sleep, and that time ends it. */
#include "harness/harness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/futex.h"

static void a_word_that_changed_is_not_waited_for(void **state)
{
	struct sl_atom32 word = {3};

	(void)state;
	sl_assert_ok(sl_futex_wait(&word, 2, -1));
	assert_int_equal(sl_atom32_load(&word), 3);
}

static void the_timeout_ends_a_wait(void **state)
{
	struct sl_atom32 word = {0};
	sl_ns from = sl_clock_now();

	(void)state;
	sl_assert_ok(sl_futex_wait(&word, 0, 2000000));
	assert_true(sl_clock_now() - from >= 2000000);
	sl_assert_ok(sl_futex_wait(&word, 0, 0));
}

/* Two processes hand a number up, one odd, one even. */
#define ROUNDS 1000

static void count_up(struct sl_atom32 *word, uint32_t mine)
{
	for (uint32_t i = mine; i < 2 * ROUNDS; i += 2) {
		uint32_t now;

		while ((now = sl_atom32_load(word)) != i)
			if (sl_futex_wait(word, now, -1) != SL_OK)
				_exit(1);
		sl_atom32_store(word, i + 1);
		(void)sl_futex_wake(word, 1);
	}
}

static void two_processes_wake_each_other(void **state)
{
	struct sl_atom32 *word = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 1;
	pid_t pid;

	(void)state;
	assert_true(word != MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		count_up(word, 1);
		_exit(0);
	}
	count_up(word, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sl_atom32_load(word), 2 * ROUNDS);
	munmap(word, 4096);
}

struct sleeper {
	struct sl_atom32 word, done;
};

static void *sleeps(void *arg)
{
	struct sleeper *s = arg;

	if (sl_futex_wait(&s->word, 0, -1) == SL_OK)
		sl_atom32_store(&s->done, 1);
	return NULL;
}

static void on_signal(int signo)
{
	(void)signo;
}

static void a_signal_ends_a_wait(void **state)
{
	struct sigaction action = {.sa_handler = on_signal}, old;
	struct sleeper s = {0};
	pthread_t t;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	assert_int_equal(pthread_create(&t, NULL, sleeps, &s), 0);
	/* Whether it sleeps already or not yet: one of them finds it asleep. */
	while (!sl_atom32_load(&s.done)) {
		(void)pthread_kill(t, SIGUSR1);
		sched_yield();
	}
	pthread_join(t, NULL);
	assert_int_equal(sl_atom32_load(&s.word), 0);
	sigaction(SIGUSR1, &old, NULL);
}

static void memory_that_is_gone_is_an_error(void **state)
{
	void *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(p != MAP_FAILED);
	sl_assert_fails(sl_futex_wait(p, 0, 0), SL_E_INVALID, "cannot wait");
	munmap(p, 4096);
}

static sl_status wait_once(void *ctx)
{
	return sl_futex_wait(ctx, 1, -1);
}

static void a_failed_call_is_an_error(void **state)
{
	struct sl_atom32 word = {0};

	(void)state;
	assert_int_equal(sl_torture_fs(wait_once, &word, ENOMEM), 1);
}

static void words_are_changed_as_told(void **state)
{
	struct sl_atom32 a = {0};
	struct sl_atom64 b = {0};

	(void)state;
	assert_int_equal(sl_atom32_or(&a, 6), 0);
	assert_int_equal(sl_atom32_and(&a, ~2u), 6);
	assert_int_equal(sl_atom32_add(&a, 5), 4);
	assert_false(sl_atom32_swap(&a, 8, 1));
	assert_true(sl_atom32_swap(&a, 9, 1));
	assert_int_equal(sl_atom32_load(&a), 1);
	sl_atom64_store(&b, UINT64_MAX);
	assert_true(sl_atom64_load(&b) == UINT64_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_word_that_changed_is_not_waited_for),
		SL_TEST(the_timeout_ends_a_wait),
		SL_TEST(two_processes_wake_each_other),
		SL_TEST(a_signal_ends_a_wait),
		SL_TEST(memory_that_is_gone_is_an_error),
		SL_TEST(a_failed_call_is_an_error),
		SL_TEST(words_are_changed_as_told),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
