/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Persistent values from the places of one plan to those of the next. First a list of
 * hops is made on paper, so that an impossible change leaves everything as it is; then
 * the hops are carried out.
 *
 * A want (a place of the new plan) can be filled when no spot that is still needed
 * overlaps it. A spot is given up once its value has another one and no want is that
 * spot. When no want can be filled, a spot in the way is parked in free bytes of the
 * device or a tier; parked spots are in nobody's way, so this ends.
 */
#include "memory/engine_int.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define MAX_SPOTS ((size_t)1 << 24)
#define NONE SIZE_MAX

struct spot {
	uint32_t value;
	bool live; /* of `have`: holds the value; of `want`: not filled yet */
	bool wanted; /* of `have`: a want is this very spot */
	struct sl_range r;
};

struct spots {
	struct spot *items;
	size_t n, cap;
};

struct hop {
	uint32_t value;
	struct sl_range from, to;
};

struct carry {
	struct sl_engine *e;
	const struct sl_engine_pair *next;
	const struct sl_trace *trace;
	struct spots have, want;
	struct hop *hops;
	size_t n_hops, cap_hops;
};

static sl_status add_spot(struct spots *s, const struct spot *x)
{
	if (sl_grow((void **)&s->items, &s->cap, s->n + 1, sizeof(*s->items),
		    MAX_SPOTS) != 0)
		return SL_FAIL(SL_E_NOMEM, "no memory to carry values to the new plan");
	s->items[s->n++] = *x;
	return SL_OK;
}

static sl_status list_spots(const struct sl_engine *e, const struct sl_engine_pair *pair,
	const struct sl_residency *res, struct spots *out)
{
	for (uint32_t i = 0; i < pair->index.n_persistent; i++) {
		uint32_t v = pair->index.persistent[i];
		uint64_t bytes = pair->trace->values[v].bytes;
		struct spot x = {.value = v, .live = true};

		if (res->state[v] == SL_RES_RESIDENT) {
			x.r = (struct sl_range){SL_TIER_DEVICE, res->at[v], bytes};
			SL_TRY(add_spot(out, &x));
		}
		for (uint32_t k = 0; k < res->n_tiers; k++) {
			if (!sl_residency_has_copy(res, v, k))
				continue;
			x.r = (struct sl_range){k + 1, sl_residency_copy_at(res, v, k),
				sl_engine_space_bytes(e, k + 1, bytes)};
			SL_TRY(add_spot(out, &x));
		}
	}
	return SL_OK;
}

static bool same_spot(const struct spot *a, const struct spot *b)
{
	return a->value == b->value && a->r.space == b->r.space && a->r.at == b->r.at;
}

/* Wants that are already spots; returns how many are left. */
static size_t match(struct carry *c)
{
	size_t left = 0;

	for (size_t i = 0; i < c->want.n; i++) {
		struct spot *w = &c->want.items[i];

		for (size_t k = 0; k < c->have.n && w->live; k++) {
			struct spot *h = &c->have.items[k];

			if (!same_spot(h, w))
				continue;
			h->wanted = true;
			w->live = false;
		}
		left += w->live;
	}
	return left;
}

/* The spot to read a value from: the device if it can be, never `not`. */
static size_t find_source(const struct carry *c, uint32_t value, size_t not )
{
	size_t best = NONE;

	for (size_t i = 0; i < c->have.n; i++) {
		const struct spot *h = &c->have.items[i];

		if (!h->live || h->value != value || i == not )
			continue;
		if (best == NONE || h->r.space < c->have.items[best].r.space)
			best = i;
	}
	return best;
}

/* Gives up what can be given up under w; the index of a spot that cannot be, or NONE. */
static size_t clear_way(struct carry *c, const struct spot *w)
{
	for (size_t i = 0; i < c->have.n; i++) {
		struct spot *h = &c->have.items[i];

		if (!h->live || !sl_range_overlap(&h->r, &w->r))
			continue;
		/* memmove shifts a value over itself; in a tier it must have another
		 * spot. */
		if (h->value == w->value && h->r.space == SL_TIER_DEVICE)
			continue;
		if (h->wanted || find_source(c, h->value, i) == NONE)
			return i;
		h->live = false;
	}
	return NONE;
}

