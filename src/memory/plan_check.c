/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The independent checker: replays a plan by position and believes nothing. It knows no
 * policy and shares no code with the planners. At every position:
 *
 * 1. a value that an op touches is on the device; what lies on the device is current;
 * 2. device bytes have one holder, end within the budget, and respect alignment;
 * 3. a copy below is current from its `out` until the next write; only current copies
 * come back in; bytes of a tier have one holder and end within the tier;
 * 4. channels join the device and the tier that an action names;
 * 5. a value that does not persist is born at its place and is gone after its last
 * access;
 * 6. at the end every persistent value is where it started, so that iterations can
 * repeat.
 *
 * Time: (values + actions) x a few steps for neighbours, after one sort of the offsets.
 */
#include "memory/plan_check_int.h"

#include "memory/place.h"

static sl_status check_channel(const struct sl_plan_checker *c, const struct sl_action *a)
{
	const struct sl_trace_link *l;

	if (a->tier == SL_TIER_DEVICE || a->tier > c->t->n_tiers)
		return SL_FAIL(SL_E_NO, "tier %u is none to copy to or from", a->tier);
	if (a->channel >= c->t->n_links)
		return SL_FAIL(SL_E_NO, "there is no channel %u", a->channel);
	l = &c->t->links[a->channel];
	if (!(l->from == 0 && l->to == a->tier) && !(l->from == a->tier && l->to == 0))
		return SL_FAIL(SL_E_NO, "channel %u does not join the device and tier %s",
			a->channel, c->t->tiers[a->tier - 1].name);
	return SL_OK;
}

static uint64_t *slot_of(const struct sl_plan_checker *c, uint32_t tier, uint32_t v)
{
	return &c->slot[(size_t)(tier - 1) * c->t->n_values + v];
}

static void leave_device(struct sl_plan_checker *c, uint32_t v)
{
	sl_ranges_remove(&c->device, c->at[v]);
	c->at[v] = SL_NO_OFFSET;
}

static sl_status need_resident(const struct sl_plan_checker *c, uint32_t v)
{
	if (c->at[v] == SL_NO_OFFSET)
		return SL_FAIL(SL_E_NO, "v%u is not on the device", v);
	return SL_OK;
}

static sl_status apply_out(struct sl_plan_checker *c, const struct sl_action *a)
{
	SL_TRY(check_channel(c, a));
	SL_TRY(need_resident(c, a->value));
	SL_TRY(sl_plan_checker_copy(c, a->value, a->tier, a->offset));
	leave_device(c, a->value);
	return SL_OK;
}

static sl_status apply_in(struct sl_plan_checker *c, const struct sl_action *a)
{
	SL_TRY(check_channel(c, a));
	if (c->at[a->value] != SL_NO_OFFSET)
		return SL_FAIL(SL_E_NO, "v%u is on the device already", a->value);
	if (*slot_of(c, a->tier, a->value) == SL_NO_OFFSET)
		return SL_FAIL(SL_E_NO, "v%u has no current copy in tier %s", a->value,
			c->t->tiers[a->tier - 1].name);
	SL_TRY(sl_plan_checker_hold(
		c, a->value, a->offset, c->t->values[a->value].bytes));
	c->at[a->value] = a->offset;
	return SL_OK;
}

/* Gone everywhere: only sound if nobody asks for it again. */
static sl_status apply_drop(struct sl_plan_checker *c, const struct sl_action *a)
{
	SL_TRY(need_resident(c, a->value));
	leave_device(c, a->value);
	sl_plan_checker_stale(c, a->value);
	return SL_OK;
}

static sl_status apply_drop_clean(struct sl_plan_checker *c, const struct sl_action *a)
{
	bool copied = false;

	SL_TRY(need_resident(c, a->value));
	for (uint32_t tier = 1; tier <= c->t->n_tiers; tier++)
		copied = copied || *slot_of(c, tier, a->value) != SL_NO_OFFSET;
	if (!copied)
		return SL_FAIL(
			SL_E_NO, "v%u has no current copy below the device", a->value);
	leave_device(c, a->value);
	return SL_OK;
}

static sl_status apply_move(struct sl_plan_checker *c, const struct sl_action *a)
{
	SL_TRY(need_resident(c, a->value));
	leave_device(c, a->value);
	SL_TRY(sl_plan_checker_hold(
		c, a->value, a->offset, c->t->values[a->value].bytes));
	c->at[a->value] = a->offset;
	return SL_OK;
}

typedef sl_status (*apply_fn)(struct sl_plan_checker *c, const struct sl_action *a);

static const char *const action_text[SL_ACTION_COUNT] = {
#define X(name, text) [SL_ACTION_##name] = (text),
	SL_ACTION_TABLE(X)
#undef X
};

/* NULL: reserved in this version. */
static const apply_fn apply_rows[SL_ACTION_COUNT] = {
	[SL_ACTION_OUT] = apply_out,
	[SL_ACTION_IN] = apply_in,
	[SL_ACTION_DROP] = apply_drop,
	[SL_ACTION_DROP_CLEAN] = apply_drop_clean,
	[SL_ACTION_MOVE] = apply_move,
};

