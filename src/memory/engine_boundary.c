/* SPDX-License-Identifier: Apache-2.0 */
/* What happens between steps: creating, adopting a plan, ending a step, destroying. */
#include "memory/engine_int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pages.h"
#include "base/units.h"

static sl_status check_opts(const struct sl_engine_opts *o)
{
	if (o->n_tiers > SL_RES_MAX_TIERS)
		return SL_FAIL(SL_E_LIMIT, "%u tiers; at most %u are possible",
			o->n_tiers, SL_RES_MAX_TIERS);
	if (o->bounce_offset != SL_NO_OFFSET &&
		(o->bounce_offset % SL_TIER_MAX_ALIGN != 0 ||
			o->bounce_offset > o->arena_bytes ||
			o->arena_bytes - o->bounce_offset <
				2 * (uint64_t)SL_TIER_MAX_ALIGN))
		return SL_FAIL(SL_E_INVALID,
			"bounce blocks at %llu do not fit the arena of %llu bytes",
			(unsigned long long)o->bounce_offset,
			(unsigned long long)o->arena_bytes);
	return SL_OK;
}

sl_status sl_engine_create(const struct sl_engine_opts *opts, struct sl_engine **out)
{
	struct sl_engine *e;

	SL_TRY(check_opts(opts));
	e = sl_calloc(1, sizeof(*e));
	if (!e)
		return SL_FAIL(SL_E_NOMEM, "no memory for the engine");
	e->staging = sl_alloc_aligned(SL_TIER_MAX_ALIGN, SL_TIER_CHUNK_BYTES);
	if (!e->staging) {
		sl_free(e);
		return SL_FAIL(SL_E_NOMEM, "no memory for the engine's staging block");
	}
	e->opts = *opts;
	/* Without these addresses all is copied. */
	if (opts->page_unit > 0)
		e->spare = sl_pages_reserve(SL_ENGINE_SPARE_BYTES);
	/* Default mutexes and conditions cannot fail to initialise on Linux. */
	(void)pthread_mutex_init(&e->lock, NULL);
	(void)pthread_cond_init(&e->changed, NULL);
	(void)pthread_mutex_init(&e->bounce_lock[0], NULL);
	(void)pthread_mutex_init(&e->bounce_lock[1], NULL);
	sl_engine_poison(e, 0, opts->arena_bytes);
	*out = e;
	return SL_OK;
}

static void pair_finish(struct sl_engine_pair *p)
{
	sl_engine_index_finish(&p->index);
	sl_residency_finish(&p->start);
	sl_residency_finish(&p->now);
	sl_free(p->offsets);
	*p = (struct sl_engine_pair){0};
}

void sl_engine_destroy(struct sl_engine *e)
{
	if (!e)
		return;
	sl_engine_channels_stop(e);
	pair_finish(&e->pair);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->bounce_lock[0]);
	pthread_mutex_destroy(&e->bounce_lock[1]);
	sl_free_aligned(e->staging);
	sl_pages_release(e->spare, SL_ENGINE_SPARE_BYTES);
	sl_free(e);
}

/* Nothing of the plan may reach outside the arena or into reserved bounce blocks. */
static sl_status check_device(const struct sl_engine *e, const struct sl_range *reserved,
	const char *what, uint32_t id, const struct sl_range *r)
{
	uint64_t most = e->opts.arena_bytes;

	if (r->at > most || r->len > most - r->at || sl_range_overlap(r, reserved))
		return SL_FAIL(SL_E_INVALID,
			"plan: %s %u at device offset %llu does not fit the arena of "
			"%llu bytes; "
			"plan again for this budget",
			what, id, (unsigned long long)r->at, (unsigned long long)most);
	return SL_OK;
}

static sl_status check_tier(
	const struct sl_engine *e, uint32_t v, uint32_t tier, uint64_t at, uint64_t bytes)
{
	struct sl_tier *t = e->opts.tiers[tier - 1];
	uint64_t space = sl_engine_space_bytes(e, tier, bytes);

	if (at % sl_tier_align(t) != 0 || at > t->bytes || space > t->bytes - at)
		return SL_FAIL(SL_E_INVALID,
			"plan: v%u at offset %llu of the %s tier: must be a multiple of "
			"%zu within "
			"its %llu bytes; plan again",
			v, (unsigned long long)at, t->impl->name, sl_tier_align(t),
			(unsigned long long)t->bytes);
	return SL_OK;
}

