/* SPDX-License-Identifier: Apache-2.0 */
/* Which targets and ranks the depth-first search is tried on, and what it needs to know
 * of an instance. */
#include "memory/place_dive_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_ITEMS 2000
#define MAX_NEIGHBOURS 2000000
#define PASSES 4 /* what a search may cost at first, in passes without undoing */
#define NEAR 16 /* targets are closed in on to this part of the load */

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to place values");
}

static void finish(struct sl_dive *d)
{
	sl_free(d->items);
	sl_free(d->neighbours);
	sl_free(d->begin);
	sl_free(d->fixed);
	sl_free(d->sections);
	sl_free(d->fresh);
	sl_free(d->contention);
	sl_free(d->trail);
}

static uint64_t key_life(const struct sl_dive *d, uint32_t i)
{
	return d->w->items[i].last - d->w->items[i].first;
}

static uint64_t key_area(const struct sl_dive *d, uint32_t i)
{
	uint64_t area = 0;

	return sl_mul_u64(d->items[i].bytes, key_life(d, i) + 1, &area) ? area
									: UINT64_MAX;
}

static uint64_t key_contention(const struct sl_dive *d, uint32_t i)
{
	return d->contention[i];
}

static uint64_t key_bytes(const struct sl_dive *d, uint32_t i)
{
	return d->items[i].bytes;
}

typedef uint64_t (*key_fn)(const struct sl_dive *d, uint32_t i);
static const key_fn ranks[][3] = {
	{key_life, key_area, key_contention},
	{key_contention, key_life, key_area},
	{key_contention, key_area, key_life},
	{key_area, key_bytes, key_contention},
};
#define N_RANKS (sizeof(ranks) / sizeof(ranks[0]))

