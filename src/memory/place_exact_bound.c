/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a branch of the exact search cannot do.
 *
 * An item whose floor is refused rests on one that is not placed yet, so it lies at the
 * lowest end of those at least. And in every section, for each address, what cannot lie
 * below it has to fit between it and the target (the one-machine bound of scheduling: the
 * section is the machine, bytes are time, floors are release dates).
 */
#include "memory/place_exact_int.h"

#define ROUNDS 2

bool sl_px_meet(const struct sl_place_exact *x, const struct sl_px_item *a,
	const struct sl_px_item *b)
{
	bool both = false;

	if (a->first > b->last || b->first > a->last)
		return false;
	for (uint32_t r = a->range; r < a->ranges; r++)
		for (uint32_t q = b->range; q < b->ranges; q++)
			both |= x->ranges[r].first <= x->ranges[q].last &&
				x->ranges[q].first <= x->ranges[r].last;
	return both;
}

uint32_t sl_px_settle(const struct sl_place_exact *x, uint32_t item, uint64_t at)
{
	const struct sl_px_item *it = &x->items[item];

	at = (at + it->align - 1) / it->align * it->align;
	for (uint32_t k = x->n; k > x->n - x->n_fixed; k--) {
		const struct sl_px_item *f = &x->items[k - 1];

		if (f->at < at + it->bytes && at < (uint64_t)f->at + f->bytes &&
			sl_px_meet(x, f, it))
			at = ((uint64_t)f->at + f->bytes + it->align - 1) / it->align *
			     it->align;
	}
	return at < 2 * (uint64_t)SL_PX_MOST ? (uint32_t)at : 2 * SL_PX_MOST;
}

/* Where a refused item can lie at least; SL_PX_NEVER if it can rest on nothing. */
static uint32_t lowest_rest(const struct sl_place_worker *w, uint32_t i)
{
	const struct sl_place_exact *x = w->x;
	uint32_t rest = SL_PX_NEVER;

	for (uint32_t k = x->begin[i]; k < x->begin[i + 1]; k++) {
		uint32_t o = x->neighbours[k];
		uint32_t end = w->least[o] + x->items[o].bytes;

		if (!w->placed[o] && end < rest)
			rest = end;
	}
	return rest == SL_PX_NEVER || x->plain ? rest : sl_px_settle(x, i, rest);
}

static bool raise_refused(struct sl_place_worker *w, const struct sl_px_part *p)
{
	bool raised = true;

	for (uint32_t k = 0; k < p->n; k++)
		w->least[p->list[k]] = w->floor[p->list[k]];
	for (int round = 0; round < ROUNDS && raised; round++) {
		raised = false;
		for (uint32_t k = 0; k < p->n; k++) {
			uint32_t i = p->list[k], rest;

			if (w->refused[i] != w->floor[i])
				continue;
			rest = lowest_rest(w, i);
			if (rest > w->target) {
				w->culprit = w->x->items[i].first;
				return false;
			}
			raised |= rest > w->least[i];
			w->least[i] = rest > w->least[i] ? rest : w->least[i];
		}
	}
	return true;
}

static void sort_list(const struct sl_place_worker *w, struct sl_px_part *p)
{
	for (uint32_t k = 1; k < p->n; k++) {
		uint32_t item = p->list[k], least = w->least[item], at = k;

		for (; at > 0 && w->least[p->list[at - 1]] < least; at--)
			p->list[at] = p->list[at - 1];
		p->list[at] = item;
	}
}

/* Adds an item to the sections of the part that it lives in. */
static bool add_up(struct sl_place_worker *w, const struct sl_px_part *p,
	const struct sl_px_item *it, uint32_t least)
{
	for (uint32_t r = it->range; r < it->ranges; r++) {
		uint32_t a = w->x->ranges[r].first, b = w->x->ranges[r].last;
		uint32_t most = 0;

		a = a > p->a ? a : p->a;
		b = b < p->b ? b : p->b;
		for (uint32_t s = a; s <= b; s++) {
			w->sum[s] += it->bytes;
			w->lowest[s] = least;
			most = w->sum[s] > most ? w->sum[s] : most;
		}
		if (least + most <= w->target)
			continue;
		while (least + w->sum[a] <= w->target)
			a++;
		w->culprit = a;
		return false;
	}
	return true;
}

bool sl_px_bound(struct sl_place_worker *w, struct sl_px_part *p)
{
	const struct sl_place_exact *x = w->x;
	uint32_t fixed = x->n - x->n_fixed;

	if (!raise_refused(w, p))
		return false;
	sort_list(w, p);
	for (uint32_t s = p->a; s <= p->b; s++) {
		w->sum[s] = 0;
		w->lowest[s] = SL_PX_NEVER;
	}
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t i = p->list[k], least = w->least[i];

		/* Fixed ones come by falling offset too. */
		for (; fixed < x->n && x->items[fixed].at >= least; fixed++)
			if (!add_up(w, p, &x->items[fixed], x->items[fixed].at))
				return false;
		if (least > w->target || !add_up(w, p, &x->items[i], least))
			return false;
	}
	return true;
}