static sl_status check_born(const struct sl_engine *e, const struct sl_engine_pair *n)
{
	const struct sl_trace *t = n->trace;
	const struct sl_plan *p = n->plan;

	for (uint32_t v = 0; v < t->n_values; v++) {
		struct sl_range r = {
			SL_TIER_DEVICE, p->value_offset[v], t->values[v].bytes};

		if (r.at != SL_NO_OFFSET)
			SL_TRY(check_device(e, &n->reserved, "value", v, &r));
	}
	for (uint32_t i = 0; i < n->index.touch_first[t->n_ops]; i++) {
		const struct sl_touch *x = &n->index.touches[i];

		if ((x->flags & SL_TOUCH_BIRTH) &&
			p->value_offset[x->value] == SL_NO_OFFSET)
			return SL_FAIL(SL_E_INVALID, "plan: v%u has no place; plan again",
				x->value);
	}
	return SL_OK;
}

/* Where a run again bears its values and has its workspace. */
static sl_status check_again(const struct sl_engine *e, const struct sl_engine_pair *n,
	const struct sl_action *a)
{
	struct sl_range v = {SL_TIER_DEVICE, a->offset,
		n->trace->values[n->index.root[a->value]].bytes};
	struct sl_range w = {SL_TIER_DEVICE, a->workspace_offset,
		n->trace->ops[a->again].workspace_bytes};

	if (!e->opts.again)
		return SL_FAIL(SL_E_INVALID,
			"plan: op %u runs again at op %u, but whoever runs the ops "
			"cannot "
			"run one twice; plan with another policy",
			a->again, a->op);
	if (v.at != SL_NO_OFFSET)
		SL_TRY(check_device(e, &n->reserved, "value", a->value, &v));
	if (w.at != SL_NO_OFFSET)
		SL_TRY(check_device(
			e, &n->reserved, "the workspace of op", a->again, &w));
	return SL_OK;
}

static sl_status check_places(const struct sl_engine *e, const struct sl_engine_pair *n)
{
	const struct sl_trace *t = n->trace;
	const struct sl_plan *p = n->plan;

	SL_TRY(check_born(e, n));
	for (uint32_t op = 0; op < t->n_ops; op++) {
		struct sl_range r = {SL_TIER_DEVICE, p->workspace_offset[op],
			t->ops[op].workspace_bytes};

		if (r.len > 0)
			SL_TRY(check_device(
				e, &n->reserved, "the workspace of op", op, &r));
	}
	for (uint32_t i = 0; i < p->n_actions; i++) {
		const struct sl_action *a = &p->actions[i];
		struct sl_range r = {SL_TIER_DEVICE, a->offset,
			t->values[n->index.root[a->value]].bytes};

		if (a->kind == SL_ACTION_IN || a->kind == SL_ACTION_MOVE)
			SL_TRY(check_device(e, &n->reserved, "value", a->value, &r));
		if (a->kind == SL_ACTION_RECOMPUTE)
			SL_TRY(check_again(e, n, a));
		if (sl_action_copies_out(a->kind))
			SL_TRY(check_tier(e, a->value, a->tier, a->offset, r.len));
	}
	return SL_OK;
}

/* A value that is the bounce blocks (engine.h), or those of the options, which no plan
 * may use. */
static sl_status find_bounce(const struct sl_engine *e, struct sl_engine_pair *n)
{
	const uint64_t bytes = 2 * (uint64_t)SL_TIER_MAX_ALIGN;

	for (uint32_t i = 0; i < n->index.n_persistent; i++) {
		uint32_t v = n->index.persistent[i];
		const struct sl_trace_value *x = &n->trace->values[v];

		if (!x->immovable || x->bytes != bytes || strcmp(x->name, "bounce") != 0)
			continue;
		n->bounce_offset = n->plan->value_offset[v];
		if (n->bounce_offset % SL_TIER_MAX_ALIGN != 0)
			return SL_FAIL(SL_E_INVALID,
				"plan: the bounce blocks (v%u) are not at a multiple of "
				"%u; plan "
				"again",
				v, SL_TIER_MAX_ALIGN);
		return SL_OK;
	}
	n->bounce_offset = e->opts.bounce_offset;
	if (n->bounce_offset != SL_NO_OFFSET)
		n->reserved = (struct sl_range){SL_TIER_DEVICE, n->bounce_offset, bytes};
	return SL_OK;
}

