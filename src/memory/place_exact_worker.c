/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that one run of an exact search works in. */
#include "memory/place_exact_int.h"

#include "base/alloc.h"

static uint32_t *words(size_t n)
{
	return sl_calloc(n, sizeof(uint32_t));
}

static bool allocate_sections(struct sl_place_worker *w, size_t n)
{
	w->left = words(n);
	w->crossing = words(n);
	w->sum = words(n);
	w->lowest = words(n);
	w->choices = words(n);
	w->weight = sl_calloc(n, sizeof(*w->weight));
	return w->left && w->crossing && w->sum && w->lowest && w->choices && w->weight;
}

static bool allocate_items(struct sl_place_worker *w, size_t n)
{
	w->floor = words(n);
	w->refused = words(n);
	w->least = words(n);
	w->rank = words(n);
	w->offset = words(n);
	w->placed = sl_calloc(n, sizeof(*w->placed));
	w->ready = sl_calloc(n, sizeof(*w->ready));
	w->ranked = sl_calloc(n, sizeof(*w->ranked));
	return w->floor && w->refused && w->least && w->rank && w->offset && w->placed &&
	       w->ready && w->ranked;
}

static bool allocate(struct sl_place_worker *w, const struct sl_place_exact *x)
{
	size_t n = (size_t)x->n + 1;

	/* Each item is placed once and raises its neighbours; each of a part may be
	 * refused on each level. */
	w->trail = sl_alloc((x->begin[x->n] + n * n) * sizeof(*w->trail));
	/* Each level has what it got and what it cut from that. */
	w->lists = sl_alloc(n * (n + 2) * sizeof(*w->lists));
	w->failed = sl_calloc((size_t)1 << SL_PX_FAILED_BITS, sizeof(*w->failed));
	return w->trail && w->lists && w->failed && allocate_items(w, n) &&
	       allocate_sections(w, (size_t)x->n_sections + 1);
}

sl_status sl_place_worker_new(
	const struct sl_place_exact *x, struct sl_place_worker **out)
{
	struct sl_place_worker *w = sl_calloc(1, sizeof(*w));

	*out = w;
	if (w && allocate(w, x)) {
		w->x = x;
		return SL_OK;
	}
	sl_place_worker_free(w);
	*out = NULL;
	return SL_FAIL(SL_E_NOMEM, "no host memory left to search for a placement");
}

void sl_place_worker_free(struct sl_place_worker *w)
{
	if (!w)
		return;
	sl_free(w->floor);
	sl_free(w->refused);
	sl_free(w->least);
	sl_free(w->rank);
	sl_free(w->offset);
	sl_free(w->left);
	sl_free(w->crossing);
	sl_free(w->sum);
	sl_free(w->lowest);
	sl_free(w->choices);
	sl_free(w->placed);
	sl_free(w->ready);
	sl_free(w->weight);
	sl_free(w->ranked);
	sl_free(w->trail);
	sl_free(w->lists);
	sl_free(w->failed);
	sl_free(w);
}
