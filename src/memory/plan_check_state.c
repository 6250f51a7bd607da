/* SPDX-License-Identifier: Apache-2.0 */
/* The checker's book: who holds which bytes on the device and below, at the start and at
 * the end. */
#include "memory/plan_check_int.h"

#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"

static uint64_t *slot_of(const struct sl_plan_checker *c, uint32_t tier, uint32_t v)
{
	return &c->slot[(size_t)(tier - 1) * c->t->n_values + v];
}

static sl_status fail_clash(const struct sl_plan_checker *c, uint32_t owner,
	uint32_t clash, const char *where)
{
	uint32_t n = c->t->n_values;
	bool ws = owner >= n, other_ws = clash >= n;

	return SL_FAIL(SL_E_NO, "%s%u would lie on bytes that %s%u holds %s",
		ws ? "w" : "v", ws ? owner - n : owner, other_ws ? "w" : "v",
		other_ws ? clash - n : clash, where);
}

sl_status sl_plan_checker_hold(
	struct sl_plan_checker *c, uint32_t owner, uint64_t offset, uint64_t bytes)
{
	uint32_t n = c->t->n_values, clash = 0;
	uint64_t align = owner < n ? c->t->values[owner].align : 64;
	uint64_t end = offset + bytes;

	if (offset == SL_NO_OFFSET)
		return SL_FAIL(SL_E_NO, "%s%u has no place", owner < n ? "v" : "w",
			owner < n ? owner : owner - n);
	if (end < offset || end > c->budget)
		return SL_FAIL(SL_E_NO,
			"%s%u at %llu ends beyond the budget of %llu bytes",
			owner < n ? "v" : "w", owner < n ? owner : owner - n,
			(unsigned long long)offset, (unsigned long long)c->budget);
	if (offset & (align - 1))
		return SL_FAIL(SL_E_NO, "%s%u at %llu is not at a multiple of %llu",
			owner < n ? "v" : "w", owner < n ? owner : owner - n,
			(unsigned long long)offset, (unsigned long long)align);
	if (!sl_ranges_add(&c->device, offset, end, owner, &clash))
		return fail_clash(c, owner, clash, "on the device");
	if (end > c->peak)
		c->peak = end;
	return SL_OK;
}

sl_status sl_plan_checker_copy(
	struct sl_plan_checker *c, uint32_t v, uint32_t tier, uint64_t offset)
{
	const struct sl_trace_tier *where = &c->t->tiers[tier - 1];
	uint64_t end = offset + c->t->values[v].bytes;
	uint64_t *slot = slot_of(c, tier, v);
	uint32_t clash = 0;

	if (end < offset || end > where->bytes)
		return SL_FAIL(SL_E_NO,
			"v%u at %llu ends beyond the %llu bytes of tier %s", v,
			(unsigned long long)offset, (unsigned long long)where->bytes,
			where->name);
	if (*slot != SL_NO_OFFSET)
		sl_ranges_remove(&c->tiers[tier - 1], *slot);
	*slot = SL_NO_OFFSET;
	if (!sl_ranges_add(&c->tiers[tier - 1], offset, end, v, &clash))
		return fail_clash(c, v, clash, where->name);
	*slot = offset;
	return SL_OK;
}

void sl_plan_checker_stale(struct sl_plan_checker *c, uint32_t v)
{
	for (uint32_t tier = 1; tier <= c->t->n_tiers; tier++) {
		uint64_t *slot = slot_of(c, tier, v);

		if (*slot != SL_NO_OFFSET)
			sl_ranges_remove(&c->tiers[tier - 1], *slot);
		*slot = SL_NO_OFFSET;
	}
}

void sl_plan_checker_leave(struct sl_plan_checker *c, uint32_t v)
{
	sl_ranges_remove(&c->device, c->at[v]);
	c->at[v] = SL_NO_OFFSET;
}

sl_status sl_plan_checker_resident(const struct sl_plan_checker *c, uint32_t v)
{
	if (c->at[v] == SL_NO_OFFSET)
		return SL_FAIL(SL_E_NO, "v%u is not on the device", v);
	return SL_OK;
}