/* The start lines first, then the device for what has none or names it. */
static sl_status fill_start(const struct sl_engine *e, struct sl_engine_pair *n)
{
	const struct sl_plan *p = n->plan;
	const struct sl_engine_index *x = &n->index;

	for (uint32_t i = 0; i < x->n_persistent; i++) {
		uint32_t v = x->persistent[i];

		if (sl_plan_starts_on_device(p, v))
			sl_residency_place(&n->start, v, p->value_offset[v]);
	}
	for (uint32_t i = 0; i < p->n_starts; i++) {
		const struct sl_plan_start *s = &p->starts[i];
		uint32_t v = s->value < n->trace->n_values ? x->root[s->value] : SL_NO_ID;

		if (v == SL_NO_ID || s->tier > n->trace->n_tiers ||
			!sl_class_persistent(n->trace->values[v].cls))
			return SL_FAIL(SL_E_INVALID,
				"plan: start line of v%u: no such value across "
				"iterations, or no "
				"such tier; plan again",
				s->value);
		if (s->tier == SL_TIER_DEVICE)
			continue;
		SL_TRY(check_tier(e, v, s->tier, s->offset, n->trace->values[v].bytes));
		sl_residency_place_copy(&n->start, v, s->tier - 1, s->offset);
	}
	for (uint32_t i = 0; i < x->n_persistent; i++) {
		if (n->start.state[x->persistent[i]] == SL_RES_ABSENT)
			return SL_FAIL(SL_E_INVALID,
				"plan: v%u lives across iterations but has no "
				"place at the start; plan again",
				x->persistent[i]);
	}
	return SL_OK;
}

static void copy_residency(struct sl_residency *to, const struct sl_residency *from)
{
	memcpy(to->state, from->state, from->n_values * sizeof(*to->state));
	memcpy(to->copies, from->copies, from->n_values * sizeof(*to->copies));
	memcpy(to->at, from->at, from->n_values * sizeof(*to->at));
	memcpy(to->copy_at, from->copy_at,
		(size_t)from->n_values * from->n_tiers * sizeof(*to->copy_at));
}

static sl_status pair_init(struct sl_engine_pair *n, const struct sl_engine *e,
	const struct sl_trace *t, const struct sl_plan *p)
{
	*n = (struct sl_engine_pair){.trace = t, .plan = p};
	if (p->n_values != t->n_values || p->n_ops != t->n_ops)
		return SL_FAIL(SL_E_INVALID,
			"the plan is for %u values and %u ops, the trace has %u and %u; "
			"plan again",
			p->n_values, p->n_ops, t->n_values, t->n_ops);
	if (t->n_tiers != e->opts.n_tiers)
		return SL_FAIL(SL_E_INVALID, "the trace has %u tiers, the engine %u",
			t->n_tiers, e->opts.n_tiers);
	SL_TRY(sl_engine_index_init(&n->index, t, p));
	SL_TRY(sl_residency_init(&n->start, t->n_values, t->n_tiers));
	SL_TRY(sl_residency_init(&n->now, t->n_values, t->n_tiers));
	n->offsets = sl_alloc(t->n_values * sizeof(*n->offsets));
	if (!n->offsets)
		return SL_FAIL(SL_E_NOMEM, "no memory for the offsets of %u values",
			t->n_values);
	memset(n->offsets, 0xff, t->n_values * sizeof(*n->offsets));
	SL_TRY(find_bounce(e, n));
	SL_TRY(check_places(e, n));
	SL_TRY(fill_start(e, n));
	copy_residency(&n->now, &n->start);
	return SL_OK;
}

static sl_status check_same_values(
	const struct sl_engine_pair *a, const struct sl_engine_pair *b)
{
	bool same = a->index.n_persistent == b->index.n_persistent;

	for (uint32_t i = 0; same && i < a->index.n_persistent; i++) {
		uint32_t v = a->index.persistent[i];

		same = v == b->index.persistent[i] &&
		       a->trace->values[v].bytes == b->trace->values[v].bytes;
	}
	if (!same)
		return SL_FAIL(SL_E_INVALID, "the new trace has other values across "
					     "iterations than the one before");
	return SL_OK;
}

