/* SPDX-License-Identifier: Apache-2.0 */
/* The residency plan as data: builders, sealing (order of actions, region P, peak),
 * release. */
#include "memory/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_ACTIONS ((size_t)64 << 20)

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left for the plan");
}

static sl_status table(uint64_t **out, uint32_t n)
{
	*out = sl_calloc((size_t)n + 1, sizeof(**out));
	if (!*out)
		return no_memory();
	memset(*out, 0xff, ((size_t)n + 1) * sizeof(**out)); /* SL_NO_OFFSET */
	return SL_OK;
}

sl_status sl_plan_begin(
	struct sl_plan *p, const struct sl_trace *t, uint64_t budget, const char *policy)
{
	struct sl_plan fresh = SL_PLAN_INIT;
	sl_status st = SL_OK;

	fresh.budget = budget;
	fresh.n_values = t->n_values;
	fresh.n_ops = t->n_ops;
	(void)snprintf(fresh.policy, sizeof(fresh.policy), "%s", policy);
	(void)snprintf(fresh.order, sizeof(fresh.order), "seal");
	SL_TRY_OUT(table(&fresh.value_offset, t->n_values));
	SL_TRY_OUT(table(&fresh.workspace_offset, t->n_ops));
	sl_plan_move(p, &fresh);
out:
	sl_plan_finish(&fresh);
	return st;
}

static sl_status grow(void **items, size_t *cap, uint32_t n, size_t item_bytes)
{
	if (n >= MAX_ACTIONS)
		return SL_FAIL(SL_E_LIMIT, "a plan holds at most %zu lines of a kind",
			MAX_ACTIONS);
	if (sl_grow(items, cap, (size_t)n + 1, item_bytes, MAX_ACTIONS))
		return no_memory();
	return SL_OK;
}

sl_status sl_plan_add_action(struct sl_plan *p, const struct sl_action *a)
{
	SL_TRY(grow((void **)&p->actions, &p->cap_actions, p->n_actions, sizeof(*a)));
	p->actions[p->n_actions++] = *a;
	return SL_OK;
}

sl_status sl_plan_add_start(struct sl_plan *p, const struct sl_plan_start *s)
{
	SL_TRY(grow((void **)&p->starts, &p->cap_starts, p->n_starts, sizeof(*s)));
	p->starts[p->n_starts++] = *s;
	return SL_OK;
}

sl_status sl_plan_add_select(struct sl_plan *p, const struct sl_plan_select *s)
{
	struct sl_plan_select copy = *s;

	SL_TRY(grow((void **)&p->selects, &p->cap_selects, p->n_selects, sizeof(*s)));
	copy.kernel = sl_arena_strdup(&p->arena, s->kernel ? s->kernel : "");
	copy.layout = sl_arena_strdup(&p->arena, s->layout ? s->layout : "");
	if (!copy.kernel || !copy.layout)
		return no_memory();
	p->selects[p->n_selects++] = copy;
	return SL_OK;
}

static int by_position(const struct sl_action *a, const struct sl_action *b)
{
	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return a->phase < b->phase ? -1 : a->phase > b->phase;
}

static bool is_sorted(const struct sl_plan *p)
{
	for (uint32_t i = 1; i < p->n_actions; i++) {
		if (by_position(&p->actions[i - 1], &p->actions[i]) > 0)
			return false;
	}
	return true;
}

static void merge(
	const struct sl_action *from, struct sl_action *to, size_t n, size_t width)
{
	for (size_t lo = 0; lo < n; lo += 2 * width) {
		size_t mid = lo + width < n ? lo + width : n;
		size_t hi = lo + 2 * width < n ? lo + 2 * width : n;
		size_t a = lo, b = mid, k = lo;

		while (a < mid || b < hi) {
			bool left = b >= hi ||
				    (a < mid && by_position(&from[a], &from[b]) <= 0);

			to[k++] = from[left ? a++ : b++];
		}
	}
}

