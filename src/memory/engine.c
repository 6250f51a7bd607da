/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine seen from the compute thread: what happens before and after each op. An op
 * without actions whose values are all resident costs one look at each of its values.
 */
#include "memory/engine_int.h"

#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"

/* Says which value and op a refused step was about. */
static sl_status blame(const struct sl_engine *e, sl_status st, uint32_t op, uint32_t v)
{
	return sl_fail_prefix(st, "op %u (%s), value %s: the plan does not fit the step",
		op, e->pair.trace->ops[op].kind, e->pair.trace->values[v].name);
}

void sl_engine_publish(struct sl_engine *e, uint32_t v, uint64_t at)
{
	const struct sl_engine_index *x = &e->pair.index;

	e->pair.offsets[v] = at;
	for (uint32_t i = x->alias_first[v]; i < x->alias_first[v + 1]; i++)
		e->pair.offsets[x->aliases[i]] = at;
}

void sl_engine_note_peak(struct sl_engine *e, const struct sl_range *r)
{
	uint64_t *peak = r->space == SL_TIER_DEVICE
				 ? &e->stats.peak_device_bytes
				 : &e->stats.peak_tier_bytes[r->space - 1];

	if (r->len > 0 && r->at + r->len > *peak)
		*peak = r->at + r->len;
}

static struct sl_range device_range(const struct sl_engine *e, uint32_t v, uint64_t at)
{
	return (struct sl_range){SL_TIER_DEVICE, at, e->pair.trace->values[v].bytes};
}

static struct sl_range tier_range(
	const struct sl_engine *e, uint32_t v, uint32_t tier, uint64_t at)
{
	uint64_t bytes = sl_engine_space_bytes(e, tier, e->pair.trace->values[v].bytes);

	return (struct sl_range){tier, at, bytes};
}

/* Makes v resident if it is on its way. */
static sl_status arrive(struct sl_engine *e, uint32_t v)
{
	struct sl_residency *now = &e->pair.now;
	struct sl_range r;
	uint64_t stalled;

	if (SL_LIKELY(now->state[v] == SL_RES_RESIDENT))
		return SL_OK;
	if (now->state[v] != SL_RES_COMING)
		return SL_FAIL(SL_E_INVALID, "value %u is %s, not on the device", v,
			sl_res_state_name((enum sl_res_state)now->state[v]));
	r = device_range(e, v, now->at[v]);
	stalled = e->stats.stall_ns;
	SL_TRY(sl_engine_wait_range(e, &r, false));
	e->stats.late_swap_ins += e->stats.stall_ns > stalled;
	SL_TRY(sl_residency_in_end(now, v));
	sl_engine_publish(e, v, now->at[v]);
	return SL_OK;
}

/* Device bytes of v are nobody's now; a copy out of them may be under way. */
static void poison_freed(struct sl_engine *e, uint32_t v, uint64_t at)
{
	struct sl_range r = device_range(e, v, at);

	if (e->opts.poison && !(e->pair.index.saves && sl_engine_in_use(e, &r)))
		sl_engine_poison(e, at, r.len);
}

/* Nobody reads v's bytes any more that are to be written, v itself being there. */
static sl_status wait_saved(struct sl_engine *e, uint32_t v)
{
	struct sl_range r = device_range(e, v, e->pair.now.at[v]);

	return e->pair.index.saves ? sl_engine_wait_range(e, &r, true) : SL_OK;
}

/* Out, with its bytes given up, or a save. */
static sl_status act_out(struct sl_engine *e, const struct sl_action *a, uint32_t v)
{
	struct sl_copy c = {.value = v,
		.takes = a->kind == SL_ACTION_OUT,
		.bytes = e->pair.trace->values[v].bytes,
		.delay_ns = a->delay_ns};

	SL_TRY(arrive(e, v));
	c.from = device_range(e, v, e->pair.now.at[v]);
	c.to = tier_range(e, v, a->tier, a->offset);
	if (a->kind == SL_ACTION_SAVE) {
		SL_TRY(sl_residency_save(&e->pair.now, v, a->tier - 1, a->offset));
	} else {
		SL_TRY(sl_residency_out_begin(&e->pair.now, v, a->tier - 1, a->offset));
		sl_engine_publish(e, v, SL_NO_OFFSET);
	}
	sl_engine_note_peak(e, &c.to);
	return sl_engine_issue(e, a->channel, &c);
}

static sl_status act_in(struct sl_engine *e, const struct sl_action *a, uint32_t v)
{
	struct sl_copy c = {.value = v,
		.in = true,
		.bytes = e->pair.trace->values[v].bytes,
		.delay_ns = a->delay_ns};

	SL_TRY(sl_residency_in_begin(&e->pair.now, v, a->tier - 1, a->offset));
	c.from = tier_range(
		e, v, a->tier, sl_residency_copy_at(&e->pair.now, v, a->tier - 1));
	c.to = device_range(e, v, a->offset);
	sl_engine_note_peak(e, &c.to);
	e->stats.swap_ins++;
	c.takes = e->pair.index.takes[a - e->pair.plan->actions];
	SL_TRY(sl_engine_issue(e, a->channel, &c));
	if (!c.takes || !sl_engine_is_together(e, a->tier))
		return SL_OK;
	/* Its bytes below may be others now. */
	SL_TRY(arrive(e, v));
	return sl_residency_write(&e->pair.now, v);
}

