/* SPDX-License-Identifier: Apache-2.0 */
/* bfloat16: every value, every tie. */
#include "harness/harness.h"

#include <math.h>

#include "base/bf16.h"

static void every_value_comes_back_from_f32(void **state)
{
	(void)state;
	for (uint32_t v = 0; v < 65536; v++) {
		float wide = sl_bf16_to_f32((uint16_t)v);
		uint32_t want = isnan(wide) ? v | 0x40 : v;
		assert_int_equal(sl_bf16_from_f32(wide), want);
	}
}

/* Both neighbours are exact in f32, and so is their middle. */
static void a_middle_goes_to_the_even_neighbour_and_else_to_the_nearer(void **state)
{
	(void)state;
	for (uint16_t v = 0; v < 0x7f7f; v++) {
		float low = sl_bf16_to_f32(v);
		float high = sl_bf16_to_f32((uint16_t)(v + 1));
		float middle = low + (high - low) / 2;
		uint16_t even = (uint16_t)(v & 1 ? v + 1 : v);
		assert_int_equal(sl_bf16_from_f32(middle), even);
		assert_int_equal(sl_bf16_from_f32(-middle), 0x8000 | even);
		assert_int_equal(sl_bf16_from_f32(nextafterf(middle, low)), v);
		assert_int_equal(sl_bf16_from_f32(nextafterf(middle, high)), v + 1);
	}
}

static void what_is_too_large_becomes_infinite(void **state)
{
	(void)state;
	assert_int_equal(sl_bf16_from_f32(3.4e38f), 0x7f80);
	assert_int_equal(sl_bf16_from_f32(-INFINITY), 0xff80);
	assert_int_equal(sl_bf16_from_f32(0x1.fep127f), 0x7f7f);
}

static void a_nan_stays_one_whatever_its_bits(void **state)
{
	(void)state;
	for (uint32_t low = 1; low < 0x800000; low += 0x1235) {
		uint32_t bits = 0x7f800000 | low;
		float nan;
		memcpy(&nan, &bits, sizeof(nan));
		assert_true(isnan(sl_bf16_to_f32(sl_bf16_from_f32(nan))));
	}
	assert_int_equal(sl_bf16_from_f32(-0.0f), 0x8000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_value_comes_back_from_f32),
		SL_TEST(a_middle_goes_to_the_even_neighbour_and_else_to_the_nearer),
		SL_TEST(what_is_too_large_becomes_infinite),
		SL_TEST(a_nan_stays_one_whatever_its_bits),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
