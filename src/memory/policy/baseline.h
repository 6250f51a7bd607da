/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_BASELINE_H
#define SL_MEMORY_POLICY_BASELINE_H

#include "memory/policy/gaps.h"

/*
 * Policies of papers that promise no budget: their fates where these fit, belady's plan
 * under their name where not, so that every budget that belady can meet works.
 */

/* All fates of g are KEEP. Leaves *out empty if nothing fits. */
typedef sl_status (*sl_baseline_fn)(struct sl_gaps *g, uint64_t budget, const char *name,
	const void *ctx, struct sl_plan *out);

/* Leaves *out empty if nothing fits, or there is no tier. */
SL_NODISCARD sl_status sl_baseline_own(const struct sl_trace *t, uint64_t budget,
	const char *name, sl_baseline_fn fn, const void *ctx, struct sl_plan *out);
/* With all that keeping everything and the net give. */
SL_NODISCARD sl_status sl_baseline_plan(const struct sl_trace *t, uint64_t budget,
	const char *name, sl_baseline_fn fn, const void *ctx, struct sl_plan *out);
/* belady's plan under that name. */
SL_NODISCARD sl_status sl_baseline_net(
	const struct sl_trace *t, uint64_t budget, const char *name, struct sl_plan *out);
SL_NODISCARD sl_status sl_baseline_least(const struct sl_trace *t, uint64_t *out_bytes);

/* Resolves what runs again and lowers. *out is empty, and *out_height above the budget,
 * where the plan does not fit. */
SL_NODISCARD sl_status sl_baseline_lower(struct sl_gaps *g, uint64_t budget,
	const char *name, struct sl_plan *out, uint64_t *out_height);

#endif