static sl_status apply_valid(struct sl_plan_checker *c, const struct sl_action *a)
{
	apply_fn apply = apply_rows[a->kind];
	const struct sl_trace_value *v;

	if (!apply)
		return SL_FAIL(SL_E_UNSUPPORTED, "%s is reserved in plans of version %d",
			action_text[a->kind], SL_PLAN_VERSION);
	if (a->iter != 0)
		return SL_FAIL(SL_E_UNSUPPORTED, "iter=+%u is reserved", a->iter);
	if (a->value >= c->t->n_values || c->t->values[a->value].alias != SL_NO_ID)
		return SL_FAIL(SL_E_NO, "v%u is no root", a->value);
	v = &c->t->values[a->value];
	if (sl_value_fixed(v))
		return SL_FAIL(SL_E_NO, "v%u is not to be moved", a->value);
	if (!c->alive[a->value])
		return SL_FAIL(SL_E_NO, "v%u is not alive", a->value);
	return apply(c, a);
}

static sl_status apply_actions(
	struct sl_plan_checker *c, uint32_t op, enum sl_phase phase)
{
	for (; c->next < c->p->n_actions; c->next++) {
		const struct sl_action *a = &c->p->actions[c->next];
		sl_status st;

		if (a->op != op || a->phase != phase)
			return SL_OK;
		if ((unsigned)a->kind >= SL_ACTION_COUNT)
			return SL_FAIL(SL_E_NO, "action %u is of no known kind", c->next);
		st = apply_valid(c, a);
		if (st != SL_OK) {
			(void)sl_fail_prefix(st, "%s op %u (%s): %s v%u",
				phase == SL_BEFORE ? "before" : "after", op,
				c->t->ops[op].kind, action_text[a->kind], a->value);
			return st == SL_E_NOMEM ? st : SL_E_NO;
		}
	}
	return SL_OK;
}

static sl_status read_list(
	const struct sl_plan_checker *c, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		SL_TRY(need_resident(c, sl_trace_root(c->t, list[i])));
	return SL_OK;
}

/* Outputs of values that are not alive are births; of others, writes. */
static sl_status birth_list(struct sl_plan_checker *c, const struct sl_trace_op *o)
{
	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(c->t, o->out[i]);

		if (c->alive[v]) {
			SL_TRY(need_resident(c, v));
			continue;
		}
		SL_TRY(sl_plan_checker_hold(
			c, v, c->p->value_offset[v], c->t->values[v].bytes));
		c->at[v] = c->p->value_offset[v];
		c->alive[v] = 1;
	}
	return SL_OK;
}

static void write_list(struct sl_plan_checker *c, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sl_plan_checker_stale(c, sl_trace_root(c->t, list[i]));
}

static void bury_list(
	struct sl_plan_checker *c, uint32_t op, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(c->t, list[i]);

		if (c->last_use[v] != op || !c->alive[v] ||
			sl_class_persistent(c->t->values[v].cls))
			continue;
		leave_device(c, v);
		sl_plan_checker_stale(c, v);
		c->alive[v] = 0;
	}
}

static sl_status run_op(struct sl_plan_checker *c, uint32_t op)
{
	const struct sl_trace_op *o = &c->t->ops[op];
	uint64_t ws = c->p->workspace_offset[op];

	SL_TRY(read_list(c, o->in, o->n_in));
	SL_TRY(read_list(c, o->mutates, o->n_mutates));
	SL_TRY(birth_list(c, o));
	if (o->workspace_bytes > 0) {
		SL_TRY(sl_plan_checker_hold(
			c, c->t->n_values + op, ws, o->workspace_bytes));
		sl_ranges_remove(&c->device, ws);
	} else if (ws != SL_NO_OFFSET) {
		return SL_FAIL(SL_E_NO, "w%u has a place but no bytes", op);
	}
	write_list(c, o->out, o->n_out);
	write_list(c, o->mutates, o->n_mutates);
	bury_list(c, op, o->in, o->n_in);
	bury_list(c, op, o->out, o->n_out);
	bury_list(c, op, o->mutates, o->n_mutates);
	return SL_OK;
}

static sl_status replay(struct sl_plan_checker *c)
{
	SL_TRY(sl_plan_checker_begin(c));
	for (uint32_t op = 0; op < c->t->n_ops; op++) {
		sl_status st;

		SL_TRY(apply_actions(c, op, SL_BEFORE));
		st = run_op(c, op);
		if (st != SL_OK)
			return sl_fail_prefix(st, "op %u (%s)", op, c->t->ops[op].kind);
		SL_TRY(apply_actions(c, op, SL_AFTER));
	}
	if (c->next != c->p->n_actions)
		return SL_FAIL(SL_E_NO,
			"action %u is out of order, or for op %u of %u ops", c->next,
			c->p->actions[c->next].op, c->t->n_ops);
	SL_TRY(sl_plan_checker_end(c));
	if (c->peak != c->p->peak)
		return SL_FAIL(SL_E_NO,
			"the plan states a peak of %llu bytes; its positions reach "
			"%llu",
			(unsigned long long)c->p->peak, (unsigned long long)c->peak);
	return SL_OK;
}

sl_status sl_plan_check(const struct sl_trace *t, const struct sl_plan *p,
	uint64_t budget, uint64_t *out_peak)
{
	struct sl_plan_checker c = {.t = t, .p = p, .budget = budget};
	sl_status st = replay(&c);

	if (st == SL_OK && out_peak)
		*out_peak = c.peak;
	if (st != SL_OK)
		st = sl_fail_prefix(st, "plan check");
	sl_plan_checker_finish(&c);
	return st;
}
