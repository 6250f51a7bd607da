/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From fates to a plan: every stay of a value on the device becomes an item with a
 * lifetime, all of them get addresses at once (memory/place.h), and the ends of the stays
 * become actions.
 *
 * Times for the placement: one for the copies in before an op, one for each run that is
 * done again there, one for the op. Persistent values that are on the device over the
 * boundary are packed at the bottom as under `keep`; those of them that leave in between
 * lend their bytes to others.
 */
#include <string.h>

#include "base/alloc.h"
#include "memory/policy/lower_int.h"

enum owner_kind { STAY, WORKSPACE, REDO_WORKSPACE };

struct sl_lower_owner {
	enum owner_kind kind;
	uint32_t id; /* value, op, run, or birth of a temporary stay */
	uint32_t gap; /* of a stay: the gap that it follows, or SL_NO_ID for the first */
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static sl_status add_item(struct sl_lowerer *l, const struct sl_lower_owner *owner,
	const struct sl_place_item *item)
{
	if (sl_grow((void **)&l->items, &l->cap_items, l->n + 1, sizeof(*l->items),
		    SIZE_MAX / 128) ||
		sl_grow((void **)&l->owners, &l->cap_owners, l->n + 1, sizeof(*l->owners),
			SIZE_MAX / 128))
		return no_memory();
	l->owners[l->n] = *owner;
	l->items[l->n++] = *item;
	return SL_OK;
}

static bool leaves(const struct sl_lowerer *l, uint32_t v)
{
	for (uint32_t i = l->g->first[v]; i < l->g->first[v + 1]; i++) {
		if (l->g->gaps[i].fate != SL_FATE_KEEP)
			return true;
	}
	return false;
}

/* What is at home over the boundary: 0 immovable, 1 never leaves, 2 leaves; 3: not at
 * home. */
static int home_rank(const struct sl_lowerer *l, uint32_t v)
{
	if (!sl_lower_lasting(l, v) || sl_lower_wrap(l, v)->fate != SL_FATE_KEEP)
		return 3;
	if (l->g->t->values[v].immovable)
		return 0;
	return leaves(l, v) ? 2 : 1;
}

static void give_home(struct sl_lowerer *l, uint32_t v, uint64_t *end)
{
	*end = sl_align_up(*end, l->g->t->values[v].align);
	l->home[v] = *end;
	*end += sl_room_value(&l->g->t->values[v]);
}

static void pack_rank(struct sl_lowerer *l, int rank, uint64_t *end)
{
	const struct sl_trace *t = l->g->t;

	for (uint64_t align = SL_PAGE_BYTES; align > 0; align /= 2) {
		for (uint32_t v = 0; v < t->n_values; v++) {
			if (t->values[v].align == align && home_rank(l, v) == rank)
				give_home(l, v, end);
		}
	}
}

static void pack_homes(struct sl_lowerer *l)
{
	uint64_t end = 0;

	memset(l->home, 0xff, ((size_t)l->g->t->n_values + 1) * sizeof(*l->home));
	pack_rank(l, 0, &end);
	pack_rank(l, 1, &end);
	l->base = end;
	pack_rank(l, 2, &end);
}

/* Times: the first of op i, its own, and that of a run. */
static uint32_t before(const struct sl_lowerer *l, uint32_t op)
{
	return l->time[op];
}

static uint32_t during(const struct sl_lowerer *l, uint32_t op)
{
	return l->time[op + 1] - 1;
}

static uint32_t run_time(const struct sl_lowerer *l, uint32_t run)
{
	uint32_t first = run;

	while (first > 0 &&
		l->redo->runs[first - 1].before_op == l->redo->runs[run].before_op)
		first--;
	return l->time[l->redo->runs[run].before_op] + 1 + run - first;
}

uint32_t sl_lower_gap_of_birth(
	const struct sl_lowerer *l, uint32_t op, const struct sl_redo_birth *b)
{
	uint32_t i = l->g->first[b->value];

	while (l->g->gaps[i].fate != SL_FATE_REDO || l->g->gaps[i].arrive != op)
		i++;
	return i;
}

static void note_births(struct sl_lowerer *l)
{
	for (uint32_t i = 0; l->redo != NULL && i < l->redo->n_runs; i++) {
		const struct sl_redo_run *run = &l->redo->runs[i];

		for (uint32_t k = 0; k < run->n_births; k++) {
			const struct sl_redo_birth *b =
				&l->redo->births[run->first_birth + k];

			if (!b->temporary)
				l->born_at[sl_lower_gap_of_birth(l, run->before_op, b)] =
					run_time(l, i);
		}
	}
}

static void set_times(struct sl_lowerer *l)
{
	uint32_t now = 0, k = 0;

	for (uint32_t op = 0; op < l->g->t->n_ops; op++) {
		l->time[op] = now;
		for (; l->redo != NULL && k < l->redo->n_runs &&
			l->redo->runs[k].before_op == op;
			k++)
			now++;
		now += 2;
	}
	l->time[l->g->t->n_ops] = now;
}

/* A stay after a gap that was redone begins with the run that bore it. */
static uint32_t arrival(const struct sl_lowerer *l, uint32_t i)
{
	const struct sl_gap *gap = &l->g->gaps[i];

	if (gap->fate != SL_FATE_REDO)
		return before(l, gap->arrive);
	return l->born_at[i];
}

/* The stay [first, last] of v after gap (SL_NO_ID: its first). */
static sl_status add_stay(
	struct sl_lowerer *l, uint32_t v, uint32_t gap, uint32_t first, uint32_t last)
{
	struct sl_place_item item = {.first = first,
		.last = last,
		.bytes = sl_room_value(&l->g->t->values[v]),
		.align = l->g->t->values[v].align};