sl_status sl_plan_checker_names(
	const struct sl_plan_checker *c, const struct sl_action *a)
{
	if (a->iter != 0)
		return SL_FAIL(SL_E_UNSUPPORTED, "iter=+%u is reserved", a->iter);
	if (a->value >= c->t->n_values || c->t->values[a->value].alias != SL_NO_ID)
		return SL_FAIL(SL_E_NO, "v%u is no root", a->value);
	if (sl_value_fixed(&c->t->values[a->value]))
		return SL_FAIL(SL_E_NO, "v%u is not to be moved", a->value);
	if (!c->alive[a->value])
		return SL_FAIL(SL_E_NO, "v%u is not alive", a->value);
	return SL_OK;
}

/* All device offsets that the plan names. */
static size_t gather_device(const struct sl_plan *p, uint64_t *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->n_actions; i++) {
		const struct sl_action *a = &p->actions[i];

		if (a->kind == SL_ACTION_RECOMPUTE)
			out[n++] = a->workspace_offset;
		if (a->kind == SL_ACTION_RECOMPUTE || a->kind == SL_ACTION_IN ||
			a->kind == SL_ACTION_MOVE)
			out[n++] = a->offset;
	}
	for (uint32_t i = 0; i < p->n_values; i++)
		out[n++] = p->value_offset[i];
	for (uint32_t i = 0; i < p->n_ops; i++)
		out[n++] = p->workspace_offset[i];
	return n;
}

static size_t gather_tier(const struct sl_plan *p, uint32_t tier, uint64_t *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->n_actions; i++) {
		if (sl_action_copies_out(p->actions[i].kind) &&
			p->actions[i].tier == tier)
			out[n++] = p->actions[i].offset;
	}
	for (uint32_t i = 0; i < p->n_starts; i++) {
		if (p->starts[i].tier == tier)
			out[n++] = p->starts[i].offset;
	}
	return n;
}

static sl_status init_ranges(struct sl_plan_checker *c)
{
	sl_status st = SL_OK;
	size_t most = 2 * (size_t)c->p->n_actions + c->p->n_starts + c->p->n_values +
		      c->p->n_ops;
	uint64_t *starts = sl_calloc(most + 1, sizeof(*starts));

	if (!starts)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to check a plan");
	SL_TRY_OUT(sl_ranges_init(&c->device, starts, gather_device(c->p, starts)));
	for (uint32_t k = 1; k <= c->t->n_tiers; k++)
		SL_TRY_OUT(sl_ranges_init(
			&c->tiers[k - 1], starts, gather_tier(c->p, k, starts)));
out:
	sl_free(starts);
	return st;
}

static sl_status init_tables(struct sl_plan_checker *c)
{
	size_t n = c->t->n_values;
	size_t slots = n * c->t->n_tiers;

	c->at = sl_calloc(n + 1, sizeof(*c->at));
	c->slot = sl_calloc(slots + 1, sizeof(*c->slot));
	c->alive = sl_calloc(n + 1, 1);
	c->started = sl_calloc(n + 1, 1);
	if (!c->at || !c->slot || !c->alive || !c->started)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to check a plan");
	memset(c->at, 0xff, n * sizeof(*c->at));
	memset(c->slot, 0xff, slots * sizeof(*c->slot));
	return SL_OK;
}

static sl_status start_line(struct sl_plan_checker *c, const struct sl_plan_start *s)
{
	const struct sl_trace *t = c->t;

	if (s->value >= t->n_values || s->tier > t->n_tiers)
		return SL_FAIL(SL_E_NO,
			"start v%u tier %u: there is no such value or tier", s->value,
			s->tier);
	if (!sl_class_persistent(t->values[s->value].cls) ||
		t->values[s->value].alias != SL_NO_ID)
		return SL_FAIL(SL_E_NO, "start v%u: only roots that persist have a start",
			s->value);
	c->started[s->value] |= s->tier == SL_TIER_DEVICE ? 3 : 1;
	if (s->tier == SL_TIER_DEVICE)
		return SL_OK;
	if (*slot_of(c, s->tier, s->value) != SL_NO_OFFSET)
		return SL_FAIL(SL_E_NO, "start v%u has two lines for one tier", s->value);
	return sl_plan_checker_copy(c, s->value, s->tier, s->offset);
}

