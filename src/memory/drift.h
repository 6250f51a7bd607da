/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_DRIFT_H
#define SL_MEMORY_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/trace.h"

/*
 * When predicted times are worth a new plan (TENSILE): plain arithmetic, no threads, no
 * clock. Between plans the stored times stay; the newest iteration's sum is held against
 * theirs.
 */
#define SL_DRIFT_DEFAULT 0.3

uint64_t sl_drift_sum(const uint64_t *ns, uint32_t n);
/* |measured - stored| > limit * stored: 30 % over is not above a limit of 0.3. */
bool sl_drift_exceeds(uint64_t measured, uint64_t stored, double limit);
/* stored = 0.9 measured + 0.1 stored, in whole nanoseconds, at least 1. */
uint64_t sl_drift_correct(uint64_t stored, uint64_t measured);
/* The same for a link: rate and latency by what so many copies took in all. */
void sl_drift_correct_link(
	struct sl_trace_link *l, uint64_t copies, uint64_t bytes, uint64_t ns);

#endif