	/* Both stays that meet at the boundary are at home. */
	if (l->home[v] != SL_NO_OFFSET &&
		(gap == SL_NO_ID || last == during(l, l->g->t->n_ops - 1))) {
		item.offset = l->home[v];
		item.fixed = true;
	}
	return add_item(
		l, &(struct sl_lower_owner){.kind = STAY, .id = v, .gap = gap}, &item);
}

static sl_status add_stays(struct sl_lowerer *l, uint32_t v)
{
	const struct sl_gaps *g = l->g;
	uint32_t from = g->x.first[v], to = g->x.first[v + 1];
	uint32_t first, last = during(l, g->t->n_ops - 1), after = SL_NO_ID;
	const struct sl_gap *wrap = sl_lower_lasting(l, v) ? sl_lower_wrap(l, v) : NULL;

	if (g->t->values[v].alias != SL_NO_ID || (from == to && wrap == NULL))
		return SL_OK;
	if (home_rank(l, v) < 2 || (from == to && wrap->fate != SL_FATE_KEEP))
		return SL_OK; /* never leaves, or never comes */
	first = wrap == NULL ? during(l, g->x.uses[from].op) : 0;
	if (wrap == NULL)
		last = during(l, g->x.uses[to - 1].op);
	if (wrap != NULL && wrap->fate != SL_FATE_KEEP) {
		first = before(l, wrap->arrive);
		last = during(l, wrap->hold - 1);
		after = g->first[v + 1] - 1;
	}
	for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++) {
		const struct sl_gap *gap = &g->gaps[i];

		if (gap->fate == SL_FATE_KEEP || gap->wraps)
			continue;
		SL_TRY(add_stay(l, v, after, first, during(l, gap->hold - 1)));
		first = arrival(l, i);
		after = i;
	}
	return add_stay(l, v, after, first, last);
}

static sl_status add_workspaces(struct sl_lowerer *l)
{
	for (uint32_t i = 0; i < l->g->t->n_ops; i++) {
		const struct sl_trace_op *o = &l->g->t->ops[i];

		if (o->workspace_bytes == 0)
			continue;
		SL_TRY(add_item(l, &(struct sl_lower_owner){.kind = WORKSPACE, .id = i},
			&(struct sl_place_item){.first = during(l, i),
				.last = during(l, i),
				.bytes = sl_room_workspace(o),
				.align = sl_room_workspace_align(o->workspace_bytes)}));
	}
	return SL_OK;
}

/* Temporary values and the workspaces of what is done again. */
static sl_status add_redo(struct sl_lowerer *l)
{
	const struct sl_redo *r = l->redo;

	for (uint32_t i = 0; r != NULL && i < r->n_runs; i++) {
		const struct sl_redo_run *run = &r->runs[i];
		const struct sl_trace_op *o = &l->g->t->ops[run->op];
		uint32_t at = run_time(l, i);

		for (uint32_t k = run->first_birth; k < run->first_birth + run->n_births;
			k++) {
			const struct sl_redo_birth *b = &r->births[k];
			const struct sl_trace_value *v = &l->g->t->values[b->value];

			if (b->temporary)
				SL_TRY(add_item(l,
					&(struct sl_lower_owner){
						.kind = STAY, .id = k, .gap = l->g->n},
					&(struct sl_place_item){.first = at,
						.last = run_time(l, b->last_run),
						.bytes = sl_room_value(v),
						.align = v->align}));
		}
		if (o->workspace_bytes > 0)
			SL_TRY(add_item(l,
				&(struct sl_lower_owner){.kind = REDO_WORKSPACE, .id = i},
				&(struct sl_place_item){.first = at,
					.last = at,
					.bytes = sl_room_workspace(o),
					.align = sl_room_workspace_align(
						o->workspace_bytes)}));
	}
	return SL_OK;
}

