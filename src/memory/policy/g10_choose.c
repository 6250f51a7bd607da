/* SPDX-License-Identifier: Apache-2.0 */
/* Stages 1 to 3: periods, the best of them one after the other, and early copies in. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/g10_int.h"

void sl_g10_finish(struct sl_g10 *x)
{
	x->g->prefer = NULL;
	sl_free(x->prefer);
	sl_free(x->bound);
	sl_free(x->level);
	sl_free(x->near_level);
	sl_free(x->over_ns);
	for (int way = 0; way < SL_G10_WAYS; way++) {
		sl_free(x->used[way][0]);
		sl_free(x->used[way][1]);
		sl_free(x->capacity[way][0]);
		sl_free(x->capacity[way][1]);
		sl_free(x->free_sum[way][0]);
		sl_free(x->free_sum[way][1]);
	}
	sl_free(x->periods);
	*x = (struct sl_g10){0};
}

sl_status sl_g10_init(struct sl_g10 *x, struct sl_gaps *g, bool host)
{
	size_t n = (size_t)g->t->n_ops + 1;
	bool all;

	*x = (struct sl_g10){.g = g, .far = g->n_tiers - 1};
	x->near = host ? 0 : x->far;
	x->level = sl_calloc(n, sizeof(*x->level));
	x->near_level = sl_calloc(n, sizeof(*x->near_level));
	x->over_ns = sl_calloc(n, sizeof(*x->over_ns));
	x->periods = sl_calloc((size_t)g->n + 1, sizeof(*x->periods));
	x->prefer = sl_calloc((size_t)g->t->n_values + 1, sizeof(*x->prefer));
	x->bound = sl_calloc((size_t)g->t->n_values + 1, sizeof(*x->bound));
	all = x->prefer && x->bound && x->level && x->near_level && x->over_ns &&
	      x->periods;
	for (int way = 0; way < SL_G10_WAYS; way++) {
		for (int far = 0; far < 2; far++) {
			x->used[way][far] = sl_calloc(n, sizeof(double));
			x->free_sum[way][far] = sl_calloc(n, sizeof(double));
			x->capacity[way][far] = sl_calloc(n, sizeof(double));
			all = all && x->used[way][far] && x->free_sum[way][far] &&
			      x->capacity[way][far];
		}
	}
	g->prefer = x->prefer;
	if (all)
		return SL_OK;
	sl_g10_finish(x);
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static uint64_t room(const struct sl_g10 *x, const struct sl_gap *gap)
{
	return sl_room_value(&x->g->t->values[gap->value]);
}

static bool before(const struct sl_g10_period *a, const struct sl_g10_period *b)
{
	if (a->benefit < b->benefit || a->benefit > b->benefit)
		return a->benefit > b->benefit;
	if (a->area < b->area || a->area > b->area)
		return a->area > b->area;
	return a->gap < b->gap;
}

static void sift(struct sl_g10 *x, uint32_t i)
{
	for (;;) {
		uint32_t best = i, child = 2 * i + 1;
		struct sl_g10_period kept = x->periods[i];

		for (uint32_t k = child; k < child + 2 && k < x->n; k++)
			if (before(&x->periods[k], &x->periods[best]))
				best = k;
		if (best == i)
			return;
		x->periods[i] = x->periods[best];
		x->periods[best] = kept;
		i = best;
	}
}

/* From use to use, as if nothing stalls; round the boundary, too. */
static uint64_t length_ns(const struct sl_g10 *x, const struct sl_gap *gap)
{
	const struct sl_gaps *g = x->g;
	uint64_t all = g->start_ns[g->t->n_ops], end;

	if (gap->from_op == SL_NO_ID)
		return all;
	end = g->start_ns[gap->from_op] + g->t->ops[gap->from_op].dur_ns;
	return gap->wraps ? all - end + g->start_ns[gap->to_op]
			  : g->start_ns[gap->to_op] - end;
}

static void list_periods(struct sl_g10 *x)
{
	x->n = 0;
	for (uint32_t i = 0; i < x->g->n; i++) {
		struct sl_gap *gap = &x->g->gaps[i];

		if (!sl_gap_movable(x->g, gap))
			continue;
		x->periods[x->n++] = (struct sl_g10_period){.gap = gap,
			.benefit = sl_g10_benefit(x, gap),
			.area = (double)room(x, gap) * (double)length_ns(x, gap)};
	}
	for (uint32_t i = x->n / 2; i > 0; i--)
		sift(x, i - 1);
}

