/* SPDX-License-Identifier: Apache-2.0 */
/* The table of memory policies and the one door to them: plan, seal, check, price. */
#include "memory/policy/policy.h"

#include <string.h>

#include "memory/place.h"

static const struct sl_mem_policy *const policies[] = {
#define SL_MEM_POLICY(name) &sl_mem_policy_##name,
#include "memory/policy/policies.def"
#undef SL_MEM_POLICY
};

const struct sl_mem_policy *sl_policy_at(size_t i)
{
	return i < sizeof(policies) / sizeof(policies[0]) ? policies[i] : NULL;
}

const struct sl_mem_policy *sl_policy_find(const char *name)
{
	for (size_t i = 0; sl_policy_at(i); i++) {
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	}
	return NULL;
}

sl_status sl_policy_plan(const struct sl_mem_policy *policy, const struct sl_trace *t,
	uint64_t budget, struct sl_plan *out)
{
	sl_status st = SL_OK;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_plan_price price = {0};

	SL_TRY_OUT(policy->plan(t, budget, &plan));
	SL_TRY_OUT(sl_plan_seal(&plan, t));
	st = sl_plan_check(t, &plan, budget, NULL);
	if (st != SL_OK) {
		st = sl_fail_prefix(
			st, "policy %s made an unsound plan (a bug)", policy->name);
		goto out;
	}
	SL_TRY_OUT(sl_plan_price(t, &plan, &price));
	plan.price_ns = price.iter_ns;
	plan.stall_ns = price.stall_ns;
	sl_plan_move(out, &plan);
out:
	sl_plan_finish(&plan);
	return st;
}

sl_status sl_policy_least(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t *out_bytes)
{
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_least_budget least = {0};
	uint64_t bytes = 0;

	if (policy->least) {
		SL_TRY(policy->least(t, &bytes));
	} else {
		SL_TRY(sl_trace_least_budget(t, &least));
		bytes = least.bytes;
	}
	bytes = sl_align_up(bytes, SL_PAGE_BYTES);
	SL_TRY(sl_policy_plan(policy, t, bytes, &plan));
	sl_plan_finish(&plan);
	*out_bytes = bytes;
	return SL_OK;
}
