/* SPDX-License-Identifier: Apache-2.0 */
/* SmartPool's placement, and the online pools that it is compared with. */
#include "memory/place_pool.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "memory/pool.h"

#define ITERATIONS 3

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to place blocks");
}

static sl_status check(const struct sl_place_block *blocks, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sl_place_block *b = &blocks[i];

		if (b->align == 0 || (b->align & (b->align - 1)) != 0 ||
			(!b->crosses && b->first > b->last))
			return SL_FAIL(SL_E_INVALID,
				"block %zu: lives from %u to %u, alignment %llu", i,
				b->first, b->last, (unsigned long long)b->align);
		if (!sl_add_u64(sum, b->bytes, &sum) ||
			!sl_add_u64(sum, b->align, &sum) ||
			sum > SL_PLACE_MAX_BYTES / (2 * ITERATIONS))
			return SL_FAIL(SL_E_INVALID, "sizes add up past 2^60 bytes");
	}
	return SL_OK;
}

struct key {
	const struct sl_place_block *block;
	uint32_t at;
};

static int by_size(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->block->crosses != y->block->crosses)
		return x->block->crosses ? -1 : 1;
	if (x->block->bytes != y->block->bytes)
		return x->block->bytes > y->block->bytes ? -1 : 1;
	if (x->block->first != y->block->first)
		return x->block->first < y->block->first ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Of one that crosses both of its places count as taken in all of its two stretches. */
static bool meet(const struct sl_place_block *a, const struct sl_place_block *b)
{
	if (a->crosses && b->crosses)
		return true;
	if (a->crosses)
		return b->first <= a->last || b->last >= a->first;
	if (b->crosses)
		return a->first <= b->last || a->last >= b->first;
	return a->first <= b->last && b->first <= a->last;
}

struct range {
	uint64_t begin, end;
};

static int by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The first hole that holds it, or the smallest one; above all if there is none. */
static uint64_t find_hole(const struct range *taken, size_t n,
	const struct sl_place_block *b, enum sl_place_rule rule)
{
	uint64_t cursor = 0, best = UINT64_MAX, best_hole = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = sl_align_up(cursor, b->align);

		if (taken[i].begin >= at + b->bytes &&
			taken[i].begin - cursor < best_hole) {
			best = at;
			best_hole = taken[i].begin - cursor;
			if (rule == SL_PLACE_FIRST_FIT)
				return best;
		}
		cursor = taken[i].end > cursor ? taken[i].end : cursor;
	}
	return best != UINT64_MAX ? best : sl_align_up(cursor, b->align);
}

struct colouring {
	const struct key *keys;
	size_t n_placed; /* of the keys */
	struct range *taken;
	enum sl_place_rule rule;
	uint64_t height;
};

static void add_range(struct range *taken, size_t *n, uint64_t at, uint64_t bytes)
{
	taken[(*n)++] = (struct range){at, at + bytes};
}

/* twin: the first place of the same block. */
static uint64_t colour(struct colouring *c, const struct sl_place_block *b, bool twin)
{
	uint64_t at;
	size_t n = 0;

	for (size_t i = 0; i < c->n_placed; i++) {
		const struct sl_place_block *p = c->keys[i].block;

		if (p->bytes == 0 || !meet(p, b))
			continue;
		add_range(c->taken, &n, p->offset, p->bytes);
		if (p->crosses)
			add_range(c->taken, &n, p->other, p->bytes);
	}
	if (twin)
		add_range(c->taken, &n, b->offset, b->bytes);
	qsort(c->taken, n, sizeof(*c->taken), by_begin);
	at = find_hole(c->taken, n, b, c->rule);
	c->height = at + b->bytes > c->height ? at + b->bytes : c->height;
	return at;
}

sl_status sl_place_pool(struct sl_place_block *blocks, size_t n, enum sl_place_rule rule,
	uint64_t *out_height)
{
	struct key *keys = sl_alloc((n + 1) * sizeof(*keys));
	struct colouring c = {.keys = keys, .rule = rule};
	sl_status st = SL_OK;

	c.taken = sl_alloc((2 * n + 1) * sizeof(*c.taken));
	if (!keys || !c.taken) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(check(blocks, n));
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct key){&blocks[i], (uint32_t)i};
	qsort(keys, n, sizeof(*keys), by_size);
	for (; c.n_placed < n; c.n_placed++) {
		struct sl_place_block *b = &blocks[keys[c.n_placed].at];

		b->offset = colour(&c, b, false);
		b->other = b->crosses ? colour(&c, b, true) : b->offset;
	}
	*out_height = c.height;