static sl_status add_hop(struct carry *c, size_t source, const struct spot *to)
{
	if (sl_grow((void **)&c->hops, &c->cap_hops, c->n_hops + 1, sizeof(*c->hops),
		    MAX_SPOTS) != 0)
		return SL_FAIL(SL_E_NOMEM, "no memory to carry values to the new plan");
	c->hops[c->n_hops++] = (struct hop){
		.value = to->value, .from = c->have.items[source].r, .to = to->r};
	return add_spot(&c->have, to);
}

static sl_status fill_want(struct carry *c, struct spot *w)
{
	struct spot filled = *w;

	filled.wanted = true;
	SL_TRY(add_hop(c, find_source(c, w->value, NONE), &filled));
	w->live = false;
	for (size_t i = 0; i + 1 < c->have.n; i++) {
		struct spot *h = &c->have.items[i];

		if (h->live && sl_range_overlap(&h->r, &w->r))
			h->live = false;
	}
	return SL_OK;
}

/* Whether r touches anything that is needed or will be filled. */
static bool is_taken(const struct carry *c, const struct sl_range *r)
{
	if (sl_range_overlap(r, &c->next->reserved))
		return true;
	for (size_t i = 0; i < c->have.n; i++) {
		if (c->have.items[i].live && sl_range_overlap(&c->have.items[i].r, r))
			return true;
	}
	for (size_t i = 0; i < c->want.n; i++) {
		if (c->want.items[i].live && sl_range_overlap(&c->want.items[i].r, r))
			return true;
	}
	return false;
}

/* r moves to the first free place of its space, tried at 0 and behind each spot. */
static bool find_room(const struct carry *c, struct sl_range *r)
{
	const struct spots *lists[] = {&c->have, &c->want};
	uint64_t limit = r->space == SL_TIER_DEVICE
				 ? c->e->opts.arena_bytes
				 : c->e->opts.tiers[r->space - 1]->bytes;

	r->at = 0;
	if (r->len <= limit && !is_taken(c, r))
		return true;
	for (size_t l = 0; l < 2; l++) {
		for (size_t i = 0; i < lists[l]->n; i++) {
			const struct spot *s = &lists[l]->items[i];

			r->at = sl_align_up(s->r.at + s->r.len, SL_TIER_MAX_ALIGN);
			if (s->live && s->r.space == r->space && r->at <= limit &&
				r->len <= limit - r->at && !is_taken(c, r))
				return true;
		}
	}
	return false;
}

static sl_status park(struct carry *c, size_t blocker)
{
	struct spot to = c->have.items[blocker];
	uint64_t bytes = c->trace->values[to.value].bytes;

	to.wanted = false;
	for (uint32_t space = 0; space <= c->e->opts.n_tiers; space++) {
		to.r.space = space;
		to.r.len = sl_engine_space_bytes(c->e, space, bytes);
		if (!find_room(c, &to.r))
			continue;
		SL_TRY(add_hop(c, blocker, &to));
		c->have.items[blocker].live = false;
		return SL_OK;
	}
	return SL_FAIL(SL_E_INFEASIBLE,
		"value %s (%llu bytes) has to make way for the new plan and no tier has "
		"room for "
		"it; give a disk tier (--disk DIR) or a larger budget",
		c->trace->values[to.value].name, (unsigned long long)bytes);
}

/* One pass over the wants; *blocker is a spot in the way of one that is left. */
static sl_status fill_some(
	struct carry *c, bool backwards, size_t *filled, size_t *blocker)
{
	*filled = 0;
	for (size_t i = 0; i < c->want.n; i++) {
		struct spot *w = &c->want.items[backwards ? c->want.n - 1 - i : i];
		size_t in_way;

		if (!w->live)
			continue;
		in_way = clear_way(c, w);
		if (in_way != NONE) {
			*blocker = in_way;
			continue;
		}
		SL_TRY(fill_want(c, w));
		(*filled)++;
	}
	return SL_OK;
}

static sl_status plan_hops(struct carry *c)
{
	size_t left = match(c), filled, blocker = NONE;

	/* Directions alternate: a shift down fills from the front, a shift up from the
	 * back. */
	for (bool backwards = false; left > 0; backwards = !backwards) {
		SL_TRY(fill_some(c, backwards, &filled, &blocker));
		left -= filled;
		if (filled == 0)
			SL_TRY(park(c, blocker));
	}
	return SL_OK;
}

