/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_HARNESS_H
#define SL_TESTS_HARNESS_H

/*
 * A thin layer over cmocka: one process a test program.
 *
 *	#include "harness/harness.h"
 *
 *	static void a_buffer_keeps_what_was_appended(void **state)
 *	{
 *		(void)state;
 *		...
 *		assert_int_equal(b.len, 3);
 *	}
 *
 *	int main(void)
 *	{
 *		static const struct CMUnitTest tests[] = {
 *			SL_TEST(a_buffer_keeps_what_was_appended),
 *		};
 *		return sl_test_run(tests, SL_COUNT(tests));
 *	}
 *
 * Each test fails if it leaves a live allocation behind (sl_alloc_live()). The program
 *ends with a line "N passed, N failed" (", N skipped" where some were) and is killed
 *after SL_TEST_TIMEOUT seconds (default 60). Tests run from the repository's root.
 */

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "sluice/status.h"

int sl_test_begin(void **state);
int sl_test_end(void **state);

#define SL_TEST(name) cmocka_unit_test_setup_teardown(name, sl_test_begin, sl_test_end)

/* Runs the tests and prints the last line; the result is main's. */
int sl_test_run(const struct CMUnitTest *tests, size_t count);

/* Ends the running test as skipped, and says why. */
void sl_test_skip(const char *why);

/* The call must give SL_OK; otherwise its message is the test's. */
#define sl_assert_ok(expr) sl_test_want_ok((expr), #expr, __FILE__, __LINE__)
void sl_test_want_ok(sl_status st, const char *expr, const char *file, int line);
/* The call must fail with this code, and the message must hold this text. */
#define sl_assert_fails(expr, code, part) \
	sl_test_want_failure((expr), (code), (part), #expr, __FILE__, __LINE__)
void sl_test_want_failure(sl_status st, sl_status code, const char *part,
	const char *expr, const char *file, int line);

typedef sl_status (*sl_torture_fn)(void *ctx);
/*
 * Reruns fn with allocation 1, 2, 3, ... failing until a run sees no failure. Each run
 * must end in a status with a message and without a leak; the last one must give SL_OK.
 * Returns how many runs saw a failure, for the test to check that there were some.
 */
long sl_torture(sl_torture_fn fn, void *ctx);
/* The same with the system calls of base/fs.c, failing with err. */
long sl_torture_fs(sl_torture_fn fn, void *ctx, int err);

/*
 * A path in this program's own folder on a disk (SL_TEST_DIR, else /var/tmp), which is
 * removed at the end; "" is the folder. Valid until the fourth next call.
 */
const char *sl_test_path(const char *name);

/*
 * The text must equal tests/golden/<name>. With SL_GOLDEN_UPDATE=1 (`make golden-update`)
 * the file is rewritten instead, and the difference is reviewed.
 */
void sl_test_golden(const char *name, const char *text);

#endif
