/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact placement by depth-first search with restarts.
 *
 * A branch says of one item: it lies at its floor, the lowest address that what is placed
 * leaves it; or it does not, and then something that is not placed yet comes to lie under
 * it. Only items under whose floors nothing that is left has room are asked about, so the
 * two branches share out all placements in which nothing can sink; no others need be
 * looked at. Items may be asked about anywhere: where the fewest could come next, the
 * search learns soonest that it went wrong.
 *
 * Of two items of the same sections that touch, the one that comes first lies below. What
 * is left falls apart in time into parts that are solved one by one. States that have no
 * solution are remembered by a hash of all that matters: who is left, on which floor,
 * refused or not.
 */
#include "memory/place_exact_int.h"

#include <string.h>

#define ASK_EVERY 256 /* nodes between two questions whether to stop */

static void set_floor(
	struct sl_place_worker *w, uint32_t i, uint32_t floor, uint32_t refused)
{
	w->trail[w->n_trail++] = (struct sl_px_undo){i, w->floor[i], w->refused[i]};
	w->floor[i] = floor;
	w->refused[i] = refused;
}

static void count_in(struct sl_place_worker *w, uint32_t i)
{
	const struct sl_px_item *it = &w->x->items[i];

	for (uint32_t r = it->range; r < it->ranges; r++)
		for (uint32_t s = w->x->ranges[r].first; s <= w->x->ranges[r].last; s++)
			w->left[s] += it->bytes;
	for (uint32_t s = it->first; s < it->last; s++)
		w->crossing[s]++;
}

static void count_out(struct sl_place_worker *w, uint32_t i)
{
	const struct sl_px_item *it = &w->x->items[i];

	for (uint32_t r = it->range; r < it->ranges; r++)
		for (uint32_t s = w->x->ranges[r].first; s <= w->x->ranges[r].last; s++)
			w->left[s] -= it->bytes;
	for (uint32_t s = it->first; s < it->last; s++)
		w->crossing[s]--;
}

static void place(struct sl_place_worker *w, uint32_t i)
{
	const struct sl_place_exact *x = w->x;
	uint32_t end = w->floor[i] + x->items[i].bytes;

	w->offset[i] = w->floor[i];
	w->placed[i] = true;
	for (uint32_t k = x->begin[i]; k < x->begin[i + 1]; k++) {
		uint32_t o = x->neighbours[k], floor;
		bool swap =
			x->items[o].alike == x->items[i].alike && w->rank[i] > w->rank[o];

		if (w->placed[o] || w->floor[o] >= end)
			continue;
		floor = x->plain ? end : sl_px_settle(x, o, end);
		/* A refused floor stays refused if the new one is no other. */
		set_floor(w, o, floor, swap && floor == end ? floor : w->refused[o]);
	}
	count_out(w, i);
	w->trail[w->n_trail++] = (struct sl_px_undo){i, SL_PX_NEVER, 0};
}

static void undo_to(struct sl_place_worker *w, size_t mark)
{
	while (w->n_trail > mark) {
		const struct sl_px_undo *u = &w->trail[--w->n_trail];

		if (u->floor == SL_PX_NEVER) {
			w->placed[u->item] = false;
			count_in(w, u->item);
		} else {
			w->floor[u->item] = u->floor;
			w->refused[u->item] = u->refused;
		}
	}
}

static uint64_t mix(uint64_t v)
{
	v = (v ^ (v >> 31)) * 0x9e3779b97f4a7c15u;
	v = (v ^ (v >> 29)) * 0xbf58476d1ce4e5b9u;
	return v ^ (v >> 32);
}

static uint64_t hash_state(const struct sl_place_worker *w, const struct sl_px_part *p)
{
	uint64_t hash = w->salt;

	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t i = p->list[k];

		hash += mix((uint64_t)(i + 1) << 40 ^ (uint64_t)w->floor[i] << 1 ^
			    (w->refused[i] == w->floor[i]));
	}
	return hash;
}

static bool spent(struct sl_place_worker *w)
{
	const struct sl_place_run *run = w->run;

	if (w->nodes >= w->most ||
		(run->stop && w->nodes % ASK_EVERY == 0 && run->stop(run->ctx)))
		w->stopped = true;
	w->nodes++;
	return w->stopped;
}

static enum sl_place_answer solve(struct sl_place_worker *w, struct sl_px_part *p);

/* The items of the sections a to b, after the list. */
static struct sl_px_part cut(const struct sl_place_worker *w, const struct sl_px_part *p,
	uint32_t a, uint32_t b)
{
	struct sl_px_part q = {.list = p->list + p->n, .a = a, .b = b};

	for (uint32_t k = 0; k < p->n; k++) {
		const struct sl_px_item *it = &w->x->items[p->list[k]];

		if (it->first >= a && it->last <= b)
			q.list[q.n++] = p->list[k];
	}
	return q;
}

static enum sl_place_answer solve_parts(struct sl_place_worker *w, struct sl_px_part *p)
{
	uint32_t a = p->a;

