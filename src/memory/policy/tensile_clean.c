/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clean drops. A parameter that is read in the forward half and leaves until the backward
 * half costs a copy out when the link is busiest. If it was copied out right after its
 * last write, and kept, then its copy below is still current and it leaves at once. Where
 * prices of the hours do not say so, how many are saved so, those that stay away longest
 * first, is searched for by whole plans.
 */
#include "memory/policy/tensile_int.h"

#include <stdlib.h>

#include "base/alloc.h"

#define COARSE 8 /* numbers tried at first, and then around the best of them */
#define FINEST 32 /* no finer than such a part */

struct ahead {
	uint64_t away_ns; /* how long its gaps before the first write are */
	uint32_t value;
};

struct list {
	struct ahead *rows;
	size_t n;
};

static int by_length(const void *a, const void *b)
{
	const struct ahead *x = a, *y = b;

	if (x->away_ns != y->away_ns)
		return x->away_ns > y->away_ns ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* How long v can be away before anything writes it; 0: it cannot, or nothing does. */
static uint64_t away_ns(const struct sl_gaps *g, uint32_t v)
{
	const struct sl_trace_use *uses = &g->x.uses[g->x.first[v]];
	uint32_t first = g->first[v], n = g->first[v + 1] - first, i;
	uint64_t ns = 0;

	for (i = 0; i + 1 < n && !uses[i].writes; i++) {
		const struct sl_gap *gap = &g->gaps[first + i];

		if (sl_gap_movable(g, gap))
			ns += g->start_ns[gap->to_op] - g->start_ns[gap->from_op];
	}
	return ns;
}

static void list_ahead(const struct sl_gaps *g, struct list *list)
{
	for (uint32_t v = 0; v < g->t->n_values; v++) {
		uint64_t ns = g->first[v] < g->first[v + 1] ? away_ns(g, v) : 0;

		if (ns > 0 && g->gaps[g->first[v + 1] - 1].wraps)
			list->rows[list->n++] = (struct ahead){.value = v, .away_ns = ns};
	}
	qsort(list->rows, list->n, sizeof(*list->rows), by_length);
}

/* Saves the first k, whatever the hours. */
static sl_status try_first(struct sl_tensile *s, const struct sl_tensile_point *at,
	const struct list *list, size_t k, uint64_t *ns)
{
	for (size_t i = 0; i < list->n; i++)
		s->ahead[list->rows[i].value] = i < k;
	s->fitted = s->limit;
	return sl_tensile_attempt(s, at, ns);
}

static sl_status find_many(
	struct sl_tensile *s, const struct sl_tensile_point *at, const struct list *list)
{
	size_t step = list->n / COARSE + 1, from = step, to = list->n, best = 0;
	size_t finest = list->n / FINEST + 1;
	uint64_t least = s->best_price.iter_ns, ns;

	for (bool last = false; !last;) {
		for (size_t k = from; k <= to; k += step) {
			SL_TRY(try_first(s, at, list, k, &ns));
			best = ns < least ? k : best;
			least = ns < least ? ns : least;
		}
		last = step <= finest;
		from = best > step ? best - step : 1;
		to = best + step < list->n ? best + step : list->n;
		step = step / 4 > finest ? step / 4 : finest;
	}
	return try_first(s, at, list, best, &ns);
}

sl_status sl_tensile_clean(struct sl_tensile *s, struct sl_tensile_point *at)
{
	struct list list = {.n = 0};
	sl_status st = SL_OK;

	if (!s->found || !s->cross || s->g.n_tiers == 0 ||
		s->best_price.iter_ns <= s->total_ns)
		return SL_OK;
	list.rows = sl_calloc((size_t)s->g.t->n_values + 1, sizeof(*list.rows));
	if (!list.rows)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	list_ahead(&s->g, &list);
	if (list.n > 0)
		SL_TRY_OUT(find_many(s, at, &list));
out:
	sl_free(list.rows);
	return st;
}
