/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_POLICY_H
#define SL_MEMORY_POLICY_POLICY_H

#include "memory/plan.h"

/*
 * A memory policy: a pure function from trace and budget to a plan. It may be called from
 * any thread, keeps nothing between calls, and is deterministic. Its output is never
 * trusted: sl_policy_plan runs the checker on it.
 */
struct sl_mem_policy {
	const char *name;
	const char *source; /* key in docs/papers.md */
	const char *summary; /* one line for `sluice list policies` */
	/* SL_E_INFEASIBLE when the budget cannot be met; *out is then empty. */
	sl_status (*plan)(const struct sl_trace *t, uint64_t budget, struct sl_plan *out);
	/* NULL: least budget is B* of the trace (needs a tier). Else the least this
	 * policy achieves. */
	sl_status (*least)(const struct sl_trace *t, uint64_t *out_bytes);
};

#define SL_MEM_POLICY(name) extern const struct sl_mem_policy sl_mem_policy_##name;
#include "memory/policy/policies.def"
#undef SL_MEM_POLICY

/* NULL if absent / past the end. */
const struct sl_mem_policy *sl_policy_find(const char *name);
const struct sl_mem_policy *sl_policy_at(size_t i);

/* Plans, seals, checks (an unsound plan is SL_E_NO: a bug of the policy), prices. */
SL_NODISCARD sl_status sl_policy_plan(const struct sl_mem_policy *policy,
	const struct sl_trace *t, uint64_t budget, struct sl_plan *out);
/* The least budget at which sl_policy_plan succeeds, a multiple of 4096, verified by
 * planning. */
SL_NODISCARD sl_status sl_policy_least(const struct sl_mem_policy *policy,
	const struct sl_trace *t, uint64_t *out_bytes);

#endif