static void take_offsets(struct sl_lowerer *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct sl_lower_owner *o = &l->owners[i];
		uint64_t offset = l->items[i].offset;

		if (o->kind == WORKSPACE)
			l->plan.workspace_offset[o->id] = offset;
		else if (o->kind == REDO_WORKSPACE)
			l->redo_workspace[o->id] = offset;
		else if (o->gap == SL_NO_ID)
			l->plan.value_offset[o->id] = offset;
		else if (o->gap == l->g->n)
			l->again_at[o->id] = offset;
		else
			l->landing[o->gap] = offset;
	}
	for (uint32_t v = 0; v < l->g->t->n_values; v++) {
		if (l->home[v] != SL_NO_OFFSET)
			l->plan.value_offset[v] = l->home[v];
	}
}

#define ALIKE ((uint64_t)2 << 20)

/*
 * Slots below. A slot is held from the first copy out to the value's last use, over the
 * boundary if it persists. Without reuse first: fewer copies then wait for one another.
 */
static bool needs_slot(const struct sl_lowerer *l, uint32_t v)
{
	for (uint32_t i = l->g->first[v]; i < l->g->first[v + 1]; i++) {
		if (l->g->gaps[i].fate == SL_FATE_SWAP)
			return true;
	}
	return false;
}

static void set_tier(struct sl_lowerer *l, uint32_t v, uint32_t tier)
{
	for (uint32_t i = l->g->first[v]; i < l->g->first[v + 1]; i++)
		l->g->gaps[i].tier = (uint8_t)tier;
}

static sl_status fail_tiers(uint64_t bytes)
{
	char text[SL_SIZE_TEXT];

	return SL_FAIL(SL_E_INFEASIBLE,
		"the tiers have no room for %s more; give a larger --host or disk tier",
		sl_size_print(bytes, text));
}

/* Where v lies when it leaves: where it landed last if it lives across iterations. */
static uint64_t leaves_from(const struct sl_lowerer *l, uint32_t v)
{
	uint64_t from = l->plan.value_offset[v];

	for (uint32_t i = l->g->first[v]; i < l->g->first[v + 1]; i++) {
		bool lands = l->g->gaps[i].fate == SL_FATE_SWAP &&
			     l->landing[i] != SL_NO_OFFSET;

		if (lands && sl_class_persistent(l->g->t->values[v].cls))
			from = l->landing[i];
	}
	return from;
}

/* Where both places of a large value lie alike within a huge page, its pages can change
 * places instead of being copied. */
static uint64_t skip_alike(const struct sl_lowerer *l, uint32_t v, uint64_t used)
{
	uint64_t from = leaves_from(l, v);

	if (l->g->t->values[v].bytes < 2 * ALIKE || from == SL_NO_OFFSET)
		return 0;
	return (from - used) & (ALIKE - 1);
}

/* The first tier with room from the wish on, then from the fastest; n_tiers: none. */
static uint32_t find_tier(
	const struct sl_gaps *g, uint32_t wish, const uint64_t *used, uint64_t bytes)
{
	for (uint32_t i = 0; i < g->n_tiers; i++) {
		uint32_t k = (wish + i) % g->n_tiers;

		if (used[k] + bytes <= g->tiers[k].bytes)
			return k;
	}
	return g->n_tiers;
}

static sl_status give_slots(struct sl_lowerer *l, bool alike)
{
	uint64_t used[SL_REACH_MAX] = {0};

	memset(l->slot, 0xff, ((size_t)l->g->t->n_values + 1) * sizeof(*l->slot));
	for (uint32_t v = 0; v < l->g->t->n_values; v++) {
		uint64_t bytes = sl_align_up(l->g->t->values[v].bytes, SL_PAGE_BYTES);
		uint32_t wish = l->g->prefer != NULL ? l->g->prefer[v] : 0, k;

		if (!needs_slot(l, v))
			continue;
		used[0] += alike && wish == 0 ? skip_alike(l, v, used[0]) : 0;
		k = find_tier(l->g, wish, used, bytes);
		if (k > 0 && wish == 0 && alike)
			return give_slots(l, false);
		if (k == l->g->n_tiers)
			return fail_tiers(bytes);
		set_tier(l, v, k);
		l->slot[v] = used[k];
		used[k] += bytes;
	}
	return SL_OK;
}

