/* SPDX-License-Identifier: Apache-2.0 */
/* The system's monotonic clock. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

sl_ns sl_clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (sl_ns)t.tv_sec * 1000000000 + t.tv_nsec;
}

void sl_clock_sleep(sl_ns dur_ns)
{
	struct timespec t = {
		.tv_sec = dur_ns / 1000000000, .tv_nsec = dur_ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}
