/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random traces and random sound plans over two tiers. The planner follows each value by
 * position and scans for room, so it is slow and obvious.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/units.h"
#include "harness/again_plan.h"
#include "harness/engine_rig.h"

#define MAX_VALUES 64u
#define MAX_PERSISTENT 8u
#define NOWHERE UINT64_MAX
#define AGAIN_TRIES 60

static const uint64_t sizes[] = {1, 100, 4096, 5000, 12288, 20480};

static sl_status add_value(struct sl_rng *rng, struct sl_trace *t, enum sl_class cls)
{
	struct sl_trace_value v = {
		.bytes = sizes[sl_rng_below(rng, SL_COUNT(sizes))],
		.align = sl_rng_below(rng, 2) ? 64 : 4096,
		.alias = SL_NO_ID,
		.cls = cls,
	};

	return sl_trace_add_value(t, &v);
}

static sl_status add_tiers(struct sl_trace *t, uint64_t tier_bytes)
{
	SL_TRY(sl_trace_add_tier(t, "host", tier_bytes));
	SL_TRY(sl_trace_add_tier(t, "disk", tier_bytes));
	for (uint32_t k = 1; k <= SL_RIG_TIERS; k++) {
		struct sl_trace_link out = {.to = k, .bytes_per_s = 1000}, in = out;

		in.from = k;
		in.to = 0;
		SL_TRY(sl_trace_add_link(t, &out));
		SL_TRY(sl_trace_add_link(t, &in));
	}
	return SL_OK;
}

/* Reads two older values, mutates one, gives none, one or two; mostly pure. */
static sl_status add_random_op(struct sl_rng *rng, struct sl_trace *t, uint32_t op)
{
	uint32_t known = t->n_values, in[2], mutates;
	uint32_t born[2] = {known, known + 1};
	struct sl_trace_op o = {.kind = "op", .in = in, .n_in = 2, .out = born};

	in[0] = (uint32_t)sl_rng_below(rng, known);
	in[1] = (uint32_t)sl_rng_below(rng, known);
	mutates = (uint32_t)sl_rng_below(rng, known);
	o.n_out = sl_rng_below(rng, 4) == 0 ? 2 : 1;
	o.pure = sl_rng_below(rng, 6) != 0;
	if (in[0] == in[1])
		o.n_in = 1;
	if (mutates != in[0] && mutates != in[1] && sl_rng_below(rng, 2)) {
		o.mutates = &mutates;
		o.n_mutates = 1;
		o.n_out -= (uint32_t)sl_rng_below(rng, 2);
	}
	if (sl_rng_below(rng, 3) == 0)
		o.workspace_bytes = 1000 + op;
	for (uint32_t i = 0; i < o.n_out; i++)
		SL_TRY(add_value(rng, t, SL_CLASS_ACT));
	return sl_trace_add_op(t, &o);
}

sl_status sl_random_trace(
	struct sl_rng *rng, uint32_t ops, uint64_t tier_bytes, struct sl_trace *out)
{
	struct sl_trace t = SL_TRACE_INIT;
	sl_status st;

	SL_TRY_OUT(add_tiers(&t, tier_bytes));
	for (uint32_t v = 0; v < MAX_PERSISTENT; v++)
		SL_TRY_OUT(add_value(rng, &t, v % 2 ? SL_CLASS_PARAM : SL_CLASS_STATE));
	for (uint32_t op = 0; op < ops && t.n_values + 2 <= MAX_VALUES; op++)
		SL_TRY_OUT(add_random_op(rng, &t, op));
	SL_TRY_OUT(sl_trace_check(&t));
	*out = t;
	return SL_OK;
out:
	sl_trace_finish(&t);
	return st;
}

/* The planner's view, by position. */
struct guess {
	struct sl_rng *rng;
	const struct sl_trace *t;
	struct sl_plan *p;
	uint64_t budget;
	uint32_t op;
	enum sl_phase phase;
	uint64_t at[MAX_VALUES];
	uint64_t slot[SL_RIG_TIERS][MAX_VALUES];
	uint64_t kept[SL_RIG_TIERS][MAX_VALUES]; /* start lines: nobody else goes there */
	bool pinned[MAX_VALUES];
	uint32_t last[MAX_VALUES];
};

