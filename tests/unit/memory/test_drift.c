/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/memory/drift.c: where a drift begins, and what a correction gives. */
#include "harness/harness.h"

#include "memory/drift.h"

static void a_drift_of_29_percent_is_none_and_31_percent_is_one(void **state)
{
	(void)state;
	assert_false(sl_drift_exceeds(1290, 1000, SL_DRIFT_DEFAULT));
	assert_false(sl_drift_exceeds(1300, 1000, SL_DRIFT_DEFAULT));
	assert_true(sl_drift_exceeds(1301, 1000, SL_DRIFT_DEFAULT));
	assert_true(sl_drift_exceeds(1310, 1000, SL_DRIFT_DEFAULT));
	assert_false(sl_drift_exceeds(710, 1000, SL_DRIFT_DEFAULT));
	assert_false(sl_drift_exceeds(700, 1000, SL_DRIFT_DEFAULT));
	assert_true(sl_drift_exceeds(699, 1000, SL_DRIFT_DEFAULT));
	assert_true(sl_drift_exceeds(690, 1000, SL_DRIFT_DEFAULT));
}

static void a_drift_is_of_the_sum_not_of_the_ops(void **state)
{
	const uint64_t stored[] = {100, 200, 700}, measured[] = {700, 200, 100};

	(void)state;
	assert_int_equal(sl_drift_sum(stored, 3), 1000);
	assert_false(sl_drift_exceeds(
		sl_drift_sum(measured, 3), sl_drift_sum(stored, 3), 0.001));
	assert_int_equal(sl_drift_sum(stored, 0), 0);
}

static void other_limits_hold_too(void **state)
{
	(void)state;
	assert_false(sl_drift_exceeds(1500, 1000, 0.5));
	assert_true(sl_drift_exceeds(1501, 1000, 0.5));
	assert_true(sl_drift_exceeds(1, 0, 0.5));
	assert_false(sl_drift_exceeds(0, 0, 0.5));
}

static void a_correction_is_nine_tenths_of_what_was_measured(void **state)
{
	(void)state;
	assert_int_equal(sl_drift_correct(1000, 2000), 1900);
	assert_int_equal(sl_drift_correct(2000, 1000), 1100);
	assert_int_equal(sl_drift_correct(7, 3), 3); /* 3.4 */
	assert_int_equal(sl_drift_correct(13, 7), 8); /* 7.6 */
	assert_int_equal(sl_drift_correct(0, 0), 1);
	assert_int_equal(sl_drift_correct(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

/* Five corrections bring any time within a thousandth of a steady one. */
static void corrections_settle(void **state)
{
	uint64_t t = 1000000;

	(void)state;
	for (int i = 0; i < 5; i++)
		t = sl_drift_correct(t, 100000);
	assert_in_range(t, 99990, 100010);
}

static void a_link_is_corrected_by_what_its_copies_took(void **state)
{
	struct sl_trace_link l = {.bytes_per_s = 1000000000, .latency_ns = 1000};

	(void)state;
	/* Ten copies of 9000 bytes are stored as 100 us; they took twice that. */
	sl_drift_correct_link(&l, 10, 90000, 200000);
	assert_int_equal(l.bytes_per_s, 526315789); /* 1e9 / 1.9 */
	assert_int_equal(l.latency_ns, 1900);
	sl_drift_correct_link(&l, 0, 0, 0);
	assert_int_equal(l.bytes_per_s, 526315789);
	l = (struct sl_trace_link){.bytes_per_s = 1};
	sl_drift_correct_link(&l, 1, 1, UINT64_MAX);
	assert_true(l.bytes_per_s >= 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_drift_of_29_percent_is_none_and_31_percent_is_one),
		SL_TEST(a_drift_is_of_the_sum_not_of_the_ops),
		SL_TEST(other_limits_hold_too),
		SL_TEST(a_correction_is_nine_tenths_of_what_was_measured),
		SL_TEST(corrections_settle),
		SL_TEST(a_link_is_corrected_by_what_its_copies_took),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
