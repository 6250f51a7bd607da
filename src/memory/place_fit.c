/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First fit in a given order. Few items are scanned in
 * a list by offset; many go through the address map.
 */
#include "memory/place_int.h"

#include <string.h>

#include "base/alloc.h"

#define CHUNK 64

struct range {
	uint64_t offset, end;
};

struct life {
	uint32_t first, last;
};

struct sl_place_fit {
	/* What is placed, by offset; lives apart, as most of it is only asked whether it
	 * meets another one. */
	struct range *ranges;
	struct life *lives;
	size_t n_placed;
	struct sl_place_map *map; /* NULL for few items */
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to place values");
}

void sl_place_fit_free(struct sl_place_fit *f)
{
	if (!f)
		return;
	sl_place_map_free(f->map);
	sl_free(f->ranges);
	sl_free(f->lives);
	sl_free(f);
}

sl_status sl_place_fit_new(const struct sl_place_work *w, struct sl_place_fit **out)
{
	sl_status st = SL_OK;
	struct sl_place_fit *f = sl_calloc(1, sizeof(*f));

	if (!f)
		return no_memory();
	f->ranges = sl_alloc((w->n + 1) * sizeof(*f->ranges));
	f->lives = sl_alloc((w->n + 1) * sizeof(*f->lives));
	if (!f->ranges || !f->lives)
		st = no_memory();
	else if (w->n > SL_PLACE_MAX_SCANNED)
		st = sl_place_map_new(w, &f->map);
	if (st != SL_OK)
		sl_place_fit_free(f);
	else
		*out = f;
	return st;
}

/* Which of the placed items from `from` on, at most CHUNK, live with it; without a branch
 * in the loop, as nobody could predict it. */
static size_t list_meets(const struct sl_place_fit *f, const struct sl_place_item *it,
	size_t from, uint32_t *meets)
{
	size_t to = f->n_placed - from < CHUNK ? f->n_placed : from + CHUNK, n = 0;

	for (size_t i = from; i < to; i++) {
		meets[n] = (uint32_t)i;
		n += (size_t)((f->lives[i].last >= it->first) &
			      (f->lives[i].first <= it->last));
	}
	return n;
}

/* Where an item might lie: after all ranges seen so far, and in the tightest gap between
 * them. */
struct gap_search {
	uint64_t cursor, best, best_gap;
	bool tightest;
};

/* Goes on past one more range; true: the gap before it will do. */
static bool pass(
	struct gap_search *s, const struct range *r, const struct sl_place_item *it)
{
	uint64_t at;

	if (r->end <= s->cursor)
		return false;
	at = sl_align_up(s->cursor, it->align);
	if (r->offset >= at + it->bytes && r->offset - s->cursor < s->best_gap) {
		s->best_gap = r->offset - s->cursor;
		s->best = at;
	}
	s->cursor = r->end;
	return s->best != UINT64_MAX && !s->tightest;
}

/* Lowest (or tightest) gap for it among the placed items that live with it. */
static uint64_t find_gap(const struct sl_place_fit *f, uint64_t base,
	const struct sl_place_item *it, bool tightest)
{
	struct gap_search s = {base, UINT64_MAX, UINT64_MAX, tightest};
	uint32_t meets[CHUNK];

	for (size_t from = 0; from < f->n_placed; from += CHUNK) {
		size_t n = list_meets(f, it, from, meets);

		for (size_t i = 0; i < n; i++) {
			if (pass(&s, &f->ranges[meets[i]], it))
				return s.best;
		}
	}
	return s.best != UINT64_MAX ? s.best : sl_align_up(s.cursor, it->align);
}

static void insert_placed(
	struct sl_place_fit *f, const struct sl_place_item *it, uint64_t offset)
{
	size_t lo = 0, hi = f->n_placed;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->ranges[mid].offset > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	memmove(&f->ranges[lo + 1], &f->ranges[lo],
		(f->n_placed - lo) * sizeof(*f->ranges));
	memmove(&f->lives[lo + 1], &f->lives[lo], (f->n_placed - lo) * sizeof(*f->lives));
	f->ranges[lo] = (struct range){offset, offset + it->bytes};
	f->lives[lo] = (struct life){it->first, it->last};
	f->n_placed++;
}

static sl_status take(
	struct sl_place_fit *f, const struct sl_place_item *it, uint64_t offset)
{
	if (f->map)
		return sl_place_map_take(f->map, it, offset);
	insert_placed(f, it, offset);
	return SL_OK;
}

/* Begins with the fixed items alone; the highest end of them in *height. */
static sl_status begin(
	struct sl_place_fit *f, const struct sl_place_work *w, uint64_t *height)
{
	*height = w->base;
	f->n_placed = 0;
	if (f->map)
		sl_place_map_clear(f->map);
	for (size_t i = 0; w->any_fixed && i < w->n; i++) {
		const struct sl_place_item *it = &w->items[i];

		if (!it->fixed)
			continue;
		w->offsets[i] = it->offset;
		if (it->offset + it->bytes > *height)
			*height = it->offset + it->bytes;
		SL_TRY(take(f, it, it->offset));
	}
	return SL_OK;
}

sl_status sl_place_fit_run(struct sl_place_fit *f, const struct sl_place_work *w,
	bool tightest, uint64_t *height)
{
	uint64_t most = 0;

	SL_TRY(begin(f, w, &most));
	*height = UINT64_MAX;
	for (size_t i = 0; i < w->n; i++) {
		uint32_t item = w->order[i];
		const struct sl_place_item *it = &w->items[item];
		uint64_t at;

		if (it->fixed)
			continue;
		at = f->map ? sl_place_map_lowest(f->map, it, w->base)
			    : find_gap(f, w->base, it, tightest);
		if (at + it->bytes >= w->best_height)
			return SL_OK;
		SL_TRY(take(f, it, at));
		w->offsets[item] = at;
		if (at + it->bytes > most)
			most = at + it->bytes;
	}
	*height = most;
	return SL_OK;
}
