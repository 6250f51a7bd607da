/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an assignment is sound: a sweep over time that keeps the live items by offset,
 * so that each newcomer is compared with its two neighbours only. */
#include "memory/place_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct sweep {
	const struct sl_place_item *items;
	uint32_t *live; /* by offset */
	size_t n_live;
};

/* Where an item of this offset stands, or would. */
static size_t find(const struct sweep *s, uint64_t offset)
{
	size_t lo = 0, hi = s->n_live;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->items[s->live[mid]].offset >= offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Adds an item; the live one that it overlaps, or SL_NO_ID. */
static uint32_t enter(struct sweep *s, uint32_t item)
{
	const struct sl_place_item *it = &s->items[item], *x;
	size_t at = find(s, it->offset);

	if (at > 0) {
		x = &s->items[s->live[at - 1]];
		if (x->offset + x->bytes > it->offset)
			return s->live[at - 1];
	}
	if (at < s->n_live && s->items[s->live[at]].offset < it->offset + it->bytes)
		return s->live[at];
	memmove(&s->live[at + 1], &s->live[at], (s->n_live - at) * sizeof(*s->live));
	s->live[at] = item;
	s->n_live++;
	return SL_NO_ID;
}

static void leave(struct sweep *s, uint32_t item)
{
	size_t at = find(s, s->items[item].offset);

	memmove(&s->live[at], &s->live[at + 1], (s->n_live - at - 1) * sizeof(*s->live));
	s->n_live--;
}

static sl_status check_pieces(
	const struct sl_place_item *items, size_t n, bool *clash, size_t pair[2])
{
	struct sl_place_pieces p;
	sl_status st;

	SL_TRY(sl_place_pieces_make(items, n, &p));
	st = sl_place_check(p.items, p.n, clash, pair);
	if (st == SL_OK && *clash) {
		pair[0] = p.owners[pair[0]];
		pair[1] = p.owners[pair[1]];
	}
	sl_place_pieces_finish(&p);
	return st;
}

sl_status sl_place_check(
	const struct sl_place_item *items, size_t n, bool *clash, size_t pair[2])
{
	struct sl_place_event *events = NULL;
	struct sweep s = {.items = items};
	sl_status st;

	*clash = false;
	if (sl_place_has_gaps(items, n))
		return check_pieces(items, n, clash, pair);
	s.live = sl_alloc((n + 1) * sizeof(*s.live));
	st = s.live ? sl_place_events(items, n, &events)
		    : SL_FAIL(SL_E_NOMEM, "no host memory left for a check");
	for (size_t i = 0; st == SL_OK && i < 2 * n; i++) {
		const struct sl_place_event *e = &events[i];
		uint32_t other = SL_NO_ID;

		if (items[e->item].bytes == 0)
			continue;
		if (e->birth)
			other = enter(&s, e->item);
		else
			leave(&s, e->item);
		if (other == SL_NO_ID)
			continue;
		*clash = true;
		pair[0] = other < e->item ? other : e->item;
		pair[1] = other < e->item ? e->item : other;
		break;
	}
	sl_free(s.live);
	sl_free(events);
	return st;
}
