/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes with gaps: items that live from first to last without pause, one a piece. */
#include "memory/place_int.h"

#include "base/alloc.h"

bool sl_place_has_gaps(const struct sl_place_item *items, size_t n)
{
	bool gaps = false;

	for (size_t i = 0; i < n; i++)
		gaps |= items[i].n_gaps > 0;
	return gaps;
}

static size_t add_piece(struct sl_place_pieces *p, const struct sl_place_item *it,
	size_t owner, uint64_t from, uint64_t to)
{
	if (from >= to)
		return p->n;
	p->items[p->n] = *it;
	p->items[p->n].first = (uint32_t)from;
	p->items[p->n].last = (uint32_t)(to - 1);
	p->items[p->n].gaps = NULL;
	p->items[p->n].n_gaps = 0;
	p->owners[p->n] = (uint32_t)owner;
	return p->n + 1;
}

sl_status sl_place_pieces_make(
	const struct sl_place_item *items, size_t n, struct sl_place_pieces *p)
{
	size_t most = n;

	for (size_t i = 0; i < n; i++)
		most += items[i].n_gaps;
	*p = (struct sl_place_pieces){0};
	p->items = sl_alloc((most + 1) * sizeof(*p->items));
	p->owners = sl_alloc((most + 1) * sizeof(*p->owners));
	if (!p->items || !p->owners) {
		sl_place_pieces_finish(p);
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu pieces", most);
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t from = items[i].first;

		for (uint32_t g = 0; g < items[i].n_gaps; g++) {
			p->n = add_piece(p, &items[i], i, from, items[i].gaps[g].first);
			from = (uint64_t)items[i].gaps[g].last + 1;
		}
		p->n = add_piece(p, &items[i], i, from, (uint64_t)items[i].last + 1);
	}
	return SL_OK;
}

void sl_place_pieces_finish(struct sl_place_pieces *p)
{
	sl_free(p->items);
	sl_free(p->owners);
	*p = (struct sl_place_pieces){0};
}