static sl_status hop_tiers(struct sl_engine *e, const struct hop *h, uint64_t bytes)
{
	struct sl_tier *from = e->opts.tiers[h->from.space - 1];
	struct sl_tier *to = e->opts.tiers[h->to.space - 1];

	for (uint64_t at = 0; at < bytes; at += SL_TIER_CHUNK_BYTES) {
		uint64_t piece = bytes - at;

		if (piece > SL_TIER_CHUNK_BYTES)
			piece = SL_TIER_CHUNK_BYTES;
		memset(e->staging, 0, sl_align_up(piece, SL_TIER_MAX_ALIGN));
		SL_TRY(sl_tier_get(from, h->from.at + at, e->staging,
			(size_t)sl_engine_space_bytes(e, h->from.space, piece)));
		SL_TRY(sl_tier_put(to, h->to.at + at, e->staging,
			(size_t)sl_engine_space_bytes(e, h->to.space, piece)));
	}
	return SL_OK;
}

static sl_status carry_hop(struct sl_engine *e, const struct hop *h, uint64_t bytes)
{
	struct sl_copy copy = {
		.value = h->value, .from = h->from, .to = h->to, .bytes = bytes};

	sl_engine_note_peak(e, &h->to);
	if (h->from.space == SL_TIER_DEVICE && h->to.space == SL_TIER_DEVICE) {
		e->stats.move_bytes += bytes;
		return sl_engine_move(e, h->to.at, h->from.at, bytes);
	}
	if (h->to.space != SL_TIER_DEVICE)
		e->stats.swap_out_bytes += bytes;
	if (h->from.space != SL_TIER_DEVICE)
		e->stats.swap_in_bytes += bytes;
	if (h->from.space != SL_TIER_DEVICE && h->to.space != SL_TIER_DEVICE)
		return hop_tiers(e, h, bytes);
	copy.in = h->to.space == SL_TIER_DEVICE;
	return e->opts.wire ? sl_engine_wire_hop(e, &copy) : sl_engine_transfer(e, &copy);
}

/* The engine's values are in neither plan's places any more. */
static sl_status break_engine(
	struct sl_engine *e, const struct carry *c, const struct hop *h, sl_status st)
{
	st = sl_fail_prefix(st, "carrying %s to the new plan failed",
		c->trace->values[h->value].name);
	pthread_mutex_lock(&e->lock);
	e->failed = st;
	e->broken = true;
	(void)snprintf(e->why, sizeof(e->why), "%s", sl_last_error());
	pthread_mutex_unlock(&e->lock);
	return st;
}

static void poison_left(struct carry *c, size_t n_old)
{
	for (size_t i = 0; i < n_old && c->e->opts.poison; i++) {
		const struct spot *h = &c->have.items[i];
		bool used = h->r.space != SL_TIER_DEVICE;

		for (size_t k = 0; k < c->want.n && !used; k++)
			used = sl_range_overlap(&h->r, &c->want.items[k].r);
		if (!used)
			sl_engine_poison(c->e, h->r.at, h->r.len);
	}
}

sl_status sl_engine_carry(struct sl_engine *e, const struct sl_engine_pair *next)
{
	struct carry c = {.e = e, .next = next, .trace = next->trace};
	size_t n_old;
	sl_status st;

	SL_TRY_OUT(list_spots(e, &e->pair, &e->pair.now, &c.have));
	SL_TRY_OUT(list_spots(e, next, &next->start, &c.want));
	n_old = c.have.n;
	/* Both plans' bounce blocks may lie where hops go; the staging block is idle now.
	 */
	e->bounce = e->staging;
	SL_TRY_OUT(plan_hops(&c));
	for (size_t i = 0; i < c.n_hops; i++) {
		const struct hop *h = &c.hops[i];

		st = carry_hop(e, h, c.trace->values[h->value].bytes);
		if (st != SL_OK) {
			st = break_engine(e, &c, h, st);
			goto out;
		}
	}
	poison_left(&c, n_old);
out:
	sl_free(c.have.items);
	sl_free(c.want.items);
	sl_free(c.hops);
	return st;
}
