/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range allocator over an address space that it never touches. Holes sit in one sorted
 * array: planners keep few of them (tens to hundreds), where a scan beats a tree and the
 * order is plain to see.
 *
 *   [ taken ][ hole 0 ][ taken ][ hole 1 ] ...
 *
 *   alloc, take: a hole shrinks, splits in two or vanishes
 *   give:        a hole grows, two join, or one is born
 */
#include "memory/pool.h"

#include <string.h>

#include "base/alloc.h"

#define MAX_HOLES ((size_t)1 << 24)

static sl_status room_for_one(struct sl_pool *p)
{
	if (sl_grow((void **)&p->holes, &p->cap, p->n + 1, sizeof(*p->holes), MAX_HOLES))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for the holes of a pool");
	return SL_OK;
}

static void remove_hole(struct sl_pool *p, size_t i)
{
	memmove(&p->holes[i], &p->holes[i + 1], (p->n - i - 1) * sizeof(*p->holes));
	p->n--;
}

/* There is room for one more. */
static void insert_hole(struct sl_pool *p, size_t i, uint64_t offset, uint64_t bytes)
{
	memmove(&p->holes[i + 1], &p->holes[i], (p->n - i) * sizeof(*p->holes));
	p->holes[i] = (struct sl_pool_hole){offset, bytes};
	p->n++;
}

/* Index of the first hole that ends after offset; p->n if none. */
static size_t hole_after(const struct sl_pool *p, uint64_t offset)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->holes[mid].offset + p->holes[mid].bytes > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

sl_status sl_pool_init(struct sl_pool *p, uint64_t size)
{
	struct sl_pool fresh = {.size = size, .free_bytes = size};

	SL_TRY(room_for_one(&fresh));
	if (size > 0)
		fresh.holes[fresh.n++] = (struct sl_pool_hole){0, size};
	*p = fresh;
	return SL_OK;
}

void sl_pool_finish(struct sl_pool *p)
{
	if (!p)
		return;
	sl_free(p->holes);
	*p = (struct sl_pool){0};
}

/* Where `bytes` would lie in the hole; SL_POOL_NONE if they do not fit. */
static uint64_t fit(const struct sl_pool_hole *h, uint64_t bytes, uint64_t align,
	enum sl_pool_end end)
{
	uint64_t at;

	if (bytes > h->bytes)
		return SL_POOL_NONE;
	if (end == SL_POOL_HIGH) {
		at = (h->offset + h->bytes - bytes) & ~(align - 1);
		return at >= h->offset ? at : SL_POOL_NONE;
	}
	at = (h->offset + align - 1) & ~(align - 1);
	return at - h->offset <= h->bytes - bytes ? at : SL_POOL_NONE;
}

sl_status sl_pool_alloc(struct sl_pool *p, uint64_t bytes, uint64_t align,
	enum sl_pool_end end, uint64_t *out)
{
	uint64_t best = SL_POOL_NONE, best_bytes = UINT64_MAX;

	for (size_t i = 0; i < p->n; i++) {
		uint64_t at = fit(&p->holes[i], bytes, align, end);
		uint64_t size = p->holes[i].bytes;

		if (at == SL_POOL_NONE || size > best_bytes)
			continue;
		if (size == best_bytes && end == SL_POOL_LOW)
			continue;
		best = at;
		best_bytes = size;
	}
	if (best != SL_POOL_NONE)
		SL_TRY(sl_pool_take(p, best, bytes));
	*out = best;
	return SL_OK;
}

bool sl_pool_is_free(const struct sl_pool *p, uint64_t offset, uint64_t bytes)
{
	size_t i = hole_after(p, offset);

	return i < p->n && p->holes[i].offset <= offset &&
	       bytes <= p->holes[i].bytes - (offset - p->holes[i].offset);
}

sl_status sl_pool_take(struct sl_pool *p, uint64_t offset, uint64_t bytes)
{
	size_t i = hole_after(p, offset);
	uint64_t before, after;

	if (bytes == 0 || !sl_pool_is_free(p, offset, bytes))
		return SL_FAIL(SL_E_INVALID, "bytes %llu + %llu are not free",
			(unsigned long long)offset, (unsigned long long)bytes);
	SL_TRY(room_for_one(p));
	before = offset - p->holes[i].offset;
	after = p->holes[i].bytes - before - bytes;
	p->free_bytes -= bytes;
	if (before == 0 && after == 0) {
		remove_hole(p, i);
	} else if (before == 0) {
		p->holes[i] = (struct sl_pool_hole){offset + bytes, after};
	} else {
		p->holes[i].bytes = before;
		if (after > 0)
			insert_hole(p, i + 1, offset + bytes, after);
	}
	return SL_OK;
}

sl_status sl_pool_give(struct sl_pool *p, uint64_t offset, uint64_t bytes)
{
	size_t i = hole_after(p, offset);
	bool joins_next, joins_before;

	if (bytes == 0 || bytes > p->size || offset > p->size - bytes ||
		(i < p->n && p->holes[i].offset < offset + bytes))
		return SL_FAIL(SL_E_INVALID, "bytes %llu + %llu are not all taken",
			(unsigned long long)offset, (unsigned long long)bytes);
	SL_TRY(room_for_one(p));
	joins_next = i < p->n && p->holes[i].offset == offset + bytes;
	joins_before = i > 0 && p->holes[i - 1].offset + p->holes[i - 1].bytes == offset;
	p->free_bytes += bytes;
	if (joins_before && joins_next) {
		p->holes[i - 1].bytes += bytes + p->holes[i].bytes;
		remove_hole(p, i);
	} else if (joins_before) {
		p->holes[i - 1].bytes += bytes;
	} else if (joins_next) {
		p->holes[i].offset = offset;
		p->holes[i].bytes += bytes;
	} else {
		insert_hole(p, i, offset, bytes);
	}
	return SL_OK;
}

uint64_t sl_pool_largest(const struct sl_pool *p)
{
	uint64_t most = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->holes[i].bytes > most)
			most = p->holes[i].bytes;
	}
	return most;
}
