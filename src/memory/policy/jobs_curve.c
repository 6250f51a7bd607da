/* SPDX-License-Identifier: Apache-2.0 */
/* What bytes are worth to one job of several: quick plans over its budgets, full plans at
 * a few of them. */
#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/jobs_int.h"

double sl_jobs_slow(const struct sl_jobs_part *p, uint64_t iter_ns)
{
	uint64_t base = p->job->base_ns > 0 ? p->job->base_ns : 1;

	return p->weight * (double)iter_ns / (double)base;
}

bool sl_jobs_moves(const struct sl_plan *p)
{
	for (uint32_t i = 0; i < p->n_actions; i++) {
		if (sl_action_copies(p->actions[i].kind))
			return true;
	}
	return false;
}

static sl_status draw_point(
	struct sl_jobs_part *p, const struct sl_policy_choice *quick, uint64_t bytes)
{
	struct sl_jobs_curve *c = &p->curve;
	struct sl_plan plan = SL_PLAN_INIT;
	sl_status st = sl_policy_apply(quick, &p->view, bytes, &plan);

	/* More bytes than the least, and none the less: without a tier that happens. */
	if (st == SL_E_INFEASIBLE && c->n > 0)
		return SL_OK;
	SL_TRY(st);
	c->points[c->n++] = (struct sl_jobs_point){.bytes = bytes,
		.quick_ns = plan.price_ns,
		.slow = sl_jobs_slow(p, plan.price_ns),
		.moves = sl_jobs_moves(&plan),
		.plan = SL_PLAN_INIT};
	sl_plan_finish(&plan);
	return SL_OK;
}

/* The least budget of the grid and the seeds above `last`; UINT64_MAX: none. */
static uint64_t next_budget(const struct sl_jobs_part *p, uint64_t last)
{
	uint64_t lo = p->job->least_bytes, next = UINT64_MAX;
	uint64_t pages = (p->most_bytes - lo) / SL_PAGE_BYTES;

	for (uint64_t i = 1; i < SL_JOBS_GRID && next == UINT64_MAX; i++) {
		uint64_t at = lo + pages * i / (SL_JOBS_GRID - 1) * SL_PAGE_BYTES;

		next = at > last ? at : UINT64_MAX;
	}
	for (size_t i = 0; i < SL_JOBS_SEEDS; i++) {
		if (p->seeds[i] > last && p->seeds[i] < next)
			next = p->seeds[i];
	}
	return next;
}

sl_status sl_jobs_draw(
	struct sl_jobs_part *p, const struct sl_policy_choice *quick, uint64_t budget)
{
	struct sl_jobs_curve *c = &p->curve;
	uint64_t at = p->job->least_bytes;

	sl_jobs_curve_finish(c);
	do {
		SL_TRY(draw_point(p, quick, at));
		at = next_budget(p, at);
	} while (at <= budget && c->points[c->n - 1].quick_ns > p->job->base_ns);
	return SL_OK;
}

sl_status sl_jobs_fill(struct sl_jobs_part *p, const struct sl_policy_choice *full,
	const struct sl_policy_choice *quick)
{
	struct sl_jobs_point *at = &p->curve.points[p->curve.at];

	SL_TRY(sl_policy_apply(full, &p->view, at->bytes, &at->plan));
	if (at->plan.price_ns > at->quick_ns) {
		sl_plan_finish(&at->plan);
		SL_TRY(sl_policy_apply(quick, &p->view, at->bytes, &at->plan));
	}
	at->full_ns = at->plan.price_ns;
	at->slow = sl_jobs_slow(p, at->full_ns);
	at->moves = sl_jobs_moves(&at->plan);
	return SL_OK;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* What the nearest full plan leaves of the quick one's loss. */
static double ratio_at(const struct sl_jobs_part *p, uint64_t bytes)
{
	const struct sl_jobs_point *best = NULL;
	double base = sl_jobs_slow(p, p->job->base_ns);

	for (uint32_t i = 0; i < p->curve.n; i++) {
		const struct sl_jobs_point *x = &p->curve.points[i];

		if (x->full_ns == 0 || x->quick_ns <= p->job->base_ns)
			continue;
		if (best == NULL ||
			distance(x->bytes, bytes) < distance(best->bytes, bytes))
			best = x;
	}
	if (best == NULL)
		return 1;
	return (best->slow - base) / (sl_jobs_slow(p, best->quick_ns) - base);
}

void sl_jobs_guess(struct sl_jobs_part *p)
{
	double base = sl_jobs_slow(p, p->job->base_ns);

	for (uint32_t i = 0; i < p->curve.n; i++) {
		struct sl_jobs_point *x = &p->curve.points[i];

		if (x->full_ns == 0)
			x->slow = base + (sl_jobs_slow(p, x->quick_ns) - base) *
						 ratio_at(p, x->bytes);
	}
}

void sl_jobs_curve_finish(struct sl_jobs_curve *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		sl_plan_finish(&c->points[i].plan);
	c->n = 0;
}
