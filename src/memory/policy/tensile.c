/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensile: swapping and recomputation by tensor, with copies booked ahead of time and
 * values away over the boundary of iterations. Source: Zhang et al., TENSILE, arXiv
 * 2105.13336.
 *
 * What is kept of the paper: latencies are known before the first step, so there is no
 * passive one; copies out take the earliest gap of their channel and copies in the
 * latest; a copy below that is still current makes the second eviction free; parameters
 * and optimizer states may be away over the boundary; recomputation is chosen by bytes
 * won per second; swapping on demand (belady) is the safety net. Belady's plan and
 * capuchin's are candidates, too: where little is to move they are sometimes a percent
 * ahead of the search. Comparisons with them are of the search alone (option simple=0).
 *
 * Departures, because they leave value on the table there (option published=1 is the
 * paper's greedy as it was, tensile_published.c):
 * - Swap or recompute is one choice, by a price for the time on the link, instead of
 *   recomputation only when no swap is left and never swapping again afterwards. Several
 *   prices are tried and whole plans compared.
 * - Chains are recomputed together and stay where there is room, so each op runs about
 * once more; how long a chain may be is searched for, too.
 * - Copies are spread over the iteration: those that make others wait get dearer.
 * - A worthless swap is never made: gaps are chosen against the excess over the budget,
 * and what turns out not to be needed is given back.
 * - The budget is a promise, with addresses; the paper lowers a sum of bytes as far as it
 *   goes.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/choose.h"
#include "memory/policy/keep_int.h"
#include "memory/policy/late.h"
#include "memory/policy/policy.h"
#include "memory/policy/tensile_published.h"

#define ROUNDS 4
#define SPREADS 12
#define USUAL_POINT .redo_cap = 0.01, .limit = 1, .slack = 0.1, .cross = 1, .copy = 0

struct search {
	struct sl_gaps g;
	uint64_t *level; /* [n_ops + 1] */
	double *weight; /* [gaps] of swaps, as many copies are in each other's way */
	uint64_t *late_ns; /* [gaps] */
	uint64_t budget;
	uint64_t total_ns; /* all ops once */
	struct sl_plan best;
	struct sl_plan_price best_price;
	uint64_t fitted; /* limit of the last plan that fitted; 0: none did */
	uint64_t point_ns; /* time of the best point so far */
	uint64_t point_limit; /* and the limit at which it fitted */
	uint64_t start_limit; /* of the next attempt; 0: see first_limit */
	bool found;
	bool hasty; /* rather fewer rounds than the last bytes */
	bool cross, redo; /* options */
};

/* A point of the search. */
struct point {
	double link_price;
	double redo_cap; /* share of total_ns that one chain may take */
	double limit; /* share of the budget that fates and bookings fill at first */
	double slack; /* by which copies in are early, over their own time */
	double cross, copy; /* as in struct sl_choice */
};

/* When ops start, with what is done again before them and without stalls. */
static void set_start_ns(struct sl_gaps *g, const struct sl_redo *redo)
{
	uint64_t now = 0;
	uint32_t k = 0;

	for (uint32_t i = 0; i < g->t->n_ops; i++) {
		for (; k < redo->n_runs && redo->runs[k].before_op == i; k++)
			now = sl_add_ns(now, g->t->ops[redo->runs[k].op].dur_ns);
		g->start_ns[i] = now;
		now = sl_add_ns(now, g->t->ops[i].dur_ns);
	}
	g->start_ns[g->t->n_ops] = now;
}

static bool is_cheaper(const struct sl_plan_price *a, const struct sl_plan_price *b)
{
	if (a->iter_ns != b->iter_ns)
		return a->iter_ns < b->iter_ns;
	return a->swap_in_bytes + a->swap_out_bytes <
	       b->swap_in_bytes + b->swap_out_bytes;
}

static sl_status offer(struct search *s, struct sl_plan *p, uint64_t *iter_ns)
{
	struct sl_plan_price price = {0};

	SL_TRY(sl_plan_price(s->g.t, p, &price));
	*iter_ns = price.iter_ns;
	if (s->found && !is_cheaper(&price, &s->best_price))
		return SL_OK;
	s->found = true;
	s->best_price = price;
	sl_plan_finish(&s->best);
	sl_plan_move(&s->best, p);
	return SL_OK;
}

/* Books copies within `limit` and lowers; with a lower limit for what is only early. */
static sl_status lower(struct search *s, const struct point *at,
	const struct sl_redo *redo, uint64_t limit, struct sl_plan *p, uint64_t *height)
{
	uint64_t over;

	SL_TRY(sl_gaps_book(&s->g, limit, (unsigned)(100 * at->slack)));
	SL_TRY(sl_gaps_lower(&s->g, redo, s->budget, "tensile", p, height));
	if (*height <= s->budget)
		return SL_OK;
	over = *height - s->budget;
	SL_TRY(sl_gaps_book(&s->g, limit > 2 * over ? limit - 2 * over : 0, 0));
	return sl_gaps_lower(&s->g, redo, s->budget, "tensile", p, height);
}

/* Where the last plan fitted, and a little more: points differ little there. */
static uint64_t first_limit(const struct search *s, const struct point *at)
{
	uint64_t most = s->fitted > 0 ? s->fitted + s->fitted / 32 : s->budget;

	if (s->start_limit > 0)
		return s->start_limit;
	return (uint64_t)((double)(most < s->budget ? most : s->budget) * at->limit);
}

/* What the limit falls by: what was too much; the last time a percent at least, as small
 * steps seldom end where a first one did not. */
static uint64_t next_step(
	const struct search *s, uint64_t limit, uint64_t over, int round)
{
	uint64_t least = s->hasty ? limit / 200 : 0;

	if (round + 2 == ROUNDS)
		least = limit / 100;
	return over < least ? least : over;
}

/* The time of the plan for a point; UINT64_MAX: there is none. Addresses cost bytes, so
 * the limit falls until the plan fits. */
static sl_status attempt(struct search *s, const struct point *at, uint64_t *iter_ns)
{
	struct sl_choice how = {.limit = first_limit(s, at),
		.link_price = at->link_price,
		.redo_cap_ns =
			s->redo ? (uint64_t)((double)s->total_ns * at->redo_cap) : 0,
		.copy_share = at->copy,
		.cross_price = s->cross ? at->cross : -1,
		.weight = s->weight};
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_redoer *r = NULL;
	sl_status st = SL_OK;

	*iter_ns = UINT64_MAX;
	for (int round = 0; round < ROUNDS; round++) {
		const struct sl_redo *redo;
		uint64_t height = 0;
		bool enough;

		SL_TRY_OUT(sl_gaps_choose(&s->g, &how, &enough));
		sl_redoer_destroy(r);
		r = NULL;
		SL_TRY_OUT(sl_redoer_create(&s->g, s->level, how.limit, &r));
		SL_TRY_OUT(sl_redoer_resolve(r, &redo));
		set_start_ns(&s->g, redo);
		SL_TRY_OUT(lower(s, at, redo, how.limit, &p, &height));
		if (height <= s->budget) {
			s->fitted = how.limit;
			st = offer(s, &p, iter_ns);
			goto out;
		}
		if (!enough || height - s->budget > how.limit / 2)
			goto out;
		how.limit -= next_step(s, how.limit, height - s->budget, round);
	}
out:
	sl_redoer_destroy(r);
	sl_plan_finish(&p);
	/* Tiers without room: another point may move less. */
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

/* Tries values for one coordinate and keeps the best of all so far in *at. */
static sl_status scan(struct search *s, struct point *at, double *coordinate,
	const double *values, size_t n)
{
	double best = *coordinate;

	/* At the bare time nothing is left to gain. */
	for (size_t i = 0; i < n && s->point_ns > s->total_ns; i++) {
		uint64_t ns;

		*coordinate = values[i];
		SL_TRY(attempt(s, at, &ns));
		if (ns < s->point_ns) {
			s->point_ns = ns;
			s->point_limit = s->fitted;
			best = values[i];
		}
	}
	*coordinate = best;
	return SL_OK;
}

/* Values around the one at hand. */
static sl_status scan_near(struct search *s, struct point *at, double *coordinate)
{
	double near[4];

	for (int i = 0; i < 4; i++)
		near[i] = *coordinate * (const double[]){0.4, 0.65, 1.5, 2.3}[i];
	return scan(s, at, coordinate, near, 4);
}

/* Doubles the weight of what is most in the way, and of other late copies in proportion;
 * false if none is late. */
static bool weigh(struct search *s)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < s->g.n; i++)
		most = s->late_ns[i] > most ? s->late_ns[i] : most;
	for (uint32_t i = 0; i < s->g.n && most > 0; i++)
		s->weight[i] *= 1 + (double)s->late_ns[i] / (double)most;
	return most > 0;
}

