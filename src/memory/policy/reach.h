/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_REACH_H
#define SL_MEMORY_POLICY_REACH_H

#include "memory/trace.h"

/* The tiers a policy can swap to: those with a channel in each direction. */
#define SL_REACH_MAX 8

struct sl_reach {
	uint32_t tier; /* as in plans: 1, 2, ... */
	uint32_t out_link, in_link;
	uint64_t bytes; /* whole pages */
};

/* Fastest first, equal ones in the order of the trace; gives their number. */
uint32_t sl_reach_find(const struct sl_trace *t, struct sl_reach out[SL_REACH_MAX]);

#endif