	for (uint32_t s = p->a; s <= p->b; s++) {
		struct sl_px_part q;
		enum sl_place_answer answer;

		if (w->left[s] == 0 && w->crossing[s] == 0) {
			a = s + 1;
			continue;
		}
		if (s < p->b && w->crossing[s] > 0)
			continue;
		q = cut(w, p, a, s);
		answer = solve(w, &q);
		if (answer != SL_PLACE_FOUND)
			return answer;
		a = s + 1;
	}
	return SL_PLACE_FOUND;
}

static enum sl_place_answer place_and_solve(
	struct sl_place_worker *w, const struct sl_px_part *p, uint32_t item)
{
	struct sl_px_part rest = {.list = p->list + p->n, .a = p->a, .b = p->b};

	place(w, item);
	for (uint32_t k = 0; k < p->n; k++)
		if (p->list[k] != item)
			rest.list[rest.n++] = p->list[k];
	return solve_parts(w, &rest);
}

static enum sl_place_answer solve(struct sl_place_worker *w, struct sl_px_part *p)
{
	size_t start = w->n_trail;
	uint64_t state = hash_state(w, p);
	uint64_t *slot = &w->failed[state >> (64 - SL_PX_FAILED_BITS)];

	if (*slot == state)
		return SL_PLACE_NONE;
	for (;;) {
		enum sl_place_answer answer;
		size_t mark = w->n_trail;
		uint32_t item;

		if (spent(w))
			return SL_PLACE_STOPPED;
		if (!sl_px_bound(w, p)) {
			w->weight[w->culprit]++;
			break;
		}
		item = sl_px_choose(w, p);
		if (item == SL_PX_NEVER)
			break;
		answer = place_and_solve(w, p, item);
		if (answer != SL_PLACE_NONE)
			return answer;
		undo_to(w, mark);
		set_floor(w, item, w->floor[item], w->floor[item]);
	}
	undo_to(w, start);
	*slot = state;
	return SL_PLACE_NONE;
}

/* Everything unplaced; false if something cannot be placed at all. */
static bool begin(struct sl_place_worker *w)
{
	const struct sl_place_exact *x = w->x;

	w->n_trail = 0;
	w->nodes = 0;
	w->stopped = false;
	memset(w->weight, 0, x->n_sections * sizeof(*w->weight));
	memset(w->placed, 0, x->n * sizeof(*w->placed));
	memcpy(w->crossing, x->crossing, x->n_sections * sizeof(*w->crossing));
	for (uint32_t s = 0; s < x->n_sections; s++)
		w->left[s] = (uint32_t)x->total[s];
	for (uint32_t i = 0; i < x->n - x->n_fixed; i++) {
		w->floor[i] = x->plain ? x->start : sl_px_settle(x, i, x->start);
		w->refused[i] = SL_PX_NEVER;
		w->lists[i] = i;
		if ((uint64_t)w->floor[i] + x->items[i].bytes > w->target)
			return false;
	}
	return true;
}

static void give(struct sl_place_worker *w, struct sl_place_run *run, uint64_t *offsets)
{
	const struct sl_place_exact *x = w->x;

	run->height = x->base;
	for (size_t i = 0; i < x->caller_n; i++)
		offsets[i] = sl_align_up(x->base, x->caller[i].align); /* if empty */
	for (uint32_t i = 0; i < x->n; i++) {
		const struct sl_px_item *it = &x->items[i];
		const struct sl_place_item *c = &x->caller[it->source];
		uint64_t *at = &offsets[it->source];

		*at = it->fixed ? c->offset : w->offset[i] * x->unit;
		if (*at + c->bytes > run->height)
			run->height = *at + c->bytes;
	}
}

void sl_place_run(struct sl_place_worker *w, struct sl_place_run *run, uint64_t *offsets)
{
	const struct sl_place_exact *x = w->x;
	uint64_t target = run->target / x->unit;
	struct sl_px_part all = {.list = w->lists,
		.n = x->n - x->n_fixed,
		.b = x->n_sections > 0 ? x->n_sections - 1 : 0};

	run->nodes = 0;
	run->answer = x->rounded ? SL_PLACE_STOPPED : SL_PLACE_NONE;
	if (target > SL_PX_MOST)
		target = SL_PX_MOST;
	if (x->load > target)
		return;
	w->run = run;
	w->target = (uint32_t)target;
	/* What other runs learnt is of other ranks and targets. */
	w->salt = mix(run->index + 1) ^ mix(target << 20);
	sl_px_strategy(w, run->index);
	if (run->most_nodes > 0 && run->most_nodes < w->most)
		w->most = run->most_nodes;
	if (!begin(w))
		return;
	run->answer = all.n == 0 ? SL_PLACE_FOUND : solve_parts(w, &all);
	run->nodes = w->nodes;
	if (run->answer == SL_PLACE_FOUND)
		give(w, run, offsets);
	else if (x->rounded)
		run->answer = SL_PLACE_STOPPED;
}
