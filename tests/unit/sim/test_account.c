/* SPDX-License-Identifier: Apache-2.0 */
/* Books by hand: 1 GB/s is a byte a nanosecond. */
#include "harness/harness.h"

#include "sim/account.h"

#define GB ((uint64_t)1000000000)

static void issue(struct sl_account *a, uint32_t link, uint64_t number, uint64_t bytes,
	const uint64_t after[2])
{
	sl_account_issue(a, &(struct sl_account_copy){.link = link,
				    .number = number,
				    .bytes = bytes,
				    .bytes_per_s = GB,
				    .latency_ns = 10,
				    .after = after,
				    .n_after = after ? 2 : 0});
}

static void copies_queue_and_the_stream_waits_for_what_it_needs(void **state)
{
	struct sl_account a = {.queue_of = {0, 1}};

	(void)state;
	sl_account_work(&a, 100);
	issue(&a, 0, 1, 1000, NULL); /* 100..1110 */
	issue(&a, 0, 2, 500, NULL); /* 1110..1620 */
	issue(&a, 1, 1, 200, (const uint64_t[2]){1, 0}); /* 1110..1320 */
	sl_account_work(&a, 50);
	assert_int_equal(a.now_ns, 150);
	sl_account_wait(&a, 1, 1);
	assert_int_equal(a.now_ns, 1320);
	sl_account_wait(&a, 0, 1); /* over already */
	sl_account_move(&a, 1000);
	assert_int_equal(a.now_ns, 2320);
	sl_assert_ok(sl_account_end(&a));
	assert_int_equal(a.step_ns, 2320);
	assert_int_equal(a.stall_ns, 2320 - 150);
	sl_account_finish(&a);
}

static void a_step_ends_with_its_last_copy_and_the_next_begins_anew(void **state)
{
	struct sl_account a = {.queue_of = {0, 1}};

	(void)state;
	issue(&a, 0, 1, 1000, NULL);
	sl_assert_ok(sl_account_end(&a));
	assert_int_equal(a.step_ns, 1010);
	sl_account_work(&a, 7);
	sl_account_wait(&a, 0, 1); /* of the step before */
	issue(&a, 0, 2, 90, NULL);
	sl_account_wait(&a, 0, 2);
	sl_assert_ok(sl_account_end(&a));
	assert_int_equal(a.step_ns, 107);
	assert_int_equal(a.stall_ns, 1010 + 100);
	sl_account_finish(&a);
}

static void links_that_are_one_wire_share_its_queue(void **state)
{
	struct sl_account a = {.queue_of = {0, 0}};

	(void)state;
	issue(&a, 0, 1, 1000, NULL);
	issue(&a, 1, 1, 1000, NULL);
	sl_assert_ok(sl_account_end(&a));
	assert_int_equal(a.step_ns, 2020);
	sl_account_finish(&a);
}

static sl_status tortured(void *ctx)
{
	struct sl_account a = {.queue_of = {0, 1}};
	sl_status st;

	(void)ctx;
	for (uint64_t n = 1; n <= 100; n++)
		issue(&a, 0, n, 10, NULL);
	st = sl_account_end(&a);
	sl_account_finish(&a);
	return st;
}

static void no_memory_is_told_at_the_end_of_the_step(void **state)
{
	(void)state;
	assert_true(sl_torture(tortured, NULL) > 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(copies_queue_and_the_stream_waits_for_what_it_needs),
		SL_TEST(a_step_ends_with_its_last_copy_and_the_next_begins_anew),
		SL_TEST(links_that_are_one_wire_share_its_queue),
		SL_TEST(no_memory_is_told_at_the_end_of_the_step),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