static bool starts_on_device(const struct sl_plan_checker *c, uint32_t v)
{
	return c->started[v] != 1;
}

static sl_status start_value(struct sl_plan_checker *c, uint32_t v)
{
	const struct sl_trace_value *value = &c->t->values[v];
	uint64_t offset = c->p->value_offset[v];

	if (value->alias != SL_NO_ID || !sl_class_persistent(value->cls)) {
		bool born = value->alias == SL_NO_ID && c->last_use[v] > 0;

		if (offset != SL_NO_OFFSET && !born)
			return SL_FAIL(SL_E_NO, "v%u has a place but is never born", v);
		return SL_OK;
	}
	c->alive[v] = 1;
	if (!starts_on_device(c, v)) {
		if (offset != SL_NO_OFFSET)
			return SL_FAIL(SL_E_NO,
				"v%u has a place but starts below the device", v);
		if (sl_value_fixed(value))
			return SL_FAIL(SL_E_NO, "v%u cannot leave the device", v);
		return SL_OK;
	}
	SL_TRY(sl_plan_checker_hold(c, v, offset, value->bytes));
	c->at[v] = offset;
	return SL_OK;
}

sl_status sl_plan_checker_begin(struct sl_plan_checker *c)
{
	const struct sl_trace *t = c->t;

	if (c->p->n_values != t->n_values || c->p->n_ops != t->n_ops)
		return SL_FAIL(SL_E_NO,
			"the plan is for %u values and %u ops, the trace has %u "
			"and %u",
			c->p->n_values, c->p->n_ops, t->n_values, t->n_ops);
	if (t->n_tiers > SL_CHECK_MAX_TIERS)
		return SL_FAIL(
			SL_E_NO, "the trace has over %d tiers", SL_CHECK_MAX_TIERS);
	SL_TRY(init_tables(c));
	SL_TRY(init_ranges(c));
	SL_TRY(sl_plan_checker_uses(c));
	for (uint32_t i = 0; i < c->p->n_starts; i++)
		SL_TRY(start_line(c, &c->p->starts[i]));
	for (uint32_t v = 0; v < t->n_values; v++)
		SL_TRY(start_value(c, v));
	return SL_OK;
}

sl_status sl_plan_checker_end(const struct sl_plan_checker *c)
{
	for (uint32_t i = 0; i < c->p->n_starts; i++) {
		const struct sl_plan_start *s = &c->p->starts[i];

		if (s->tier != SL_TIER_DEVICE &&
			*slot_of(c, s->tier, s->value) != s->offset)
			return SL_FAIL(SL_E_NO,
				"at the end v%u has no current copy in tier %s at %llu, "
				"where the "
				"next iteration looks for it",
				s->value, c->t->tiers[s->tier - 1].name,
				(unsigned long long)s->offset);
	}
	for (uint32_t v = 0; v < c->t->n_values; v++) {
		const struct sl_trace_value *value = &c->t->values[v];

		if (!sl_class_persistent(value->cls) || value->alias != SL_NO_ID)
			continue;
		if (c->content[v] != c->writer[v])
			return SL_FAIL(SL_E_NO,
				"at the end v%u has not the content that op %u gives it",
				v, c->writer[v]);
		if (c->at[v] != c->p->value_offset[v])
			return SL_FAIL(SL_E_NO,
				"at the end v%u is not where it starts (device offset "
				"%lld, "
				"starts at %lld; -1 is below the device)",
				v, (long long)c->at[v], (long long)c->p->value_offset[v]);
	}
	return SL_OK;
}

void sl_plan_checker_finish(struct sl_plan_checker *c)
{
	sl_ranges_finish(&c->device);
	for (uint32_t k = 0; k < SL_CHECK_MAX_TIERS; k++)
		sl_ranges_finish(&c->tiers[k]);
	sl_free(c->at);
	sl_free(c->slot);
	sl_free(c->last_use);
	sl_free(c->content);
	sl_free(c->writer);
	sl_free(c->birth);
	sl_free(c->need_first);
	sl_free(c->need);
	sl_free(c->alive);
	sl_free(c->started);
	*c = (struct sl_plan_checker){0};
}
