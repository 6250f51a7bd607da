/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_MEMORY_POLICY_PLAN_BY_H
#define SL_TESTS_MEMORY_POLICY_PLAN_BY_H

/* Plans by a policy's text, as on the command line. Include harness.h first. */
#include "memory/policy/policy.h"

/* A checked plan within the budget; its price. */
static inline uint64_t plan_by(
	const struct sl_trace *t, const char *text, uint64_t budget, struct sl_plan *p)
{
	struct sl_policy_choice c;

	sl_assert_ok(sl_policy_parse(text, &c));
	sl_assert_ok(sl_policy_apply(&c, t, budget, p));
	assert_true(p->peak <= budget);
	return p->price_ns;
}

static inline uint32_t count_actions(const struct sl_plan *p, enum sl_action_kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_actions; i++)
		n += p->actions[i].kind == kind;
	return n;
}

#endif
