/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offline address assignment by several greedy orders, the lowest height kept.
 *
 * Orders: largest first (the rule of TFLite's planner), largest lifetime x size first,
 * first use first; each item goes to the lowest gap among the placed items that live at
 * the same time (or to the tightest such gap). And a replay in time order over a best-fit
 * pool. On training graphs the best of these lies within 2 % of the load, the lower
 * bound. Each greedy order is quadratic, so above MAX_GREEDY items only the replay and
 * one order run.
 */
#include "memory/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/pool.h"

#define MAX_GREEDY 12000

struct placed {
	uint64_t offset, end;
	uint32_t first, last;
};

struct key {
	uint64_t major, minor;
	uint32_t item;
};

struct work {
	const struct sl_place_item *items;
	size_t n;
	uint64_t base;
	struct key *order;
	struct placed *placed; /* by offset */
	uint64_t *offsets; /* of the attempt under way */
	uint64_t *best;
	uint64_t best_height;
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to place values");
}

/* Larger keys first, then by item: a total order, so the result is deterministic. */
static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->major != y->major)
		return x->major > y->major ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor > y->minor ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

static uint64_t key_size(const struct sl_place_item *it)
{
	return it->bytes;
}

static uint64_t key_area(const struct sl_place_item *it)
{
	uint64_t area = 0;

	return sl_mul_u64(it->bytes, (uint64_t)it->last - it->first + 1, &area)
		       ? area
		       : UINT64_MAX;
}

static uint64_t key_first(const struct sl_place_item *it)
{
	return UINT32_MAX - it->first;
}

static uint64_t key_life(const struct sl_place_item *it)
{
	return (uint64_t)it->last - it->first;
}

typedef uint64_t (*key_fn)(const struct sl_place_item *it);

static const struct attempt {
	key_fn major, minor;
	bool tightest;
} attempts[] = {
	{key_size, key_life, false},
	{key_area, key_size, false},
	{key_first, key_area, false},
	{key_life, key_size, false},
	{key_size, key_life, true},
	{key_first, key_size, true},
};

/* Lowest (or tightest) gap for it among the placed items that live with it. */
static uint64_t find_gap(const struct work *w, size_t n_placed,
	const struct sl_place_item *it, bool tightest)
{
	uint64_t cursor = w->base, best = UINT64_MAX, best_gap = UINT64_MAX;

	for (size_t i = 0; i < n_placed; i++) {
		const struct placed *p = &w->placed[i];
		uint64_t at;

		if (p->last < it->first || p->first > it->last || p->end <= cursor)
			continue;
		at = sl_align_up(cursor, it->align);
		if (p->offset >= at + it->bytes) {
			if (!tightest)
				return at;
			if (p->offset - cursor < best_gap) {
				best_gap = p->offset - cursor;
				best = at;
			}
		}
		cursor = p->end;
	}
	return best != UINT64_MAX ? best : sl_align_up(cursor, it->align);
}

static void insert_placed(
	struct work *w, size_t n, const struct sl_place_item *it, uint64_t offset)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->placed[mid].offset > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	memmove(&w->placed[lo + 1], &w->placed[lo], (n - lo) * sizeof(*w->placed));
	w->placed[lo] = (struct placed){offset, offset + it->bytes, it->first, it->last};
}

static void keep_best(struct work *w, uint64_t height)
{
	if (height >= w->best_height)
		return;
	w->best_height = height;
	memcpy(w->best, w->offsets, w->n * sizeof(*w->best));
}

static void try_greedy(struct work *w, const struct attempt *a)
{
	uint64_t height = w->base;

	for (size_t i = 0; i < w->n; i++)
		w->order[i] = (struct key){
			a->major(&w->items[i]), a->minor(&w->items[i]), (uint32_t)i};
	qsort(w->order, w->n, sizeof(*w->order), by_key);
	for (size_t i = 0; i < w->n; i++) {
		const struct sl_place_item *it = &w->items[w->order[i].item];
		uint64_t at = find_gap(w, i, it, a->tightest);

		if (at + it->bytes >= w->best_height)
			return; /* no better than what we have */
		insert_placed(w, i, it, at);
		w->offsets[w->order[i].item] = at;
		if (at + it->bytes > height)
			height = at + it->bytes;
	}
	keep_best(w, height);
}