/* Gives up the device bytes of v, which may be on their way, at a position where nobody
 * reads them. */
static sl_status give_up(struct sl_engine *e, uint32_t v)
{
	if (e->pair.now.state[v] == SL_RES_COMING)
		SL_TRY(arrive(e, v));
	if (e->pair.now.state[v] != SL_RES_RESIDENT)
		return SL_OK;
	poison_freed(e, v, e->pair.now.at[v]);
	sl_engine_publish(e, v, SL_NO_OFFSET);
	return SL_OK;
}

static sl_status act_drop(struct sl_engine *e, const struct sl_action *a, uint32_t v)
{
	(void)a;
	SL_TRY(give_up(e, v));
	sl_residency_drop(&e->pair.now, v);
	return SL_OK;
}

static sl_status act_drop_clean(
	struct sl_engine *e, const struct sl_action *a, uint32_t v)
{
	uint64_t at;

	(void)a;
	SL_TRY(arrive(e, v));
	at = e->pair.now.at[v];
	SL_TRY(sl_residency_drop_clean(&e->pair.now, v));
	poison_freed(e, v, at);
	sl_engine_publish(e, v, SL_NO_OFFSET);
	return SL_OK;
}

static sl_status act_move(struct sl_engine *e, const struct sl_action *a, uint32_t v)
{
	struct sl_range from, to = device_range(e, v, a->offset);
	uint64_t head, shift;

	SL_TRY(arrive(e, v));
	SL_TRY(wait_saved(e, v));
	from = device_range(e, v, e->pair.now.at[v]);
	SL_TRY(sl_engine_wait_range(e, &to, true));
	SL_TRY(sl_residency_move(&e->pair.now, v, to.at));
	SL_TRY(sl_engine_move(e, to.at, from.at, to.len));
	/* What of the old bytes the new ones do not cover: the front or the back. */
	shift = to.at > from.at ? to.at - from.at : from.at - to.at;
	shift = shift < from.len ? shift : from.len;
	head = to.at > from.at ? from.at : from.at + from.len - shift;
	sl_engine_poison(e, head, shift);
	sl_engine_publish(e, v, to.at);
	sl_engine_note_peak(e, &to);
	e->stats.move_bytes += to.len;
	if (e->opts.watch)
		e->opts.watch->move(e->opts.watch->ctx, to.len);
	sl_event_emit(e->opts.events, SL_EV_MOVE, v, to.len);
	return SL_OK;
}

static sl_status give_birth(struct sl_engine *e, const struct sl_touch *t)
{
	struct sl_range r = device_range(e, t->value, t->at);

	SL_TRY(sl_engine_wait_range(e, &r, true));
	SL_TRY(t->flags & SL_TOUCH_AGAIN
			? sl_residency_rebirth(&e->pair.now, t->value, r.at)
			: sl_residency_birth(&e->pair.now, t->value, r.at));
	sl_engine_publish(e, t->value, r.at);
	sl_engine_note_peak(e, &r);
	return SL_OK;
}

/* What a run accesses is there, and what it will overwrite is free. */
static sl_status touch_before(struct sl_engine *e, const struct sl_touch *t)
{
	if (t->flags & SL_TOUCH_BIRTH)
		return give_birth(e, t);
	SL_TRY(arrive(e, t->value));
	return t->flags & (SL_TOUCH_WRITE | SL_TOUCH_SAME) ? wait_saved(e, t->value)
							   : SL_OK;
}

static sl_status touch_after(struct sl_engine *e, const struct sl_touch *t)
{
	if (t->flags & SL_TOUCH_WRITE)
		SL_TRY(sl_residency_write(&e->pair.now, t->value));
	if (t->flags & SL_TOUCH_LAST) {
		SL_TRY(give_up(e, t->value));
		sl_residency_drop(&e->pair.now, t->value);
	}
	return SL_OK;
}

static sl_status touch_all(struct sl_engine *e, uint32_t op,
	const struct sl_touch *touches, uint32_t n,
	sl_status (*touch)(struct sl_engine *, const struct sl_touch *))
{
	for (uint32_t i = 0; i < n; i++) {
		sl_status st = touch(e, &touches[i]);

		if (SL_UNLIKELY(st != SL_OK))
			return e->broken ? st : blame(e, st, op, touches[i].value);
	}
	return SL_OK;
}

uint64_t sl_engine_workspace(const struct sl_engine *e, uint32_t op)
{
	SL_ASSERT(e->pair.trace && op < e->pair.trace->n_ops);
	if (SL_UNLIKELY(e->running && e->running->op == op))
		return e->running->workspace;
	return e->pair.trace->ops[op].workspace_bytes > 0
		       ? e->pair.plan->workspace_offset[op]
		       : SL_NO_OFFSET;
}