static sl_status begin(struct sl_lowerer *l, uint64_t budget, const char *policy)
{
	const struct sl_trace *t = l->g->t;
	size_t births = l->redo != NULL ? l->redo->n_births : 0;
	size_t runs = l->redo != NULL ? l->redo->n_runs : 0;

	l->home = sl_calloc((size_t)t->n_values + 1, sizeof(*l->home));
	l->slot = sl_calloc((size_t)t->n_values + 1, sizeof(*l->slot));
	l->last_again = sl_calloc((size_t)t->n_values + 1, sizeof(*l->last_again));
	l->landing = sl_calloc((size_t)l->g->n + 1, sizeof(*l->landing));
	l->again_at = sl_calloc(births + 1, sizeof(*l->again_at));
	l->redo_workspace = sl_calloc(runs + 1, sizeof(*l->redo_workspace));
	l->time = sl_calloc((size_t)t->n_ops + 1, sizeof(*l->time));
	l->born_at = sl_calloc((size_t)l->g->n + 1, sizeof(*l->born_at));
	if (!l->home || !l->slot || !l->last_again || !l->landing || !l->again_at ||
		!l->redo_workspace || !l->time || !l->born_at)
		return no_memory();
	set_times(l);
	note_births(l);
	return sl_plan_begin(&l->plan, t, budget, policy);
}

static void finish(struct sl_lowerer *l)
{
	sl_plan_finish(&l->plan);
	sl_free(l->items);
	sl_free(l->owners);
	sl_free(l->home);
	sl_free(l->slot);
	sl_free(l->last_again);
	sl_free(l->landing);
	sl_free(l->again_at);
	sl_free(l->redo_workspace);
	sl_free(l->time);
	sl_free(l->born_at);
}

static sl_status place(struct sl_lowerer *l, uint64_t budget, uint64_t *height)
{
	/* More orders gain a few percent at most. */
	struct sl_place_opts opts = {.base = l->base,
		.capacity = budget,
		.hopeless = budget + budget / 16,
		.effort = SL_PLACE_FAMILY};

	for (uint32_t v = 0; v < l->g->t->n_values; v++)
		SL_TRY(add_stays(l, v));
	SL_TRY(add_workspaces(l));
	SL_TRY(add_redo(l));
	return sl_place_with(&opts, l->items, l->n, height);
}

sl_status sl_gaps_lower(struct sl_gaps *g, const struct sl_redo *redo, uint64_t budget,
	const char *policy, struct sl_plan *out, uint64_t *out_height)
{
	struct sl_lowerer l = {.g = g, .redo = redo, .plan = SL_PLAN_INIT};
	sl_status st = SL_OK;

	SL_TRY_OUT(begin(&l, budget, policy));
	sl_gaps_dirt(g);
	SL_TRY_OUT(give_slots(&l, false));
	pack_homes(&l);
	SL_TRY_OUT(place(&l, budget, out_height));
	if (*out_height > budget)
		goto out;
	take_offsets(&l);
	SL_TRY_OUT(give_slots(&l, true));
	SL_TRY_OUT(sl_lower_emit(&l));
	SL_TRY_OUT(sl_plan_seal(&l.plan, g->t));
	sl_plan_move(out, &l.plan);
out:
	finish(&l);
	return st;
}

sl_status sl_gaps_bound(struct sl_gaps *g, const struct sl_redo *redo,
	struct sl_plan_price *out, uint64_t *start_ns)
{
	struct sl_lowerer l = {.g = g, .redo = redo, .plan = SL_PLAN_INIT};
	sl_status st = SL_OK;

	SL_TRY_OUT(begin(&l, 0, ""));
	sl_gaps_dirt(g);
	SL_TRY_OUT(give_slots(&l, false));
	SL_TRY_OUT(sl_lower_emit(&l));
	SL_TRY_OUT(sl_plan_seal(&l.plan, g->t));
	SL_TRY_OUT(sl_plan_price_anywhere(g->t, &l.plan, out, start_ns));
out:
	finish(&l);
	return st;
}
