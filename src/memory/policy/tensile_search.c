/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensile's search for the point (price of the link, longest chain, share of the budget
 * filled and more) that suits a trace: coordinate by coordinate, whole plans compared.
 * A plan without addresses is quickly priced and no dearer than the plan itself, so most
 * points need no addresses.
 */
#include "memory/policy/tensile_int.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"
#include "memory/place.h"
#include "memory/policy/choose.h"
#include "memory/policy/late.h"

#define ROUNDS 4
#define SPREADS 12
#define THRIFT 64 /* a part of the budget; closer to it is no search for fewer bytes */
#define PLACE_WORK 3 /* of finding addresses, in choices */
#define USUAL_POINT .redo_cap = 0.01, .slack = 0.1, .cross = 1, .rounds = ROUNDS

/* When ops start, with what is done again before them and without stalls. */
static void set_start_ns(struct sl_gaps *g, const struct sl_redo *redo)
{
	uint64_t now = 0;
	uint32_t k = 0;

	for (uint32_t i = 0; i < g->t->n_ops; i++) {
		for (; redo && k < redo->n_runs && redo->runs[k].before_op == i; k++)
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

sl_status sl_tensile_offer(struct sl_tensile *s, struct sl_plan *p, uint64_t *iter_ns)
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

/* Books copies; *worth: the plan may become the best one. */
static sl_status book(struct sl_tensile *s, const struct sl_tensile_point *at,
	const struct sl_redo *redo, uint64_t limit, bool *worth)
{
	unsigned slack = (unsigned)(100 * at->slack);
	bool wire = at->wire > 0, late = at->late > 0;
	struct sl_plan_price bound = {0};

	*worth = true;
	SL_TRY(sl_gaps_book(&s->g, limit, slack, wire));
	if (!s->found && !late)
		return SL_OK;
	SL_TRY(sl_gaps_bound(&s->g, redo, &bound, late ? s->g.start_ns : NULL));
	if (late) {
		s->g.start_ns[s->g.t->n_ops] = bound.iter_ns;
		SL_TRY(sl_gaps_book(&s->g, limit, slack, wire));
		SL_TRY(sl_gaps_bound(&s->g, redo, &bound, NULL));
	}
	*worth = !s->found || is_cheaper(&bound, &s->best_price);
	return SL_OK;
}

/* Books copies within `limit` and lowers; with a lower limit for what is only early.
 * *height is UINT64_MAX where no addresses would make it the best plan. */
static sl_status lower(struct sl_tensile *s, const struct sl_tensile_point *at,
	const struct sl_redo *redo, uint64_t limit, struct sl_plan *p, uint64_t *height)
{
	uint64_t over;
	bool worth;

	*height = UINT64_MAX;
	SL_TRY(book(s, at, redo, limit, &worth));
	if (!worth)
		return SL_OK;
	s->work += PLACE_WORK;
	SL_TRY(sl_gaps_lower(&s->g, redo, s->budget, "tensile", p, height));
	if (*height <= s->budget)
		return SL_OK;
	over = *height - s->budget;
	s->work += PLACE_WORK;
	SL_TRY(sl_gaps_book(&s->g, limit > 2 * over ? limit - 2 * over : 0, 0, false));
	return sl_gaps_lower(&s->g, redo, s->budget, "tensile", p, height);
}

/* Where the last plan fitted, and a little more: points differ little there. */
static uint64_t first_limit(const struct sl_tensile *s, const struct sl_tensile_point *at)
{
	uint64_t most = s->fitted > 0 ? s->fitted + s->fitted / 32 : s->budget;

	if (at->limit > 0)
		return (uint64_t)((double)s->budget * at->limit);
	return most < s->budget ? most : s->budget;
}

/* What the limit falls by: what was too much; the last time a percent at least, as small
 * steps seldom end where a first one did not. */
static uint64_t next_step(
	const struct sl_tensile *s, uint64_t limit, uint64_t over, int round)
{
	uint64_t least = s->hasty ? limit / 200 : 0;

	if (round + 2 == ROUNDS)
		least = limit / 100;
	return over < least ? least : over;
}

/* One limit; *height as of lower(). */
static sl_status choose_and_lower(struct sl_tensile *s, const struct sl_tensile_point *at,
	const struct sl_choice *how, struct sl_plan *p, uint64_t *height)
{
	const struct sl_redo *redo;
	struct sl_redoer *r = NULL;
	bool enough;
	sl_status st = SL_OK;

	s->work++;
	set_start_ns(&s->g, NULL);
	SL_TRY_OUT(sl_gaps_choose(&s->g, how, &enough));
	SL_TRY_OUT(sl_redoer_create(&s->g, s->level, how->limit, &r));
	SL_TRY_OUT(sl_redoer_resolve(r, &redo));
	set_start_ns(&s->g, redo);
	SL_TRY_OUT(lower(s, at, redo, how->limit, p, height));
	if (!enough && *height > s->budget)
		*height = UINT64_MAX;
out:
	sl_redoer_destroy(r);
	return st;
}

/* Addresses cost bytes, so the limit falls until the plan fits. */
sl_status sl_tensile_attempt(
	struct sl_tensile *s, const struct sl_tensile_point *at, uint64_t *iter_ns)
{
	struct sl_choice how = {.limit = first_limit(s, at),
		.link_price = at->link_price,
		.redo_cap_ns =
			s->redo ? (uint64_t)((double)s->total_ns * at->redo_cap) : 0,
		.copy_share = at->copy,
		.cross_price = s->cross ? at->cross : -1,
		.weight = s->weight,
		.out_price = s->out_price,
		.in_price = s->in_price,
		.ahead = s->ahead};
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t height = 0;
	sl_status st = SL_OK;

	*iter_ns = UINT64_MAX;
	for (int round = 0; round < at->rounds; round++) {
		SL_TRY_OUT(choose_and_lower(s, at, &how, &p, &height));
		if (height <= s->budget) {
			s->fitted = how.limit;
			st = sl_tensile_offer(s, &p, iter_ns);
			if (p.value_offset == NULL) /* it is the best one now */
				s->limit = how.limit;
			goto out;
		}
		if (height - s->budget > how.limit / 2)
			goto out;
		how.limit -= next_step(s, how.limit, height - s->budget, round);
	}
out:
	sl_plan_finish(&p);
	/* Tiers without room: another point may move less. */
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

/* Tries values for one coordinate and keeps the best of all so far in *at. */
static sl_status scan(struct sl_tensile *s, struct sl_tensile_point *at,
	double *coordinate, const double *values, size_t n)
{
	double best = *coordinate;

	/* At the bare time nothing is left to gain. */
	for (size_t i = 0; i < n && s->point_ns > s->total_ns; i++) {
		uint64_t ns;

		*coordinate = values[i];
		SL_TRY(sl_tensile_attempt(s, at, &ns));
		if (ns < s->point_ns) {
			s->point_ns = ns;
			best = values[i];
		}
	}
	*coordinate = best;
	return SL_OK;
}

/* Values around the one at hand. */
static sl_status scan_near(
	struct sl_tensile *s, struct sl_tensile_point *at, double *coordinate)
{
	double near[4];

	for (int i = 0; i < 4; i++)
		near[i] = *coordinate * (const double[]){0.4, 0.65, 1.5, 2.3}[i];
	return scan(s, at, coordinate, near, 4);
}

#define SCAN(coordinate, ...) \
	SL_TRY(scan(s, at, &at->coordinate, (const double[]){__VA_ARGS__}, \
		sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* Limits, without falling from one to the next. */
static sl_status scan_limits(struct sl_tensile *s, struct sl_tensile_point *at)
{
	at->rounds = 2;
	SCAN(limit, 1, 0.98, 0.96, 0.94, 0.92, 0.9, 0.87, 0.83, 0.78);
	at->rounds = ROUNDS;
	at->limit = 0;
	return SL_OK;
}

/* Doubles the weight of what is most in the way, and of other late copies in proportion;
 * false if none is late. */
static bool weigh(struct sl_tensile *s, const uint64_t *late_ns)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < s->g.n; i++)
		most = late_ns[i] > most ? late_ns[i] : most;
	for (uint32_t i = 0; i < s->g.n && most > 0; i++)
		s->weight[i] *= 1 + (double)late_ns[i] / (double)most;
	return most > 0;
}

/* One price for the time on a link hides that it has idle hours: all optimizer state
 * comes and goes in the backward half. Copies that make others wait get dearer, so that
 * gaps are used whose copies come at other times. Every other round or so overshoots;
 * the best weights count. */
static sl_status spread(struct sl_tensile *s, const struct sl_tensile_point *at)
{
	size_t n = (size_t)s->g.n + 1;
	uint64_t *late_ns = sl_calloc(n, sizeof(*late_ns));
	double *best = sl_calloc(n, sizeof(*best));
	struct sl_tensile_point on_time = *at;
	bool late = late_ns && best;
	sl_status st = late ? SL_OK : SL_FAIL(SL_E_NOMEM, "no host memory left to plan");

	on_time.late = 0;
	if (late)
		memcpy(best, s->weight, n * sizeof(*best));
	for (int i = 0; i < SPREADS && late && s->point_ns > s->total_ns; i++) {
		uint64_t ns;

		s->fitted = s->limit;
		SL_TRY_OUT(sl_tensile_attempt(s, &on_time, &ns));
		if (ns < s->point_ns) {
			s->point_ns = ns;
			memcpy(best, s->weight, n * sizeof(*best));
		}
		SL_TRY_OUT(sl_gaps_late(&s->g, late_ns, late_ns));
		late = weigh(s, late_ns);
	}
	if (best)
		memcpy(s->weight, best, n * sizeof(*best));
out:
	sl_free(late_ns);
	sl_free(best);
	return st;
}

sl_status sl_tensile_search(struct sl_tensile *s, struct sl_tensile_point *at)
{
	*at = (struct sl_tensile_point){USUAL_POINT, .link_price = 0.3};
	SCAN(link_price, 0.3, 1e-3, 0.1, 1, 4);
	SCAN(copy, 1, 0.5);
	SCAN(wire, 1);
	SCAN(late, 1);
	/* Copies over the boundary may have more or less to hide behind. */
	if (s->cross)
		SCAN(cross, -1, 0.5, 2, 4);
	SCAN(redo_cap, 0.003, 0.03, 0.1);
	SL_TRY(scan_near(s, at, &at->link_price));
	SL_TRY(scan_limits(s, at));
	SCAN(slack, 0, 0.5);
	SL_TRY(scan_near(s, at, &at->redo_cap));
	return spread(s, at);
}

/* Between 0 and 1; the same numbers in every search. */
static double next_random(struct sl_tensile *s)
{
	const struct sl_rng_key key = {.seed = 2105};

	return (double)sl_rng_unit(sl_rng_u32(&key, s->randoms++));
}

static void shake(struct sl_tensile *s, double *coordinate, const double *values, int n)
{
	double u = 4 * next_random(s);

	if (u < 1)
		*coordinate = values[(int)(u * n)];
}

#define SHAKE(coordinate, ...) \
	shake(s, &q.coordinate, (const double[]){__VA_ARGS__}, \
		sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static struct sl_tensile_point point_near(
	struct sl_tensile *s, const struct sl_tensile_point *at, double reach)
{
	struct sl_tensile_point q = *at;

	q.link_price *= exp(reach * (2 * next_random(s) - 1));
	q.redo_cap *= exp(reach * (2 * next_random(s) - 1));
	SHAKE(slack, 0, 0.1, 0.25, 0.5);
	SHAKE(copy, 0, 0.5, 1);
	SHAKE(wire, 0, 1);
	SHAKE(late, 0, 1);
	SHAKE(cross, 0.5, 1, 2, 4);
	q.limit = 0;
	q.rounds = 3;
	if (next_random(s) < 0.5) {
		q.limit = (double)s->limit / (double)s->budget;
		q.limit *= 0.92 + 0.12 * next_random(s);
		q.rounds = 1;
	}
	return q;
}

sl_status sl_tensile_wander(struct sl_tensile *s, struct sl_tensile_point *at, int steps)
{
	static const double reaches[] = {0.5, 2, 0.5, 5};

	for (int i = 0; i < steps && s->point_ns > s->total_ns; i++) {
		struct sl_tensile_point q = point_near(s, at, reaches[i % 4]);
		uint64_t ns;

		s->fitted = s->limit;
		SL_TRY(sl_tensile_attempt(s, &q, &ns));
		if (ns >= s->point_ns)
			continue;
		s->point_ns = ns;
		*at = q;
	}
	return SL_OK;
}

/* A plan that costs no time was the first of its kind; one that fills more of the budget
 * moves fewer bytes. */
sl_status sl_tensile_thrift(struct sl_tensile *s, const struct sl_tensile_point *at)
{
	uint64_t low = s->limit, high = s->budget, ns;
	struct sl_tensile_point q = *at;

	q.rounds = 1;
	while (s->found && low > 0 && s->best_price.iter_ns <= s->total_ns &&
		high > low + s->budget / THRIFT) {
		uint64_t mid = low + (high - low) / 2;

		q.limit = (double)mid / (double)s->budget;
		SL_TRY(sl_tensile_attempt(s, &q, &ns));
		if (ns <= s->total_ns)
			low = mid;
		else
			high = mid;
	}
	return SL_OK;
}

/* Two points that are seldom far off: mostly swapping, and mostly redoing if that one
 * costs time. */
sl_status sl_tensile_search_quickly(struct sl_tensile *s)
{
	struct sl_tensile_point at = {USUAL_POINT, .link_price = 0.5};
	uint64_t ns;

	s->hasty = true;
	SL_TRY(sl_tensile_attempt(s, &at, &ns));
	if (ns <= s->total_ns + s->total_ns / 100)
		return SL_OK;
	at.link_price = 1e-3;
	return sl_tensile_attempt(s, &at, &ns);
}