static bool overlap(uint64_t a, uint64_t a_len, uint64_t b, uint64_t b_len)
{
	return b != NOWHERE && a < b + b_len && b < a + a_len;
}

static uint64_t tier_len(const struct guess *g, uint32_t v)
{
	return sl_align_up(g->t->values[v].bytes + 1, 4096);
}

static bool device_free(const struct guess *g, uint64_t at, uint64_t len, uint32_t except)
{
	if (at + len > g->budget)
		return false;
	for (uint32_t v = 0; v < g->t->n_values; v++) {
		if (v != except && overlap(at, len, g->at[v], g->t->values[v].bytes + 1))
			return false;
	}
	return true;
}

/* A random free place, or NOWHERE. */
static uint64_t room(struct guess *g, uint64_t bytes, uint64_t align, uint32_t except)
{
	uint64_t places = g->budget / align, first = sl_rng_below(g->rng, places);

	if (sl_rng_below(g->rng, 3))
		first = 0;
	for (uint64_t i = 0; i < places; i++) {
		uint64_t at = (first + i) % places * align;

		if (device_free(g, at, bytes + 1, except))
			return at;
	}
	return NOWHERE;
}

static bool slot_free(const struct guess *g, uint32_t k, uint64_t at, uint32_t v)
{
	for (uint32_t w = 0; w < g->t->n_values; w++) {
		if (w != v &&
			(overlap(at, tier_len(g, v), g->slot[k][w], tier_len(g, w)) ||
				overlap(at, tier_len(g, v), g->kept[k][w],
					tier_len(g, w))))
			return false;
	}
	return true;
}

static sl_status act(struct guess *g, enum sl_action_kind kind, uint32_t v, uint32_t k,
	uint64_t offset)
{
	struct sl_action a = {.op = g->op, .phase = g->phase, .kind = kind, .value = v};

	if (sl_action_copies(kind)) {
		a.tier = k + 1;
		a.channel = 2 * k + (kind == SL_ACTION_IN);
	}
	if (kind != SL_ACTION_DROP_CLEAN)
		a.offset = offset;
	return sl_plan_add_action(g->p, &a);
}

static sl_status put_out(struct guess *g, uint32_t v, uint32_t k, uint64_t at)
{
	g->at[v] = NOWHERE;
	g->slot[k][v] = at;
	return act(g, SL_ACTION_OUT, v, k, at);
}

static uint64_t free_slot(const struct guess *g, uint32_t k, uint32_t v)
{
	uint64_t at = 0;

	while (!slot_free(g, k, at, v))
		at += 4096;
	return at;
}

/* A copy out that leaves it where it is. */
static sl_status save(struct guess *g, uint32_t v)
{
	uint32_t k = (uint32_t)sl_rng_below(g->rng, SL_RIG_TIERS);

	g->slot[k][v] = free_slot(g, k, v);
	return act(g, SL_ACTION_SAVE, v, k, g->slot[k][v]);
}

static sl_status evict(struct guess *g, uint32_t v)
{
	uint32_t k = (uint32_t)sl_rng_below(g->rng, SL_RIG_TIERS);
	bool clean = g->slot[0][v] != NOWHERE || g->slot[1][v] != NOWHERE;

	if (clean && sl_rng_below(g->rng, 4)) {
		g->at[v] = NOWHERE;
		return act(g, SL_ACTION_DROP_CLEAN, v, 0, 0);
	}
	return put_out(g, v, k, free_slot(g, k, v));
}

/* Room by evicting random values until there is some. */
static sl_status make_room(struct guess *g, uint64_t bytes, uint64_t align, uint64_t *out)
{
	for (int tries = 0; tries < 400; tries++) {
		uint32_t v = (uint32_t)sl_rng_below(g->rng, g->t->n_values);

		*out = room(g, bytes, align, SL_NO_ID);
		if (*out != NOWHERE)
			return SL_OK;
		if (g->at[v] != NOWHERE && !g->pinned[v])
			SL_TRY(evict(g, v));
	}
	return SL_FAIL(SL_E_INFEASIBLE, "no room");
}

