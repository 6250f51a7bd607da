/* SPDX-License-Identifier: Apache-2.0 */
/* A bug ends the program with its place, the last error and the last events. */
#include "harness/harness.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/event.h"

static void broken(void)
{
	struct sl_event_ring *ring = NULL;

	(void)!sl_event_ring_create(4, &ring);
	sl_event_emit(ring, SL_EV_STEP, 77, 0);
	(void)SL_FAIL(SL_E_IO, "the last error");
	SL_BUG(1 + 1 == 2);
}

static void a_bug_says_where_and_what_and_aborts(void **state)
{
	char text[4096];
	size_t used = 0;
	int status = 0;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(ends[1], STDERR_FILENO);
		broken();
		_exit(0);
	}
	close(ends[1]);
	for (ssize_t n = 1; n > 0 && used < sizeof(text) - 1; used += (size_t)n)
		n = read(ends[0], text + used, sizeof(text) - 1 - used);
	text[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(text, "test_assert.c:"));
	assert_non_null(strstr(text, "1 + 1 == 2"));
	assert_non_null(strstr(text, "the last error"));
	assert_non_null(strstr(text, "step 77"));
}

static void a_true_contract_costs_nothing(void **state)
{
	int evaluated = 0;

	(void)state;
	SL_ASSERT(++evaluated == 1);
	SL_BUG(evaluated != 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_bug_says_where_and_what_and_aborts),
		SL_TEST(a_true_contract_costs_nothing),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