static sl_status clear_workspace(struct sl_engine *e, uint32_t op)
{
	struct sl_range r = {
		.at = sl_engine_workspace(e, op),
		.len = e->pair.trace->ops[op].workspace_bytes,
	};

	if (r.at == SL_NO_OFFSET)
		return SL_OK;
	sl_engine_note_peak(e, &r);
	return sl_engine_wait_range(e, &r, true);
}

static void poison_workspace(struct sl_engine *e, uint32_t op)
{
	uint64_t at = sl_engine_workspace(e, op);

	if (at != SL_NO_OFFSET)
		sl_engine_poison(e, at, e->pair.trace->ops[op].workspace_bytes);
}

/* The op of a group once more, with what happens around an op in its turn. */
static sl_status run_again(struct sl_engine *e, const struct sl_engine_again *g)
{
	const struct sl_touch *touches = &e->pair.index.again_touches[g->touch_first];
	uint32_t n = g->touch_end - g->touch_first;

	SL_TRY(touch_all(e, g->op, touches, n, touch_before));
	SL_TRY(clear_workspace(e, g->op));
	SL_TRY(e->opts.again(e->opts.again_ctx, g->op));
	e->stats.recompute_ops++;
	SL_TRY(touch_all(e, g->op, touches, n, touch_after));
	poison_workspace(e, g->op);
	return SL_OK;
}

static sl_status act_again(struct sl_engine *e, const struct sl_action *a, uint32_t v)
{
	const struct sl_engine_index *x = &e->pair.index;
	sl_status st;

	(void)v;
	e->running = &x->again[x->again_of[a - e->pair.plan->actions]];
	st = run_again(e, e->running);
	e->running = NULL;
	return st;
}

/* Reserved kinds have no row: adopt refused them. */
static sl_status (*const acts[SL_ACTION_COUNT])(
	struct sl_engine *, const struct sl_action *, uint32_t) = {
	[SL_ACTION_OUT] = act_out,
	[SL_ACTION_SAVE] = act_out,
	[SL_ACTION_IN] = act_in,
	[SL_ACTION_DROP] = act_drop,
	[SL_ACTION_DROP_CLEAN] = act_drop_clean,
	[SL_ACTION_MOVE] = act_move,
	[SL_ACTION_RECOMPUTE] = act_again,
};

static sl_status apply_action(struct sl_engine *e, const struct sl_action *a, uint32_t op)
{
	sl_status st;

	/* Nobody but another copy may meet bytes of those that are held. */
	if (!sl_action_copies(a->kind))
		sl_engine_release(e);
	st = acts[a->kind](e, a, e->pair.index.root[a->value]);
	if (st != SL_OK && a->kind == SL_ACTION_RECOMPUTE)
		return sl_fail_prefix(st, "run again at op %u", op);
	return st == SL_OK || e->broken ? st : blame(e, st, op, a->value);
}

static sl_status apply_actions(struct sl_engine *e, uint32_t op, enum sl_phase phase)
{
	const struct sl_engine_index *x = &e->pair.index;
	const uint32_t *first = &x->action_first[2 * (size_t)op + (phase == SL_AFTER)];
	sl_status st = SL_OK;

	for (uint32_t i = first[0]; i < first[1] && st == SL_OK;) {
		const struct sl_action *a = &e->pair.plan->actions[i];

		st = apply_action(e, a, op);
		i += a->kind == SL_ACTION_RECOMPUTE ? x->again[x->again_of[i]].n_lines
						    : 1;
	}
	sl_engine_release(e);
	return st;
}

static sl_status wrong_pair(const struct sl_engine *e, uint32_t op)
{
	if (!e->pair.trace)
		return SL_FAIL(SL_E_INVALID, "the engine has adopted no plan");
	return SL_FAIL(
		SL_E_INVALID, "op %u: the trace has %u ops", op, e->pair.trace->n_ops);
}

sl_status sl_engine_before(struct sl_engine *e, uint32_t op)
{
	const struct sl_engine_index *x = &e->pair.index;

	if (SL_UNLIKELY(!e->pair.trace || op >= e->pair.trace->n_ops))
		return wrong_pair(e, op);
	SL_TRY(sl_engine_look(e));
	e->in_step = true;
	SL_TRY(apply_actions(e, op, SL_BEFORE));
	SL_TRY(touch_all(e, op, &x->touches[x->touch_first[op]],
		x->touch_first[op + 1] - x->touch_first[op], touch_before));
	return clear_workspace(e, op);
}

sl_status sl_engine_after(struct sl_engine *e, uint32_t op)
{
	const struct sl_engine_index *x = &e->pair.index;

	if (SL_UNLIKELY(!e->pair.trace || op >= e->pair.trace->n_ops))
		return wrong_pair(e, op);
	SL_TRY(sl_engine_look(e));
	SL_TRY(touch_all(e, op, &x->touches[x->touch_first[op]],
		x->touch_first[op + 1] - x->touch_first[op], touch_after));
	poison_workspace(e, op);
	return apply_actions(e, op, SL_AFTER);
}

const uint64_t *sl_engine_offsets(const struct sl_engine *e)
{
	return e->pair.offsets;
}

void sl_engine_stats(const struct sl_engine *e, struct sl_engine_stats *out)
{
	*out = e->stats;
}
