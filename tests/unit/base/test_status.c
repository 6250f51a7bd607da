/* SPDX-License-Identifier: Apache-2.0 */
/* The error model: codes, messages, threads. */
#include "harness/harness.h"

#include <pthread.h>
#include <string.h>

static void each_code_has_a_name_a_sentence_and_an_exit_code(void **state)
{
	(void)state;
	for (int i = 0; i < SL_STATUS_COUNT; i++) {
		assert_int_equal(strncmp(sl_status_name((sl_status)i), "SL_", 3), 0);
		assert_true(strlen(sl_status_text((sl_status)i)) > 3);
		assert_int_equal(sl_status_exit_code((sl_status)i) == 0, i == SL_OK);
	}
	assert_string_equal(sl_status_name(SL_E_SHAPE), "SL_E_SHAPE");
	assert_int_equal(sl_status_exit_code(SL_E_INFEASIBLE), 3);
	assert_int_equal(sl_status_exit_code(SL_E_INTERRUPTED), 130);
}

static void an_unknown_code_is_named_as_such(void **state)
{
	(void)state;
	assert_string_equal(sl_status_name((sl_status)9999), "SL_E_UNKNOWN");
	assert_int_not_equal(sl_status_exit_code((sl_status)-1), 0);
}

static void a_failure_records_its_message_and_place(void **state)
{
	(void)state;
	assert_int_equal(SL_FAIL(SL_E_SHAPE, "rank %d", 9), SL_E_SHAPE);
	assert_string_equal(sl_last_error(), "rank 9");
	assert_non_null(strstr(sl_last_error_where(), "test_status.c:"));
}

static void a_message_commands_no_terminal(void **state)
{
	(void)state;
	(void)SL_FAIL(SL_E_FORMAT, "tensor '%s'", "\x1b[31mred\a\n\x7f \xc3\xbc");
	assert_string_equal(sl_last_error(), "tensor '?[31mred??? \xc3\xbc'");
	(void)sl_fail_prefix(SL_E_FORMAT, "%s", "a\tb");
	assert_non_null(strstr(sl_last_error(), "a?b: tensor"));
}

static void a_message_may_quote_the_one_before(void **state)
{
	(void)state;
	(void)SL_FAIL(SL_E_IO, "inner");
	(void)SL_FAIL(SL_E_IO, "outer: %s", sl_last_error());
	assert_string_equal(sl_last_error(), "outer: inner");
}

static void a_prefix_keeps_code_message_and_place(void **state)
{
	char where[96];

	(void)state;
	(void)SL_FAIL(SL_E_READ, "cut short");
	strncpy(where, sl_last_error_where(), sizeof(where) - 1);
	where[sizeof(where) - 1] = '\0';
	assert_int_equal(sl_fail_prefix(SL_E_READ, "line %d", 7), SL_E_READ);
	assert_string_equal(sl_last_error(), "line 7: cut short");
	assert_string_equal(sl_last_error_where(), where);
}

static void a_message_too_long_is_cut_and_says_so(void **state)
{
	char text[3000];
	size_t len;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)SL_FAIL(SL_E_IO, "%s", text);
	len = strlen(sl_last_error());
	assert_int_equal(len, 1023);
	assert_string_equal(sl_last_error() + len - 3, "...");
	(void)SL_FAIL(SL_E_IO, "%.1000s", text);
	(void)sl_fail_prefix(SL_E_IO, "%.100s", text);
	assert_int_equal(strlen(sl_last_error()), 1023);
	(void)sl_fail_prefix(SL_E_IO, "%s", text);
	assert_int_equal(strlen(sl_last_error()), 1023);
	assert_string_equal(sl_last_error() + len - 3, "...");
}

static void *other_thread(void *arg)
{
	(void)arg;
	if (sl_last_error()[0])
		return NULL;
	(void)SL_FAIL(SL_E_IO, "of the other thread");
	return strcmp(sl_last_error(), "of the other thread") == 0 ? arg : NULL;
}

static void each_thread_has_a_message_of_its_own(void **state)
{
	pthread_t thread;
	void *same = NULL;
	int mark = 0;

	(void)state;
	(void)SL_FAIL(SL_E_IO, "mine");
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &mark), 0);
	assert_int_equal(pthread_join(thread, &same), 0);
	assert_ptr_equal(same, &mark);
	assert_string_equal(sl_last_error(), "mine");
}

static sl_status forwards(sl_status st)
{
	SL_TRY(st);
	return SL_E_NO;
}

static sl_status forwards_to_the_label(sl_status inner, int *cleaned)
{
	sl_status st = SL_OK;

	SL_TRY_OUT(inner);
	st = SL_E_NO;
out:
	(*cleaned)++;
	return st;
}

static void try_forwards_a_failure_and_passes_success(void **state)
{
	int cleaned = 0;

	(void)state;
	assert_int_equal(forwards(SL_E_IO), SL_E_IO);
	assert_int_equal(forwards(SL_OK), SL_E_NO);
	assert_int_equal(forwards_to_the_label(SL_E_IO, &cleaned), SL_E_IO);
	assert_int_equal(forwards_to_the_label(SL_OK, &cleaned), SL_E_NO);
	assert_int_equal(cleaned, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_code_has_a_name_a_sentence_and_an_exit_code),
		SL_TEST(an_unknown_code_is_named_as_such),
		SL_TEST(a_failure_records_its_message_and_place),
		SL_TEST(a_message_commands_no_terminal),
		SL_TEST(a_message_may_quote_the_one_before),
		SL_TEST(a_prefix_keeps_code_message_and_place),
		SL_TEST(a_message_too_long_is_cut_and_says_so),
		SL_TEST(each_thread_has_a_message_of_its_own),
		SL_TEST(try_forwards_a_failure_and_passes_success),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