/* One price for the time on a link hides that it has idle hours: all optimizer state
 * comes and goes in the backward half. Copies that make others wait get dearer, so that
 * gaps are used whose copies come at other times. Every other round or so overshoots;
 * the best plan counts. */
static sl_status spread(struct search *s, const struct point *at)
{
	bool late = true;

	for (int i = 0; i < SPREADS && late && s->point_ns > s->total_ns; i++) {
		uint64_t ns;

		s->start_limit = s->point_limit;
		SL_TRY(attempt(s, at, &ns));
		s->point_ns = ns < s->point_ns ? ns : s->point_ns;
		SL_TRY(sl_gaps_late(&s->g, s->late_ns));
		late = weigh(s);
	}
	return SL_OK;
}

static sl_status search(struct search *s)
{
	static const double prices[] = {1e-3, 0.1, 0.3, 1, 4};
	static const double caps[] = {0.003, 0.03, 0.1};
	static const double limits[] = {0.98, 0.95, 0.9, 0.85};
	static const double copies[] = {1, 0.5};
	static const double slacks[] = {0, 0.5};
	/* Copies over the boundary may have more or less to hide behind. */
	static const double crosses[] = {-1, 0.5, 2, 4};
	struct point at = {USUAL_POINT};

	SL_TRY(scan(s, &at, &at.link_price, prices, sizeof(prices) / sizeof(*prices)));
	SL_TRY(scan(s, &at, &at.copy, copies, sizeof(copies) / sizeof(*copies)));
	if (s->cross)
		SL_TRY(scan(
			s, &at, &at.cross, crosses, sizeof(crosses) / sizeof(*crosses)));
	SL_TRY(scan(s, &at, &at.redo_cap, caps, sizeof(caps) / sizeof(*caps)));
	SL_TRY(scan_near(s, &at, &at.link_price));
	SL_TRY(scan(s, &at, &at.limit, limits, sizeof(limits) / sizeof(*limits)));
	SL_TRY(scan(s, &at, &at.slack, slacks, sizeof(slacks) / sizeof(*slacks)));
	SL_TRY(scan_near(s, &at, &at.redo_cap));
	if (s->cross)
		SL_TRY(scan_near(s, &at, &at.cross));
	SL_TRY(scan_near(s, &at, &at.link_price));
	return spread(s, &at);
}

