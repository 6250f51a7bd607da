/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <stdbool.h>

#include "kernel/cpu/philox.h"

static void words_are_those_of_the_generator(void **state)
{
	(void)state;
	const struct sl_rng_key key = {
		.seed = 0x123456789abcdef0u, .stream = 7, .step = 11};
	/* Across the carry from the low half of the counter to the high one. */
	const uint64_t firsts[] = {0, 5, UINT32_MAX - 3, (uint64_t)1 << 40};
	uint32_t got[SL_PHILOX_WORDS];

	for (size_t k = 0; k < SL_COUNT(firsts); k++) {
		sl_cpu_philox(&key, firsts[k], got);
		for (uint64_t i = 0; i < SL_PHILOX_WORDS; i++)
			assert_int_equal(got[i], sl_rng_u32(&key, firsts[k] * 4 + i));
	}
}

static void the_rule_of_dropout_is_the_same_as_integers(void **state)
{
	(void)state;
	const double ratios[] = {0, 0.1, 0.25, 0.5, 1.0 / 3, 1 - 0x1p-24, 1};

	for (size_t k = 0; k < SL_COUNT(ratios); k++) {
		uint32_t from = sl_cpu_keep_from(ratios[k]);
		for (int64_t d = -2; d <= 2; d++) {
			int64_t unit = (int64_t)from + d;
			if (unit < 0 || unit >= 1 << 24)
				continue;
			uint32_t word = (uint32_t)unit << 8;
			bool kept = (double)sl_rng_unit(word) >= ratios[k];
			assert_int_equal((word >> 8) >= from, kept);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(words_are_those_of_the_generator),
		SL_TEST(the_rule_of_dropout_is_the_same_as_integers),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
