/* SPDX-License-Identifier: Apache-2.0 */
/* An instance made ready for exact search: units, sections, one order of the items and
 * one direction of time whichever way they came. */
#include "memory/place_exact_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place_int.h"

#define MAX_NEIGHBOURS 2000000

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to search for a placement");
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* What divides every size, offset and alignment; or, if that leaves too many units, a
 * power of two to which sizes are rounded up. */
static void find_unit(struct sl_place_exact *x, uint64_t highest)
{
	uint64_t unit = x->base;

	x->plain = true;
	for (size_t i = 0; i < x->caller_n; i++) {
		const struct sl_place_item *it = &x->caller[i];

		unit = gcd(unit, it->bytes);
		if (it->fixed && it->bytes > 0)
			unit = gcd(unit, it->offset);
	}
	for (size_t i = 0; i < x->caller_n; i++) {
		const struct sl_place_item *it = &x->caller[i];

		/* Alignments that the sizes keep anyway are none. */
		if (it->bytes == 0 || (unit > 0 && unit % it->align == 0))
			continue;
		unit = gcd(unit, it->align);
		x->plain = false;
	}
	x->unit = unit > 0 ? unit : 1;
	if (highest / x->unit <= SL_PX_MOST)
		return;
	for (x->unit = 1; highest / x->unit > SL_PX_MOST / 2; x->unit *= 2)
		x->rounded = true;
}

static void fill_item(struct sl_place_exact *x, struct sl_px_item *it, size_t i)
{
	const struct sl_place_item *c = &x->caller[i];
	uint64_t align = c->align > x->unit ? c->align / x->unit : 1;
	uint64_t end = (c->offset + c->bytes + x->unit - 1) / x->unit;

	it->source = (uint32_t)i;
	it->bytes = (uint32_t)((c->bytes + x->unit - 1) / x->unit);
	it->align = align < SL_PX_MOST ? (uint32_t)align : SL_PX_MOST;
	it->fixed = c->fixed;
	it->life = (double)c->last - c->first + 1;
	it->area = it->life * (double)it->bytes;
	if (!c->fixed)
		return;
	it->at = (uint32_t)(c->offset / x->unit);
	it->bytes = (uint32_t)(end - it->at);
	x->plain = false;
}

static void add_ranges(struct sl_place_exact *x, const struct sl_place_item *c)
{
	uint64_t from = c->first;

	for (uint32_t g = 0; g <= c->n_gaps; g++) {
		uint64_t to = g < c->n_gaps ? c->gaps[g].first : (uint64_t)c->last + 1;

		if (from < to)
			x->ranges[x->n_ranges++] =
				(struct sl_px_range){(uint32_t)from, (uint32_t)(to - 1)};
		if (g < c->n_gaps)
			from = (uint64_t)c->gaps[g].last + 1;
	}
}

/* The pieces of lives between gaps become ranges; their times stand in them for now. */
static sl_status fill_items(struct sl_place_exact *x)
{
	size_t pieces = 0;

	for (size_t i = 0; i < x->caller_n; i++)
		pieces += x->caller[i].n_gaps + 1;
	x->items = sl_calloc(x->caller_n + 1, sizeof(*x->items));
	x->ranges = sl_calloc(pieces + 1, sizeof(*x->ranges));
	if (!x->items || !x->ranges)
		return no_memory();
	for (size_t i = 0; i < x->caller_n; i++) {
		const struct sl_place_item *c = &x->caller[i];
		struct sl_px_item *it = &x->items[x->n];

		if (c->bytes == 0)
			continue;
		*it = (struct sl_px_item){.range = x->n_ranges};
		fill_item(x, it, i);
		add_ranges(x, c);
		it->ranges = x->n_ranges;
		if (it->ranges == it->range)
			continue; /* all gap */
		x->n_fixed += it->fixed;
		x->n++;
	}
	return SL_OK;
}

