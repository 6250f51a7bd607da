/* SPDX-License-Identifier: Apache-2.0 */
/* What policies make of budgets before anything runs: a report for one, or a curve. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "memory/bound.h"
#include "memory/replay.h"
#include "session/planner_int.h"

/* An estimate until one was made: what all effort takes beside a quick plan. */
#define FULL_TO_QUICK 8
#define SLOW 1.002 /* from here on a better plan is looked for */

static void fill_binding(const struct sl_planner *p, struct sl_plan_report *r)
{
	const struct sl_trace_op *op = &p->trace.ops[p->least.binding_op];

	r->binding_op = p->least.binding_op;
	snprintf(r->binding_kind, sizeof(r->binding_kind), "%s",
		p->trace.n_ops > 0 ? op->kind : "");
	snprintf(r->binding_scope, sizeof(r->binding_scope), "%s",
		p->trace.n_ops > 0 ? op->scope : "");
	r->unbudgeted_peak_bytes = p->unbudgeted_peak;
	r->bound_budget_bytes =
		p->trace.n_tiers > 0 ? p->least.bytes : p->least.live_peak_bytes;
	for (uint32_t i = 0; i < p->trace.n_ops; i++)
		r->base_iter_ns += p->trace.ops[i].dur_ns;
}

static sl_status fill_bound(const struct sl_planner *p, struct sl_plan_report *r)
{
	struct sl_traffic_bound b;

	SL_TRY(sl_traffic_bound(
		&p->trace, r->budget_bytes > 0 ? r->budget_bytes : UINT64_MAX, &b));
	r->bound_bytes = b.both_bytes;
	r->bound_out_bytes = b.out_bytes;
	r->bound_in_bytes = b.in_bytes;
	r->bound_ns = b.iter_ns;
	return SL_OK;
}

/* The same for all policies of a budget. */
static sl_status fill_joint_bound(struct sl_planner *p, struct sl_plan_report *r)
{
	uint64_t budget = r->budget_bytes > 0 ? r->budget_bytes : UINT64_MAX;

	if (p->joint_bound_ns == 0 || p->bound_budget != budget)
		SL_TRY(sl_joint_bound(&p->trace, budget, &p->joint_bound_ns));
	p->bound_budget = budget;
	r->joint_bound_ns = p->joint_bound_ns;
	return SL_OK;
}

/* Plans at that budget: known from the last time, if it was of this policy. */
static sl_status fill_least(struct sl_planner *p, const struct sl_mem_policy *policy,
	struct sl_plan_report *r)
{
	if (p->least_of != policy)
		SL_TRY(sl_policy_least(policy, &p->trace, &p->least_bytes));
	p->least_of = policy;
	r->least_budget_bytes = p->least_bytes;
	return SL_OK;
}

/* The tier's bytes up to where this value lies in it. */
static void reach(const struct sl_planner *p, struct sl_plan_report *r, uint32_t tier,
	uint32_t value, uint64_t offset)
{
	uint64_t end = offset + p->trace.values[value].bytes;
	bool host = strcmp(p->trace.tiers[tier - 1].name, "host") == 0;
	uint64_t *bytes = host ? &r->host_bytes : &r->disk_bytes;

	*bytes = end > *bytes ? end : *bytes;
}

static void fill_tiers(
	const struct sl_planner *p, const struct sl_plan *plan, struct sl_plan_report *r)
{
	for (uint32_t i = 0; i < plan->n_starts; i++)
		if (plan->starts[i].tier != SL_TIER_DEVICE)
			reach(p, r, plan->starts[i].tier, plan->starts[i].value,
				plan->starts[i].offset);
	for (uint32_t i = 0; i < plan->n_actions; i++)
		if (sl_action_copies_out(plan->actions[i].kind))
			reach(p, r, plan->actions[i].tier, plan->actions[i].value,
				plan->actions[i].offset);
}

