/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First fit in a given order. Few items are scanned in
 * a list by offset; many go through the address map.
 */
#include "memory/place_int.h"

#include <string.h>

#include "base/alloc.h"

struct placed {
	uint64_t offset, end;
	uint32_t first, last;
};

struct sl_place_fit {
	struct placed *placed; /* by offset */
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
	sl_free(f->placed);
	sl_free(f);
}

sl_status sl_place_fit_new(const struct sl_place_work *w, struct sl_place_fit **out)
{
	sl_status st = SL_OK;
	struct sl_place_fit *f = sl_calloc(1, sizeof(*f));

	if (!f)
		return no_memory();
	f->placed = sl_alloc((w->n + 1) * sizeof(*f->placed));
	if (!f->placed)
		st = no_memory();
	else if (w->n > SL_PLACE_MAX_SCANNED)
		st = sl_place_map_new(w, &f->map);
	if (st != SL_OK)
		sl_place_fit_free(f);
	else
		*out = f;
	return st;
}

/* Lowest (or tightest) gap for it among the placed items that live with it. */
static uint64_t find_gap(const struct sl_place_fit *f, uint64_t base,
	const struct sl_place_item *it, bool tightest)
{
	uint64_t cursor = base, best = UINT64_MAX, best_gap = UINT64_MAX;

	for (size_t i = 0; i < f->n_placed; i++) {
		const struct placed *p = &f->placed[i];
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
	struct sl_place_fit *f, const struct sl_place_item *it, uint64_t offset)
{
	size_t lo = 0, hi = f->n_placed;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->placed[mid].offset > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	memmove(&f->placed[lo + 1], &f->placed[lo],
		(f->n_placed - lo) * sizeof(*f->placed));
	f->placed[lo] = (struct placed){offset, offset + it->bytes, it->first, it->last};
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