struct event {
	uint32_t time;
	uint32_t item;
	bool birth; /* deaths of time t come before births of t + 1 */
};

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->birth != y->birth)
		return x->birth ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

static sl_status make_events(
	const struct sl_place_item *items, size_t n, struct event **out)
{
	struct event *e = sl_calloc(2 * n + 1, sizeof(*e));

	if (!e)
		return no_memory();
	for (size_t i = 0; i < n; i++) {
		e[2 * i] = (struct event){items[i].first, (uint32_t)i, true};
		e[2 * i + 1] = (struct event){items[i].last, (uint32_t)i, false};
	}
	qsort(e, 2 * n, sizeof(*e), by_time);
	*out = e;
	return SL_OK;
}

sl_status sl_place_load(const struct sl_place_item *items, size_t n, uint64_t *out)
{
	struct event *events = NULL;
	uint64_t live = 0, most = 0;

	SL_TRY(make_events(items, n, &events));
	for (size_t i = 0; i < 2 * n; i++) {
		uint64_t bytes = items[events[i].item].bytes;

		live = events[i].birth ? live + bytes : live - bytes;
		if (live > most)
			most = live;
	}
	*out = most;
	sl_free(events);
	return SL_OK;
}

/* Time order over a best-fit pool: what an allocator at run time would do. */
static sl_status try_replay(struct work *w)
{
	sl_status st = SL_OK;
	struct event *events = NULL;
	struct sl_pool pool = {0};
	uint64_t height = w->base;

	SL_TRY(make_events(w->items, w->n, &events));
	SL_TRY_OUT(sl_pool_init(&pool, (uint64_t)1 << 62));
	if (w->base > 0)
		SL_TRY_OUT(sl_pool_take(&pool, 0, w->base));
	for (size_t i = 0; i < 2 * w->n; i++) {
		const struct sl_place_item *it = &w->items[events[i].item];
		uint64_t *at = &w->offsets[events[i].item];

		if (events[i].birth) {
			SL_TRY_OUT(sl_pool_alloc(
				&pool, it->bytes, it->align, SL_POOL_LOW, at));
			height = *at + it->bytes > height ? *at + it->bytes : height;
		} else {
			SL_TRY_OUT(sl_pool_give(&pool, *at, it->bytes));
		}
	}
	keep_best(w, height);
out:
	sl_pool_finish(&pool);
	sl_free(events);
	return st;
}

static sl_status try_all(struct work *w)
{
	uint64_t load = 0;

	SL_TRY(sl_place_load(w->items, w->n, &load));
	SL_TRY(try_replay(w));
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		if (w->best_height <= w->base + load || (i > 0 && w->n > MAX_GREEDY))
			break;
		try_greedy(w, &attempts[i]);
	}
	return SL_OK;
}

sl_status sl_place(
	struct sl_place_item *items, size_t n, uint64_t base, uint64_t *out_height)
{
	sl_status st = SL_OK;
	struct work w = {.items = items, .n = n, .base = base, .best_height = UINT64_MAX};

	w.order = sl_calloc(n + 1, sizeof(*w.order));
	w.placed = sl_calloc(n + 1, sizeof(*w.placed));
	w.offsets = sl_calloc(n + 1, sizeof(*w.offsets));
	w.best = sl_calloc(n + 1, sizeof(*w.best));
	if (!w.order || !w.placed || !w.offsets || !w.best) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(try_all(&w));
	for (size_t i = 0; i < n; i++)
		items[i].offset = w.best[i];
	*out_height = w.best_height;
out:
	sl_free(w.order);
	sl_free(w.placed);
	sl_free(w.offsets);
	sl_free(w.best);
	return st;
}
