/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_MEMORY_POLICY_JOBS_UTIL_H
#define SL_TESTS_MEMORY_POLICY_JOBS_UTIL_H

/* Jobs to plan together. Include harness.h first. */
#include <stdio.h>

#include "memory/policy/jobs.h"
#include "unit/memory/gen.h"

#define JOINT_JOBS 3u

struct jobs_rig {
	struct gen gens[JOINT_JOBS];
	struct sl_jobs_member jobs[JOINT_JOBS];
	uint64_t peaks[JOINT_JOBS], sum_peaks; /* unbudgeted */
	size_t n;
	struct sl_policy_choice choice; /* tensile, as usual */
	uint64_t budget;
};

static inline void jobs_add(struct jobs_rig *r, struct gen g)
{
	size_t i = r->n++;

	sl_assert_ok(gen_end(&g));
	r->gens[i] = g;
	r->jobs[i].trace = &r->gens[i].t;
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &r->peaks[i]));
	r->sum_peaks += r->peaks[i];
	r->choice = sl_policy_usual(&sl_mem_policy_tensile);
}

static inline sl_status jobs_try(struct jobs_rig *r, uint64_t budget)
{
	r->budget = budget;
	return sl_policy_jobs(&r->choice, r->jobs, r->n, budget);
}

static inline void jobs_plan(struct jobs_rig *r, uint64_t budget)
{
	sl_assert_ok(jobs_try(r, budget));
}

/* Budgets are whole pages, together within the whole, and each plan keeps its own. */
static inline void jobs_check(const struct jobs_rig *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct sl_jobs_member *j = &r->jobs[i];

		sl_assert_ok(sl_plan_check(j->trace, &j->plan, j->budget, NULL));
		assert_int_equal(j->budget % SL_PAGE_BYTES, 0);
		assert_int_equal(j->plan.budget, j->budget);
		assert_int_equal(j->plan.price_ns, j->iter_ns);
		assert_true(j->iter_ns >= j->base_ns && j->base_ns > 0);
		sum += j->budget;
	}
	assert_true(sum <= r->budget);
}

static inline void jobs_forget(struct jobs_rig *r)
{
	for (size_t i = 0; i < r->n; i++)
		sl_plan_finish(&r->jobs[i].plan);
}

static inline void jobs_finish(struct jobs_rig *r)
{
	jobs_forget(r);
	for (size_t i = 0; i < r->n; i++)
		sl_trace_finish(&r->gens[i].t);
}

#endif
