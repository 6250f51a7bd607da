/* SPDX-License-Identifier: Apache-2.0 */
#include "data/shuffle.h"

#include <string.h>

#include "harness/harness.h"

static void every_size_gives_a_permutation(void **state)
{
	unsigned char seen[1100];

	(void)state;
	for (int64_t n = 1; n < 1100; n += n < 70 ? 1 : 97) {
		memset(seen, 0, sizeof(seen));
		for (int64_t i = 0; i < n; i++) {
			int64_t v = sl_shuffle_at(7, 3, n, i);
			assert_in_range(v, 0, n - 1);
			assert_int_equal(seen[v], 0);
			seen[v] = 1;
		}
	}
}

static int differences(uint64_t seed, uint64_t epoch)
{
	int n = 0;

	for (int64_t i = 0; i < 1000; i++)
		n += sl_shuffle_at(1, 0, 1000, i) != sl_shuffle_at(seed, epoch, 1000, i);
	return n;
}

static void seed_and_epoch_change_the_order(void **state)
{
	(void)state;
	assert_int_equal(differences(1, 0), 0);
	assert_true(differences(2, 0) > 900);
	assert_true(differences(1, 1) > 900);
	assert_true(differences(1, (uint64_t)1 << 32) > 900);
}

static void neighbours_are_scattered(void **state)
{
	int64_t near = 0;

	(void)state;
	for (int64_t i = 0; i + 1 < 10000; i++) {
		int64_t d =
			sl_shuffle_at(5, 0, 10000, i) - sl_shuffle_at(5, 0, 10000, i + 1);
		near += d > -100 && d < 100;
	}
	/* A random order has about 199 such pairs in 10,000. */
	assert_in_range(near, 120, 280);
}

static void the_order_of_old_checkpoints_stays(void **state)
{
	static const int64_t want[] = {33837, 8454, 8852, 39395, 22135, 52878};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(want); i++)
		assert_int_equal(sl_shuffle_at(42, 1, 60000, (int64_t)i), want[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_size_gives_a_permutation),
		SL_TEST(seed_and_epoch_change_the_order),
		SL_TEST(neighbours_are_scattered),
		SL_TEST(the_order_of_old_checkpoints_stays),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
