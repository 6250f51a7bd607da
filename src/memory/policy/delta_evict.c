/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who leaves: delta's filter, the knapsack that the later paper has in its place, and the
 * director's choice between the ways.
 */
#include "memory/policy/delta_int.h"

#include <stdlib.h>

#define TINY 100 /* part of the mean size */

static bool may_leave(const struct sl_delta *d, uint32_t v)
{
	const struct sl_delta_value *s = &d->v[v];
	const struct sl_gap *gap;

	if (s->pins > 0 || s->held || s->gap == SL_NO_ID)
		return false;
	/* A run of this position read it where it lies; only what was borne here can be
	 * gone again at once. */
	if (s->touched == d->op + 1 && s->borne == 0)
		return false;
	gap = &d->g->gaps[s->gap];
	return sl_gap_movable(d->g, gap) &&
	       (d->rule.weights || !sl_class_persistent(d->g->t->values[v].cls));
}

static double rank(struct sl_delta *d, uint32_t v, const struct sl_delta_cost *c)
{
	uint64_t bytes = sl_room_value(&d->g->t->values[v]);
	uint64_t back = sl_add_ns(
		c->redo_ns, c->redo_ns < c->swap_ns ? sl_delta_descendants(d, v) : 0);

	back = back < c->swap_ns ? back : c->swap_ns;
	/* A set of least cost asks for nothing but that. */
	return sl_delta_h(
		back, bytes, d->rule.knapsack ? 0 : d->now_ns - d->v[v].last_ns);
}

static sl_status add_item(struct sl_delta *d, uint32_t v, size_t *n)
{
	struct sl_delta_item *x = &d->items[*n];

	if (!d->v[v].priced)
		SL_TRY(sl_delta_price_redo(d, v));
	*x = (struct sl_delta_item){.value = v,
		.bytes = sl_room_value(&d->g->t->values[v]),
		.cost = sl_delta_cost_of(d, v)};
	x->rank = rank(d, v, &x->cost);
	*n += x->cost.back_ns != UINT64_MAX;
	return SL_OK;
}

/* Those that may leave; the tiny ones only where there are no others. */
static sl_status list_items(struct sl_delta *d, size_t *n)
{
	uint64_t tiny = d->n_here > 0 ? d->used / d->n_here / TINY : 0;

	*n = 0;
	for (int pass = 0; pass < 2 && *n == 0; pass++) {
		for (uint32_t i = 0; i < d->n_here; i++) {
			uint32_t v = d->here[i];
			bool small = sl_room_value(&d->g->t->values[v]) < tiny;

			if (small == (pass == 1) && may_leave(d, v))
				SL_TRY(add_item(d, v, n));
		}
	}
	return SL_OK;
}

static bool before(const struct sl_delta_item *a, const struct sl_delta_item *b)
{
	if (a->rank < b->rank || a->rank > b->rank)
		return a->rank < b->rank;
	return a->value < b->value;
}

static int by_rank(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

/* The director. */
static void evict(struct sl_delta *d, const struct sl_delta_item *x)
{
	sl_delta_evict(d, x->value,
		x->cost.redo_ns < x->cost.swap_ns ? SL_FATE_REDO : SL_FATE_SWAP);
}

/* The price of the one that leaves is looked at once more: others that left since the
 * last look make it dearer. */
static sl_status evict_least(struct sl_delta *d, size_t n)
{
	for (;;) {
		struct sl_delta_item *least = &d->items[0];
		uint64_t old;

		for (size_t i = 1; i < n; i++) {
			if (before(&d->items[i], least))
				least = &d->items[i];
		}
		old = least->cost.redo_ns;
		SL_TRY(sl_delta_price_redo(d, least->value));
		least->cost = sl_delta_cost_of(d, least->value);
		if (least->cost.redo_ns <= old || least->cost.back_ns == UINT64_MAX ||
			least->cost.swap_ns <= old) {
			if (least->cost.back_ns != UINT64_MAX)
				evict(d, least);
			else
				least->rank = 1e300;
			return SL_OK;
		}
		least->rank = rank(d, least->value, &least->cost);
	}
}

/* Drops what the rest of the set makes needless, the dearest first. */
static uint64_t trim(struct sl_delta_item *items, size_t n, uint64_t need, uint64_t sum)
{
	for (size_t i = n; i-- > 0;) {
		if (items[i].taken && sum - items[i].bytes >= need) {
			items[i].taken = false;
			sum -= items[i].bytes;
		}
	}
	return sum;
}

/* The exchange of a that saves most: the cheapest that is not taken and still covers. */
static struct sl_delta_item *exchange(struct sl_delta_item *items, size_t n,
	const struct sl_delta_item *a, uint64_t spare)
{
	struct sl_delta_item *best = NULL;

	for (size_t i = 0; i < n; i++) {
		struct sl_delta_item *b = &items[i];

		if (b->taken || b->bytes + spare < a->bytes ||
			b->cost.back_ns >= a->cost.back_ns)
			continue;
		if (best == NULL || b->cost.back_ns < best->cost.back_ns)
			best = b;
	}
	return best;
}

void sl_delta_knapsack(struct sl_delta_item *items, size_t n, uint64_t need)
{
	struct sl_delta_item *out = NULL, *in = NULL;
	uint64_t sum = 0, best = 0;

	qsort(items, n, sizeof(*items), by_rank);
	for (size_t i = 0; i < n && sum < need; i++) {
		items[i].taken = true;
		sum += items[i].bytes;
	}
	sum = trim(items, n, need, sum);
	for (size_t i = 0; i < n && sum >= need; i++) {
		struct sl_delta_item *a = &items[i], *b;

		b = a->taken ? exchange(items, n, a, sum - need) : NULL;
		if (b == NULL || a->cost.back_ns - b->cost.back_ns <= best)
			continue;
		best = a->cost.back_ns - b->cost.back_ns;
		out = a;
		in = b;
	}
	if (best > 0) {
		out->taken = false;
		in->taken = true;
	}
}

static sl_status evict_set(struct sl_delta *d, size_t n, uint64_t need)
{
	sl_delta_knapsack(d->items, n, need);
	for (size_t i = 0; i < n; i++) {
		struct sl_delta_item *x = &d->items[i];

		if (!x->taken)
			continue;
		SL_TRY(sl_delta_price_redo(d, x->value));
		x->cost = sl_delta_cost_of(d, x->value);
		if (x->cost.back_ns != UINT64_MAX)
			evict(d, x);
	}
	return SL_OK;
}

sl_status sl_delta_make_room(struct sl_delta *d, uint64_t need)
{
	size_t n;

	while (d->used + need > d->limit) {
		sl_delta_slack(d);
		SL_TRY(list_items(d, &n));
		if (n == 0) {
			d->over = d->over || d->used + need > d->budget;
			return SL_OK;
		}
		if (d->rule.knapsack)
			SL_TRY(evict_set(d, n, d->used + need - d->limit));
		else
			SL_TRY(evict_least(d, n));
	}
	return SL_OK;
}
