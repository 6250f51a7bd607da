/* SPDX-License-Identifier: Apache-2.0 */
/* The system's monotonic clock. */
#include "base/clock.h"

#include <time.h>

sl_ns sl_clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (sl_ns)t.tv_sec * 1000000000 + t.tv_nsec;
}
