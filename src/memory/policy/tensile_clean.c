/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clean drops. A parameter that is read in the forward half and leaves until the backward
 * half costs a copy out when the link is busiest. If it was away over the boundary as
 * well, then its copy below is still current: it leaves at once, and the copies of the
 * boundary have hours of the links to themselves. No op has too much there, so no choice
 * against the excess finds that. How many are sent away so, those that stay away longest
 * first, is searched for by whole plans; single ones that are waited for are barred
 * later as any other.
 */
#include "memory/policy/tensile_int.h"

#include <stdlib.h>

#include "base/alloc.h"

#define COARSE 8 /* numbers tried at first, and then around the best of them */
#define FINEST 32 /* no finer than such a part */

struct ahead {
	uint64_t away_ns; /* how long the gap over the boundary is */
	uint32_t gap;
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
	return (x->gap > y->gap) - (x->gap < y->gap);
}

/* Whether v can leave before anything writes it. */
static bool may_leave(const struct sl_gaps *g, uint32_t v)
{
	const struct sl_trace_use *uses = &g->x.uses[g->x.first[v]];
	uint32_t first = g->first[v], n = g->first[v + 1] - first;

	for (uint32_t i = 0; i + 1 < n && !uses[i].writes; i++) {
		if (sl_gap_movable(g, &g->gaps[first + i]))
			return true;
	}
	return false;
}

static void list_ahead(const struct sl_gaps *g, struct list *list)
{
	for (uint32_t v = 0; v < g->t->n_values; v++) {
		const struct sl_gap *wrap;

		if (g->first[v] == g->first[v + 1])
			continue;
		wrap = &g->gaps[g->first[v + 1] - 1];
		if (!wrap->wraps || wrap->from_op == SL_NO_ID || wrap->barred != 0 ||
			!sl_gap_movable(g, wrap) || !may_leave(g, v))
			continue;
		list->rows[list->n++] = (struct ahead){
			.gap = (uint32_t)(wrap - g->gaps),
			.away_ns = g->start_ns[g->t->n_ops] - g->start_ns[wrap->from_op] +
				   g->start_ns[wrap->to_op],
		};
	}
	qsort(list->rows, list->n, sizeof(*list->rows), by_length);
}

/* Bars staying over the boundary for the first k, and for them alone. */
static sl_status try_first(struct sl_tensile *s, const struct sl_tensile_point *at,
	const struct list *list, size_t k, uint64_t *ns)
{
	for (size_t i = 0; i < list->n; i++)
		s->g.gaps[list->rows[i].gap].barred = i < k ? 1u << SL_FATE_KEEP : 0;
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
