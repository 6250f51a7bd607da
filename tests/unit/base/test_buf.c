/* SPDX-License-Identifier: Apache-2.0 */
/* Growable bytes with a maximum. */
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

static void a_buffer_keeps_what_was_appended(void **state)
{
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	assert_string_equal(sl_buf_text(&b), "");
	sl_assert_ok(sl_buf_puts(&b, "ab"));
	sl_assert_ok(sl_buf_append(&b, "c\0d", 3));
	sl_assert_ok(sl_buf_printf(&b, "%d", 42));
	assert_int_equal(b.len, 7);
	assert_memory_equal(b.data, "abc\0d42", 8);
	sl_buf_finish(&b);
}

static void a_long_text_is_printed_whole(void **state)
{
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(sl_buf_puts(&b, "x"));
	for (int i = 250; i < 262; i++) {
		size_t before = b.len;
		sl_assert_ok(sl_buf_printf(&b, "%*d", i, 7));
		assert_int_equal(b.len - before, i);
		assert_int_equal(b.data[b.len - 1], '7');
		assert_int_equal(b.data[b.len], '\0');
	}
	sl_buf_finish(&b);
}

static void growing_past_the_maximum_leaves_the_contents(void **state)
{
	struct sl_buf b = SL_BUF_MAX(5);
	struct sl_buf none = SL_BUF_MAX(0);

	(void)state;
	sl_assert_ok(sl_buf_puts(&b, "12345"));
	sl_assert_fails(sl_buf_puts(&b, "6"), SL_E_LIMIT, "limit of 5");
	sl_assert_fails(sl_buf_printf(&b, "%300d", 1), SL_E_LIMIT, "limit of 5");
	sl_assert_ok(sl_buf_puts(&b, ""));
	assert_string_equal(sl_buf_text(&b), "12345");
	sl_assert_fails(sl_buf_puts(&none, "x"), SL_E_LIMIT, "");
	sl_assert_fails(sl_buf_append(&b, "x", SIZE_MAX), SL_E_LIMIT, "");
	sl_buf_finish(&b);
}

static void clearing_keeps_the_memory(void **state)
{
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	sl_buf_clear(&b);
	sl_assert_ok(sl_buf_puts(&b, "abc"));
	const char *data = b.data;
	sl_buf_clear(&b);
	assert_int_equal(b.len, 0);
	assert_string_equal(sl_buf_text(&b), "");
	sl_assert_ok(sl_buf_puts(&b, "d"));
	assert_ptr_equal(b.data, data);
	sl_buf_finish(&b);
	sl_buf_finish(&b);
	assert_null(b.data);
}

static sl_status build(void *ctx)
{
	struct sl_buf b = SL_BUF_INIT;
	sl_status st = SL_OK;

	(void)ctx;
	for (int i = 0; i < 5; i++)
		SL_TRY_OUT(sl_buf_printf(&b, "%300d", i));
out:
	sl_buf_finish(&b);
	return st;
}

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	assert_in_range(sl_torture(build, NULL), 2, 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_buffer_keeps_what_was_appended),
		SL_TEST(a_long_text_is_printed_whole),
		SL_TEST(growing_past_the_maximum_leaves_the_contents),
		SL_TEST(clearing_keeps_the_memory),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
