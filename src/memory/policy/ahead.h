/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_AHEAD_H
#define SL_MEMORY_POLICY_AHEAD_H

#include "memory/plan.h"

/*
 * The cheapest plan without copies that is found: DTR's run time with the future known
 * (SL_DTR_AHEAD), for several ways to score; then values'
 * scores are changed a few at a time, and what makes the plan cheaper stays.
 */
struct sl_ahead {
	uint64_t budget;
	const char *policy; /* name in the plan */
	uint64_t most_again_ns; /* plans that run again for longer are of no use */
	uint64_t most_work; /* about ten million a second; 0: the exponents alone */
};

/* Leaves *out empty where nothing is found; *again_ns is what the plan runs again. */
SL_NODISCARD sl_status sl_ahead_plan(const struct sl_trace *t, const struct sl_ahead *how,
	struct sl_plan *out, uint64_t *again_ns);

#endif