out:
	sl_free(keys);
	sl_free(c.taken);
	return st;
}

struct event {
	uint64_t time;
	uint32_t block;
	uint32_t instance; /* iteration in which it was born */
	bool birth;
};

/* What dies at a time dies after what is born then. */
static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->birth != y->birth)
		return x->birth ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* Of all iterations, in order; 2 * ITERATIONS * n of them. */
static sl_status list_events(
	const struct sl_place_block *blocks, size_t n, struct event **out)
{
	struct event *e = sl_alloc((2 * ITERATIONS * n + 1) * sizeof(*e));
	uint64_t length = 0;
	size_t k = 0;

	if (!e)
		return no_memory();
	for (size_t i = 0; i < n; i++) {
		uint32_t end = blocks[i].first > blocks[i].last ? blocks[i].first
								: blocks[i].last;

		length = end >= length ? (uint64_t)end + 1 : length;
	}
	for (uint32_t it = 0; it < ITERATIONS; it++) {
		for (size_t i = 0; i < n; i++) {
			const struct sl_place_block *b = &blocks[i];

			e[k++] = (struct event){
				it * length + b->first, (uint32_t)i, it, true};
			e[k++] = (struct event){(it + b->crosses) * length + b->last,
				(uint32_t)i, it, false};
		}
	}
	qsort(e, k, sizeof(*e), by_time);
	*out = e;
	return SL_OK;
}

static sl_status take(struct sl_pool *p, const struct sl_place_block *b, uint64_t bytes,
	enum sl_place_rule rule, uint64_t *at)
{
	if (rule == SL_PLACE_BEST_FIT)
		return sl_pool_alloc(p, bytes, b->align, SL_POOL_LOW, at);
	for (size_t i = 0; i < p->n; i++) {
		*at = sl_align_up(p->holes[i].offset, b->align);
		if (*at + bytes <= p->holes[i].offset + p->holes[i].bytes)
			return sl_pool_take(p, *at, bytes);
	}
	return SL_FAIL(SL_E_INVALID, "a pool of 2^63 bytes is full");
}

sl_status sl_place_online(const struct sl_place_block *blocks, size_t n,
	enum sl_place_rule rule, uint64_t grain, uint64_t *out_height)
{
	uint64_t *at = sl_alloc((ITERATIONS * n + 1) * sizeof(*at)), height = 0;
	struct event *events = NULL;
	struct sl_pool pool = {0};
	sl_status st = SL_OK;

	if (!at) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(check(blocks, n));
	SL_TRY_OUT(list_events(blocks, n, &events));
	SL_TRY_OUT(sl_pool_init(&pool, SL_PLACE_MAX_BYTES));
	for (size_t i = 0; i < 2 * ITERATIONS * n; i++) {
		const struct event *e = &events[i];
		const struct sl_place_block *b = &blocks[e->block];
		uint64_t *place = &at[e->instance * n + e->block];
		uint64_t bytes = sl_align_up(b->bytes, grain);

		if (bytes == 0)
			continue;
		if (!e->birth) {
			SL_TRY_OUT(sl_pool_give(&pool, *place, bytes));
			continue;
		}
		SL_TRY_OUT(take(&pool, b, bytes, rule, place));
		height = *place + bytes > height ? *place + bytes : height;
	}
	*out_height = height;
out:
	sl_pool_finish(&pool);
	sl_free(events);
	sl_free(at);
	return st;
}

sl_status sl_place_blocks_load(
	const struct sl_place_block *blocks, size_t n, uint64_t *out)
{
	struct event *events = NULL;
	uint64_t live = 0;

	SL_TRY(check(blocks, n));
	SL_TRY(list_events(blocks, n, &events));
	*out = 0;
	for (size_t i = 0; i < 2 * ITERATIONS * n; i++) {
		uint64_t bytes = blocks[events[i].block].bytes;

		live = events[i].birth ? live + bytes : live - bytes;
		*out = live > *out ? live : *out;
	}
	sl_free(events);
	return SL_OK;
}