static sl_status fill_held(
	const struct sl_planner *p, const struct sl_plan *plan, struct sl_plan_report *r)
{
	struct sl_replay_job job = {.trace = &p->trace, .plan = plan};
	struct sl_replay_opts opts = {.jobs = &job, .n_jobs = 1};
	struct sl_replay_result result = {0};
	struct sl_replay_total total = {0};

	SL_TRY(sl_replay(&opts, &result, &total));
	sl_replay_total_finish(&total);
	r->held_peak_bytes = result.held_peak_bytes;
	return SL_OK;
}

static sl_status fill_plan(
	const struct sl_planner *p, const struct sl_plan *plan, struct sl_plan_report *r)
{
	struct sl_plan_price cost;

	SL_TRY(sl_plan_price(&p->trace, plan, &cost));
	r->feasible = true;
	r->peak_bytes = plan->peak;
	r->base_iter_ns = cost.base_iter_ns;
	r->iter_ns = cost.iter_ns;
	r->swap_out_bytes = cost.swap_out_bytes;
	r->swap_in_bytes = cost.swap_in_bytes;
	r->move_bytes = cost.move_bytes;
	r->recompute_ns = cost.recompute_ns;
	r->recompute_ops = cost.recompute_ops;
	r->stall_ns = cost.stall_ns;
	fill_tiers(p, plan, r);
	return fill_held(p, plan, r);
}

static sl_status print_plan(
	const struct sl_planner *p, struct sl_plan *plan, struct sl_buf *text)
{
	if (text == NULL)
		return SL_OK;
	if (p->session != NULL)
		SL_TRY(sl_program_select_lines(
			p->session->instances[SL_TRAIN].program, plan));
	return sl_plan_print(plan, &p->trace, text);
}

sl_status sl_planner_policy(
	const char *name, uint64_t budget_bytes, struct sl_policy_choice *out)
{
	return sl_policy_parse_auto(name, budget_bytes > 0, out);
}

/* All of the report but the bound. The plan is appended to text, if that is given. */
static sl_status preview(struct sl_planner *p, const struct sl_policy_choice *policy,
	uint64_t budget_bytes, struct sl_plan_report *out, struct sl_buf *text)
{
	struct sl_plan plan = SL_PLAN_INIT;
	sl_ns begin;
	sl_status st;

	*out = (struct sl_plan_report){.budget_bytes = budget_bytes};
	snprintf(out->policy, sizeof(out->policy), "%s", policy->policy->name);
	fill_binding(p, out);
	SL_TRY(fill_least(p, policy->policy, out));
	begin = sl_clock_now();
	st = sl_policy_apply(
		policy, &p->trace, budget_bytes > 0 ? budget_bytes : UINT64_MAX, &plan);
	out->plan_ns = (uint64_t)(sl_clock_now() - begin);
	if (st == SL_E_INFEASIBLE) {
		p->failed = st;
		snprintf(p->failure, sizeof(p->failure), "%s", sl_last_error());
		return SL_OK;
	}
	SL_TRY(st);
	SL_TRY_OUT(fill_plan(p, &plan, out));
	SL_TRY_OUT(print_plan(p, &plan, text));
out:
	sl_plan_finish(&plan);
	return st;
}

sl_status sl_planner_plan(struct sl_planner *p, const char *policy_name,
	uint64_t budget_bytes, struct sl_plan_report *out, struct sl_buf *plan_text)
{
	struct sl_policy_choice policy;

	SL_TRY(sl_planner_policy(policy_name, budget_bytes, &policy));
	SL_TRY(preview(p, &policy, budget_bytes, out, plan_text));
	SL_TRY(fill_joint_bound(p, out));
	return fill_bound(p, out);
}

struct front {
	struct sl_planner *p;
	struct sl_policy_choice full, quick;
	struct sl_plan_report *rows;
	size_t n;
	uint64_t done; /* bits: rows that cannot become better */
	uint64_t full_ns; /* what all effort took, the last time */
	sl_ns until;
};

