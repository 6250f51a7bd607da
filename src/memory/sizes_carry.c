/* SPDX-License-Identifier: Apache-2.0 */
/* A plan carried over to the trace of another size: all offsets stay, the checker says
 * whether that is sound. */
#include <string.h>

#include "memory/sizes.h"

static bool same_list(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b)
{
	return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof(*a)) == 0);
}

static bool same_op(const struct sl_trace_op *a, const struct sl_trace_op *b)
{
	return a->pure == b->pure && strcmp(a->kind, b->kind) == 0 &&
	       same_list(a->in, a->n_in, b->in, b->n_in) &&
	       same_list(a->out, a->n_out, b->out, b->n_out) &&
	       same_list(a->mutates, a->n_mutates, b->mutates, b->n_mutates);
}

static bool same_value(const struct sl_trace_value *a, const struct sl_trace_value *b)
{
	return a->cls == b->cls && a->alias == b->alias && a->immovable == b->immovable &&
	       a->external == b->external;
}

static bool same_but_for_sizes(const struct sl_trace *a, const struct sl_trace *b)
{
	bool same = a->n_ops == b->n_ops && a->n_values == b->n_values &&
		    a->n_tiers == b->n_tiers && a->n_links == b->n_links;

	for (uint32_t i = 0; same && i < a->n_values; i++)
		same = same_value(&a->values[i], &b->values[i]);
	for (uint32_t i = 0; same && i < a->n_ops; i++)
		same = same_op(&a->ops[i], &b->ops[i]);
	return same;
}

/* A workspace that is gone has no place any more. */
static uint64_t workspace_at(const struct sl_trace *t, uint32_t op, uint64_t offset)
{
	return t->ops[op].workspace_bytes > 0 ? offset : SL_NO_OFFSET;
}

static sl_status copy(const struct sl_plan *from, const struct sl_trace *to,
	uint64_t budget, struct sl_plan *out)
{
	SL_TRY(sl_plan_begin(out, to, budget, from->policy));
	memcpy(out->order, from->order, sizeof(out->order));
	memcpy(out->value_offset, from->value_offset,
		to->n_values * sizeof(*out->value_offset));
	for (uint32_t i = 0; i < to->n_ops; i++)
		out->workspace_offset[i] = workspace_at(to, i, from->workspace_offset[i]);
	for (uint32_t i = 0; i < from->n_starts; i++)
		SL_TRY(sl_plan_add_start(out, &from->starts[i]));
	for (uint32_t i = 0; i < from->n_actions; i++) {
		struct sl_action a = from->actions[i];

		if (a.kind == SL_ACTION_RECOMPUTE)
			a.workspace_offset =
				workspace_at(to, a.again, a.workspace_offset);
		SL_TRY(sl_plan_add_action(out, &a));
	}
	return sl_plan_seal(out, to);
}

sl_status sl_sizes_carry(const struct sl_trace *of, const struct sl_plan *plan,
	const struct sl_trace *to, uint64_t budget, struct sl_plan *out)
{
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price = {0};
	sl_status st;

	if (!same_but_for_sizes(of, to))
		return SL_FAIL(SL_E_NO, "the steps of the two sizes have different ops");
	SL_TRY_OUT(copy(plan, to, budget, &p));
	SL_TRY_OUT(sl_plan_check(to, &p, budget, NULL));
	SL_TRY_OUT(sl_plan_price(to, &p, &price));
	p.price_ns = price.iter_ns;
	p.stall_ns = price.stall_ns;
	sl_plan_move(out, &p);
out:
	sl_plan_finish(&p);
	return st;
}
