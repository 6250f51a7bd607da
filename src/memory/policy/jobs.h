/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_JOBS_H
#define SL_MEMORY_POLICY_JOBS_H

#include "memory/policy/policy.h"

/*
 * Plans for several jobs that share one device and its links, within one budget. Each job
 * gets an arena of its own, and the arenas together are within the budget: so any
 * relative phase is, since no two jobs lend each other bytes (TENSILE, section on the
 * peak of several jobs: they are not phase-locked).
 *
 * 1. The budget is split so that the sum of weighted slowdowns, weight x iteration /
 * base, is low: from every job's least budget on, bytes go where it falls most for a
 * byte.
 * 2. Links: a job plans as if it had weight / (sum of the weights of jobs that move
 * bytes) of each link's rate; latencies and tiers' bytes are its own. The device's
 * compute is taken as its own, too: jobs in turn on one device hide copies behind each
 * other's ops, so the prediction is on the safe side.
 */
struct sl_jobs_member {
	const struct sl_trace *trace;
	const char *name; /* in messages; NULL: the trace's */
	uint32_t weight; /* 0 means 1 */
	/* Out. */
	struct sl_plan plan; /* finished by the caller */
	uint64_t budget; /* bytes of its arena, a multiple of 4096 */
	uint64_t least_bytes; /* of the policy, alone */
	uint64_t base_ns; /* sum of its ops' durations */
	uint64_t iter_ns; /* predicted, with its share of the links */
};

/*
 * The sum of the jobs' budgets is at most `budget`; what would gain nobody anything is
 * not given away. Jobs with equal traces and weights get equal budgets. Deterministic, no
 * state; any thread. SL_E_INFEASIBLE names the sum of the least budgets and each job's
 * part; SL_E_NOMEM; after a failure all plans are empty.
 */
SL_NODISCARD sl_status sl_policy_jobs(const struct sl_policy_choice *choice,
	struct sl_jobs_member *jobs, size_t n, uint64_t budget);

/*
 * The same for jobs whose memory is settled: each stays within its own, and only the
 * links are shared. Jobs of one lane take turns and never move bytes at the same time
 * (but for the last copies of a turn), those of different lanes do: every lane with a job
 * that moves bytes has an equal part of each link's rate.
 */
struct sl_jobs_lease {
	const struct sl_trace *trace;
	const struct sl_policy_choice *choice;
	uint64_t budget; /* bytes of its arena */
	uint64_t most_p_bytes; /* of them, that may stay over the boundary */
	uint32_t lane;
	/* Out; finished by the caller. Its price is with its part of the links. No plan
	 * that fits: empty (n_values is 0). */
	struct sl_plan plan;
};

/* others: lanes besides these whose jobs move bytes. Deterministic, no state; any thread.
 * SL_E_NOMEM and the codes of sl_policy_apply(): all plans are empty then. */
SL_NODISCARD sl_status sl_policy_jobs_leases(
	struct sl_jobs_lease *jobs, size_t n, uint32_t others);

#endif
