/* SPDX-License-Identifier: Apache-2.0 */
/* The device's bytes as two stacks that grow towards each other. */
#include "share/ledger.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

#define MAX_ENTRIES ((size_t)1 << 24)

static struct sl_region *find(const struct sl_stack *s, uint32_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].id == id)
			return &s->items[i];
	return NULL;
}

const struct sl_region *sl_ledger_find(
	const struct sl_ledger *l, enum sl_ledger_side side, uint32_t id)
{
	return find(&l->side[side], id);
}

uint64_t sl_ledger_address(
	const struct sl_ledger *l, enum sl_ledger_side side, const struct sl_region *r)
{
	return side == SL_LEDGER_JOB ? r->at : l->capacity_bytes - r->at - r->size_bytes;
}

static uint64_t end_of(const struct sl_region *r)
{
	return r->at + r->size_bytes;
}

static uint64_t top_of(const struct sl_stack *s)
{
	return s->n > 0 ? end_of(&s->items[s->n - 1]) : 0;
}

static sl_status check_grant(const struct sl_ledger *l, uint64_t old, uint64_t bytes)
{
	uint64_t others = l->granted_bytes - old;

	if (bytes > l->capacity_bytes || others > l->capacity_bytes - bytes)
		return SL_FAIL(SL_E_NOMEM_DEVICE,
			"%llu bytes beside the %llu granted exceed the capacity of %llu",
			(unsigned long long)bytes, (unsigned long long)others,
			(unsigned long long)l->capacity_bytes);
	return SL_OK;
}

sl_status sl_ledger_add(
	struct sl_ledger *l, enum sl_ledger_side side, uint32_t id, uint64_t bytes)
{
	struct sl_stack *s = &l->side[side];

	SL_ASSERT(!find(s, id));
	SL_TRY(check_grant(l, 0, bytes));
	if (sl_grow((void **)&s->items, &s->cap, s->n + 1, sizeof(*s->items),
		    MAX_ENTRIES))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu regions", s->n);
	s->items[s->n] =
		(struct sl_region){.id = id, .at = top_of(s), .grant_bytes = bytes};
	s->n++;
	l->granted_bytes += bytes;
	return SL_OK;
}

sl_status sl_ledger_resize(
	struct sl_ledger *l, enum sl_ledger_side side, uint32_t id, uint64_t bytes)
{
	struct sl_region *r = find(&l->side[side], id);

	SL_BUG(!r);
	SL_TRY(check_grant(l, r->grant_bytes, bytes));
	l->granted_bytes += bytes - r->grant_bytes;
	r->grant_bytes = bytes;
	return SL_OK;
}

void sl_ledger_remove(struct sl_ledger *l, enum sl_ledger_side side, uint32_t id)
{
	struct sl_stack *s = &l->side[side];
	struct sl_region *r = find(s, id);
	size_t i;

	SL_BUG(!r);
	i = (size_t)(r - s->items);
	l->granted_bytes -= r->grant_bytes;
	memmove(r, r + 1, (s->n - i - 1) * sizeof(*r));
	s->n--;
}

void sl_ledger_set_busy(
	struct sl_ledger *l, enum sl_ledger_side side, uint32_t id, bool busy)
{
	struct sl_region *r = find(&l->side[side], id);

	SL_BUG(!r);
	r->busy = busy;
}

/* One entry towards its place: shrunk where it stands, moved, grown; whether it changed.
 * The neighbours' bytes of this moment are not touched. */
static bool step(struct sl_ledger *l, struct sl_stack *s, size_t i, uint64_t place)
{
	struct sl_region *r = &s->items[i], old = *r;
	const struct sl_stack *other = s == &l->side[0] ? &l->side[1] : &l->side[0];
	uint64_t from = i > 0 ? end_of(r - 1) : 0;
	uint64_t to = i + 1 < s->n ? r[1].at : l->capacity_bytes - top_of(other);

	if (r->busy)
		return false;
	if (r->size_bytes > r->grant_bytes)
		r->size_bytes = r->grant_bytes;
	if (r->at != place && from <= place && place <= to &&
		r->size_bytes <= to - place) {
		r->at = place;
		l->moves += r->size_bytes > 0;
	}
	if (r->at == place && r->size_bytes < r->grant_bytes &&
		r->grant_bytes <= to - place)
		r->size_bytes = r->grant_bytes;
	return r->at != old.at || r->size_bytes != old.size_bytes;
}

/* Those that go down first, from below; then those that go up, from above. */
static bool settle_stack(struct sl_ledger *l, struct sl_stack *s)
{
	uint64_t place = 0;
	bool changed = false;

	for (size_t i = 0; i < s->n; i++) {
		changed |= step(l, s, i, place);
		place += s->items[i].grant_bytes;
	}
	for (size_t i = s->n; i-- > 0;) {
		place -= s->items[i].grant_bytes;
		changed |= step(l, s, i, place);
	}
	return changed;
}

void sl_ledger_settle(struct sl_ledger *l)
{
	bool changed = true;

	while (changed) {
		changed = settle_stack(l, &l->side[0]);
		changed |= settle_stack(l, &l->side[1]);
	}
}

bool sl_ledger_settled(const struct sl_ledger *l)
{
	for (int k = 0; k < 2; k++) {
		uint64_t place = 0;

		for (size_t i = 0; i < l->side[k].n; i++) {
			const struct sl_region *r = &l->side[k].items[i];

			if (r->at != place || r->size_bytes != r->grant_bytes)
				return false;
			place += r->grant_bytes;
		}
	}
	return true;
}

sl_status sl_ledger_check(const struct sl_ledger *l)
{
	uint64_t granted = 0, room = l->capacity_bytes;

	for (int k = 0; k < 2; k++) {
		uint64_t end = 0;

		for (size_t i = 0; i < l->side[k].n; i++) {
			const struct sl_region *r = &l->side[k].items[i];

			if (r->at < end || r->size_bytes > room ||
				r->at > room - r->size_bytes)
				return SL_FAIL(SL_E_NO,
					"%s %u stands at %llu over its neighbour",
					k == SL_LEDGER_JOB ? "job" : "lane", r->id,
					(unsigned long long)r->at);
			end = end_of(r);
			if (r->grant_bytes > l->capacity_bytes - granted)
				return SL_FAIL(SL_E_NO,
					"grants exceed the capacity of %llu bytes",
					(unsigned long long)l->capacity_bytes);
			granted += r->grant_bytes;
		}
		room -= end;
	}
	if (granted != l->granted_bytes)
		return SL_FAIL(SL_E_NO, "%llu bytes are granted, the book says %llu",
			(unsigned long long)granted,
			(unsigned long long)l->granted_bytes);
	return SL_OK;
}

void sl_ledger_finish(struct sl_ledger *l)
{
	sl_free(l->side[0].items);
	sl_free(l->side[1].items);
	*l = (struct sl_ledger){0};
}