struct key {
	uint64_t k[3];
	uint32_t item;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	for (int i = 0; i < 3; i++)
		if (x->k[i] != y->k[i])
			return x->k[i] > y->k[i] ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

/* Tries the ranks one by one; what it cost is taken from *steps. */
static enum sl_dive_end try_ranks(struct sl_dive *d, const uint32_t *orders,
	uint64_t target, sl_place_steps slice, sl_place_steps *steps)
{
	for (size_t r = 0; r<N_RANKS && * steps> 0; r++) {
		sl_place_steps most = slice < *steps ? slice : *steps;
		enum sl_dive_end end = sl_dive_try(d, orders + r * d->n, target, most);

		*steps -= most - d->steps + 1;
		if (end != SL_DIVE_STOPPED)
			return end;
	}
	return SL_DIVE_STOPPED;
}

/* Closes in on the lowest height within reach of one slice; then again with larger ones.
 * No assignment has a height of `bound` or below. A capacity only ends this earlier: some
 * low targets are found sooner than higher ones. */
static void search(struct sl_dive *d, const uint32_t *orders, sl_place_steps steps)
{
	struct sl_place_work *w = d->w;
	uint64_t near = w->bound / NEAR + 1, bound = w->bound - 1;
	sl_place_steps slice;

	/* Without a target nothing is undone. */
	(void)sl_dive_try(d, orders, SL_PLACE_MAX_BYTES, steps);
	slice = (steps - d->steps) * PASSES;
	steps = d->steps;
	while (steps > 0 && w->best_height > w->goal && w->best_height > bound + 1) {
		uint64_t low = bound, target = bound + 1;

		do {
			enum sl_dive_end end =
				try_ranks(d, orders, target, slice, &steps);

			if (end == SL_DIVE_NONE)
				bound = target;
			if (end != SL_DIVE_FOUND)
				low = target;
			target = low + (w->best_height - low) / 2;
		} while (w->best_height > low + near && steps > 0);
		slice *= 4;
		near = near / 4 + 1;
	}
}

static bool live_together(const struct sl_dive *d, uint32_t i, uint32_t k)
{
	return i != k && d->items[k].first <= d->items[i].last &&
	       d->items[i].first <= d->items[k].last && !d->items[k].idle;
}

/* Lists, for each item, those that live with it; none at all if they are too many. */
static sl_status list_neighbours(struct sl_dive *d)
{
	size_t n = 0;

	for (uint32_t i = 0; i < d->n; i++)
		for (uint32_t k = 0; k < d->n; k++)
			n += live_together(d, i, k);
	if (n > MAX_NEIGHBOURS)
		return SL_OK;
	d->neighbours = sl_alloc((n + 1) * sizeof(*d->neighbours));
	d->trail = sl_alloc((n + d->n + 1) * sizeof(*d->trail));
	if (!d->neighbours || !d->trail)
		return no_memory();
	n = 0;
	for (uint32_t i = 0; i < d->n; i++) {
		d->begin[i] = (uint32_t)n;
		for (uint32_t k = 0; k < d->n; k++)
			if (live_together(d, i, k))
				d->neighbours[n++] = k;
	}
	d->begin[d->n] = (uint32_t)n;
	return SL_OK;
}

static void add_fixed(struct sl_dive *d, uint32_t i)
{
	uint32_t at = d->n_fixed++;

	for (; at > 0 && d->items[d->fixed[at - 1]].offset > d->items[i].offset; at--)
		d->fixed[at] = d->fixed[at - 1];
	d->fixed[at] = i;
}

static void fill_sections(struct sl_dive *d, const uint32_t *ranges)
{
	for (uint32_t i = 0; i < d->n; i++) {
		struct sl_dive_item *it = &d->items[i];

		it->bytes = d->w->items[i].bytes;
		it->align = d->w->items[i].align;
		it->first = ranges[2 * i];
		it->last = ranges[2 * i + 1];
		it->idle = d->w->items[i].fixed || it->bytes == 0;
		it->offset = d->w->items[i].fixed ? d->w->items[i].offset
						  : sl_align_up(d->w->base, it->align);
		if (it->idle && it->bytes > 0)
			add_fixed(d, i);
		for (uint32_t s = it->first; s <= it->last && !it->idle; s++) {
			d->fresh[s].left += it->bytes;
			d->fresh[s].crossing += s < it->last;
		}
	}
	for (uint32_t i = 0; i < d->n; i++)
		for (uint32_t s = d->items[i].first; s <= d->items[i].last; s++)
			if (d->fresh[s].left > d->contention[i])
				d->contention[i] = d->fresh[s].left;
}

static sl_status prepare(struct sl_dive *d)
{
	size_t n = (size_t)d->n + 1;
	uint32_t *ranges = NULL;

	SL_TRY(sl_place_sections(d->w->items, d->n, &ranges, &d->n_sections));
	d->items = sl_calloc(n, sizeof(*d->items));
	d->begin = sl_calloc(n, sizeof(*d->begin));
	d->fixed = sl_calloc(n, sizeof(*d->fixed));
	d->contention = sl_calloc(n, sizeof(*d->contention));
	d->sections = sl_calloc((size_t)d->n_sections + 1, sizeof(*d->sections));
	d->fresh = sl_calloc((size_t)d->n_sections + 1, sizeof(*d->fresh));
	if (!d->items || !d->begin || !d->fixed || !d->contention || !d->sections ||
		!d->fresh) {
		sl_free(ranges);
		return no_memory();
	}
	fill_sections(d, ranges);
	sl_free(ranges);
	return list_neighbours(d);
}

static sl_status sort_ranks(struct sl_dive *d, uint32_t **orders)
{
	struct key *keys = sl_alloc(d->n * sizeof(*keys));

	*orders = sl_alloc(N_RANKS * d->n * sizeof(**orders));
	if (!keys || !*orders) {
		sl_free(keys);
		return no_memory();
	}
	for (size_t r = 0; r < N_RANKS; r++) {
		for (uint32_t i = 0; i < d->n; i++)
			keys[i] = (struct key){
				{ranks[r][0](d, i), ranks[r][1](d, i), ranks[r][2](d, i)},
				i};
		qsort(keys, d->n, sizeof(*keys), by_key);
		for (uint32_t i = 0; i < d->n; i++)
			(*orders)[r * d->n + i] = keys[i].item;
	}
	sl_free(keys);
	return SL_OK;
}

sl_status sl_place_dive(struct sl_place_work *w, sl_place_steps steps)
{
	sl_status st = SL_OK;
	struct sl_dive d = {.w = w, .n = (uint32_t)w->n};
	uint32_t *orders = NULL;

	if (w->n == 0 || w->n > MAX_ITEMS)
		return SL_OK;
	SL_TRY_OUT(prepare(&d));
	if (!d.neighbours)
		goto out;
	SL_TRY_OUT(sort_ranks(&d, &orders));
	search(&d, orders, steps);
out:
	sl_free(orders);
	finish(&d);
	return st;
}
