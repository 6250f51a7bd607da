/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_KEEP_INT_H
#define SL_MEMORY_POLICY_KEEP_INT_H

#include "memory/plan.h"

/*
 * The plan of `keep` whatever the budget: no actions, every value at one address for its
 * life. The caller compares *out_peak with its budget. `policy` is the name that the plan
 * carries.
 */
SL_NODISCARD sl_status sl_keep_plan(const struct sl_trace *t, uint64_t budget,
	const char *policy, struct sl_plan *out, uint64_t *out_peak);

/* The same, but *out stays empty where the peak is above the budget. */
SL_NODISCARD sl_status sl_keep_within(const struct sl_trace *t, uint64_t budget,
	const char *policy, struct sl_plan *out, uint64_t *out_peak);

/* Packs the persistent values from offset 0 as `keep` does; gives the end. */
uint64_t sl_keep_pack(const struct sl_trace *t, struct sl_plan *p);

#endif
