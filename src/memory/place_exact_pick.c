/* SPDX-License-Identifier: Apache-2.0 */
/* Where the exact search branches, and the strategies that its runs go through. */
#include "memory/place_exact_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define FIRST_NODES 4 /* an item: the allowance of the first round */
#define MOST_DOUBLINGS 24

/* By floor, then by rank. */
static bool comes_before(const struct sl_place_worker *w, uint32_t i, uint32_t k)
{
	if (k == SL_PX_NEVER || w->floor[i] != w->floor[k])
		return k == SL_PX_NEVER || w->floor[i] < w->floor[k];
	return w->rank[i] < w->rank[k];
}

/* Whether nothing that is left can come to lie under an item at its floor; only then do
 * "there" and "not there" share out all placements. */
static bool is_ready(const struct sl_place_worker *w, uint32_t i, uint32_t ceiling)
{
	const struct sl_place_exact *x = w->x;

	if (w->refused[i] == w->floor[i])
		return false;
	if (w->floor[i] < ceiling)
		return true;
	if (w->pick == SL_PX_LOWEST)
		return false;
	for (uint32_t k = x->begin[i]; k < x->begin[i + 1]; k++) {
		uint32_t o = x->neighbours[k];

		if (!w->placed[o] && w->least[o] + x->items[o].bytes <= w->floor[i])
			return false;
	}
	return true;
}

/* How many items could come next in each section. */
static void count_choices(struct sl_place_worker *w, const struct sl_px_part *p)
{
	const struct sl_place_exact *x = w->x;

	memset(&w->choices[p->a], 0, (p->b - p->a + 1) * sizeof(*w->choices));
	for (uint32_t k = 0; k < p->n; k++) {
		const struct sl_px_item *it = &x->items[p->list[k]];
		uint32_t room = w->target - w->least[p->list[k]];

		/* Gaps too: they only make the count a little high. */
		for (uint32_t s = it->first; s <= it->last; s++)
			w->choices[s] += w->left[s] <= room;
	}
}

static double score(const struct sl_place_worker *w, uint32_t s)
{
	double n = w->choices[s];

	if (w->pick == SL_PX_FEWEST)
		return n;
	if (w->pick == SL_PX_WEIGHED)
		return n / (1 + w->weight[s]);
	return w->lowest[s] + n / 1024;
}

/* The section with the best score of those in which an item's floor is the lowest. */
static void best_section(
	const struct sl_place_worker *w, uint32_t i, double *best, uint32_t *section)
{
	const struct sl_px_item *it = &w->x->items[i];

	for (uint32_t r = it->range; r < it->ranges; r++) {
		for (uint32_t s = w->x->ranges[r].first; s <= w->x->ranges[r].last; s++) {
			double value =
				w->lowest[s] == w->floor[i] ? score(w, s) : HUGE_VAL;

			if (value < *best) {
				*best = value;
				*section = s;
			}
		}
	}
}

static bool lives_in(const struct sl_place_exact *x, uint32_t i, uint32_t s)
{
	const struct sl_px_item *it = &x->items[i];
	bool lives = false;

	for (uint32_t r = it->range; r < it->ranges; r++)
		lives |= x->ranges[r].first <= s && s <= x->ranges[r].last;
	return lives;
}

uint32_t sl_px_choose(struct sl_place_worker *w, const struct sl_px_part *p)
{
	const struct sl_place_exact *x = w->x;
	uint32_t ceiling = SL_PX_NEVER, chosen = SL_PX_NEVER, section = SL_PX_NEVER;
	double best = HUGE_VAL;

	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t end = w->least[p->list[k]] + x->items[p->list[k]].bytes;

		ceiling = end < ceiling ? end : ceiling;
	}
	if (w->pick != SL_PX_LOWEST)
		count_choices(w, p);
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t i = p->list[k];

		w->ready[i] = is_ready(w, i, ceiling);
		if (w->ready[i] && w->pick != SL_PX_LOWEST)
			best_section(w, i, &best, &section);
	}
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t i = p->list[k];

		if (w->ready[i] && (section == SL_PX_NEVER || lives_in(x, i, section)) &&
			comes_before(w, i, chosen))
			chosen = i;
	}
	return chosen;
}

enum key { LIFE, AREA, LOAD, MEETS };

static const struct {
	enum sl_px_pick pick;
	enum key keys[3];
} strategies[] = {
	{SL_PX_FEWEST, {LIFE, AREA, LOAD}},
	{SL_PX_LOWEST, {LIFE, AREA, LOAD}},
	{SL_PX_FEWEST, {MEETS, LIFE, AREA}},
	{SL_PX_WEIGHED, {MEETS, LIFE, AREA}},
	{SL_PX_FEWEST, {LOAD, AREA, LIFE}},
	{SL_PX_LOWEST, {LOAD, LIFE, AREA}},
	{SL_PX_LOW_FEW, {MEETS, LIFE, AREA}},
	{SL_PX_FEWEST, {LOAD, LIFE, AREA}},
};
#define N_STRATEGIES ((uint32_t)(sizeof(strategies) / sizeof(strategies[0])))

static int by_keys(const void *a, const void *b)
{
	const struct sl_px_ranked *x = a, *y = b;

	for (int k = 0; k < 3; k++)
		if (x->key[k] != y->key[k])
			return x->key[k] > y->key[k] ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

static double value_of(const struct sl_px_item *it, enum key key)
{
	return key == LIFE   ? it->life
	       : key == AREA ? it->area
	       : key == LOAD ? it->load
			     : it->meets;
}

uint64_t sl_place_allowance(const struct sl_place_exact *x, uint32_t index)
{
	uint32_t round = index / N_STRATEGIES;

	return (uint64_t)FIRST_NODES * (x->n + 1)
	       << (round < MOST_DOUBLINGS ? round : MOST_DOUBLINGS);
}

uint32_t sl_place_runs(const struct sl_place_exact *x, uint64_t nodes)
{
	uint32_t runs = 1;

	for (uint64_t sum = sl_place_allowance(x, 0); sum < nodes && runs < UINT32_MAX;
		runs++)
		sum += sl_place_allowance(x, runs);
	return runs;
}

void sl_px_strategy(struct sl_place_worker *w, uint32_t index)
{
	const struct sl_place_exact *x = w->x;
	uint32_t round = index / N_STRATEGIES, which = index % N_STRATEGIES;
	struct sl_rng rng = {.key = {.seed = index}};
	struct sl_px_ranked *r = w->ranked;

	w->pick = strategies[which].pick;
	w->most = sl_place_allowance(x, index);
	for (uint32_t i = 0; i < x->n - x->n_fixed; i++) {
		/* From the second round on the ranks are stirred, more and less. */
		double stir = 1 + 0.0002 * (round % 4) * (double)sl_rng_below(&rng, 1000);

		for (int k = 0; k < 3; k++)
			r[i].key[k] =
				stir * value_of(&x->items[i], strategies[which].keys[k]);
		r[i].item = i;
	}
	qsort(r, x->n - x->n_fixed, sizeof(*r), by_keys);
	for (uint32_t i = 0; i < x->n - x->n_fixed; i++)
		w->rank[r[i].item] = i;
}
