/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_ALONE_H
#define SL_MEMORY_POLICY_ALONE_H

#include "memory/plan.h"

/*
 * What policies share that only recompute: the plan without a limit before, belady's plan
 * below where there is a tier, and the least budget that they find without one.
 */

/* Leaves *out empty if nothing fits. */
typedef sl_status (*sl_alone_fn)(
	const struct sl_trace *t, uint64_t budget, const void *ctx, struct sl_plan *out);

/* SL_E_INFEASIBLE: the budget is below `least`, which the policy was found to work in. */
sl_status sl_alone_fail(uint64_t budget, const char *name, uint64_t least);
/* Without a tier: halving between the bound and the peak of keep, to 1/512 of it. */
SL_NODISCARD sl_status sl_alone_least(
	const struct sl_trace *t, sl_alone_fn fn, const void *ctx, uint64_t *out_bytes);

#endif
