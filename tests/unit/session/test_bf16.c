/* SPDX-License-Identifier: Apache-2.0 */
/* Training with bf16 between operators: it learns as f32 does, in less memory, and its
 * bits depend on neither budget nor width nor interruption. */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <math.h>
#include <string.h>

#define GPT2 "gpt2:layers=2,width=64,context=32,vocab=100,dropout=0.1"

static struct sl_session_config gpt2_of(enum sl_dtype dtype)
{
	return (struct sl_session_config){
		.model = GPT2,
		.data = "synthetic:32",
		.batch = 8,
		.steps = 20,
		.lr = 3e-3,
		.weight_decay = -1,
		.threads = 1,
		.seed = 3,
		.dtype = dtype,
	};
}

static void close_losses(const struct sl_session_config *config, double most)
{
	struct sl_session_config own = *config;
	struct sl_session_run f32, bf16;

	own.dtype = SL_F32;
	sl_assert_ok(sl_session_run_all(&own, &f32));
	own.dtype = SL_BF16;
	sl_assert_ok(sl_session_run_all(&own, &bf16));
	assert_int_equal(f32.n, bf16.n);
	for (int i = 0; i < f32.n; i++)
		if (fabs(f32.losses[i] - bf16.losses[i]) > most * f32.losses[i])
			fail_msg("step %d: loss %g in f32, %g in bf16", i + 1,
				f32.losses[i], bf16.losses[i]);
	assert_string_not_equal(f32.summary.digest, bf16.summary.digest);
	assert_true(bf16.summary.peak_device_bytes < f32.summary.peak_device_bytes);
}

static void a_transformer_learns_as_in_f32_in_less_memory(void **state)
{
	struct sl_session_config config = gpt2_of(SL_BF16);

	(void)state;
	close_losses(&config, 0.01);
}

static void a_residual_net_learns_as_in_f32_in_less_memory(void **state)
{
	struct sl_session_config config = {
		.model = "resnet18:classes=4,input=3x32x32",
		.batch = 8,
		.steps = 6,
		.lr = 1e-4,
		.weight_decay = -1,
		.threads = 2,
		.seed = 3,
	};

	(void)state;
	close_losses(&config, 0.05);
}

static void budgets_and_widths_give_the_same_bits(void **state)
{
	struct sl_session_config config = gpt2_of(SL_BF16);
	struct sl_session_run whole, tight;
	uint64_t peak, least;

	(void)state;
	config.steps = 4;
	sl_assert_ok(sl_session_run_all(&config, &whole));
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	config.budget_bytes = (least + (peak - least) / 3) / 4096 * 4096;
	config.threads = 2;
	sl_assert_ok(sl_session_run_all(&config, &tight));
	assert_string_equal(tight.summary.digest, whole.summary.digest);
	assert_true(tight.summary.peak_device_bytes <= config.budget_bytes);
}

/* Masters are f32: a checkpoint holds all there is. */
static void a_resumed_run_is_the_run_that_was_never_interrupted(void **state)
{
	struct sl_session_config config = gpt2_of(SL_BF16);
	struct sl_session_run whole, first, rest;

	(void)state;
	config.steps = 6;
	sl_assert_ok(sl_session_run_all(&config, &whole));
	config.steps = 2;
	config.save_path = sl_test_path("saved");
	sl_assert_ok(sl_session_run_all(&config, &first));
	config.steps = 6;
	config.resume_path = config.save_path;
	config.save_path = NULL;
	sl_assert_ok(sl_session_run_all(&config, &rest));
	assert_int_equal(rest.n, 4);
	assert_string_equal(rest.summary.digest, whole.summary.digest);
}

static void parts_of_a_batch_add_up_in_f32(void **state)
{
	struct sl_session_config config = gpt2_of(SL_BF16);
	struct sl_session_run whole, parts;

	(void)state;
	config.steps = 3;
	sl_assert_ok(sl_session_run_all(&config, &whole));
	config.accumulate = 4;
	sl_assert_ok(sl_session_run_all(&config, &parts));
	for (int i = 0; i < whole.n; i++)
		assert_true(fabs(whole.losses[i] - parts.losses[i]) < 1e-2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_transformer_learns_as_in_f32_in_less_memory),
		SL_TEST(a_residual_net_learns_as_in_f32_in_less_memory),
		SL_TEST(budgets_and_widths_give_the_same_bits),
		SL_TEST(a_resumed_run_is_the_run_that_was_never_interrupted),
		SL_TEST(parts_of_a_batch_add_up_in_f32),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
