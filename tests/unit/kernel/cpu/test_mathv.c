/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <math.h>

#include "kernel/cpu/mathv.h"

typedef float (*narrow_fn)(float x);
typedef double (*wide_fn)(double x);

/* Distance in units in the last place of the wanted value; subnormals have the smallest
 * unit. */
static double ulps(float got, double want)
{
	int e;

	frexp(want, &e);
	return fabs((double)got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

/* Over every 997th float of both signs up to a magnitude. */
static double worst(narrow_fn f, wide_fn g, float from, float to)
{
	double most = 0;
	uint32_t last = sl_f32_bits(to);

	for (uint32_t bits = sl_f32_bits(from); bits <= last; bits += 997) {
		float x = sl_bits_f32(bits);
		most = fmax(most, ulps(f(x), g((double)x)));
	}
	return most;
}

static double exp_minus(double x)
{
	return exp(-x);
}

static float expf_minus(float x)
{
	return sl_expf(-x);
}

static void the_exponential_is_within_two_units(void **state)
{
	(void)state;
	assert_true(worst(sl_expf, exp, 1e-10f, 88.72f) <= 2);
	assert_true(worst(expf_minus, exp_minus, 1e-10f, 104) <= 2);
}

static void the_logarithm_is_within_two_units(void **state)
{
	(void)state;
	assert_true(worst(sl_logf, log, 1e-45f, 3e38f) <= 2);
}

static void the_hyperbolic_tangent_is_within_four_units(void **state)
{
	(void)state;
	assert_true(worst(sl_tanhf, tanh, 1e-40f, 30) <= 4);
	assert_true(sl_tanhf(-0.5f) == -sl_tanhf(0.5f));
}

static double tail(double x)
{
	return 0.5 * erfc(x / sqrt(2));
}

static float tailf(float x)
{
	return sl_normalf(x).tail;
}

static void the_tail_of_the_normal_distribution_keeps_its_digits(void **state)
{
	(void)state;
	assert_true(worst(tailf, tail, 1e-6f, 1) <= 8);
	/* Farther out the exponent's rounding shows: some 1e-5 of a number below 1e-15.
	 */
	assert_true(worst(tailf, tail, 1, 8) <= 128);
}

static void special_values_behave(void **state)
{
	(void)state;
	const float inf = INFINITY;

	assert_true(sl_expf(inf) == inf && sl_expf(-inf) == 0 && isnan(sl_expf(NAN)));
	assert_true(sl_expf(89) == inf && sl_expf(-105) == 0 && sl_expf(0) == 1);
	assert_true(sl_logf(0) == -inf && isnan(sl_logf(-1)) && sl_logf(inf) == inf);
	assert_true(isnan(sl_logf(NAN)) && sl_logf(1) == 0 && isnan(sl_logf(-inf)));
	assert_true(sl_tanhf(inf) == 1 && sl_tanhf(-inf) == -1 && isnan(sl_tanhf(NAN)));
}

static void special_values_of_activations_behave(void **state)
{
	(void)state;
	const float inf = INFINITY;

	assert_true(sl_sigmoidf(inf) == 1 && sl_sigmoidf(-inf) == 0);
	assert_true(
		sl_geluf(inf) == inf && isnan(sl_geluf(-inf)) && isnan(sl_geluf(NAN)));
	assert_true(sl_gelu_tanhf(inf) == inf && isnan(sl_gelu_tanhf(-inf)));
	assert_true(isnan(sl_gelu_dxf(inf)) && isnan(sl_gelu_tanh_dxf(-inf)));
	assert_true(sl_gelu_dxf(1e30f) == 1 && sl_gelu_tanh_dxf(1e30f) == 1);
	assert_true(sl_gelu_dxf(-1e30f) == 0 && fabsf(sl_gelu_tanh_dxf(-1e30f)) < 1e-30f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_exponential_is_within_two_units),
		SL_TEST(the_logarithm_is_within_two_units),
		SL_TEST(the_hyperbolic_tangent_is_within_four_units),
		SL_TEST(the_tail_of_the_normal_distribution_keeps_its_digits),
		SL_TEST(special_values_behave),
		SL_TEST(special_values_of_activations_behave),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