/* Merge sort, because the order within a position is part of the plan. */
static sl_status sort_actions(struct sl_plan *p)
{
	size_t n = p->n_actions;
	struct sl_action *spare;

	if (is_sorted(p))
		return SL_OK;
	spare = sl_calloc(n, sizeof(*spare));
	if (!spare)
		return no_memory();
	for (size_t width = 1; width < n; width *= 2) {
		merge(p->actions, spare, n, width);
		memcpy(p->actions, spare, n * sizeof(*spare));
	}
	sl_free(spare);
	return SL_OK;
}

/* The end of bytes that begin at offset; nothing placed ends at 0. Saturates. */
static uint64_t end_of(uint64_t offset, uint64_t bytes)
{
	if (offset == SL_NO_OFFSET)
		return 0;
	return offset + bytes < offset ? UINT64_MAX : offset + bytes;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Bytes that an action newly occupies on the device end here. */
static uint64_t action_end(const struct sl_trace *t, const struct sl_action *a)
{
	bool again = a->kind == SL_ACTION_RECOMPUTE;
	uint64_t end = 0;

	if (!again && a->kind != SL_ACTION_IN && a->kind != SL_ACTION_MOVE)
		return 0;
	if (a->value < t->n_values)
		end = end_of(a->offset, t->values[a->value].bytes);
	if (again && a->again < t->n_ops)
		end = max_u64(end,
			end_of(a->workspace_offset, t->ops[a->again].workspace_bytes));
	return end;
}

sl_status sl_plan_seal(struct sl_plan *p, const struct sl_trace *t)
{
	if (p->n_values != t->n_values || p->n_ops != t->n_ops)
		return SL_FAIL(SL_E_INVALID,
			"the plan is for %u values and %u ops, the trace has "
			"%u and %u",
			p->n_values, p->n_ops, t->n_values, t->n_ops);
	SL_TRY(sort_actions(p));
	p->p_bytes = 0;
	p->peak = 0;
	for (uint32_t v = 0; v < t->n_values; v++) {
		uint64_t end = end_of(p->value_offset[v], t->values[v].bytes);

		p->peak = max_u64(p->peak, end);
		if (sl_class_persistent(t->values[v].cls))
			p->p_bytes = max_u64(p->p_bytes, end);
	}
	for (uint32_t i = 0; i < t->n_ops; i++)
		p->peak = max_u64(p->peak,
			end_of(p->workspace_offset[i], t->ops[i].workspace_bytes));
	for (uint32_t i = 0; i < p->n_actions; i++)
		p->peak = max_u64(p->peak, action_end(t, &p->actions[i]));
	return SL_OK;
}

void sl_plan_finish(struct sl_plan *p)
{
	if (!p)
		return;
	sl_free(p->value_offset);
	sl_free(p->workspace_offset);
	sl_free(p->starts);
	sl_free(p->selects);
	sl_free(p->actions);
	sl_arena_finish(&p->arena);
	*p = SL_PLAN_INIT;
}

void sl_plan_move(struct sl_plan *to, struct sl_plan *from)
{
	*to = *from;
	*from = SL_PLAN_INIT;
}

uint32_t sl_plan_group_lines(const struct sl_plan *p, uint32_t i)
{
	const struct sl_action *first = &p->actions[i], *a = first;
	const struct sl_action *end = p->actions + p->n_actions;

	while (a < end && a->kind == SL_ACTION_RECOMPUTE && a->again == first->again &&
		a->op == first->op && a->phase == first->phase)
		a++;
	return (uint32_t)(a - first);
}

bool sl_plan_starts_on_device(const struct sl_plan *p, uint32_t v)
{
	bool any = false;

	for (uint32_t i = 0; i < p->n_starts; i++) {
		if (p->starts[i].value != v)
			continue;
		if (p->starts[i].tier == SL_TIER_DEVICE)
			return true;
		any = true;
	}
	return !any;
}
