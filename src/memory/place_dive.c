/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depth-first search for an assignment below a target height, with an allowance of steps.
 *
 * Items are placed from the bottom up, by (offset, rank), each resting on what is below
 * it; that loses no solution. After each placement the items left fall apart into parts
 * that share no time; parts are searched one by one, and a part without a solution ends
 * its branch whatever the others hold. Ideas of minimalloc (Moffitt, ASPLOS 2023):
 * canonical order, bound by sections, parts. Here every search is cut short, and tried
 * under several ranks for targets that close in on the lowest height within reach.
 */
#include "memory/place_dive_int.h"

#include <string.h>

/* The lowest end that an item left of the part can have. */
static uint64_t lowest_end(struct sl_dive *d, uint32_t a, uint32_t b, uint64_t low)
{
	uint64_t ceiling = UINT64_MAX;

	for (uint32_t i = d->items[d->n].next; i != d->n; i = d->items[i].next) {
		const struct sl_dive_item *it = &d->items[i];
		uint64_t end = (it->floor > low ? it->floor : low) + it->bytes;

		d->steps--;
		if (end < ceiling && it->first >= a && it->first <= b)
			ceiling = end;
	}
	return ceiling;
}

/* False if some section of the part cannot hold what is left of it above `low`. */
static bool fits(struct sl_dive *d, uint32_t a, uint32_t b, uint64_t low)
{
	for (uint32_t s = a; s <= b; s++)
		d->sections[s].lowest = UINT64_MAX;
	for (uint32_t i = d->items[d->n].next; i != d->n; i = d->items[i].next) {
		const struct sl_dive_item *it = &d->items[i];
		uint64_t at = it->floor > low ? it->floor : low;

		if (it->first < a || it->first > b)
			continue;
		for (uint32_t s = it->first; s <= it->last; s++)
			if (at < d->sections[s].lowest)
				d->sections[s].lowest = at;
		d->steps -= it->last - it->first;
	}
	for (uint32_t s = a; s <= b; s++)
		if (d->sections[s].left > 0 &&
			d->sections[s].lowest + d->sections[s].left > d->target)
			return false;
	return true;
}

/* The next item after (low, rank) by (floor, rank) whose floor is below the ceiling; n if
 * there is none. */
static uint32_t next_item(struct sl_dive *d, uint32_t a, uint32_t b, uint64_t ceiling,
	const struct sl_dive_item *after)
{
	uint32_t best = d->n;

	for (uint32_t i = d->items[d->n].next; i != d->n; i = d->items[i].next) {
		const struct sl_dive_item *it = &d->items[i];

		d->steps--;
		if (it->first < a || it->first > b || it->floor >= ceiling)
			continue;
		if (it->floor < after->offset ||
			(it->floor == after->offset && it->rank <= after->rank))
			continue;
		if (best == d->n || it->floor < d->items[best].floor)
			best = i;
	}
	return best;
}

/* The lowest aligned address from `at` on where no fixed item is in the way. */
static uint64_t raise_floor(struct sl_dive *d, const struct sl_dive_item *it, uint64_t at)
{
	at = sl_align_up(at, it->align);
	for (uint32_t k = 0; k < d->n_fixed; k++) {
		const struct sl_dive_item *f = &d->items[d->fixed[k]];

		if (f->first <= it->last && it->first <= f->last &&
			f->offset < at + it->bytes && at < f->offset + f->bytes)
			at = sl_align_up(f->offset + f->bytes, it->align);
	}
	d->steps -= d->n_fixed;
	return at;
}

static bool place(struct sl_dive *d, uint32_t i)
{
	struct sl_dive_item *it = &d->items[i];
	uint64_t end = it->floor + it->bytes;
	bool fit = true;

	it->offset = it->floor;
	d->items[it->prev].next = it->next;
	d->items[it->next].prev = it->prev;
	for (uint32_t k = d->begin[i]; k < d->begin[i + 1]; k++) {
		struct sl_dive_item *other = &d->items[d->neighbours[k]];

		if (other->floor >= end)
			continue;
		d->trail[d->n_trail++] =
			(struct sl_dive_undo){d->neighbours[k], false, other->floor};
		other->floor = raise_floor(d, other, end);
	}
	for (uint32_t s = it->first; s <= it->last; s++) {
		d->sections[s].left -= it->bytes;
		d->sections[s].crossing -= s < it->last;
		fit &= end + d->sections[s].left <= d->target;
	}
	d->steps -= d->begin[i + 1] - d->begin[i] + it->last - it->first;
	d->trail[d->n_trail++] = (struct sl_dive_undo){i, true, 0};
	return fit;
}

