/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/sim/fit.c: known coefficients come back from noisy samples. */
#include "harness/harness.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/fit.h"

#define SAMPLES 120

static double uniform(struct sl_rng *r, double low, double high)
{
	return low + (high - low) * (double)sl_rng_below(r, 1u << 30) * 0x1p-30;
}

/* Ops of many sizes by a true row, each off by at most `noise`; loads 0, 1/2, 1 in turn.
 */
static void make(
	const struct sl_cost_op *truth, double noise, struct sl_cost_sample s[SAMPLES])
{
	struct sl_rng r = {.key = {.seed = 7}};

	for (int i = 0; i < SAMPLES; i++) {
		double intensity = exp(uniform(&r, -2, 6));

		s[i].bytes = exp(uniform(&r, 8, 18));
		s[i].flops = s[i].bytes * intensity;
		s[i].load = i % 3 * 0.5;
		s[i].ns = sl_cost_row_ns(truth, s[i].flops, s[i].bytes, s[i].load) *
			  uniform(&r, 1 - noise, 1 + noise);
	}
}

static void assert_near(double got, double want, double share)
{
	if (!(fabs(got / want - 1) <= share))
		fail_msg("%g is not within %g of %g", got, share, want);
}

static const struct sl_cost_op truth = {
	.kind = "matmul",
	.start_ns = 2000,
	.flops_per_s = 1.2e11,
	.bytes_per_s = 1.5e10,
	.load = 0.8,
};

static void exact_samples_give_the_row_back(void **state)
{
	struct sl_cost_sample s[SAMPLES];
	struct sl_cost_op row = {.kind = "matmul"};
	double error;

	(void)state;
	make(&truth, 0, s);
	sl_assert_ok(sl_cost_fit(s, SAMPLES, &row));
	assert_near(row.start_ns, truth.start_ns, 1e-6);
	assert_near(row.flops_per_s, truth.flops_per_s, 1e-6);
	assert_near(row.bytes_per_s, truth.bytes_per_s, 1e-6);
	assert_near(row.load, truth.load, 1e-6);
	assert_string_equal(row.kind, "matmul");
	sl_assert_ok(sl_cost_fit_error(s, SAMPLES, &row, &error));
	assert_true(error < 1e-6);
}

static void noise_of_ten_percent_moves_the_rates_by_less(void **state)
{
	struct sl_cost_sample s[SAMPLES];
	struct sl_cost_op row = {.kind = "matmul"};
	double error;

	(void)state;
	make(&truth, 0.1, s);
	sl_assert_ok(sl_cost_fit(s, SAMPLES, &row));
	assert_near(row.start_ns, truth.start_ns, 0.1);
	assert_near(row.flops_per_s, truth.flops_per_s, 0.05);
	assert_near(row.bytes_per_s, truth.bytes_per_s, 0.05);
	assert_near(row.load, truth.load, 0.1);
	sl_assert_ok(sl_cost_fit_error(s, SAMPLES, &row, &error));
	assert_true(error < 0.1);
}

/* Not where they are most of the time: an op that is slow at one size is no accident. */
static void a_few_wild_samples_are_left_out(void **state)
{
	struct sl_cost_sample s[SAMPLES];
	struct sl_cost_op row = {.kind = "matmul"};

	(void)state;
	make(&truth, 0.02, s);
	for (int i = 0; i < SAMPLES; i += 6)
		s[i].ns *= s[i].ns < 1e5 ? 6 : 1;
	sl_assert_ok(sl_cost_fit(s, SAMPLES, &row));
	assert_near(row.flops_per_s, truth.flops_per_s, 0.1);
	assert_near(row.bytes_per_s, truth.bytes_per_s, 0.1);
}

/* Ops that only move bytes say nothing of arithmetic but that it is no slower. */
static void a_bound_that_nothing_reaches_is_out_of_the_way(void **state)
{
	struct sl_cost_sample s[40];
	struct sl_cost_op row = {.kind = "add"};
	double error;

	(void)state;
	for (int i = 0; i < 40; i++) {
		s[i] = (struct sl_cost_sample){
			.bytes = 4096.0 * (i + 1), .flops = 341.0 * (i + 1)};
		s[i].ns = 300 + s[i].bytes / 10;
	}
	sl_assert_ok(sl_cost_fit(s, 40, &row));
	sl_assert_ok(sl_cost_fit_error(s, 40, &row, &error));
	assert_true(error < 1e-6);
	assert_near(row.start_ns, 300, 1e-6);
	assert_true(row.load == 1);
	assert_true(row.flops_per_s > 0 && row.bytes_per_s > 0);
}

static void one_sample_is_enough_and_none_is_refused(void **state)
{
	struct sl_cost_sample s = {.flops = 1000, .bytes = 1000, .ns = 500};
	struct sl_cost_op row = {.kind = "add"};

	(void)state;
	sl_assert_ok(sl_cost_fit(&s, 1, &row));
	assert_near(sl_cost_row_ns(&row, 1000, 1000, 0), 500, 1e-5);
	s.load = 1;
	sl_assert_fails(sl_cost_fit(&s, 1, &row), SL_E_INVALID, "load 0");
	sl_assert_fails(sl_cost_fit(&s, 0, &row), SL_E_INVALID, "load 0");
	s = (struct sl_cost_sample){.ns = 50};
	sl_assert_ok(sl_cost_fit(&s, 1, &row));
	assert_near(sl_cost_row_ns(&row, 0, 0, 0), 50, 1e-6);
}

static void medians_are_of_the_middle(void **state)
{
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};

	(void)state;
	assert_true(sl_cost_median(odd, 3) == 2);
	assert_true(sl_cost_median(even, 4) == 2.5);
	assert_true(sl_cost_median(one, 1) == 7);
}

static sl_status fit_once(void *ctx)
{
	struct sl_cost_op row = {.kind = "matmul"};
	double error;

	SL_TRY(sl_cost_fit(ctx, SAMPLES, &row));
	return sl_cost_fit_error(ctx, SAMPLES, &row, &error);
}

static void memory_may_run_out(void **state)
{
	struct sl_cost_sample s[SAMPLES];

	(void)state;
	make(&truth, 0.1, s);
	assert_int_equal(sl_torture(fit_once, s), 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(exact_samples_give_the_row_back),
		SL_TEST(noise_of_ten_percent_moves_the_rates_by_less),
		SL_TEST(a_few_wild_samples_are_left_out),
		SL_TEST(a_bound_that_nothing_reaches_is_out_of_the_way),
		SL_TEST(one_sample_is_enough_and_none_is_refused),
		SL_TEST(medians_are_of_the_middle),
		SL_TEST(memory_may_run_out),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
