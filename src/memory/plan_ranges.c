/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disjoint ranges over known starts. Level 0 has one bit a rank; level k + 1 one bit for
 * each word of level k that is not zero, so that the next or previous set rank costs two
 * steps a level.
 */
#include "memory/plan_ranges_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

#define NO_RANK SIZE_MAX

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

sl_status sl_ranges_init(struct sl_ranges *r, const uint64_t *starts, size_t n)
{
	struct sl_ranges fresh = {0};
	size_t words = n;
	bool failed = false;

	fresh.starts = sl_calloc(n + 1, sizeof(*fresh.starts));
	fresh.ends = sl_calloc(n + 1, sizeof(*fresh.ends));
	fresh.owners = sl_calloc(n + 1, sizeof(*fresh.owners));
	for (int k = 0; k < SL_RANGES_LEVELS; k++) {
		words = words / 64 + 1;
		fresh.bits[k] = sl_calloc(words, sizeof(uint64_t));
		failed = failed || !fresh.bits[k];
	}
	if (failed || !fresh.starts || !fresh.ends || !fresh.owners) {
		sl_ranges_finish(&fresh);
		return SL_FAIL(SL_E_NOMEM, "no host memory left to check a plan");
	}
	if (n)
		memcpy(fresh.starts, starts, n * sizeof(*starts));
	qsort(fresh.starts, n, sizeof(*starts), by_value);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || fresh.starts[i] != fresh.starts[fresh.n - 1])
			fresh.starts[fresh.n++] = fresh.starts[i];
	}
	*r = fresh;
	return SL_OK;
}

void sl_ranges_finish(struct sl_ranges *r)
{
	if (!r)
		return;
	sl_free(r->starts);
	sl_free(r->ends);
	sl_free(r->owners);
	for (int k = 0; k < SL_RANGES_LEVELS; k++)
		sl_free(r->bits[k]);
	*r = (struct sl_ranges){0};
}

static size_t rank_of(const struct sl_ranges *r, uint64_t start)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->starts[mid] < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	SL_BUG(lo >= r->n || r->starts[lo] != start);
	return lo;
}

static bool is_set(const struct sl_ranges *r, size_t rank)
{
	return r->bits[0][rank / 64] >> (rank % 64) & 1;
}

static void set_rank(struct sl_ranges *r, size_t rank)
{
	for (int k = 0; k < SL_RANGES_LEVELS; k++, rank /= 64)
		r->bits[k][rank / 64] |= 1ull << (rank % 64);
}

static void clear_rank(struct sl_ranges *r, size_t rank)
{
	for (int k = 0; k < SL_RANGES_LEVELS; k++, rank /= 64) {
		r->bits[k][rank / 64] &= ~(1ull << (rank % 64));
		if (r->bits[k][rank / 64])
			return;
	}
}

/* Nearest set rank above (or below) rank, itself excluded. */
static size_t neighbour(const struct sl_ranges *r, size_t rank, bool above)
{
	int k = 0;
	size_t at = rank;
	uint64_t word = 0;

	for (; k < SL_RANGES_LEVELS; k++, at /= 64) {
		unsigned bit = at % 64;
		uint64_t mask = above ? ~(~0ull >> (63 - bit)) : ~(~0ull << bit);

		word = r->bits[k][at / 64] & mask;
		if (word)
			break;
	}
	if (!word)
		return NO_RANK;
	for (;; k--) {
		int bit = above ? __builtin_ctzll(word) : 63 - __builtin_clzll(word);

		at = at / 64 * 64 + (size_t)bit;
		if (k == 0)
			return at;
		word = r->bits[k - 1][at];
		at *= 64;
	}
}

bool sl_ranges_add(struct sl_ranges *r, uint64_t start, uint64_t end, uint32_t owner,
	uint32_t *out_clash)
{
	size_t rank = rank_of(r, start);
	size_t before = neighbour(r, rank, false), after = neighbour(r, rank, true);
	size_t clash = NO_RANK;

	if (is_set(r, rank))
		clash = rank;
	else if (before != NO_RANK && r->ends[before] > start)
		clash = before;
	else if (after != NO_RANK && r->starts[after] < end)
		clash = after;
	if (clash != NO_RANK) {
		*out_clash = r->owners[clash];
		return false;
	}
	set_rank(r, rank);
	r->ends[rank] = end;
	r->owners[rank] = owner;
	return true;
}

void sl_ranges_remove(struct sl_ranges *r, uint64_t start)
{
	size_t rank = rank_of(r, start);

	SL_BUG(!is_set(r, rank));
	clear_rank(r, rank);
}
