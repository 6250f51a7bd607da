/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_POLICY_H
#define SL_MEMORY_POLICY_POLICY_H

#include "memory/plan.h"

/*
 * A memory policy: a pure function from trace and budget to a plan. It may be called from
 * any thread, keeps nothing between calls, and is deterministic. Its output is never
 * trusted: sl_policy_plan runs the checker on it.
 */
struct sl_policy_option {
	const char *name; /* NULL ends a list */
	int64_t min, max, usual;
	const char *help;
};
#define SL_POLICY_MAX_OPTIONS 8

struct sl_mem_policy {
	const char *name;
	const char *source; /* key in docs/papers.md */
	const char *summary; /* one line for `sluice list policies` */
	/* SL_E_INFEASIBLE when the budget cannot be met; *out is then empty. */
	sl_status (*plan)(const struct sl_trace *t, uint64_t budget, struct sl_plan *out);
	/* Of a policy with options: instead of plan, their values in order of the rows.
	 */
	const struct sl_policy_option *options;
	sl_status (*plan_with)(const struct sl_trace *t, uint64_t budget,
		const int64_t *options, struct sl_plan *out);
	/* Or, instead of both: what it does by itself where not everything can stay.
	 * *out is left empty where that does not fit; then belady's plan is used. */
	sl_status (*own)(const struct sl_trace *t, uint64_t budget,
		const int64_t *options, struct sl_plan *out);
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

/* A policy and the values of its options. */
struct sl_policy_choice {
	const struct sl_mem_policy *policy;
	int64_t options[SL_POLICY_MAX_OPTIONS];
};
/* From a policy's name and options, "tensile" or "tensile:published=1,cross=0".
 * SL_E_USAGE says what is unknown or out of bounds. */
SL_NODISCARD sl_status sl_policy_parse(const char *text, struct sl_policy_choice *out);
/* All options as usual. */
struct sl_policy_choice sl_policy_usual(const struct sl_mem_policy *policy);

/* At most so much above the least effort, where there is an option of that name. */
struct sl_policy_choice sl_policy_at_effort(
	const struct sl_policy_choice *c, int64_t above);
/* With the least effort. */
struct sl_policy_choice sl_policy_quick(const struct sl_policy_choice *c);

/* Without a name, or "auto": where a budget is given, and where not. */
#define SL_POLICY_AUTO "auto"
#define SL_POLICY_WITH_BUDGET "joint"
#define SL_POLICY_WITHOUT_BUDGET "keep"
/* As sl_policy_parse, and these: NULL, "auto" and "auto:effort=0", whose options are
 * those of the policy with a budget; without one they go unheard. */
SL_NODISCARD sl_status sl_policy_parse_auto(
	const char *text, bool with_budget, struct sl_policy_choice *out);

/* Plans, seals, checks (an unsound plan is SL_E_NO: a bug of the policy), prices. */
SL_NODISCARD sl_status sl_policy_apply(const struct sl_policy_choice *choice,
	const struct sl_trace *t, uint64_t budget, struct sl_plan *out);
/* Without belady's plan for want of one of its own: *out is left empty then. Not to be
 * asked for where everything can stay. */
SL_NODISCARD sl_status sl_policy_apply_own(const struct sl_policy_choice *choice,
	const struct sl_trace *t, uint64_t budget, struct sl_plan *out);
/* With all options as usual. */
SL_NODISCARD sl_status sl_policy_plan(const struct sl_mem_policy *policy,
	const struct sl_trace *t, uint64_t budget, struct sl_plan *out);
/* The least budget at which sl_policy_plan succeeds, a multiple of 4096, verified by
 * planning. */
SL_NODISCARD sl_status sl_policy_least(const struct sl_mem_policy *policy,
	const struct sl_trace *t, uint64_t *out_bytes);

/* The same without the proof: for a caller that plans there anyway. */
SL_NODISCARD sl_status sl_policy_least_claimed(const struct sl_mem_policy *policy,
	const struct sl_trace *t, uint64_t *out_bytes);

#endif