static void undo_to(struct sl_dive *d, size_t mark)
{
	while (d->n_trail > mark) {
		const struct sl_dive_undo *u = &d->trail[--d->n_trail];
		struct sl_dive_item *it = &d->items[u->item];

		if (!u->placement) {
			it->floor = u->floor;
			continue;
		}
		d->items[it->prev].next = u->item;
		d->items[it->next].prev = u->item;
		for (uint32_t s = it->first; s <= it->last; s++) {
			d->sections[s].left += it->bytes;
			d->sections[s].crossing += s < it->last;
		}
	}
}

static enum sl_dive_end solve(
	struct sl_dive *d, uint32_t a, uint32_t b, const struct sl_dive_item *after);

static enum sl_dive_end solve_parts(
	struct sl_dive *d, uint32_t a, uint32_t b, const struct sl_dive_item *after)
{
	for (uint32_t s = a; s <= b; s++) {
		enum sl_dive_end f;

		if (d->sections[s].left == 0 && d->sections[s].crossing == 0) {
			a = s + 1;
			continue;
		}
		if (s < b && d->sections[s].crossing > 0)
			continue;
		f = solve(d, a, s, after);
		if (f != SL_DIVE_FOUND)
			return f;
		a = s + 1;
	}
	return SL_DIVE_FOUND;
}

/* Places the items left of the sections a to b, all of which come behind `after`. */
static enum sl_dive_end solve(
	struct sl_dive *d, uint32_t a, uint32_t b, const struct sl_dive_item *after)
{
	uint64_t ceiling = lowest_end(d, a, b, after->offset);
	struct sl_dive_item at = *after;

	for (uint32_t s = a; s <= b; s++)
		if (after->offset + d->sections[s].left > d->target)
			return SL_DIVE_NONE;
	for (uint32_t tried = 0; d->steps > 0; tried++) {
		uint32_t i = next_item(d, a, b, ceiling, &at);
		size_t mark = d->n_trail;
		enum sl_dive_end f = SL_DIVE_NONE;

		/* The dear bound is worth it only where the first way failed. */
		if (i == d->n || (tried == 1 && !fits(d, a, b, after->offset)))
			return SL_DIVE_NONE;
		at.offset = d->items[i].floor;
		at.rank = d->items[i].rank;
		if (place(d, i))
			f = solve_parts(d, a, b, &d->items[i]);
		if (f != SL_DIVE_NONE)
			return f;
		undo_to(d, mark);
	}
	return SL_DIVE_STOPPED;
}

/* Nothing placed, items listed by the given rank. */
static void begin(struct sl_dive *d, const uint32_t *order)
{
	uint32_t prev = d->n;

	for (uint32_t k = 0; k < d->n; k++) {
		struct sl_dive_item *it = &d->items[order[k]];

		if (it->idle)
			continue;
		it->floor = raise_floor(d, it, d->w->base);
		it->rank = k + 1;
		it->prev = prev;
		d->items[prev].next = order[k];
		prev = order[k];
	}
	d->items[prev].next = d->n;
	d->items[d->n].prev = prev;
	d->n_trail = 0;
	memcpy(d->sections, d->fresh, d->n_sections * sizeof(*d->sections));
}

enum sl_dive_end sl_dive_try(
	struct sl_dive *d, const uint32_t *order, uint64_t target, sl_place_steps slice)
{
	struct sl_dive_item none = {.offset = d->w->base, .rank = 0};
	uint64_t height = d->w->base;
	enum sl_dive_end f;

	begin(d, order);
	d->target = target;
	d->steps = slice;
	f = solve_parts(d, 0, d->n_sections - 1, &none);
	if (f != SL_DIVE_FOUND)
		return f;
	for (uint32_t i = 0; i < d->n; i++) {
		uint64_t end = d->items[i].offset + d->items[i].bytes;

		d->w->offsets[i] = d->items[i].offset;
		height = end > height ? end : height;
	}
	sl_place_keep(d->w, height);
	return SL_DIVE_FOUND;
}
