/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole training on the CUDA device over the test driver: the same bits under every
 * pattern of delays and every budget, near the CPU's numbers, no complaint of the
 * detector.
 */
#include "cuda/rig/train.h"

#include <math.h>
#include <stdlib.h>

#include "base/units.h"

static void near_the_cpu(int i, const struct sl_session_run *run)
{
	struct sl_session_config config = train_config(i);
	struct sl_session_run cpu;

	sl_assert_ok(sl_session_run_all(&config, &cpu));
	assert_int_equal(run->n, cpu.n);
	for (int k = 0; k < run->n; k++)
		assert_true(fabs(run->losses[k] - cpu.losses[k]) <
			    1e-4 * fabs(cpu.losses[k]));
}

static void same_bits_under_delays_and_a_budget_and_near_the_cpu(void **state)
{
	uint64_t seeds[TRAIN_MODELS] = {25, 2, 2, 4};
	const char *delays = getenv("SL_DELAYS"); /* of the first, for a long run */

	(void)state;
	if (delays)
		sl_assert_ok(sl_u64_parse(delays, &seeds[0]));
	train_want_kernels();
	for (int i = 0; i < TRAIN_MODELS; i++) {
		struct sl_session_config config = train_config(i);
		struct sl_session_run whole, tight;

		config.device = "cuda";
		train_well(&config, (struct fake_options){0}, &whole);
		near_the_cpu(i, &whole);
		train_tighten(&config);
		for (uint64_t seed = 1; seed <= seeds[i]; seed++) {
			train_well(&config, (struct fake_options){.seed = seed}, &tight);
			assert_string_equal(tight.summary.digest, whole.summary.digest);
			assert_true(tight.summary.peak_device_bytes <=
				    tight.summary.budget_bytes);
		}
		assert_true(i != 0 || tight.summary.swap_in_bytes > 0);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(same_bits_under_delays_and_a_budget_and_near_the_cpu),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
