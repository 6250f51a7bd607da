/* SPDX-License-Identifier: Apache-2.0 */
/* JSON out, to the letter. */
#include "harness/harness.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/rng.h"

static void commas_and_brackets_come_out_right(void **state)
{
	struct sl_buf b = SL_BUF_INIT;
	struct sl_json j;

	(void)state;
	sl_json_begin(&j, &b);
	sl_json_open(&j, NULL, '{');
	sl_json_open(&j, "empty", '[');
	sl_json_close(&j, ']');
	sl_json_u64(&j, "u", UINT64_MAX);
	sl_json_i64(&j, "i", INT64_MIN);
	sl_json_open(&j, "list", '[');
	sl_json_bool(&j, NULL, true);
	sl_json_bool(&j, NULL, false);
	sl_json_open(&j, NULL, '{');
	sl_json_close(&j, '}');
	sl_json_str(&j, NULL, NULL);
	sl_json_close(&j, ']');
	sl_json_str(&j, "s", "x");
	sl_json_close(&j, '}');
	sl_assert_ok(sl_json_end(&j));
	assert_string_equal(sl_buf_text(&b),
		"{\"empty\":[],\"u\":18446744073709551615,\"i\":-9223372036854775808,"
		"\"list\":[true,false,{},null],\"s\":\"x\"}\n");
	sl_buf_finish(&b);
}

/* A text as key and as value; want without its quotes. */
static void is_written(const char *text, const char *want)
{
	struct sl_buf b = SL_BUF_INIT;
	struct sl_json j;
	char line[256];

	sl_json_begin(&j, &b);
	sl_json_open(&j, NULL, '{');
	sl_json_str(&j, text, text);
	sl_json_close(&j, '}');
	sl_assert_ok(sl_json_end(&j));
	snprintf(line, sizeof(line), "{\"%s\":\"%s\"}\n", want, want);
	assert_string_equal(sl_buf_text(&b), line);
	sl_buf_finish(&b);
}

static void strings_are_escaped_where_they_must_be(void **state)
{
	(void)state;
	is_written("", "");
	is_written("a \"quote\" and \\ and /", "a \\\"quote\\\" and \\\\ and /");
	is_written("tab\tnew\nline\x01\x1f\x7f", "tab\\tnew\\nline\\u0001\\u001f\\u007f");
	is_written("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
		"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
	(void)state;
	is_written("a\xff", "a\\ufffd");
	is_written("\xc3", "\\ufffd");
	is_written("\xc0\xaf", "\\ufffd\\ufffd");
	is_written("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd");
	is_written("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
}

static void number_text(double v, char text[64])
{
	struct sl_buf b = SL_BUF_INIT;
	struct sl_json j;

	sl_json_begin(&j, &b);
	sl_json_f64(&j, NULL, v);
	sl_assert_ok(sl_json_end(&j));
	assert_in_range(b.len, 2, 60);
	memcpy(text, b.data, b.len - 1);
	text[b.len - 1] = '\0';
	sl_buf_finish(&b);
}

static void numbers_are_the_shortest_that_come_back(void **state)
{
	char text[64];

	(void)state;
	number_text(0.1, text);
	assert_string_equal(text, "0.1");
	number_text(1e300, text);
	assert_string_equal(text, "1e+300");
	number_text(5e-324, text);
	assert_string_equal(text, "5e-324");
	number_text(-0.0, text);
	assert_string_equal(text, "-0");
	number_text((double)NAN, text);
	assert_string_equal(text, "null");
	number_text(-(double)INFINITY, text);
	assert_string_equal(text, "null");
}

static void random_numbers_come_back_bit_for_bit(void **state)
{
	struct sl_rng rng = {.key = {.seed = 11}};
	char text[64];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		uint64_t bits = sl_rng_next(&rng);
		double v;
		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		number_text(v, text);
		double back = strtod(text, NULL);
		assert_memory_equal(&back, &v, sizeof(v));
	}
}

static sl_status write_much(void *ctx)
{
	struct sl_buf b = SL_BUF_INIT;
	struct sl_json j;

	(void)ctx;
	sl_json_begin(&j, &b);
	sl_json_open(&j, NULL, '[');
	for (int i = 0; i < 100; i++)
		sl_json_i64(&j, NULL, i);
	sl_json_close(&j, ']');
	sl_status st = sl_json_end(&j);
	sl_buf_finish(&b);
	return st;
}

static void the_first_failure_is_kept_until_the_end(void **state)
{
	struct sl_buf b = SL_BUF_MAX(4);
	struct sl_json j;

	(void)state;
	sl_json_begin(&j, &b);
	sl_json_str(&j, NULL, "too long");
	sl_json_bool(&j, NULL, true);
	sl_assert_fails(sl_json_end(&j), SL_E_LIMIT, "limit of 4");
	sl_buf_finish(&b);
	assert_true(sl_torture(write_much, NULL) >= 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(commas_and_brackets_come_out_right),
		SL_TEST(strings_are_escaped_where_they_must_be),
		SL_TEST(bytes_that_are_not_utf8_are_replaced),
		SL_TEST(numbers_are_the_shortest_that_come_back),
		SL_TEST(random_numbers_come_back_bit_for_bit),
		SL_TEST(the_first_failure_is_kept_until_the_end),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