static void publish_start(struct sl_engine *e)
{
	const struct sl_engine_index *x = &e->pair.index;

	for (uint32_t i = 0; i < x->n_persistent; i++) {
		uint32_t v = x->persistent[i];
		uint64_t bytes = e->pair.trace->values[v].bytes;

		if (e->pair.now.state[v] == SL_RES_RESIDENT) {
			sl_engine_publish(e, v, e->pair.now.at[v]);
			sl_engine_note_peak(e, &(struct sl_range){SL_TIER_DEVICE,
						       e->pair.now.at[v], bytes});
		}
		for (uint32_t k = 0; k < e->pair.now.n_tiers; k++) {
			if (!sl_residency_has_copy(&e->pair.now, v, k))
				continue;
			sl_engine_note_peak(
				e, &(struct sl_range){k + 1,
					   sl_residency_copy_at(&e->pair.now, v, k),
					   sl_engine_space_bytes(e, k + 1, bytes)});
		}
	}
}

/* The bounce blocks of the pair in force. */
static void set_bounce(struct sl_engine *e)
{
	bool none = !e->pair.trace || e->pair.bounce_offset == SL_NO_OFFSET;

	e->bounce = none || e->opts.wire ? NULL : e->opts.arena + e->pair.bounce_offset;
	sl_engine_note_peak(e, &e->pair.reserved);
}

sl_status sl_engine_adopt(
	struct sl_engine *e, const struct sl_trace *t, const struct sl_plan *p)
{
	struct sl_engine_pair next;
	sl_status st;

	SL_TRY(sl_engine_look(e));
	if (e->in_step)
		return SL_FAIL(SL_E_INVALID, "a plan can be adopted only between steps");
	SL_TRY(sl_engine_wire_settle(e));
	SL_TRY_OUT(pair_init(&next, e, t, p));
	SL_TRY_OUT(sl_engine_channels_fit(e, &next));
	if (e->pair.trace) {
		SL_TRY_OUT(check_same_values(&e->pair, &next));
		SL_TRY_OUT(sl_engine_carry(e, &next));
	}
	pair_finish(&e->pair);
	e->pair = next;
	set_bounce(e);
	publish_start(e);
	return SL_OK;
out:
	pair_finish(&next);
	set_bounce(e);
	return st;
}

static bool is_at_start(const struct sl_engine *e, uint32_t v)
{
	const struct sl_residency *now = &e->pair.now, *start = &e->pair.start;

	if (now->state[v] != start->state[v] || now->at[v] != start->at[v] ||
		(now->copies[v] & start->copies[v]) != start->copies[v])
		return false;
	for (uint32_t k = 0; start->copies[v] >> k != 0; k++) {
		if (sl_residency_has_copy(start, v, k) &&
			sl_residency_copy_at(now, v, k) !=
				sl_residency_copy_at(start, v, k))
			return false;
	}
	return true;
}

sl_status sl_engine_end_step(struct sl_engine *e)
{
	const struct sl_engine_index *x = &e->pair.index;
	struct sl_residency *now = &e->pair.now;

	if (!e->pair.trace)
		return SL_FAIL(SL_E_INVALID, "the engine has adopted no plan");
	SL_TRY(sl_engine_wait_all(e));
	for (uint32_t i = 0; i < x->n_persistent; i++) {
		uint32_t v = x->persistent[i];

		if (now->state[v] == SL_RES_LEAVING)
			SL_TRY(sl_residency_out_end(now, v));
		if (now->state[v] == SL_RES_COMING) {
			SL_TRY(sl_residency_in_end(now, v));
			sl_engine_publish(e, v, now->at[v]);
		}
		if (!is_at_start(e, v))
			return SL_FAIL(SL_E_INVALID,
				"value %s (v%u) ends the step %s, not where the plan's "
				"start says; "
				"plan again",
				e->pair.trace->values[v].name, v,
				sl_res_state_name((enum sl_res_state)now->state[v]));
		/* A copy that the start does not name may be overwritten by the next
		 * step. */
		now->copies[v] = e->pair.start.copies[v];
	}
	e->in_step = false;
	sl_event_emit(e->opts.events, SL_EV_STEP, 0, 0);
	return SL_OK;
}

sl_status sl_engine_settle(struct sl_engine *e)
{
	if (e->in_step)
		return SL_FAIL(SL_E_INVALID, "copies settle only between steps");
	SL_TRY(sl_engine_wait_all(e));
	return sl_engine_wire_settle(e);
}
