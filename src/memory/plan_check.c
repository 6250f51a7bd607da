/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The independent checker: replays a plan by position and believes nothing. It knows no
 * policy and shares no code with the planners. At every position:
 *
 * 1. a value that an op touches is on the device and has the content that the trace's
 * order gives it there, also where the op runs again;
 * 2. device bytes have one holder, end within the budget, and respect alignment;
 * 3. a copy below is current from its `out` or `save` until the next write; only current
 * copies come back in; bytes of a tier have one holder and end within the tier;
 * 4. channels join the device and the tier that an action names;
 * 5. a value that does not persist is born at its place, and is gone after its last
 * access, of an op in its turn or again;
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

static sl_status apply_save(struct sl_plan_checker *c, const struct sl_action *a)
{
	SL_TRY(check_channel(c, a));
	SL_TRY(sl_plan_checker_resident(c, a->value));
	return sl_plan_checker_copy(c, a->value, a->tier, a->offset);
}

static sl_status apply_out(struct sl_plan_checker *c, const struct sl_action *a)
{
	SL_TRY(apply_save(c, a));
	sl_plan_checker_leave(c, a->value);
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

/* Gone everywhere: only sound if it is recomputed before anybody asks for it. */
static sl_status apply_drop(struct sl_plan_checker *c, const struct sl_action *a)
{
	SL_TRY(sl_plan_checker_resident(c, a->value));
	sl_plan_checker_leave(c, a->value);
	sl_plan_checker_stale(c, a->value);
	return SL_OK;
}

static sl_status apply_drop_clean(struct sl_plan_checker *c, const struct sl_action *a)
{
	bool copied = false;

	SL_TRY(sl_plan_checker_resident(c, a->value));
	for (uint32_t tier = 1; tier <= c->t->n_tiers; tier++)
		copied = copied || *slot_of(c, tier, a->value) != SL_NO_OFFSET;
	if (!copied)
		return SL_FAIL(
			SL_E_NO, "v%u has no current copy below the device", a->value);
	sl_plan_checker_leave(c, a->value);
	return SL_OK;
}

static sl_status apply_move(struct sl_plan_checker *c, const struct sl_action *a)
{
	SL_TRY(sl_plan_checker_resident(c, a->value));
	sl_plan_checker_leave(c, a->value);
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
	[SL_ACTION_SAVE] = apply_save,
	[SL_ACTION_IN] = apply_in,
	[SL_ACTION_DROP] = apply_drop,
	[SL_ACTION_DROP_CLEAN] = apply_drop_clean,
	[SL_ACTION_MOVE] = apply_move,
};

static sl_status apply_valid(struct sl_plan_checker *c, const struct sl_action *a)
{
	apply_fn apply = apply_rows[a->kind];

	if (!apply)
		return SL_FAIL(SL_E_UNSUPPORTED, "%s is reserved in plans of version %d",
			action_text[a->kind], SL_PLAN_VERSION);
	SL_TRY(sl_plan_checker_names(c, a));
	return apply(c, a);
}

/* Action c->next, or the group of them that it begins. */
static sl_status apply_next(struct sl_plan_checker *c)
{
	const struct sl_action *a = &c->p->actions[c->next];
	struct sl_check_group g = {.op = a->again, .first = c->next};

	if ((unsigned)a->kind >= SL_ACTION_COUNT)
		return SL_FAIL(SL_E_NO, "action %u is of no known kind", c->next);
	g.n = sl_plan_group_lines(c->p, c->next);
	c->next += g.n > 0 ? g.n : 1;
	if (g.n == 0)
		return apply_valid(c, a);
	g.position = sl_check_position(
		a->op, a->phase == SL_BEFORE ? SL_CHECK_BEFORE : SL_CHECK_AFTER, g.first);
	return sl_plan_checker_again(c, &g);
}

static sl_status apply_actions(
	struct sl_plan_checker *c, uint32_t op, enum sl_phase phase)
{
	while (c->next < c->p->n_actions) {
		const struct sl_action *a = &c->p->actions[c->next];
		sl_status st;

		if (a->op != op || a->phase != phase)
			return SL_OK;
		st = apply_next(c);
		if (st != SL_OK) {
			(void)sl_fail_prefix(st, "%s op %u (%s): %s v%u",
				phase == SL_BEFORE ? "before" : "after", op,
				c->t->ops[op].kind,
				(unsigned)a->kind < SL_ACTION_COUNT ? action_text[a->kind]
								    : "?",
				a->value);
			return st == SL_E_NOMEM ? st : SL_E_NO;
		}
	}
	return SL_OK;
}

static sl_status replay(struct sl_plan_checker *c)
{
	SL_TRY(sl_plan_checker_begin(c));
	for (uint32_t op = 0; op < c->t->n_ops; op++) {
		sl_status st;

		SL_TRY(apply_actions(c, op, SL_BEFORE));
		st = sl_plan_checker_run(c, op);
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
