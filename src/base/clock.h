/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_CLOCK_H
#define SL_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds. The only file that reads the system's clock. */
typedef int64_t sl_ns;

sl_ns sl_clock_now(void); /* monotonic */
void sl_clock_sleep(sl_ns dur_ns); /* at least so long, signals or not */

#endif
