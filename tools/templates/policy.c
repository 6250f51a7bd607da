/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy @NAME@: what it moves, when, and the paper it follows.
 *
 * 1. An invariant of its plans.
 *
 * Departures from the paper: none yet.
 */
#include "memory/policy/policy.h"

static sl_status plan(const struct sl_trace *t, uint64_t budget, struct sl_plan *out)
{
	(void)t;
	(void)budget;
	(void)out;
	return SL_FAIL(SL_E_UNSUPPORTED, "@NAME@ does not plan yet");
}

const struct sl_mem_policy sl_mem_policy_@NAME@ = {
	.name = "@NAME@",
	.source = "@NAME@",
	.summary = "one line for `sluice list policies`",
	.plan = plan,
};