/* Two points that are seldom far off: mostly swapping, and mostly redoing if that one
 * costs time. */
static sl_status search_quickly(struct search *s)
{
	uint64_t ns;

	s->hasty = true;
	SL_TRY(attempt(s, &(struct point){USUAL_POINT, .link_price = 0.5}, &ns));
	if (ns <= s->total_ns + s->total_ns / 100)
		return SL_OK;
	return attempt(s, &(struct point){USUAL_POINT, .link_price = 1e-3}, &ns);
}

static sl_status begin(struct search *s, const struct sl_trace *t, uint64_t budget)
{
	*s = (struct search){
		.budget = budget, .best = SL_PLAN_INIT, .point_ns = UINT64_MAX};
	SL_TRY(sl_gaps_init(&s->g, t));
	s->total_ns = s->g.start_ns[t->n_ops];
	s->level = sl_calloc((size_t)t->n_ops + 1, sizeof(*s->level));
	s->weight = sl_calloc((size_t)s->g.n + 1, sizeof(*s->weight));
	s->late_ns = sl_calloc((size_t)s->g.n + 1, sizeof(*s->late_ns));
	for (uint32_t i = 0; s->weight && i < s->g.n; i++)
		s->weight[i] = 1;
	return s->level && s->weight && s->late_ns
		       ? SL_OK
		       : SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static void finish(struct search *s)
{
	sl_plan_finish(&s->best);
	sl_gaps_finish(&s->g);
	sl_free(s->level);
	sl_free(s->weight);
	sl_free(s->late_ns);
}

/* The safety net; without a tier it has nothing to offer. */
static sl_status offer_simple(struct search *s, const struct sl_mem_policy *simple)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t ns;
	sl_status st;

	if (s->g.n_tiers == 0)
		return SL_OK;
	SL_TRY_OUT(simple->plan(s->g.t, s->budget, &p));
	SL_TRY_OUT(sl_plan_seal(&p, s->g.t));
	SL_TRY_OUT(offer(s, &p, &ns));
out:
	sl_plan_finish(&p);
	/* Tiers may be too small for it, and not for what was found. */
	return st == SL_E_INFEASIBLE && s->found ? SL_OK : st;
}

enum option { PUBLISHED, EFFORT, CROSS, REDO, SIMPLE };