static sl_status bring_in(struct guess *g, uint32_t v, uint64_t at)
{
	uint32_t k = (uint32_t)sl_rng_below(g->rng, SL_RIG_TIERS);

	if (g->slot[k][v] == NOWHERE)
		k = 1 - k;
	g->at[v] = at;
	return act(g, SL_ACTION_IN, v, k, at);
}

static sl_status need(struct guess *g, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at;

		g->pinned[list[i]] = true;
		if (g->at[list[i]] != NOWHERE)
			continue;
		SL_TRY(make_room(g, g->t->values[list[i]].bytes,
			g->t->values[list[i]].align, &at));
		SL_TRY(bring_in(g, list[i], at));
	}
	return SL_OK;
}

static void pin(struct guess *g, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		g->pinned[list[i]] = true;
}

static sl_status before_op(struct guess *g, const struct sl_trace_op *o)
{
	uint64_t at;

	g->phase = SL_BEFORE;
	memset(g->pinned, 0, sizeof(g->pinned));
	pin(g, o->in, o->n_in);
	pin(g, o->mutates, o->n_mutates);
	SL_TRY(need(g, o->in, o->n_in));
	SL_TRY(need(g, o->mutates, o->n_mutates));
	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = o->out[i];

		SL_TRY(make_room(g, g->t->values[v].bytes, g->t->values[v].align, &at));
		g->at[v] = g->p->value_offset[v] = at;
		g->pinned[v] = true;
	}
	if (o->workspace_bytes == 0)
		return SL_OK;
	SL_TRY(make_room(g, o->workspace_bytes, 64, &at));
	g->p->workspace_offset[g->op] = at;
	return SL_OK;
}

static void stale(struct guess *g, uint32_t v)
{
	for (uint32_t k = 0; k < SL_RIG_TIERS; k++)
		g->slot[k][v] = NOWHERE;
}

/* An action that nobody needs. */
static sl_status fidget(struct guess *g)
{
	uint32_t v = (uint32_t)sl_rng_below(g->rng, g->t->n_values);
	uint64_t bytes = g->t->values[v].bytes, align = g->t->values[v].align, at;
	bool away = g->slot[0][v] != NOWHERE || g->slot[1][v] != NOWHERE;

	if (g->at[v] == NOWHERE) {
		at = away ? room(g, bytes, align, SL_NO_ID) : NOWHERE;
		return at == NOWHERE ? SL_OK : bring_in(g, v, at);
	}
	if (sl_rng_below(g->rng, 3) == 0)
		return save(g, v);
	if (sl_rng_below(g->rng, 2))
		return evict(g, v);
	at = room(g, bytes, align, v);
	if (at == NOWHERE)
		return SL_OK;
	g->at[v] = at;
	return act(g, SL_ACTION_MOVE, v, 0, at);
}

static sl_status after_op(struct guess *g, const struct sl_trace_op *o)
{
	g->phase = SL_AFTER;
	for (uint32_t i = 0; i < o->n_mutates; i++)
		stale(g, o->mutates[i]);
	for (uint32_t v = 0; v < g->t->n_values; v++) {
		if (sl_class_persistent(g->t->values[v].cls) || g->last[v] != g->op)
			continue;
		g->at[v] = NOWHERE;
		stale(g, v);
	}
	for (uint64_t n = sl_rng_below(g->rng, 4); n > 0; n--)
		SL_TRY(fidget(g));
	return SL_OK;
}