/* A section ends with the first death after a birth. */
static sl_status find_sections(struct sl_place_exact *x)
{
	struct sl_place_item *pieces = sl_calloc(x->n_ranges + 1, sizeof(*pieces));
	struct sl_place_event *events = NULL;
	uint32_t section = 0;
	bool died = false;
	sl_status st = SL_OK;

	if (!pieces)
		return no_memory();
	for (uint32_t r = 0; r < x->n_ranges; r++) {
		pieces[r].first = x->ranges[r].first;
		pieces[r].last = x->ranges[r].last;
	}
	SL_TRY_OUT(sl_place_events(pieces, x->n_ranges, &events));
	for (size_t e = 0; e < 2 * (size_t)x->n_ranges; e++) {
		struct sl_px_range *r = &x->ranges[events[e].item];

		section += events[e].birth && died;
		died = !events[e].birth;
		*(events[e].birth ? &r->first : &r->last) = section;
	}
	x->n_sections = x->n_ranges > 0 ? section + 1 : 0;
	for (uint32_t i = 0; i < x->n; i++) {
		x->items[i].first = x->ranges[x->items[i].range].first;
		x->items[i].last = x->ranges[x->items[i].ranges - 1].last;
	}
out:
	sl_free(events);
	sl_free(pieces);
	return st;
}

static int order_of(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Fixed ones last, by falling offset; the others by what they are. */
static int by_kind(const void *a, const void *b)
{
	const struct sl_px_item *x = a, *y = b;
	int order = order_of(x->fixed, y->fixed);

	order = order ? order : order_of(y->at, x->at);
	order = order ? order : order_of(x->first, y->first);
	order = order ? order : order_of(x->last, y->last);
	order = order ? order : order_of(x->bytes, y->bytes);
	order = order ? order : order_of(x->align, y->align);
	order = order ? order : (x->life > y->life) - (x->life < y->life);
	order = order ? order : order_of(x->ranges - x->range, y->ranges - y->range);
	return order ? order : order_of(x->source, y->source);
}

static void turn(struct sl_place_exact *x)
{
	uint32_t last = x->n_sections - 1;

	for (uint32_t i = 0; i < x->n; i++) {
		struct sl_px_item *it = &x->items[i];

		*it = (struct sl_px_item){.bytes = it->bytes,
			.align = it->align,
			.first = last - it->last,
			.last = last - it->first,
			.range = it->range,
			.ranges = it->ranges,
			.source = it->source,
			.at = it->at,
			.fixed = it->fixed,
			.life = it->life,
			.area = it->area};
		for (uint32_t r = it->range; r < it->ranges; r++)
			x->ranges[r] = (struct sl_px_range){
				last - x->ranges[r].last, last - x->ranges[r].first};
	}
	qsort(x->items, x->n, sizeof(*x->items), by_kind);
}

/* The items in order, in the direction of time in which they come first. */
static sl_status normalise(struct sl_place_exact *x)
{
	struct sl_px_item *kept = sl_alloc((x->n + 1) * sizeof(*kept));
	int order = 0;

	if (!kept)
		return no_memory();
	qsort(x->items, x->n, sizeof(*x->items), by_kind);
	memcpy(kept, x->items, x->n * sizeof(*kept));
	turn(x);
	for (uint32_t i = 0; i < x->n && order == 0; i++) {
		struct sl_px_item a = kept[i], b = x->items[i];

		a.source = b.source = 0;
		order = by_kind(&a, &b);
	}
	if (order < 0)
		turn(x);
	sl_free(kept);
	return SL_OK;
}

static bool same_ranges(const struct sl_place_exact *x, const struct sl_px_item *a,
	const struct sl_px_item *b)
{
	uint32_t n = a->ranges - a->range;

	return n == b->ranges - b->range &&
	       memcmp(&x->ranges[a->range], &x->ranges[b->range],
		       n * sizeof(*x->ranges)) == 0;
}

static bool is_neighbour(const struct sl_place_exact *x, uint32_t i, uint32_t k)
{
	return i != k && !x->items[i].fixed && !x->items[k].fixed &&
	       sl_px_meet(x, &x->items[i], &x->items[k]);
}

static sl_status list_neighbours(struct sl_place_exact *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->n; i++)
		for (uint32_t k = 0; k < x->n && n <= MAX_NEIGHBOURS; k++)
			n += is_neighbour(x, i, k);
	if (n > MAX_NEIGHBOURS)
		return SL_OK;
	x->neighbours = sl_alloc((n + 1) * sizeof(*x->neighbours));
	x->begin = sl_calloc((size_t)x->n + 1, sizeof(*x->begin));
	if (!x->neighbours || !x->begin)
		return no_memory();
	n = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		x->begin[i] = n;
		for (uint32_t k = 0; k < x->n; k++)
			if (is_neighbour(x, i, k))
				x->neighbours[n++] = k;
		x->items[i].meets = n - x->begin[i];
	}
	x->begin[x->n] = n;
	return SL_OK;
}

