/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training on the CUDA device while calls of the driver fail, and while the detector does
 * not hear of one wait.
 */
#include "cuda/rig/train.h"

#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver_abi.h"

static void each_call_may_fail_and_nothing_is_left(void **state)
{
	static const unsigned codes[] = {
		SL_CU_ERROR_OUT_OF_MEMORY, SL_CU_ERROR_ILLEGAL_ADDRESS};
	struct sl_session_config config = train_config(0);
	struct sl_session_run run;
	uint64_t failed = 0;

	(void)state;
	train_want_kernels();
	train_tighten(&config);
	config.steps = 1;
	train_well(&config, (struct fake_options){0}, &run);
	uint64_t calls = fake_calls();
	assert_true(calls > 100);
	for (uint64_t n = 1; n <= calls; n++) {
		struct fake_options o = {.fail_at = n, .code = codes[n % 2]};
		sl_status st = train_try(&config, o, &run);
		if (st != SL_OK)
			assert_string_not_equal(sl_last_error(), "");
		failed += st != SL_OK;
		train_want_clean("a failing call", n);
	}
	/* All but those that end something. */
	assert_true(failed > calls * 3 / 4);
}

/*
 * Not all waits are the only ones that order two pieces of work: what one of the host
 * leaves undone the next one does. Most are, and most between streams.
 */
static void a_wait_that_is_left_out_is_told(void **state)
{
	struct sl_session_config config = train_config(0);
	struct sl_session_run run;
	unsigned told = 0, of_streams = 0;

	(void)state;
	train_want_kernels();
	train_tighten(&config);
	train_well(&config, (struct fake_options){0}, &run);
	uint64_t waits = fake_waits();
	for (uint64_t n = 1; n <= waits; n++) {
		struct fake_options o = {.leave_out = n};
		sl_assert_ok(train_try(&config, o, &run));
		const char *text = fake_complaint();
		told += text[0] != '\0';
		of_streams += strstr(text, "nothing orders the two") != NULL;
		if (getenv("SL_SHOW_WAITS") != NULL)
			print_message("wait %d: %s\n", (int)n, text);
	}
	print_message("%u of %u waits told, %u between streams\n", told, (unsigned)waits,
		of_streams);
	assert_true(told * 3 > waits);
	assert_true(of_streams >= 8);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_call_may_fail_and_nothing_is_left),
		SL_TEST(a_wait_that_is_left_out_is_told),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
