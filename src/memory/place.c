/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offline address assignment: the cheap attempts first, the lowest height kept, until the
 * goal is reached.
 *
 * Orders for first fit: largest first (the rule of TFLite's planner), largest lifetime x
 * size first, first use first; and a replay in time order over a best-fit pool. On
 * training graphs the best of these lies within 2 % of the load, the lower bound; the
 * hard instances are those of few large items, and few items make a search cheap.
 */
#include "memory/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place_int.h"
#include "memory/pool.h"

#define MANY_ITEMS 20000 /* above: only the first order of the family */
#define IMPROVE_STEPS 8000000
#define SEARCH_STEPS 250000000

struct key {
	uint64_t major, minor;
	uint32_t item;
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
	/* SmartPool's two [autoswap], where a search comes anyway. */
	{key_size, key_first, false},
	{key_size, key_first, true},
};
#define SEARCH_ORDERS (sizeof(attempts) / sizeof(attempts[0]))
#define FAMILY_ORDERS (SEARCH_ORDERS - 2)

void sl_place_keep(struct sl_place_work *w, uint64_t height)
{
	if (height >= w->best_height)
		return;
	w->best_height = height;
	memcpy(w->best, w->offsets, w->n * sizeof(*w->best));
}

static sl_status sort_items(struct sl_place_work *w, const struct attempt *a)
{
	struct key *keys = sl_alloc((w->n + 1) * sizeof(*keys));

	if (!keys)
		return no_memory();
	for (size_t i = 0; i < w->n; i++)
		keys[i] = (struct key){
			a->major(&w->items[i]), a->minor(&w->items[i]), (uint32_t)i};
	qsort(keys, w->n, sizeof(*keys), by_key);
	for (size_t i = 0; i < w->n; i++)
		w->order[i] = keys[i].item;
	sl_free(keys);
	return SL_OK;
}

static int by_time(const void *a, const void *b)
{
	const struct sl_place_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->birth != y->birth)
		return x->birth ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

sl_status sl_place_events(
	const struct sl_place_item *items, size_t n, struct sl_place_event **out)
{
	struct sl_place_event *e = sl_alloc((2 * n + 1) * sizeof(*e));

	if (!e)
		return no_memory();
	for (size_t i = 0; i < n; i++) {
		e[2 * i] = (struct sl_place_event){items[i].first, (uint32_t)i, true};
		e[2 * i + 1] = (struct sl_place_event){items[i].last, (uint32_t)i, false};
	}
	qsort(e, 2 * n, sizeof(*e), by_time);
	*out = e;
	return SL_OK;
}

static sl_status load_of_pieces(
	const struct sl_place_item *items, size_t n, uint64_t *out)
{
	struct sl_place_pieces p;
	sl_status st;

	SL_TRY(sl_place_pieces_make(items, n, &p));
	st = sl_place_load(p.items, p.n, out);
	sl_place_pieces_finish(&p);
	return st;
}

sl_status sl_place_load(const struct sl_place_item *items, size_t n, uint64_t *out)
{
	struct sl_place_event *events = NULL;
	uint64_t live = 0, most = 0;

	if (sl_place_has_gaps(items, n))
		return load_of_pieces(items, n, out);
	SL_TRY(sl_place_events(items, n, &events));
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

sl_status sl_place_sections(
	const struct sl_place_item *items, size_t n, uint32_t **ranges, uint32_t *count)
{
	struct sl_place_event *events = NULL;
	uint32_t *r = sl_alloc((2 * n + 1) * sizeof(*r));
	uint32_t section = 0;

	if (!r)
		return no_memory();
	if (sl_place_events(items, n, &events) != SL_OK) {
		sl_free(r);
		return no_memory();
	}
	for (size_t i = 0; i < 2 * n; i++) {
		const struct sl_place_event *e = &events[i];

		if (e->birth && i > 0 && events[i - 1].time != e->time)
			section++;
		r[2 * (size_t)e->item + !e->birth] = section;
	}
	*ranges = r;
	*count = n > 0 ? section + 1 : 0;
	sl_free(events);
	return SL_OK;
}

/* Time order over a best-fit pool: what an allocator at run time would do. */
static sl_status try_replay(struct sl_place_work *w)
{
	sl_status st = SL_OK;
	struct sl_place_event *events = NULL;
	struct sl_pool pool = {0};
	uint64_t height = w->base;

	SL_TRY(sl_place_events(w->items, w->n, &events));
	SL_TRY_OUT(sl_pool_init(&pool, SL_PLACE_MAX_BYTES));
	if (w->base > 0)
		SL_TRY_OUT(sl_pool_take(&pool, 0, w->base));
	for (size_t i = 0; i < 2 * w->n; i++) {
		const struct sl_place_item *it = &w->items[events[i].item];
		uint64_t *at = &w->offsets[events[i].item];

		if (it->bytes == 0) {
			*at = sl_align_up(w->base, it->align);
		} else if (events[i].birth) {
			SL_TRY_OUT(sl_pool_alloc(
				&pool, it->bytes, it->align, SL_POOL_LOW, at));
			height = *at + it->bytes > height ? *at + it->bytes : height;
		} else {
			SL_TRY_OUT(sl_pool_give(&pool, *at, it->bytes));
		}
	}
	sl_place_keep(w, height);
out:
	sl_pool_finish(&pool);
	sl_free(events);
	return st;
}

static sl_status try_orders(
	struct sl_place_work *w, struct sl_place_fit *fit, size_t n_orders)
{
	for (size_t i = 0; i < n_orders && w->best_height > w->goal; i++) {
		uint64_t height = UINT64_MAX;

		if (w->hopeless > 0 && i > 0 && w->best_height > w->hopeless)
			break;
		if (attempts[i].tightest && w->n > SL_PLACE_MAX_SCANNED)
			break;
		SL_TRY(sort_items(w, &attempts[i]));
		SL_TRY(sl_place_fit_run(fit, w, attempts[i].tightest, &height));
		sl_place_keep(w, height);
	}
	return SL_OK;
}

static sl_status try_all(struct sl_place_work *w, enum sl_place_effort effort)
{
	sl_status st = SL_OK;
	struct sl_place_fit *fit = NULL;
	size_t n_orders = effort == SL_PLACE_ONE || w->n > MANY_ITEMS ? 1
			  : effort == SL_PLACE_FAMILY		      ? FAMILY_ORDERS
								      : SEARCH_ORDERS;

	if (effort != SL_PLACE_ONE && !w->any_fixed)
		SL_TRY(try_replay(w));
	if (w->best_height <= w->goal)
		return SL_OK;
	SL_TRY(sl_place_fit_new(w, &fit));
	SL_TRY_OUT(try_orders(w, fit, n_orders));
	if (effort >= SL_PLACE_IMPROVE && w->best_height > w->goal)
		SL_TRY_OUT(sl_place_dive(
			w, effort == SL_PLACE_SEARCH ? SEARCH_STEPS : IMPROVE_STEPS));
out:
	sl_place_fit_free(fit);
	return st;
}

static sl_status check_fixed(struct sl_place_work *w)
{
	struct sl_place_item *fixed = sl_alloc((w->n + 1) * sizeof(*fixed));
	size_t n = 0, pair[2] = {0, 0};
	bool clash = false;
	sl_status st = SL_OK;

	if (!fixed)
		return no_memory();
	for (size_t i = 0; i < w->n; i++)
		if (w->items[i].fixed)
			fixed[n++] = w->items[i];
	SL_TRY_OUT(sl_place_check(fixed, n, &clash, pair));
	if (clash)
		st = SL_FAIL(SL_E_INVALID,
			"fixed items overlap: %llu bytes at %llu and %llu bytes at %llu",
			(unsigned long long)fixed[pair[0]].bytes,
			(unsigned long long)fixed[pair[0]].offset,
			(unsigned long long)fixed[pair[1]].bytes,
			(unsigned long long)fixed[pair[1]].offset);
out:
	sl_free(fixed);
	return st;
}

static sl_status check_item(const struct sl_place_item *it, size_t i)
{
	if (it->first > it->last || it->align == 0 || (it->align & (it->align - 1)) != 0)
		return SL_FAIL(SL_E_INVALID,
			"item %zu: lives from %u to %u, alignment %llu (a power of two)",
			i, it->first, it->last, (unsigned long long)it->align);
	if (it->fixed && it->offset % it->align != 0)
		return SL_FAIL(SL_E_INVALID,
			"item %zu: the fixed offset %llu is no multiple of its "
			"alignment %llu",
			i, (unsigned long long)it->offset, (unsigned long long)it->align);
	return SL_OK;
}

/* What must hold before anything is placed; the goal. */
static sl_status check_items(
	struct sl_place_work *w, uint64_t capacity, enum sl_place_effort effort)
{
	uint64_t sum = 0, room = 0, top = w->base, load = 0;
	bool fits = true;

	for (size_t i = 0; i < w->n && fits; i++) {
		const struct sl_place_item *it = &w->items[i];
		uint64_t end = 0;

		SL_TRY(check_item(it, i));
		fits = sl_add_u64(sum, it->bytes, &sum) && sum <= SL_PLACE_MAX_BYTES &&
		       (it->fixed ? sl_add_u64(it->offset, it->bytes, &end)
				  : sl_add_u64(room, it->bytes + it->align - 1, &room));
		w->any_fixed |= it->fixed;
		top = end > top ? end : top;
	}
	if (!fits || !sl_add_u64(room, top, &room) || room > SL_PLACE_MAX_BYTES)
		return SL_FAIL(
			SL_E_INVALID, "sizes and fixed offsets add up past 2^63 bytes");
	/* Cheap efforts with a capacity have no use for the bound. */
	if (capacity == 0 || effort >= SL_PLACE_IMPROVE)
		SL_TRY(sl_place_load(w->items, w->n, &load));
	w->bound = w->base + load > top ? w->base + load : top;
	w->goal = capacity > w->bound ? capacity : w->bound;
	return w->any_fixed ? check_fixed(w) : SL_OK;
}

sl_status sl_place_with(const struct sl_place_opts *opts, struct sl_place_item *items,
	size_t n, uint64_t *out_height)
{
	sl_status st = SL_OK;
	struct sl_place_work w = {.items = items,
		.n = n,
		.base = opts->base,
		.hopeless = opts->hopeless,
		.best_height = UINT64_MAX};

	SL_TRY(check_items(&w, opts->capacity, opts->effort));
	w.order = sl_alloc((n + 1) * sizeof(*w.order));
	w.offsets = sl_calloc(n + 1, sizeof(*w.offsets));
	w.best = sl_calloc(n + 1, sizeof(*w.best));
	if (!w.order || !w.offsets || !w.best) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(try_all(&w, opts->effort));
	for (size_t i = 0; i < n; i++)
		items[i].offset = w.best[i];
	*out_height = w.best_height;
out:
	sl_free(w.order);
	sl_free(w.offsets);
	sl_free(w.best);
	return st;
}

sl_status sl_place(
	struct sl_place_item *items, size_t n, uint64_t base, uint64_t *out_height)
{
	struct sl_place_opts opts = {.base = base, .effort = SL_PLACE_FAMILY};

	return sl_place_with(&opts, items, n, out_height);
}