/* Random starts: on the device, in a tier, or both; then the view of position 0. */
static sl_status begin(struct guess *g)
{
	memset(g->at, 0xff, sizeof(g->at));
	memset(g->slot, 0xff, sizeof(g->slot));
	memset(g->kept, 0xff, sizeof(g->kept));
	for (uint32_t v = 0; v < MAX_PERSISTENT; v++) {
		struct sl_plan_start s = {.value = v};
		uint32_t k = (uint32_t)sl_rng_below(g->rng, SL_RIG_TIERS);
		uint64_t how = sl_rng_below(g->rng, 3), at = 0;

		if (how != 0) {
			while (!slot_free(g, k, at, v))
				at += 4096;
			s.tier = k + 1;
			s.offset = g->slot[k][v] = g->kept[k][v] = at;
			SL_TRY(sl_plan_add_start(g->p, &s));
		}
		if (how == 1)
			continue;
		s.tier = SL_TIER_DEVICE;
		s.offset = 0;
		if (how == 2)
			SL_TRY(sl_plan_add_start(g->p, &s));
		at = room(g, g->t->values[v].bytes, g->t->values[v].align, SL_NO_ID);
		if (at == NOWHERE)
			return SL_FAIL(SL_E_INFEASIBLE, "no room at the start");
		g->at[v] = g->p->value_offset[v] = at;
	}
	return SL_OK;
}

/* Below first: every value to its start line's tier; then up to the start's places. */
static sl_status restore(struct guess *g)
{
	uint64_t at;

	memset(g->pinned, 0, sizeof(g->pinned));
	for (uint32_t v = 0; v < MAX_PERSISTENT; v++) {
		for (uint32_t k = 0; k < SL_RIG_TIERS; k++) {
			if (g->kept[k][v] == NOWHERE || g->slot[k][v] == g->kept[k][v])
				continue;
			if (g->at[v] == NOWHERE) {
				SL_TRY(make_room(g, g->t->values[v].bytes, 4096, &at));
				SL_TRY(bring_in(g, v, at));
			}
			SL_TRY(put_out(g, v, k, g->kept[k][v]));
		}
		if (g->at[v] != NOWHERE && g->at[v] != g->p->value_offset[v])
			SL_TRY(evict(g, v));
	}
	for (uint32_t v = 0; v < MAX_PERSISTENT; v++) {
		if (g->p->value_offset[v] == NOWHERE || g->at[v] != NOWHERE)
			continue;
		if (!device_free(g, g->p->value_offset[v], g->t->values[v].bytes + 1, v))
			return SL_FAIL(SL_E_INFEASIBLE, "no way back");
		SL_TRY(bring_in(g, v, g->p->value_offset[v]));
	}
	return SL_OK;
}

static void find_last(struct guess *g)
{
	for (uint32_t op = 0; op < g->t->n_ops; op++) {
		const struct sl_trace_op *o = &g->t->ops[op];

		for (uint32_t i = 0; i < o->n_out; i++)
			g->last[o->out[i]] = op;
		for (uint32_t i = 0; i < o->n_in; i++)
			g->last[o->in[i]] = op;
		for (uint32_t i = 0; i < o->n_mutates; i++)
			g->last[o->mutates[i]] = op;
	}
}

sl_status sl_random_plan(struct sl_rng *rng, const struct sl_trace *t, uint64_t budget,
	struct sl_plan *out)
{
	struct sl_plan p = SL_PLAN_INIT;
	struct guess g = {.rng = rng, .t = t, .p = &p, .budget = budget};
	sl_status st;

	find_last(&g);
	SL_TRY_OUT(sl_plan_begin(&p, t, budget, "random"));
	SL_TRY_OUT(begin(&g));
	for (g.op = 0; g.op < t->n_ops; g.op++) {
		SL_TRY_OUT(before_op(&g, &t->ops[g.op]));
		SL_TRY_OUT(after_op(&g, &t->ops[g.op]));
	}
	g.op = t->n_ops - 1;
	SL_TRY_OUT(restore(&g));
	SL_TRY_OUT(sl_plan_seal(&p, t));
	SL_TRY_OUT(sl_plan_check(t, &p, budget, NULL));
	SL_TRY_OUT(sl_again_plan(rng, t, budget, AGAIN_TRIES, &p));
	sl_plan_move(out, &p);
out:
	sl_plan_finish(&p);
	return st;
}
