/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, rates and numbers from text. */
#include "harness/harness.h"

#include <locale.h>
#include <stdlib.h>

#include "base/units.h"

static void sizes_are_read_exactly(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{"0", 0},
		{"1048576", 1048576},
		{"512KiB", 512 * SL_KIB},
		{"6 GiB", 6 * SL_GIB},
		{"1.5GB", 1500000000},
		{"1.5KiB", 1536},
		{"0.25TiB", 256 * SL_GIB},
		{"7TB", 7000000000000},
		{"0.000000001GB", 1},
		{"0.000000001TiB", 1099},
		{"18446744073709551615", UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		uint64_t v = 1;
		sl_assert_ok(sl_size_parse("--budget", cases[i].text, &v));
		assert_int_equal(v, cases[i].bytes);
	}
}

static void anything_else_is_refused_with_what_is_accepted(void **state)
{
	static const char *const bad[] = {"", " ", "-1", "+1", "6G", "6gib", "6GiBx", "x",
		"1.5", "1.", "1.GiB", ".5GiB", "1e3", "0x10", " 1", "1 ",
		"1.0000000001GiB", "KiB", "18446744073709551616", "16777216TiB", "12GB/s",
		"1,5GB", "1\tGiB"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++) {
		uint64_t v = 77;
		sl_assert_fails(
			sl_size_parse("--budget", bad[i], &v), SL_E_USAGE, "--budget");
		sl_assert_fails(
			sl_size_parse("--budget", bad[i], &v), SL_E_USAGE, "512KiB");
		assert_int_equal(v, 77);
	}
}

static void rates_are_sizes_a_second(void **state)
{
	uint64_t v = 0;

	(void)state;
	sl_assert_ok(sl_rate_parse("--link", "12GB/s", &v));
	assert_int_equal(v, 12000000000);
	sl_assert_ok(sl_rate_parse("--link", "1.5 KiB/s", &v));
	assert_int_equal(v, 1536);
	sl_assert_fails(sl_rate_parse("--link", "12GB", &v), SL_E_USAGE, "12GB/s");
	sl_assert_fails(sl_rate_parse("--link", "0/s", &v), SL_E_USAGE, "above zero");
	sl_assert_fails(sl_rate_parse("--link", "/s", &v), SL_E_USAGE, "");
	sl_assert_fails(sl_rate_parse("--link", "1 /s", &v), SL_E_USAGE, "");
}

static void sizes_are_printed_for_people(void **state)
{
	char text[SL_SIZE_TEXT];

	(void)state;
	assert_string_equal(sl_size_print(0, text), "0 B");
	assert_string_equal(sl_size_print(1023, text), "1023 B");
	assert_string_equal(sl_size_print(1024, text), "1.00 KiB");
	assert_string_equal(sl_size_print(3 * SL_GIB / 2, text), "1.50 GiB");
	assert_string_equal(sl_size_print(UINT64_MAX, text), "16777216.00 TiB");
}

static void arithmetic_that_overflows_says_so(void **state)
{
	uint64_t u = 9;
	size_t z = 9;

	(void)state;
	assert_false(sl_mul_u64(UINT64_MAX, 2, &u));
	assert_false(sl_add_u64(UINT64_MAX, 1, &u));
	assert_false(sl_mul_size(SIZE_MAX / 2, 3, &z));
	assert_false(sl_add_size(SIZE_MAX, 1, &z));
	assert_int_equal(u, 9);
	assert_int_equal(z, 9);
	assert_true(sl_mul_u64(1u << 31, 1u << 31, &u));
	assert_int_equal(u, (uint64_t)1 << 62);
	assert_true(sl_add_size(SIZE_MAX - 1, 1, &z));
	assert_int_equal(z, SIZE_MAX);
	assert_int_equal(sl_align_up(4097, 4096), 8192);
	assert_int_equal(sl_align_up(4096, 4096), 4096);
	assert_int_equal(sl_align_up(0, 4096), 0);
}

static void whole_numbers_are_range_checked(void **state)
{
	int64_t i = 0;
	uint64_t u = 0;

	(void)state;
	sl_assert_ok(sl_i64_parse("-9223372036854775808", &i));
	assert_int_equal(i, INT64_MIN);
	sl_assert_ok(sl_i64_parse("9223372036854775807", &i));
	assert_int_equal(i, INT64_MAX);
	sl_assert_fails(sl_i64_parse("9223372036854775808", &i), SL_E_INVALID, "");
	sl_assert_fails(sl_i64_parse("-9223372036854775809", &i), SL_E_INVALID, "");
	sl_assert_fails(sl_i64_parse("-", &i), SL_E_INVALID, "");
	sl_assert_fails(sl_i64_parse("--1", &i), SL_E_INVALID, "");
	sl_assert_ok(sl_u64_parse("18446744073709551615", &u));
	sl_assert_fails(sl_u64_parse("18446744073709551616", &u), SL_E_INVALID, "");
	sl_assert_fails(sl_u64_parse("-1", &u), SL_E_INVALID, "'-1'");
	sl_assert_fails(sl_u64_parse("1 ", &u), SL_E_INVALID, "");
	sl_assert_fails(sl_u64_parse("", &u), SL_E_INVALID, "");
}

static void real_numbers_are_finite_and_plain(void **state)
{
	static const char *const bad[] = {"", "nan", "inf", "-inf", "0x1p3", "1,5",
		"1.5 ", " 1", "1e999", "1e", "e5", ".", "-", "1.2.3", "1d"};
	double v = 0;

	(void)state;
	sl_assert_ok(sl_f64_parse("1.5e-3", &v));
	assert_true(v >= 0.0015 && v <= 0.0015);
	sl_assert_ok(sl_f64_parse("-.5", &v));
	assert_true(v >= -0.5 && v <= -0.5);
	for (size_t i = 0; i < SL_COUNT(bad); i++)
		sl_assert_fails(sl_f64_parse(bad[i], &v), SL_E_INVALID, bad[i]);
	sl_assert_ok(sl_f64_parse("1e-400", &v));
	assert_true(v >= 0 && v <= 0);
}

static void shares_of_nothing_are_numbers(void **state)
{
	(void)state;
	assert_true(sl_times(3, 2) >= 1.5 && sl_times(3, 2) <= 1.5);
	assert_true(sl_times(0, 2) <= 0);
	assert_true(sl_times(0, 0) >= 1 && sl_times(0, 0) <= 1);
	assert_true(sl_times(1, 0) > 1e300);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(sizes_are_read_exactly),
		SL_TEST(anything_else_is_refused_with_what_is_accepted),
		SL_TEST(rates_are_sizes_a_second),
		SL_TEST(sizes_are_printed_for_people),
		SL_TEST(arithmetic_that_overflows_says_so),
		SL_TEST(whole_numbers_are_range_checked),
		SL_TEST(real_numbers_are_finite_and_plain),
		SL_TEST(shares_of_nothing_are_numbers),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
