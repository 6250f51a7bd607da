/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several jobs planned together. Source: Zhang et al., TENSILE, arXiv 2105.13336, whose
 * planning peak is the sum of the jobs' peaks because they are not phase-locked.
 *
 * Departures: the paper lowers that sum greedily, largest tensor first, with a cap on the
 * swaps of each job for fairness; here the budget is split first, by what quick plans say
 * that bytes are worth to each job, and each job's plan then is its own, checked and
 * placed within its part. Its link is one job's: here each gets its share.
 */
#include "memory/policy/jobs_int.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"

#define TRIES 4 /* splits by full plans, beside the plain ones */

struct several {
	struct sl_policy_choice full, quick;
	struct sl_jobs_part *parts;
	size_t n;
	uint64_t budget;
	double best; /* of all splits tried */
	bool found;
};

static sl_status least_of(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t *out)
{
	struct sl_least_budget least = {0};

	if (policy->least) {
		SL_TRY(policy->least(t, out));
	} else {
		SL_TRY(sl_trace_least_budget(t, &least));
		*out = least.bytes;
	}
	*out = sl_align_up(*out, SL_PAGE_BYTES);
	return SL_OK;
}

static sl_status begin_part(const struct several *j, struct sl_jobs_part *p)
{
	const struct sl_trace *t = p->job->trace;

	p->weight = p->job->weight > 0 ? p->job->weight : 1;
	p->view = *t;
	p->links = sl_calloc((size_t)t->n_links + 1, sizeof(*p->links));
	if (p->links == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	p->view.links = p->links;
	for (uint32_t i = 0; i < t->n_ops; i++)
		p->job->base_ns += t->ops[i].dur_ns;
	SL_TRY(least_of(j->full.policy, t, &p->job->least_bytes));
	SL_TRY(least_of(&sl_mem_policy_keep, t, &p->most_bytes));
	if (p->most_bytes < p->job->least_bytes)
		p->most_bytes = p->job->least_bytes;
	p->moves = t->n_links > 0 && p->most_bytes > p->job->least_bytes;
	return SL_OK;
}

static void set_seeds(const struct several *j, struct sl_jobs_part *p, double all_most)
{
	double part = (double)p->most_bytes / all_most;

	p->seeds[SL_JOBS_EQUAL] = j->budget / j->n & ~(SL_PAGE_BYTES - 1);
	p->seeds[SL_JOBS_BY_PEAK] =
		(uint64_t)((double)j->budget / SL_PAGE_BYTES * part) * SL_PAGE_BYTES;
}

static sl_status begin(struct several *j, struct sl_jobs_member *jobs)
{
	const struct sl_policy_option *o = j->full.policy->options;
	double sum = 0;

	j->quick = j->full;
	for (size_t i = 0; o != NULL && o[i].name != NULL; i++) {
		if (strcmp(o[i].name, "effort") == 0)
			j->quick.options[i] = o[i].min;
	}
	j->parts = sl_calloc(j->n + 1, sizeof(*j->parts));
	if (j->parts == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (size_t i = 0; i < j->n; i++) {
		j->parts[i].job = &jobs[i];
		SL_TRY(begin_part(j, &j->parts[i]));
		sum += (double)j->parts[i].most_bytes;
	}
	for (size_t i = 0; i < j->n; i++)
		set_seeds(j, &j->parts[i], sum);
	return SL_OK;
}

static void finish(struct several *j)
{
	for (size_t i = 0; i < j->n && j->parts != NULL; i++) {
		sl_jobs_curve_finish(&j->parts[i].curve);
		sl_free(j->parts[i].links);
	}
	sl_free(j->parts);
}

static sl_status check_feasible(const struct several *j)
{
	char text[512] = "";
	uint64_t sum = 0;
	size_t len = 0;

	for (size_t i = 0; i < j->n; i++) {
		const struct sl_jobs_member *job = j->parts[i].job;

		if (sum + job->least_bytes < sum)
			return SL_FAIL(SL_E_INFEASIBLE, "no budget holds these jobs");
		sum += job->least_bytes;
		if (len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len,
				"%s%.32s %llu", i > 0 ? ", " : "",
				job->name != NULL ? job->name : job->trace->job_name,
				(unsigned long long)job->least_bytes);
	}
	if (sum <= j->budget)
		return SL_OK;
	return SL_FAIL(SL_E_INFEASIBLE,
		"%zu jobs together need %llu bytes at least, the budget is %llu; each "
		"one's "
		"part: %s%s",
		j->n, (unsigned long long)sum, (unsigned long long)j->budget, text,
		len < sizeof(text) ? "" : "...");
}

static void set_share(struct sl_jobs_part *p, double share)
{
	const struct sl_trace *t = p->job->trace;

	p->share = share;
	for (uint32_t i = 0; i < t->n_links; i++) {
		double rate = (double)t->links[i].bytes_per_s * share;

		p->links[i] = t->links[i];
		if (share < 1)
			p->links[i].bytes_per_s = rate > 1 ? (uint64_t)rate : 1;
	}
}

/* Of jobs that move bytes; one that moves none would have its weight's beside them. */
static void set_shares(struct several *j)
{
	double sum = 0;

	for (size_t i = 0; i < j->n; i++)
		sum += j->parts[i].moves ? j->parts[i].weight : 0;
	for (size_t i = 0; i < j->n; i++) {
		struct sl_jobs_part *p = &j->parts[i];

		set_share(p, p->weight / (p->moves ? sum : sum + p->weight));
	}
}

static sl_status reprice(struct sl_jobs_part *p)
{
	struct sl_plan *plan = &p->job->plan;
	struct sl_plan_price price = {0};

	SL_TRY(sl_plan_price(&p->view, plan, &price));
	plan->price_ns = p->job->iter_ns = price.iter_ns;
	plan->stall_ns = price.stall_ns;
	return SL_OK;
}

/* Predictions for the shares that the plans themselves give rise to. */
static sl_status settle(struct several *j)
{
	for (size_t i = 0; i < j->n; i++)
		j->parts[i].moves = sl_jobs_moves(&j->parts[i].job->plan);
	set_shares(j);
	for (size_t i = 0; i < j->n; i++)
		SL_TRY(reprice(&j->parts[i]));
	return SL_OK;
}

/* As if all that may move bytes did: what is planned for that share of the links takes no
 * longer with more. */
static sl_status draw_curves(struct several *j)
{
	set_shares(j);
	for (size_t i = 0; i < j->n; i++)
		SL_TRY(sl_jobs_draw(&j->parts[i], &j->quick, j->budget));
	sl_jobs_group(j->parts, j->n);
	return SL_OK;
}

/* The weighted sum of slowdowns of the present split, whose plans are there, each with
 * the share that this split leaves it. */
static sl_status price_split(struct several *j, double *sum)
{
	double movers = 0;

	*sum = 0;
	for (size_t i = 0; i < j->n; i++) {
		const struct sl_jobs_part *p = &j->parts[j->parts[i].curve.like];

		movers += p->curve.points[p->curve.at].moves ? p->weight : 0;
	}
	for (size_t i = 0; i < j->n; i++) {
		struct sl_jobs_part *p = &j->parts[i];
		struct sl_jobs_point *x = &p->curve.points[p->curve.at];
		struct sl_plan_price price = {0};
		double share = p->share;

		if (p->curve.count == 0)
			continue;
		if (x->moves)
			set_share(p, p->weight / movers);
		SL_TRY(sl_plan_price(&p->view, &x->plan, &price));
		set_share(p, share);
		x->slow = sl_jobs_slow(p, price.iter_ns);
		*sum += x->slow * p->curve.count;
	}
	return SL_OK;
}

/* Plans fully where that has not been done, and keeps the split if it is the best. */
static sl_status try_split(struct several *j, bool *fresh)
{
	double sum;

	*fresh = false;
	for (size_t i = 0; i < j->n; i++) {
		struct sl_jobs_part *p = &j->parts[i];

		if (p->curve.count == 0 || p->curve.points[p->curve.at].full_ns > 0)
			continue;
		*fresh = true;
		SL_TRY(sl_jobs_fill(p, &j->full, &j->quick));
	}
	SL_TRY(price_split(j, &sum));
	if (j->found && !(sum < j->best))
		return SL_OK;
	j->found = true;
	j->best = sum;
	for (size_t i = 0; i < j->n; i++)
		j->parts[i].curve.kept = j->parts[i].curve.at;
	return SL_OK;
}

/* From what quick plans say to what full ones say, beginning with the plain splits. */
static sl_status split_fully(struct several *j)
{
	bool fresh = true;

	for (int seed = 0; seed < SL_JOBS_SEEDS; seed++) {
		if (sl_jobs_split_plainly(j->parts, j->n, (enum sl_jobs_seed)seed))
			SL_TRY(try_split(j, &fresh));
	}
	fresh = true;
	for (int round = 0; round < TRIES && fresh; round++) {
		for (size_t i = 0; i < j->n; i++)
			sl_jobs_guess(&j->parts[i]);
		sl_jobs_split(j->parts, j->n, j->budget);
		SL_TRY(try_split(j, &fresh));
	}
	return SL_OK;
}

static uint64_t arena_of(const struct sl_plan *p)
{
	return sl_align_up(p->peak, SL_PAGE_BYTES);
}

/* The faster of the job's plan and a new one, which leaves the links alone if the old one
 * did: the others count on that. */
static sl_status offer(
	struct sl_jobs_part *p, const struct sl_policy_choice *choice, uint64_t bytes)
{
	struct sl_plan plan = SL_PLAN_INIT, *best = &p->job->plan;

	SL_TRY(sl_policy_apply(choice, &p->view, bytes, &plan));
	if (plan.price_ns < best->price_ns && (p->moves || !sl_jobs_moves(&plan))) {
		sl_plan_finish(best);
		sl_plan_move(best, &plan);
	}
	sl_plan_finish(&plan);
	return SL_OK;
}

/* Plans once more where the others leave more of the links. */
static sl_status use_shares(struct several *j)
{
	for (size_t i = 0; i < j->n; i++) {
		struct sl_jobs_part *p = &j->parts[i];

		p->planned_share = p->share;
	}
	SL_TRY(settle(j));
	for (size_t i = 0; i < j->n; i++) {
		struct sl_jobs_part *p = &j->parts[i];

		if (p->moves && p->share > p->planned_share)
			SL_TRY(offer(p, &j->full, p->curve.points[p->curve.at].bytes));
	}
	return SL_OK;
}

/* Those like another one have no plan yet, and get theirs as that one did. */
static sl_status take_kept(struct several *j, struct sl_jobs_part *p)
{
	p->curve.at = p->curve.kept;
	if (p->curve.count == 0)
		SL_TRY(sl_jobs_fill(p, &j->full, &j->quick));
	sl_plan_move(&p->job->plan, &p->curve.points[p->curve.at].plan);
	return SL_OK;
}

/* The next job to be offered what is left: whose curve falls most from where it is. */
static struct sl_jobs_part *next_asker(struct several *j, bool *asked)
{
	struct sl_jobs_part *best = NULL;
	double most = 0;

	for (size_t i = 0; i < j->n; i++) {
		const struct sl_jobs_curve *c = &j->parts[i].curve;

		for (uint32_t k = c->at + 1; !asked[i] && c->count > 0 && k < c->n; k++) {
			if (!(sl_jobs_gain(c, c->at, k) > most))
				continue;
			most = sl_jobs_gain(c, c->at, k);
			best = &j->parts[i];
		}
	}
	if (best != NULL)
		asked[best - j->parts] = true;
	return best;
}

/* Bytes that plans do not use go round once more, jobs alike together. */
static sl_status hand_round(struct several *j)
{
	bool *asked = sl_calloc(j->n + 1, sizeof(*asked));
	uint64_t left = j->budget;
	struct sl_jobs_part *p;
	sl_status st = asked ? SL_OK : SL_FAIL(SL_E_NOMEM, "no host memory left to plan");

	for (size_t i = 0; i < j->n; i++)
		left -= arena_of(&j->parts[i].job->plan);
	while (st == SL_OK && (p = next_asker(j, asked)) != NULL) {
		uint64_t had = arena_of(&p->job->plan);
		uint64_t more = left / p->curve.count & ~(SL_PAGE_BYTES - 1);

		if (more == 0)
			continue;
		for (size_t i = 0; i < j->n && st == SL_OK; i++) {
			if (&j->parts[j->parts[i].curve.like] == p)
				st = offer(&j->parts[i], &j->full, had + more);
		}
		left -= (arena_of(&p->job->plan) - had) * p->curve.count;
	}
	sl_free(asked);
	return st;
}

sl_status sl_policy_jobs(const struct sl_policy_choice *choice,
	struct sl_jobs_member *jobs, size_t n, uint64_t budget)
{
	struct several j = {
		.full = *choice, .n = n, .budget = budget & ~(SL_PAGE_BYTES - 1)};
	sl_status st;

	for (size_t i = 0; i < n; i++) {
		jobs[i].plan = SL_PLAN_INIT;
		jobs[i].budget = jobs[i].least_bytes = 0;
		jobs[i].base_ns = jobs[i].iter_ns = 0;
	}
	SL_TRY_OUT(begin(&j, jobs));
	SL_TRY_OUT(check_feasible(&j));
	SL_TRY_OUT(draw_curves(&j));
	SL_TRY_OUT(split_fully(&j));
	for (size_t i = 0; i < n; i++)
		SL_TRY_OUT(take_kept(&j, &j.parts[i]));
	SL_TRY_OUT(use_shares(&j));
	SL_TRY_OUT(hand_round(&j));
	SL_TRY_OUT(settle(&j));
	for (size_t i = 0; i < n; i++)
		jobs[i].plan.budget = jobs[i].budget = arena_of(&jobs[i].plan);
out:
	for (size_t i = 0; i < n && st != SL_OK; i++)
		sl_plan_finish(&jobs[i].plan);
	finish(&j);
	return st;
}