/* The best period, as things are; false if none is left. */
static bool pop(struct sl_g10 *x, struct sl_gap **out)
{
	while (x->n > 0) {
		struct sl_g10_period *top = &x->periods[0];
		double benefit = sl_g10_benefit(x, top->gap);

		if (benefit < top->benefit) {
			top->benefit = benefit;
			sift(x, 0);
			continue;
		}
		*out = top->gap;
		x->periods[0] = x->periods[--x->n];
		if (x->n > 0)
			sift(x, 0);
		return benefit > 0;
	}
	return false;
}

/* [from, to) of the ops of an iteration, round the boundary if it wraps. */
static void shift(uint64_t *level, const struct sl_gap *gap, uint32_t n_ops, uint64_t by)
{
	for (uint32_t i = gap->hold; i < (gap->wraps ? n_ops : gap->arrive); i++)
		level[i] += by;
	for (uint32_t i = 0; i < (gap->wraps ? gap->arrive : 0); i++)
		level[i] += by;
}

/* Whole period, its copies included. */
static bool near_has_room(const struct sl_g10 *x, const struct sl_gap *gap)
{
	uint64_t free = x->g->tiers[x->near].bytes, most = 0;
	bool wraps = gap->wraps || gap->from_op == SL_NO_ID;
	uint32_t n = x->g->t->n_ops, from = gap->from_op == SL_NO_ID ? 0 : gap->from_op;
	uint32_t to = gap->from_op == SL_NO_ID ? 0 : gap->to_op;

	if (x->near == x->far)
		return false;
	for (uint32_t i = from; i < (wraps ? n : to); i++)
		most = x->near_level[i] > most ? x->near_level[i] : most;
	for (uint32_t i = 0; i < (wraps ? to : 0); i++)
		most = x->near_level[i] > most ? x->near_level[i] : most;
	return free >= most && free - most >= room(x, gap);
}

static void take(struct sl_g10 *x, struct sl_gap *gap, bool far)
{
	struct sl_gap whole = *gap;
	uint64_t bytes = room(x, gap);

	gap->fate = SL_FATE_SWAP;
	gap->tier = (uint8_t)(far ? x->far : x->near);
	x->prefer[gap->value] = gap->tier;
	x->bound[gap->value] = true;
	shift(x->level, gap, x->g->t->n_ops, (uint64_t)0 - bytes);
	sl_gap_set(&whole, SL_FATE_SWAP);
	if (whole.from_op == SL_NO_ID)
		whole.arrive = 0;
	if (!far)
		shift(x->near_level, &whole, x->g->t->n_ops, bytes);
}

/* How long a period has to be for a tier: both copies, and the margin. */
static bool long_enough(const struct sl_g10 *x, const struct sl_gap *gap, bool far)
{
	struct sl_gap copy = *gap;
	uint64_t in;

	copy.tier = (uint8_t)(far ? x->far : x->near);
	in = sl_gap_in_ns(x->g, &copy);
	return length_ns(x, gap) >
	       sl_gap_out_ns(x->g, &copy) + in + in / 100 * x->margin_percent;
}

/* Whether the far channel, as booked, ends the copy out with the op in which it would end
 * if it had the channel for itself. */
static bool far_in_time(const struct sl_g10 *x, const struct sl_gap *gap)
{
	struct sl_gap copy = *gap;
	const struct sl_gaps *g = x->g;
	uint64_t begin = g->start_ns[gap->from_op] + g->t->ops[gap->from_op].dur_ns;

	copy.tier = (uint8_t)x->far;
	return sl_g10_out_end(x, true, gap->from_op + 1, (double)room(x, gap)) <=
	       sl_gaps_op_at(g, begin + sl_gap_out_ns(g, &copy));
}

/* By the buckets: discarded if the copy in has to begin before that out is over. Round
 * the boundary each has to lie in its own iteration. */
