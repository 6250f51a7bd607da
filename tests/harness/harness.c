/* SPDX-License-Identifier: Apache-2.0 */
/* Running tests: counting, the time limit, the leak check. */
#include "harness/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "harness/harness_int.h"

#define TIMEOUT_S 60
#define TIMEOUT_MAX_S 3600

static long live_before;
static int skipped;

int sl_test_begin(void **state)
{
	(void)state;
	live_before = sl_alloc_live();
	return 0;
}

int sl_test_end(void **state)
{
	(void)state;
	sl_alloc_fail_at(0);
	sl_fs_fail_at(0, 0);
	long left = sl_alloc_live() - live_before;
	if (left == 0)
		return 0;
	print_error("%ld live allocations more than before the test\n", left);
	return -1;
}

void sl_test_skip(const char *why)
{
	print_message("skipped: %s\n", why);
	skipped++;
	skip();
}

static void on_alarm(int number)
{
	static const char text[] = "\ntest program ran out of time\n0 passed, 1 failed\n";

	(void)number;
	ssize_t n = write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(n < 0 ? 2 : 1);
}

static void start_alarm(void)
{
	const char *text = getenv("SL_TEST_TIMEOUT");
	long seconds = text ? strtol(text, NULL, 10) : TIMEOUT_S;

	if (seconds < 1 || seconds > TIMEOUT_MAX_S)
		seconds = TIMEOUT_S;
	signal(SIGALRM, on_alarm);
	alarm((unsigned)seconds);
}

int sl_test_run(const struct CMUnitTest *tests, size_t count)
{
	/* The private entry takes a pointer; the public macro wants an array. */
	start_alarm();
	int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
	sl_test_remove_folder();
	printf("%d passed, %d failed", (int)count - failed - skipped, failed);
	if (skipped)
		printf(", %d skipped", skipped);
	printf("\n");
	return failed ? 1 : 0;
}

void sl_test_want_ok(sl_status st, const char *expr, const char *file, int line)
{
	if (st == SL_OK)
		return;
	print_error("%s gave %s: %s (%s)\n", expr, sl_status_name(st), sl_last_error(),
		sl_last_error_where());
	_fail(file, line);
}

void sl_test_want_failure(sl_status st, sl_status code, const char *part,
	const char *expr, const char *file, int line)
{
	if (st == code && strstr(sl_last_error(), part))
		return;
	print_error("%s gave %s: %s\nwanted %s with '%s'\n", expr, sl_status_name(st),
		st == SL_OK ? "" : sl_last_error(), sl_status_name(code), part);
	_fail(file, line);
}
