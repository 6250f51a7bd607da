/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine over the streams of the CUDA device, on the test driver: plans that nobody
 * would choose under random delays, with every byte's readers and writers held against
 * the order of streams and events; and with calls of the driver failing.
 */
#include "harness/harness.h"
#include "harness/pair_rig.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "cuda/driver/fake.h"
#include "device/cuda/driver_abi.h"
#include "device/device.h"

static void start(uint64_t seed, uint64_t fail_at, unsigned code)
{
	fake_reset(&(struct fake_options){
		.seed = seed, .fail_at = fail_at, .code = code, .keep = true});
}

static void want_quiet(void)
{
	char text[300];

	fake_alive(text, sizeof(text));
	assert_string_equal(text, "");
	assert_string_equal(fake_complaint(), "");
}

static sl_status run(const struct pair_rig *c)
{
	struct sl_device *d = NULL;
	sl_status st;

	SL_TRY(sl_device_create("cuda", &d));
	st = pair_rig_run(c, &(struct sl_rig_opts){.device = d});
	sl_device_destroy(d);
	return st;
}

/* How many: SL_DELAYS, for a long run. */
static uint64_t delays(void)
{
	const char *text = getenv("SL_DELAYS");
	uint64_t n = 40;

	if (text)
		sl_assert_ok(sl_u64_parse(text, &n));
	return n;
}

static void no_delay_shows_a_missing_edge(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= delays(); seed++) {
		struct pair_rig c;

		pair_rig_find(&c, seed % 20);
		start(seed, 0, 0);
		sl_assert_ok(run(&c));
		want_quiet();
		pair_rig_finish(&c);
	}
}

static sl_status run_failing(const struct pair_rig *c, uint64_t n, unsigned code)
{
	long before = sl_alloc_live();
	sl_status st;

	start(0, n, code);
	st = run(c);
	want_quiet();
	assert_int_equal(sl_alloc_live(), before);
	assert_true(st != SL_E_NO);
	return st;
}

static void every_failed_call_of_the_driver_ends_with_a_status(void **state)
{
	static const unsigned codes[] = {
		SL_CU_ERROR_OUT_OF_MEMORY, SL_CU_ERROR_LAUNCH_FAILED};
	struct pair_rig c;

	(void)state;
	pair_rig_find(&c, 3);
	for (size_t i = 0; i < SL_COUNT(codes); i++) {
		uint64_t told = 0;
		bool met = true;

		for (uint64_t n = 1; met; n += n < 100 ? 1 : 13) {
			told += run_failing(&c, n, codes[i]) != SL_OK;
			met = fake_calls() >= n;
		}
		/* Of calls that only give back nobody hears. */
		assert_true(told > 100);
	}
	pair_rig_finish(&c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(no_delay_shows_a_missing_edge),
		SL_TEST(every_failed_call_of_the_driver_ends_with_a_status),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
