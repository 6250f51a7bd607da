/* SPDX-License-Identifier: Apache-2.0 */
/* autoswap: the pairs of accesses around the peak, their scores, and the choice. */
#include "memory/policy/autoswap.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "memory/place.h"

sl_status sl_as_init(struct sl_as *a, struct sl_gaps *g)
{
	size_t ops = (size_t)g->t->n_ops + 1, gaps = (size_t)g->n + 1;

	*a = (struct sl_as){.g = g};
	a->level = sl_calloc(ops, sizeof(*a->level));
	a->sum = sl_calloc(ops, sizeof(*a->sum));
	a->list = sl_calloc(gaps, sizeof(*a->list));
	a->order = sl_calloc(gaps, sizeof(struct sl_gap *));
	a->ranks = sl_calloc(gaps, sizeof(*a->ranks));
	if (a->level && a->sum && a->list && a->order && a->ranks)
		return SL_OK;
	sl_as_finish(a);
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

void sl_as_finish(struct sl_as *a)
{
	sl_free(a->level);
	sl_free(a->sum);
	sl_free(a->list);
	sl_free(a->order);
	sl_free(a->ranks);
	*a = (struct sl_as){0};
}

uint32_t sl_as_peak(const struct sl_as *a)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < a->g->t->n_ops; i++)
		best = a->level[i] > a->level[best] ? i : best;
	return best;
}

/* Over the limit counts for; under it against, or not at all. */
static void add_up(struct sl_as *a, bool over_alone)
{
	a->sum[0] = 0;
	for (uint32_t i = 0; i < a->g->t->n_ops; i++) {
		double over = (double)a->level[i] - (double)a->limit;

		a->sum[i + 1] = a->sum[i] + (over_alone && over < 0 ? 0 : over);
	}
}

static double overload(const struct sl_as *a, const struct sl_gap *gap)
{
	return a->sum[gap->to_op] - a->sum[gap->from_op + 1];
}

static void score(const struct sl_as *a, struct sl_as_pair *x)
{
	const struct sl_gaps *g = a->g;
	double bytes = (double)g->t->values[x->gap->value].bytes;

	x->doa = (double)g->start_ns[x->gap->to_op] -
		 (double)g->start_ns[x->gap->from_op] - (double)sl_gap_out_ns(g, x->gap) -
		 (double)sl_gap_in_ns(g, x->gap);
	x->aoa = x->doa >= 0 ? x->doa * bytes : x->doa / bytes;
	x->wdoa = overload(a, x->gap);
}

static int by_key(const void *a, const void *b)
{
	const struct sl_as_pair *x = a, *y = b;

	if (x->key < y->key || x->key > y->key)
		return x->key > y->key ? -1 : 1;
	return x->gap < y->gap ? -1 : x->gap > y->gap;
}

static double score_of(const struct sl_as_pair *x, enum sl_as_score s)
{
	return s == SL_AS_DOA ? x->doa : s == SL_AS_AOA ? x->aoa : x->wdoa;
}

static void sort_by(struct sl_as *a, enum sl_as_score s)
{
	for (size_t i = 0; i < a->n; i++)
		a->list[i].key = score_of(&a->list[i], s);
	qsort(a->list, a->n, sizeof(*a->list), by_key);
}

static void sort_by_votes(struct sl_as *a)
{
	for (size_t i = 0; i < a->n; i++)
		a->ranks[a->list[i].gap - a->g->gaps] = 0;
	for (int s = SL_AS_DOA; s <= SL_AS_WDOA; s++) {
		sort_by(a, (enum sl_as_score)s);
		for (size_t i = 0; i < a->n; i++)
			a->ranks[a->list[i].gap - a->g->gaps] += i;
	}
	for (size_t i = 0; i < a->n; i++)
		a->list[i].key = -(double)a->ranks[a->list[i].gap - a->g->gaps];
	qsort(a->list, a->n, sizeof(*a->list), by_key);
}

static bool is_candidate(const struct sl_as *a, const struct sl_gap *gap, uint32_t peak)
{
	const struct sl_trace_value *v = &a->g->t->values[gap->value];

	return gap->fate == SL_FATE_KEEP && !gap->wraps && gap->from_op != SL_NO_ID &&
	       gap->from_op < peak && peak < gap->to_op && v->bytes > 0 &&
	       v->bytes >= a->floor_bytes && sl_gap_movable(a->g, gap);
}

void sl_as_list(struct sl_as *a, uint32_t peak)
{
	a->n = 0;
	add_up(a, false);
	for (uint32_t i = 0; i < a->g->n; i++) {
		struct sl_gap *gap = &a->g->gaps[i];

		if (!is_candidate(a, gap, peak))
			continue;
		a->list[a->n].gap = gap;
		score(a, &a->list[a->n++]);
	}
	if (a->score == SL_AS_VOTES)
		sort_by_votes(a);
	else
		sort_by(a, a->score);
}

static void take(struct sl_as *a, struct sl_gap *gap)
{
	uint64_t bytes = sl_room_value(&a->g->t->values[gap->value]);

	sl_gap_set(gap, SL_FATE_SWAP);
	for (uint32_t i = gap->hold; i < gap->arrive; i++)
		a->level[i] -= bytes;
}

/* The best of those that are left from i on comes to place i. */
static void rescore(struct sl_as *a, size_t i)
{
	size_t best = i;
	struct sl_as_pair x;

	add_up(a, true);
	for (size_t k = i; k < a->n; k++) {
		a->list[k].key = a->list[k].wdoa = overload(a, a->list[k].gap);
		if (by_key(&a->list[k], &a->list[best]) < 0)
			best = k;
	}
	x = a->list[best];
	a->list[best] = a->list[i];
	a->list[i] = x;
}

bool sl_as_choose(struct sl_as *a)
{
	for (;;) {
		uint32_t peak = sl_as_peak(a);

		if (a->level[peak] <= a->limit)
			return true;
		sl_as_list(a, peak);
		for (size_t i = 0; i < a->n && a->level[peak] > a->limit; i++) {
			if (a->score == SL_AS_SWDOA && i > 0)
				rescore(a, i);
			take(a, a->list[i].gap);
		}
		if (a->level[peak] > a->limit)
			return false;
	}
}
