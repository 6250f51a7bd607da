/* SPDX-License-Identifier: Apache-2.0 */
/* The clock. */
#include "harness/harness.h"

#include "base/clock.h"

static void time_never_runs_backwards_and_moves(void **state)
{
	sl_ns first = sl_clock_now();
	sl_ns last = first;

	(void)state;
	assert_true(first > 0);
	while (last == first) {
		sl_ns now = sl_clock_now();
		assert_true(now >= last);
		last = now;
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(time_never_runs_backwards_and_moves),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
