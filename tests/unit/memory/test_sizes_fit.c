/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes by size: exact on quadratics, accepted where the error is small, and a bound. */
#include "harness/harness.h"

#include <math.h>

#include "memory/sizes.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-6 * fabs(b) + 1e-6)

static struct sl_size_fit fit_of(double (*f)(double), const double *sizes, size_t n)
{
	struct sl_size_sample s[32];
	struct sl_size_fit fit;

	for (size_t i = 0; i < n; i++)
		s[i] = (struct sl_size_sample){sizes[i], f(sizes[i])};
	sl_size_fit(s, n, &fit);
	return fit;
}

static double attention(double x)
{
	return 4e8 + 3e6 * x + 1234 * x * x;
}

static double cubic(double x)
{
	return 1e3 * x * x * x;
}

/* Bytes are whole, and workspaces come in steps: a part in a hundred. */
static double stepped(double x)
{
	return floor(attention(x) / 1e7) * 1e7;
}

static const double lengths[] = {30, 332, 128, 64, 200, 310, 45, 180, 90, 256};

static void a_quadratic_is_found_exactly(void **state)
{
	(void)state;
	struct sl_size_fit f = fit_of(attention, lengths, SL_COUNT(lengths));

	assert_true(f.accepted);
	NEAR(f.a, 4e8);
	NEAR(f.b, 3e6);
	NEAR(f.c, 1234.0);
	NEAR(sl_size_fit_at(&f, 1000), attention(1000));
	assert_true(f.worst_rel < 1e-9);
}

static void pixels_in_millions_are_no_trouble(void **state)
{
	(void)state;
	const double sizes[] = {1.2e6, 3.1e6, 2.4e6, 0.9e6, 3.9e6, 1.7e6};
	struct sl_size_fit f = fit_of(attention, sizes, SL_COUNT(sizes));

	assert_true(f.accepted);
	NEAR(f.b, 3e6);
	NEAR(f.c, 1234.0);
}

static void what_is_no_quadratic_is_not_accepted(void **state)
{
	(void)state;
	const double wide[] = {1, 10, 100, 1000, 5000, 10000};
	struct sl_size_fit f = fit_of(cubic, wide, SL_COUNT(wide));

	assert_true(f.worst_rel > SL_SIZE_FIT_REL && f.worst_abs > SL_SIZE_FIT_ABS);
	assert_false(f.accepted);
}

/* Few bytes may be off by any part of themselves. */
static void ten_megabytes_are_near_enough(void **state)
{
	(void)state;
	const double small[] = {1, 5, 10, 15, 20};
	struct sl_size_fit f = fit_of(cubic, small, SL_COUNT(small));

	assert_true(f.worst_rel > SL_SIZE_FIT_REL && f.worst_abs < SL_SIZE_FIT_ABS);
	assert_true(f.accepted);
}

static void three_sizes_prove_nothing(void **state)
{
	(void)state;
	const double again[] = {30, 30, 128, 64, 128, 30};
	struct sl_size_fit f = fit_of(attention, again, SL_COUNT(again));

	assert_int_equal(f.n_sizes, 3);
	assert_false(f.accepted);
	NEAR(sl_size_fit_at(&f, 200), attention(200));
	f = fit_of(attention, again, 3); /* two: a line */
	NEAR(sl_size_fit_at(&f, 30), attention(30));
	NEAR(sl_size_fit_at(&f, 128), attention(128));
	f = fit_of(attention, again, 2);
	NEAR(sl_size_fit_at(&f, 999), attention(30));
	f = fit_of(attention, again, 0);
	assert_true(f.n_sizes == 0 && !f.accepted && !(sl_size_fit_at(&f, 5) > 0));
}

static void bounds_keep_away_by_the_worst_error(void **state)
{
	(void)state;
	struct sl_size_fit f = fit_of(stepped, lengths, SL_COUNT(lengths));

	assert_true(f.accepted && f.worst_abs > 1e6);
	for (int64_t x = 30; x <= 332; x++) {
		assert_true((double)sl_size_fit_most(&f, x) >= stepped((double)x));
		assert_true((double)sl_size_fit_least(&f, x) <= stepped((double)x));
	}
}

static void the_largest_size_of_a_budget_is_found(void **state)
{
	(void)state;
	struct sl_size_fit f = fit_of(attention, lengths, SL_COUNT(lengths));
	uint64_t budget = (uint64_t)attention(500) + 100;

	assert_int_equal(sl_size_fit_largest(&f, budget, 1000000), 500);
	assert_int_equal(sl_size_fit_largest(&f, budget, 300), 300);
	assert_int_equal(sl_size_fit_largest(&f, 1000, 300), 0);
}

static void nothing_leaves_the_numbers_there_are(void **state)
{
	(void)state;
	struct sl_size_fit f = {.a = 1e300, .b = -1e300, .accepted = true};

	assert_int_equal(sl_size_fit_most(&f, 100), 0);
	f.b = 1e300;
	assert_true(sl_size_fit_most(&f, 100) > 1ull << 60);
	f.a = (double)NAN;
	assert_int_equal(sl_size_fit_least(&f, 100), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_quadratic_is_found_exactly),
		SL_TEST(pixels_in_millions_are_no_trouble),
		SL_TEST(what_is_no_quadratic_is_not_accepted),
		SL_TEST(ten_megabytes_are_near_enough),
		SL_TEST(three_sizes_prove_nothing),
		SL_TEST(bounds_keep_away_by_the_worst_error),
		SL_TEST(the_largest_size_of_a_budget_is_found),
		SL_TEST(nothing_leaves_the_numbers_there_are),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
