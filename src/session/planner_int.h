/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_PLANNER_INT_H
#define SL_SESSION_PLANNER_INT_H

#include "session/session_int.h"
#include "sluice/memory.h"

/* A trace to plan, and what is known about it. */
struct sl_planner {
	struct sl_session *session; /* NULL: the trace came from a file */
	struct sl_trace trace;
	uint64_t unbudgeted_peak;
	struct sl_least_budget least;
	const struct sl_mem_policy *least_of; /* whose least budget is known; or NULL */
	uint64_t least_bytes;
	uint64_t bound_budget, joint_bound_ns; /* the last one looked for; 0: none */
	sl_status failed;
	char failure[1024];
};

/* By name, or the default of that budget; SL_E_USAGE. */
SL_NODISCARD sl_status sl_planner_policy(
	const char *name, uint64_t budget_bytes, struct sl_policy_choice *out);

#endif
