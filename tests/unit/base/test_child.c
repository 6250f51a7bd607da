/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of others: how they end, and that they do. */
#include "harness/harness.h"

#include "base/child.h"

static int code_of(const char *name, const char *word, unsigned seconds)
{
	const char *argv[] = {name, word, NULL};
	int code = -1;

	sl_assert_ok(sl_child_run(argv, seconds, &code));
	return code;
}

static void the_exit_status_comes_back(void **state)
{
	(void)state;
	assert_int_equal(code_of("true", NULL, 60), 0);
	assert_int_equal(code_of("false", NULL, 60), 1);
}

static void its_input_is_empty(void **state)
{
	(void)state;
	assert_int_equal(code_of("cat", "-", 60), 0);
}

static void a_program_that_is_not_there_is_named(void **state)
{
	const char *argv[] = {"no-such-program-of-sluice", NULL};
	int code;
	(void)state;

	sl_assert_fails(sl_child_run(argv, 60, &code), SL_E_NOT_FOUND,
		"no-such-program-of-sluice");
}

static void one_that_takes_too_long_is_ended(void **state)
{
	const char *argv[] = {"sleep", "1000", NULL};
	int code;
	(void)state;

	sl_assert_fails(sl_child_run(argv, 0, &code), SL_E_LIMIT, "longer than 0 s");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_exit_status_comes_back),
		SL_TEST(its_input_is_empty),
		SL_TEST(a_program_that_is_not_there_is_named),
		SL_TEST(one_that_takes_too_long_is_ended),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
