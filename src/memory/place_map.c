/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses are taken at which times: a segment tree over time whose nodes hold
 * sets of addresses.
 *
 * 1. cover[node]: what items take that live through the whole time of the node.
 * 2. any[node]: what items take that live at some time of the node.
 * An item is in the cover of about 2 log T nodes; its conflicts are in any[] of those and
 * in cover[] of the nodes above. Packed items grow together, so the sets stay short.
 */
#include "memory/place_int.h"

#include <string.h>

#include "base/alloc.h"

struct span {
	uint64_t start, end;
};

struct set {
	struct span *spans; /* ascending, apart */
	size_t n, cap;
};

#define MAX_LISTS 160

struct reader {
	const struct set *set;
	size_t at;
};

struct sl_place_map {
	struct set *cover, *any; /* by node; 1 is the root */
	uint32_t leaves;
	uint64_t least; /* a gap below the smallest item is no gap */
	uint32_t *ranges; /* sections of the items */
	const struct sl_place_item *items;
	struct reader readers[MAX_LISTS];
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to place values");
}

void sl_place_map_free(struct sl_place_map *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->cover && m->any && i < 2 * m->leaves; i++) {
		sl_free(m->cover[i].spans);
		sl_free(m->any[i].spans);
	}
	sl_free(m->cover);
	sl_free(m->any);
	sl_free(m->ranges);
	sl_free(m);
}

sl_status sl_place_map_new(const struct sl_place_work *w, struct sl_place_map **out)
{
	sl_status st = SL_OK;
	uint32_t sections = 0;
	struct sl_place_map *m = sl_calloc(1, sizeof(*m));

	if (!m)
		return no_memory();
	m->items = w->items;
	m->least = UINT64_MAX;
	for (size_t i = 0; i < w->n; i++)
		if (w->items[i].bytes > 0 && w->items[i].bytes < m->least)
			m->least = w->items[i].bytes;
	SL_TRY_OUT(sl_place_sections(w->items, w->n, &m->ranges, &sections));
	for (m->leaves = 1; m->leaves < sections;)
		m->leaves *= 2;
	m->cover = sl_calloc(2 * (size_t)m->leaves, sizeof(*m->cover));
	m->any = sl_calloc(2 * (size_t)m->leaves, sizeof(*m->any));
	if (!m->cover || !m->any)
		st = no_memory();
out:
	if (st != SL_OK)
		sl_place_map_free(m);
	else
		*out = m;
	return st;
}

void sl_place_map_clear(struct sl_place_map *m)
{
	for (uint32_t i = 0; i < 2 * m->leaves; i++)
		m->cover[i].n = m->any[i].n = 0;
}

/* The first span that ends behind the address. */
static size_t find_span(const struct set *s, uint64_t address)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->spans[mid].end > address)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Adds a span and melts it with those that leave no usable gap. */
static sl_status add_span(struct set *s, struct span x, uint64_t least)
{
	uint64_t reach = x.start > least ? x.start - least : 0;
	size_t from = find_span(s, reach), to = from;

	while (to < s->n && s->spans[to].start < x.end + least) {
		x.start = s->spans[to].start < x.start ? s->spans[to].start : x.start;
		x.end = s->spans[to].end > x.end ? s->spans[to].end : x.end;
		to++;
	}
	if (from == to) {
		if (sl_grow((void **)&s->spans, &s->cap, s->n + 1, sizeof(*s->spans),
			    UINT32_MAX))
			return no_memory();
		memmove(&s->spans[from + 1], &s->spans[from],
			(s->n - from) * sizeof(*s->spans));
		s->n++;
	} else {
		memmove(&s->spans[from + 1], &s->spans[to],
			(s->n - to) * sizeof(*s->spans));
		s->n -= to - from - 1;
	}
	s->spans[from] = x;
	return SL_OK;
}

sl_status sl_place_map_take(
	struct sl_place_map *m, const struct sl_place_item *it, uint64_t offset)
{
	const uint32_t *range = &m->ranges[2 * (it - m->items)];
	uint32_t a = m->leaves + range[0], b = m->leaves + range[1];
	uint32_t l = a, r = b + 1;
	struct span x = {offset, offset + it->bytes};

	if (it->bytes == 0)
		return SL_OK;
	for (; l < r; l /= 2, r /= 2) {
		if (l & 1) {
			SL_TRY(add_span(&m->cover[l], x, m->least));
			SL_TRY(add_span(&m->any[l++], x, m->least));
		}
		if (r & 1) {
			SL_TRY(add_span(&m->cover[--r], x, m->least));
			SL_TRY(add_span(&m->any[r], x, m->least));
		}
	}
	for (; a >= 1; a /= 2, b /= 2) {
		SL_TRY(add_span(&m->any[a], x, m->least));
		if (a != b)
			SL_TRY(add_span(&m->any[b], x, m->least));
	}
	return SL_OK;
}

static void read_set(
	struct sl_place_map *m, size_t *n, const struct set *s, uint64_t from)
{
	if (s->n > 0 && s->spans[s->n - 1].end > from)
		m->readers[(*n)++] = (struct reader){s, find_span(s, from)};
}

static size_t open_readers(
	struct sl_place_map *m, const struct sl_place_item *it, uint64_t from)
{
	const uint32_t *range = &m->ranges[2 * (it - m->items)];
	uint32_t a = m->leaves + range[0], b = m->leaves + range[1];
	size_t n = 0;

	for (uint32_t l = a, r = b + 1; l < r; l /= 2, r /= 2) {
		if (l & 1)
			read_set(m, &n, &m->any[l++], from);
		if (r & 1)
			read_set(m, &n, &m->any[--r], from);
	}
	for (; a >= 1; a /= 2, b /= 2) {
		read_set(m, &n, &m->cover[a], from);
		if (a != b)
			read_set(m, &n, &m->cover[b], from);
	}
	return n;
}

/* Moves the reader up to the address; true if [address, address + bytes) is free in it.
 */
static bool is_free(struct reader *r, uint64_t address, uint64_t bytes)
{
	while (r->at < r->set->n && r->set->spans[r->at].end <= address)
		r->at++;
	return r->at == r->set->n || r->set->spans[r->at].start >= address + bytes;
}

uint64_t sl_place_map_lowest(
	struct sl_place_map *m, const struct sl_place_item *it, uint64_t base)
{
	uint64_t at = sl_align_up(base, it->align);
	size_t n = open_readers(m, it, at), agree = 0;

	for (size_t i = 0; agree < n; i = i + 1 == n ? 0 : i + 1) {
		struct reader *r = &m->readers[i];

		agree++;
		while (!is_free(r, at, it->bytes)) {
			at = sl_align_up(r->set->spans[r->at].end, it->align);
			agree = 1;
		}
	}
	return at;
}