/* Two may change places where that keeps both aligned. */
static void find_alike(struct sl_place_exact *x, uint32_t i)
{
	struct sl_px_item *it = &x->items[i];

	it->alike = i;
	for (uint32_t k = 0; k < i && it->bytes % it->align == 0; k++) {
		const struct sl_px_item *o = &x->items[k];

		if (o->alike == k && o->align == it->align && same_ranges(x, o, it) &&
			o->bytes % o->align == 0)
			it->alike = k;
	}
}

static void count_sections(struct sl_place_exact *x)
{
	for (uint32_t i = 0; i < x->n - x->n_fixed; i++) {
		const struct sl_px_item *it = &x->items[i];

		for (uint32_t r = it->range; r < it->ranges; r++)
			for (uint32_t s = x->ranges[r].first; s <= x->ranges[r].last; s++)
				x->total[s] += it->bytes;
		for (uint32_t s = it->first; s < it->last; s++)
			x->crossing[s]++;
		find_alike(x, i);
	}
	for (uint32_t s = 0; s < x->n_sections; s++)
		if (x->total[s] + x->start > x->load)
			x->load = x->total[s] + x->start;
	for (uint32_t i = 0; i < x->n; i++)
		for (uint32_t s = x->items[i].first; s <= x->items[i].last; s++)
			if ((double)x->total[s] > x->items[i].load)
				x->items[i].load = (double)x->total[s];
	for (uint32_t k = x->n - x->n_fixed; k < x->n; k++)
		if ((uint64_t)x->items[k].at + x->items[k].bytes > x->load)
			x->load = (uint64_t)x->items[k].at + x->items[k].bytes;
}

sl_status sl_place_exact_new(const struct sl_place_item *items, size_t n, uint64_t base,
	uint64_t highest, struct sl_place_exact **out)
{
	sl_status st = SL_OK;
	struct sl_place_exact *x;

	*out = NULL;
	if (n > SL_PLACE_EXACT_ITEMS)
		return SL_OK;
	x = sl_calloc(1, sizeof(*x));
	if (!x)
		return no_memory();
	x->caller = items;
	x->caller_n = n;
	x->base = base;
	find_unit(x, highest);
	x->start = (uint32_t)((base + x->unit - 1) / x->unit);
	SL_TRY_OUT(fill_items(x));
	SL_TRY_OUT(find_sections(x));
	SL_TRY_OUT(normalise(x));
	SL_TRY_OUT(list_neighbours(x));
	x->total = sl_calloc((size_t)x->n_sections + 1, sizeof(*x->total));
	x->crossing = sl_calloc((size_t)x->n_sections + 1, sizeof(*x->crossing));
	if (!x->total || !x->crossing)
		st = no_memory();
	SL_TRY_OUT(st);
	count_sections(x);
	if (x->begin) {
		*out = x;
		return SL_OK;
	}
out:
	sl_place_exact_free(x);
	return st;
}

void sl_place_exact_free(struct sl_place_exact *x)
{
	if (!x)
		return;
	sl_free(x->items);
	sl_free(x->ranges);
	sl_free(x->neighbours);
	sl_free(x->begin);
	sl_free(x->total);
	sl_free(x->crossing);
	sl_free(x);
}
