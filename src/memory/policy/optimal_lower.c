/* SPDX-License-Identifier: Apache-2.0 */
/* From a list of ops to a plan. What a run bears again ends its stay at the last touch
 * before, so values are there as short as these runs allow. */
#include "memory/policy/optimal_int.h"

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/runs.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

sl_status sl_order_add(struct sl_order *r, uint32_t op)
{
	if (sl_grow((void **)&r->ops, &r->cap, r->n + 1, sizeof(*r->ops),
		    SL_RUNS_MAX_STEPS))
		return no_memory();
	r->ops[r->n++] = op;
	return SL_OK;
}

void sl_order_finish(struct sl_order *r)
{
	sl_free(r->ops);
	*r = (struct sl_order){0};
}

static sl_status write_down(
	const struct sl_optimal *o, const struct sl_order *order, struct sl_runs *r)
{
	uint32_t next = 0;

	SL_TRY(sl_runs_init(r, o->t));
	for (size_t i = 0; i < order->n; i++) {
		const struct sl_trace_op *op = &o->t->ops[order->ops[i]];

		for (uint32_t k = 0; k < op->n_out; k++) {
			uint32_t v = sl_trace_root(o->t, op->out[k]);

			if (o->birth[v] == order->ops[i])
				sl_runs_drop(r, v);
		}
		SL_TRY(sl_runs_add(r, order->ops[i], next));
		next += order->ops[i] == next;
	}
	return SL_OK;
}

/* The most bytes at a time, wherever they lie. */
static sl_status find_load(
	const struct sl_optimal *o, const struct sl_runs *r, uint64_t *out)
{
	uint64_t *bytes = sl_calloc((size_t)r->n_steps + 1, sizeof(*bytes));
	uint64_t most = 0;

	if (!bytes)
		return no_memory();
	for (uint32_t i = 0; i < r->n_stays; i++) {
		uint64_t room = sl_room_value(&o->t->values[r->stays[i].value]);

		bytes[r->stays[i].first] += room;
		bytes[r->stays[i].last + 1] -= room;
	}
	for (uint32_t i = 0; i < r->n_steps; i++) {
		uint64_t all;

		bytes[i] += i > 0 ? bytes[i - 1] : 0;
		all = bytes[i] + sl_room_workspace(&o->t->ops[r->steps[i].op]);
		most = all > most ? all : most;
	}
	sl_free(bytes);
	*out = o->base + most;
	return SL_OK;
}

sl_status sl_order_lower(const struct sl_optimal *o, const struct sl_order *order,
	uint64_t budget, const char *policy, struct sl_plan *out, uint64_t *out_load)
{
	struct sl_runs r = {0};
	uint64_t height;
	sl_status st = SL_OK;

	SL_TRY_OUT(write_down(o, order, &r));
	r.thorough = true;
	SL_TRY_OUT(find_load(o, &r, out_load));
	if (*out_load <= budget)
		SL_TRY_OUT(sl_runs_lower(&r, budget, policy, out, &height));
out:
	sl_runs_finish(&r);
	return st;
}