/* The plan of the row before serves here as well, if this one's is slower. */
static void carry(struct front *f, size_t i)
{
	const struct sl_plan_report own = f->rows[i], *less = &f->rows[i - 1];

	if (!less->feasible || (own.feasible && own.iter_ns <= less->iter_ns))
		return;
	f->rows[i] = *less;
	f->rows[i].budget_bytes = own.budget_bytes;
	f->rows[i].plan_ns = own.plan_ns;
}

static sl_status plan_quickly(struct front *f)
{
	uint64_t least, pages;

	/* The first row's plan proves it. */
	if (f->p->least_of != f->full.policy)
		SL_TRY(sl_policy_least_claimed(
			f->full.policy, &f->p->trace, &f->p->least_bytes));
	f->p->least_of = f->full.policy;
	least = f->p->least_bytes;
	pages = f->p->unbudgeted_peak > least ? (f->p->unbudgeted_peak - least) / 4096
					      : 0;
	if (pages + 1 < f->n)
		f->n = (size_t)pages + 1;
	for (size_t i = 0; i < f->n; i++) {
		uint64_t part = i == 0 ? 0 : pages * i / (f->n - 1);

		SL_TRY(preview(f->p, &f->quick, least + part * 4096, &f->rows[i], NULL));
		if (i > 0)
			carry(f, i);
	}
	return SL_OK;
}

static bool is_slow(const struct sl_plan_report *r)
{
	return !r->feasible || (double)r->iter_ns > SLOW * (double)r->base_iter_ns;
}

/* The slowest row that may still gain; n: none. */
static size_t next_row(const struct front *f)
{
	size_t best = f->n;

	for (size_t i = 0; i < f->n; i++) {
		const struct sl_plan_report *r = &f->rows[i];

		if ((f->done >> i & 1) == 0 && r->feasible && is_slow(r) &&
			(best == f->n || r->iter_ns > f->rows[best].iter_ns))
			best = i;
	}
	return best;
}

static sl_status improve(struct front *f)
{
	for (size_t i = next_row(f); i < f->n; i = next_row(f)) {
		uint64_t ns =
			f->full_ns > 0 ? f->full_ns : FULL_TO_QUICK * f->rows[i].plan_ns;
		struct sl_plan_report better;

		f->done |= (uint64_t)1 << i;
		if (sl_clock_now() + (sl_ns)ns > f->until)
			return SL_OK;
		SL_TRY(preview(f->p, &f->full, f->rows[i].budget_bytes, &better, NULL));
		f->full_ns = better.plan_ns;
		if (!better.feasible || better.iter_ns >= f->rows[i].iter_ns)
			continue;
		f->rows[i] = better;
		for (size_t k = i + 1; k < f->n; k++)
			carry(f, k);
	}
	return SL_OK;
}

sl_status sl_planner_front(struct sl_planner *p, const char *policy, uint64_t limit_ns,
	struct sl_plan_report *out, size_t *n)
{
	struct front f = {.p = p, .rows = out, .n = *n};

	f.until = sl_clock_now() + (sl_ns)limit_ns;
	if (*n < 2 || *n > SL_FRONT_MAX)
		return SL_FAIL(SL_E_INVALID,
			"a curve of %zu budgets; there may be 2 to %d", *n, SL_FRONT_MAX);
	SL_TRY(sl_planner_policy(policy, p->unbudgeted_peak, &f.full));
	f.quick = sl_policy_quick(&f.full);
	SL_TRY(plan_quickly(&f));
	if (memcmp(&f.full, &f.quick, sizeof(f.full)) != 0)
		SL_TRY(improve(&f));
	for (size_t i = 0; i < f.n; i++) {
		out[i].bound_ns = out[i].base_iter_ns;
		if (is_slow(&out[i]))
			SL_TRY(fill_bound(p, &out[i]));
	}
	*n = f.n;
	return SL_OK;
}

uint64_t sl_planner_share(const struct sl_planner *p, double ratio)
{
	return sl_machine_share(p->unbudgeted_peak, ratio);
}

sl_status sl_planner_infeasible(const struct sl_planner *p)
{
	return p->failed == SL_OK ? SL_OK : SL_FAIL(p->failed, "%s", p->failure);
}