static const struct sl_policy_option options[] = {
	[PUBLISHED] = {"published", 0, 1, 0, "1: the paper's greedy as it was"},
	[EFFORT] = {"effort", 0, 1, 1, "0: a first plan, quickly"},
	[CROSS] = {"cross", 0, 1, 1,
		"0: nothing is away over the boundary, but by the net"},
	[REDO] = {"redo", 0, 1, 1, "0: nothing is recomputed"},
	[SIMPLE] = {"simple", 0, 1, 1,
		"0: belady and capuchin give no candidates, only the net"},
	{0},
};

static sl_status plan_published(const struct sl_trace *t, uint64_t budget,
	const int64_t *option, struct sl_plan *out)
{
	return sl_tensile_published_plan(t, budget, "tensile",
		&(struct sl_tp_options){.no_cross_iteration = !option[CROSS],
			.no_recompute = !option[REDO]},
		out);
}

/* *out stays empty if nothing was found. */
static sl_status find(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	struct search s = {0};
	sl_status st = SL_OK;
	bool simple;

	SL_TRY_OUT(begin(&s, t, budget & ~(SL_PAGE_BYTES - 1)));
	s.cross = option[CROSS];
	s.redo = option[REDO];
	if (option[EFFORT] > 0)
		SL_TRY_OUT(search(&s));
	if (!s.found) /* what is found quickly is found in any case */
		SL_TRY_OUT(search_quickly(&s));
	simple = option[EFFORT] > 0 && option[SIMPLE];
	if (simple && s.redo && s.point_ns > s.total_ns)
		SL_TRY_OUT(offer_simple(&s, &sl_mem_policy_capuchin));
	if (simple || !s.found)
		SL_TRY_OUT(offer_simple(&s, &sl_mem_policy_belady));
	if (!s.found)
		goto out;
	s.best.budget = budget;
	(void)snprintf(s.best.policy, sizeof(s.best.policy), "tensile");
	sl_plan_move(out, &s.best);
out:
	finish(&s);
	return st;
}

/* With a tier B*, proved by belady. Without one: the least that is found between the
 * bound and the peak of keep. */
static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	static const int64_t quick[] = {[CROSS] = 1, [REDO] = 1};
	struct sl_reach tiers[SL_REACH_MAX];
	struct sl_least_budget bound = {0};
	uint64_t lo, hi = 0;

	SL_TRY(sl_trace_least_budget(t, &bound));
	*out_bytes = bound.bytes;
	if (sl_reach_find(t, tiers) > 0)
		return SL_OK;
	SL_TRY(sl_mem_policy_keep.least(t, &hi));
	lo = bound.bytes / SL_PAGE_BYTES;
	hi /= SL_PAGE_BYTES;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		struct sl_plan p = SL_PLAN_INIT;
		sl_status st = find(t, mid * SL_PAGE_BYTES, quick, &p);

		if (p.value_offset)
			hi = mid;
		else
			lo = mid + 1;
		sl_plan_finish(&p);
		SL_TRY(st);
	}
	*out_bytes = hi * SL_PAGE_BYTES;
	return SL_OK;
}

static sl_status fail_without_tier(const struct sl_trace *t, uint64_t budget)
{
	char human[SL_SIZE_TEXT];
	uint64_t bytes = 0;

	SL_TRY(least(t, &bytes));
	return SL_FAIL(SL_E_INFEASIBLE,
		"budget %llu is below %llu bytes (%s), the least that recomputation "
		"alone "
		"was found to work in; use --budget %llu or more, or allow a disk or "
		"host "
		"tier",
		(unsigned long long)budget, (unsigned long long)bytes,
		sl_size_print(bytes, human), (unsigned long long)bytes);
}

static sl_status plan(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	struct sl_plan kept = SL_PLAN_INIT;
	uint64_t peak;

	SL_TRY(sl_keep_plan(t, budget, "tensile", &kept, &peak));
	if (peak <= budget) {
		sl_plan_move(out, &kept);
		return SL_OK;
	}
	sl_plan_finish(&kept);
	if (option[PUBLISHED])
		return plan_published(t, budget, option, out);
	SL_TRY(find(t, budget, option, out));
	return out->value_offset ? SL_OK : fail_without_tier(t, budget);
}

const struct sl_mem_policy sl_mem_policy_tensile = {
	.name = "tensile",
	.source = "tensile",
	.summary = "swap and recompute by tensor, copies booked ahead, across iterations",
	.options = options,
	.plan_with = plan,
	.least = least,
};