static void try_tier(struct sl_g10 *x, struct sl_gap *gap, bool far)
{
	double bytes = (double)room(x, gap);
	uint32_t from = gap->from_op + 1, n = x->g->t->n_ops, end, begin;

	if (gap->wraps && (!sl_g10_fits(x, SL_G10_OUT, far, from, n, bytes) ||
				  !sl_g10_fits(x, SL_G10_IN, far, 0, gap->to_op, bytes)))
		return;
	end = sl_g10_out_end(x, far, from, bytes);
	begin = sl_g10_in_begin(x, far, gap->to_op, bytes);
	if (!gap->wraps && begin <= end)
		return;
	gap->hold = end + 1;
	gap->arrive = begin;
	sl_g10_book(x, SL_G10_OUT, far, from, bytes);
	sl_g10_book(x, SL_G10_IN, far, begin, bytes);
	take(x, gap, far);
}

/* A value has one place below: where its first period went, the others go, if they are
 * long enough for it. */
static bool choose_tier(const struct sl_g10 *x, const struct sl_gap *gap, bool *far)
{
	bool is_far = x->near == x->far || x->prefer[gap->value] == x->far;

	*far = long_enough(x, gap, true);
	if (x->bound[gap->value]) {
		*far = is_far;
		return long_enough(x, gap, is_far);
	}
	if (!*far)
		return long_enough(x, gap, false) && near_has_room(x, gap);
	if (!far_in_time(x, gap) && near_has_room(x, gap))
		*far = false;
	return true;
}

/* Whether there is too much on the device anywhere in a period. */
static bool is_pressed(const struct sl_g10 *x, const struct sl_gap *gap)
{
	uint32_t n = x->g->t->n_ops;
	uint32_t from = gap->from_op == SL_NO_ID ? 0 : gap->from_op + 1;
	bool round = gap->wraps || gap->from_op == SL_NO_ID;

	for (uint32_t i = from; i < (round ? n : gap->to_op); i++)
		if (x->level[i] > x->limit)
			return true;
	for (uint32_t i = 0; gap->wraps && i < gap->to_op; i++)
		if (x->level[i] > x->limit)
			return true;
	return false;
}

static void try_period(struct sl_g10 *x, struct sl_gap *gap)
{
	bool far;

	sl_gap_set(gap, SL_FATE_KEEP);
	if (gap->from_op == SL_NO_ID) { /* never used */
		gap->arrive = 0;
		take(x, gap, true);
		return;
	}
	if (!choose_tier(x, gap, &far))
		return;
	try_tier(x, gap, far);
	if (gap->fate == SL_FATE_KEEP)
		sl_gap_set(gap, SL_FATE_KEEP);
}

void sl_g10_choose(struct sl_g10 *x)
{
	struct sl_gap *gap;

	sl_gaps_levels(x->g, x->level);
	for (uint32_t i = 0; i < x->g->t->n_ops; i++) {
		x->near_level[i] = 0;
		for (int k = 0; k < 2 * SL_G10_WAYS; k++)
			x->used[k / 2][k % 2][i] = 0;
	}
	memset(x->bound, 0, x->g->t->n_values * sizeof(*x->bound));
	memset(x->prefer, (int)x->near, x->g->t->n_values);
	sl_g10_capacities(x);
	sl_g10_sum(x);
	list_periods(x);
	while (x->above && pop(x, &gap)) {
		if (!is_pressed(x, gap))
			continue;
		try_period(x, gap);
		if (gap->fate != SL_FATE_KEEP)
			sl_g10_sum(x);
	}
}

static int by_arrival(const void *a, const void *b)
{
	const struct sl_gap *x = ((const struct sl_g10_period *)a)->gap;
	const struct sl_gap *y = ((const struct sl_g10_period *)b)->gap;

	if (x->arrive != y->arrive)
		return x->arrive < y->arrive ? -1 : 1;
	return x < y ? -1 : x > y;
}

void sl_g10_eager(struct sl_g10 *x)
{
	x->n = 0;
	for (uint32_t i = 0; i < x->g->n; i++) {
		struct sl_gap *gap = &x->g->gaps[i];

		if (gap->fate == SL_FATE_SWAP && !gap->wraps && gap->from_op != SL_NO_ID)
			x->periods[x->n++].gap = gap;
	}
	qsort(x->periods, x->n, sizeof(*x->periods), by_arrival);
	for (uint32_t i = 0; i < x->n; i++) {
		struct sl_gap *gap = x->periods[i].gap;
		uint64_t bytes = room(x, gap);

		while (gap->arrive > gap->hold &&
			x->level[gap->arrive - 1] + bytes <= x->limit)
			x->level[--gap->arrive] += bytes;
	}
}
