/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans for jobs whose memory is settled and whose links are shared.
 *
 * Departure from TENSILE, whose jobs all run at once: here only one job of a lane does
 * (Salus), so links are shared among lanes, not among jobs.
 */
#include "memory/policy/jobs_int.h"

#include "base/alloc.h"

#define PARTS 16
#define TRIES 3 /* of budgets less by one part each */

struct lease {
	struct sl_jobs_lease *job;
	struct sl_trace view; /* with its share of the links */
	struct sl_trace_link *links; /* of view */
	uint32_t among; /* lanes that share the links, its own included */
	uint32_t planned_among;
	bool moves;
};

struct leases {
	struct lease *all;
	size_t n;
	uint32_t others;
};

static void set_share(struct lease *x, uint32_t among)
{
	const struct sl_trace *t = x->job->trace;

	for (uint32_t i = 0; i < t->n_links; i++) {
		uint64_t rate = t->links[i].bytes_per_s / among;

		x->links[i] = t->links[i];
		x->links[i].bytes_per_s = rate > 0 ? rate : 1;
	}
}

static bool lane_moves(const struct leases *l, size_t n, uint32_t lane)
{
	for (size_t i = 0; i < n; i++)
		if (l->all[i].moves && l->all[i].job->lane == lane)
			return true;
	return false;
}

/* Lanes in which somebody moves bytes; a job that moves none would have its part beside
 * them. */
static void set_shares(struct leases *l)
{
	uint32_t lanes = l->others;

	for (size_t i = 0; i < l->n; i++)
		lanes += l->all[i].moves && !lane_moves(l, i, l->all[i].job->lane);
	for (size_t i = 0; i < l->n; i++) {
		struct lease *x = &l->all[i];

		x->among = lanes + !lane_moves(l, l->n, x->job->lane);
		set_share(x, x->among);
	}
}

/* Plans as if a lane shared the links with so many, and keeps what fits the lease and is
 * faster at its real share; who left the links alone goes on so, since others count on
 * it. */
static sl_status offer(struct lease *x, uint32_t among, uint64_t budget)
{
	struct sl_jobs_lease *j = x->job;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_plan_price price = {0};
	sl_status st;

	set_share(x, among);
	st = sl_policy_apply(j->choice, &x->view, budget, &plan);
	set_share(x, x->among);
	if (st == SL_E_INFEASIBLE)
		return SL_OK;
	SL_TRY_OUT(st);
	SL_TRY_OUT(sl_plan_price(&x->view, &plan, &price));
	plan.price_ns = price.iter_ns;
	plan.stall_ns = price.stall_ns;
	if (plan.p_bytes > j->most_p_bytes || (!x->moves && sl_jobs_moves(&plan)) ||
		(j->plan.n_values > 0 && j->plan.price_ns <= plan.price_ns))
		goto out;
	sl_plan_finish(&j->plan);
	sl_plan_move(&j->plan, &plan);
out:
	sl_plan_finish(&plan);
	return st;
}

/* Slow links make a policy leave more on the device over the boundary, maybe more than
 * the lease has. What is good for fast ones may do, or be better even; else a little less
 * memory. */
static sl_status plan_one(struct lease *x)
{
	uint64_t part = x->job->budget / PARTS;

	SL_TRY(offer(x, x->among, x->job->budget));
	if (x->among > 1)
		SL_TRY(offer(x, 1, x->job->budget));
	for (uint64_t k = 1; k <= TRIES && x->job->plan.n_values == 0; k++)
		SL_TRY(offer(x, x->among, x->job->budget - k * part));
	return SL_OK;
}

static sl_status reprice(struct lease *x)
{
	struct sl_plan *plan = &x->job->plan;
	struct sl_plan_price price = {0};

	if (plan->n_values == 0)
		return SL_OK;
	SL_TRY(sl_plan_price(&x->view, plan, &price));
	plan->price_ns = price.iter_ns;
	plan->stall_ns = price.stall_ns;
	return SL_OK;
}

/* Once more where the plans of others leave more of the links. A job without a plan goes
 * on with the one it has, which may move bytes. */
static sl_status use_shares(struct leases *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct lease *x = &l->all[i];

		x->planned_among = x->among;
		if (x->job->plan.n_values > 0)
			x->moves = sl_jobs_moves(&x->job->plan);
	}
	set_shares(l);
	for (size_t i = 0; i < l->n; i++) {
		struct lease *x = &l->all[i];

		SL_TRY(reprice(x));
		if (x->moves && x->among < x->planned_among)
			SL_TRY(offer(x, x->among, x->job->budget));
	}
	return SL_OK;
}

static sl_status begin(struct leases *l, struct sl_jobs_lease *jobs)
{
	l->all = sl_calloc(l->n + 1, sizeof(*l->all));
	if (l->all == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (size_t i = 0; i < l->n; i++) {
		struct lease *x = &l->all[i];

		x->job = &jobs[i];
		x->view = *jobs[i].trace;
		x->moves = x->view.n_links > 0;
		x->links = sl_calloc((size_t)x->view.n_links + 1, sizeof(*x->links));
		x->view.links = x->links;
		if (x->links == NULL)
			return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	}
	set_shares(l);
	return SL_OK;
}

sl_status sl_policy_jobs_leases(struct sl_jobs_lease *jobs, size_t n, uint32_t others)
{
	struct leases l = {.n = n, .others = others};
	sl_status st;

	for (size_t i = 0; i < n; i++)
		jobs[i].plan = SL_PLAN_INIT;
	SL_TRY_OUT(begin(&l, jobs));
	for (size_t i = 0; i < n; i++)
		SL_TRY_OUT(plan_one(&l.all[i]));
	SL_TRY_OUT(use_shares(&l));
	for (size_t i = 0; i < n; i++)
		jobs[i].plan.budget = jobs[i].budget;
out:
	for (size_t i = 0; i < n && st != SL_OK; i++)
		sl_plan_finish(&jobs[i].plan);
	for (size_t i = 0; i < n && l.all != NULL; i++)
		sl_free(l.all[i].links);
	sl_free(l.all);
	return st;
}
