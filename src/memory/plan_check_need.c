/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker derives from trace and plan before it begins: where each value is
 * accessed last, and which content each access needs. */
#include "memory/plan_check_int.h"

#include <string.h>

#include "base/alloc.h"

static size_t n_accesses(const struct sl_trace_op *o)
{
	return (size_t)o->n_in + o->n_mutates + o->n_out;
}

static sl_status init_tables(struct sl_plan_checker *c)
{
	size_t n = (size_t)c->t->n_values + 1, accesses = 0;

	for (uint32_t i = 0; i < c->t->n_ops; i++)
		accesses += n_accesses(&c->t->ops[i]);
	c->last_use = sl_calloc(n, sizeof(*c->last_use));
	c->content = sl_calloc(n, sizeof(*c->content));
	c->writer = sl_calloc(n, sizeof(*c->writer));
	c->birth = sl_calloc(n, sizeof(*c->birth));
	c->need_first = sl_calloc((size_t)c->t->n_ops + 1, sizeof(*c->need_first));
	c->need = sl_calloc(accesses + 1, sizeof(*c->need));
	if (!c->last_use || !c->content || !c->writer || !c->birth || !c->need_first ||
		!c->need)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to check a plan");
	memset(c->content, 0xff, n * sizeof(*c->content));
	memset(c->writer, 0xff, n * sizeof(*c->writer));
	memset(c->birth, 0xff, n * sizeof(*c->birth));
	return SL_OK;
}

static void see_list(struct sl_plan_checker *c, const uint32_t *list, uint32_t n,
	uint64_t position, uint32_t *need)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(c->t, list[i]);

		if (position > c->last_use[v])
			c->last_use[v] = position;
		if (need)
			need[i] = c->writer[v];
	}
}

/* All that op accesses, at a position; need: NULL or the contents, to be filled. */
static void see_op(
	struct sl_plan_checker *c, uint32_t op, uint64_t position, uint32_t *need)
{
	const struct sl_trace_op *o = &c->t->ops[op];

	see_list(c, o->in, o->n_in, position, need);
	see_list(c, o->mutates, o->n_mutates, position, need ? need + o->n_in : NULL);
	see_list(c, o->out, o->n_out, position,
		need ? need + o->n_in + o->n_mutates : NULL);
}

static void write_list(
	struct sl_plan_checker *c, uint32_t op, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		c->writer[sl_trace_root(c->t, list[i])] = op;
}

static void bear_list(struct sl_plan_checker *c, uint32_t op)
{
	const struct sl_trace_op *o = &c->t->ops[op];

	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(c->t, o->out[i]);

		if (c->birth[v] == SL_NO_ID && !sl_class_persistent(c->t->values[v].cls))
			c->birth[v] = op;
	}
}

sl_status sl_plan_checker_uses(struct sl_plan_checker *c)
{
	size_t at = 0;

	SL_TRY(init_tables(c));
	for (uint32_t op = 0; op < c->t->n_ops; op++) {
		const struct sl_trace_op *o = &c->t->ops[op];

		c->need_first[op] = at;
		see_op(c, op, sl_check_position(op, SL_CHECK_RUN, 0), &c->need[at]);
		bear_list(c, op);
		write_list(c, op, o->out, o->n_out);
		write_list(c, op, o->mutates, o->n_mutates);
		at += n_accesses(o);
	}
	for (uint32_t i = 0; i < c->p->n_actions;) {
		const struct sl_action *a = &c->p->actions[i];
		uint32_t n = sl_plan_group_lines(c->p, i);

		if (n > 0 && a->again < c->t->n_ops)
			see_op(c, a->again,
				sl_check_position(a->op,
					a->phase == SL_BEFORE ? SL_CHECK_BEFORE
							      : SL_CHECK_AFTER,
					i),
				NULL);
		i += n > 0 ? n : 1;
	}
	return SL_OK;
}
