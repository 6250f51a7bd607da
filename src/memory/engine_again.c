/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that run again, laid out for the step: each group of recompute lines gets the
 * touches of its op, with births where the lines say. */
#include "base/alloc.h"
#include "memory/engine_int.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no memory for the engine's index");
}

static sl_status refuse(const struct sl_action *a, const char *why)
{
	return SL_FAIL(SL_E_INVALID,
		"plan: op %u runs again at op %u for v%u: %s; plan again", a->again,
		a->op, a->value, why);
}

static bool is_before(const struct sl_action *a, uint32_t op)
{
	return a->op < op || (a->op == op && a->phase == SL_BEFORE);
}

static sl_status check_first(const struct sl_trace *t, const struct sl_action *a)
{
	const struct sl_trace_op *o;

	if (a->again >= t->n_ops || is_before(a, a->again))
		return refuse(a, "it has not run yet");
	o = &t->ops[a->again];
	if (!o->pure)
		return refuse(a, "it is not pure");
	if ((o->workspace_bytes > 0) != (a->workspace_offset != SL_NO_OFFSET))
		return refuse(a, "its workspace has no place, or a place but no bytes");
	return SL_OK;
}

/* Sizes of the tables; lines that begin no group are counted with the one that does. */
static sl_status count(const struct sl_engine_index *x, const struct sl_trace *t,
	const struct sl_plan *p, uint32_t *n, size_t *touches)
{
	uint32_t lines;

	for (uint32_t i = 0; i<p->n_actions; i += lines> 0 ? lines : 1) {
		const struct sl_action *a = &p->actions[i];

		lines = sl_plan_group_lines(p, i);
		if (lines == 0)
			continue;
		SL_TRY(check_first(t, a));
		(*n)++;
		*touches += x->touch_first[a->again + 1] - x->touch_first[a->again];
	}
	return SL_OK;
}

static struct sl_touch *find_touch(struct sl_touch *list, uint32_t n, uint32_t v)
{
	for (uint32_t i = 0; i < n; i++) {
		if (list[i].value == v)
			return &list[i];
	}
	return NULL;
}

/* The touches of an op's first run as those of a run from these lines: only values that
 * a line names are born, the others are overwritten with the same bits. */
static sl_status fill_touches(const struct sl_engine_index *x, const struct sl_action *a,
	const struct sl_engine_again *g)
{
	uint32_t first = x->touch_first[g->op], n = x->touch_first[g->op + 1] - first;
	struct sl_touch *to = &x->again_touches[g->touch_first];
	struct sl_touch *named;

	for (uint32_t i = 0; i < n; i++) {
		to[i] = x->touches[first + i];
		to[i].flags = (to[i].flags & SL_TOUCH_BIRTH)
				      ? SL_TOUCH_SAME
				      : to[i].flags & SL_TOUCH_WRITE;
	}
	for (uint32_t i = 0; i < g->n_lines; i++) {
		if (a[i].offset == SL_NO_OFFSET)
			continue;
		named = find_touch(to, n, x->root[a[i].value]);
		if (!named || !(x->touches[first + (named - to)].flags & SL_TOUCH_BIRTH))
			return refuse(&a[i], "it does not bear that value");
		named->flags = SL_TOUCH_BIRTH | SL_TOUCH_AGAIN;
		named->at = a[i].offset;
	}
	return SL_OK;
}

static sl_status fill(
	struct sl_engine_index *x, const struct sl_plan *p, const struct sl_trace *t)
{
	uint32_t lines, used = 0;

	for (uint32_t i = 0; i<p->n_actions; i += lines> 0 ? lines : 1) {
		const struct sl_action *a = &p->actions[i];
		struct sl_engine_again *g = &x->again[x->n_again];

		lines = sl_plan_group_lines(p, i);
		if (lines == 0)
			continue;
		*g = (struct sl_engine_again){
			.op = a->again,
			.n_lines = lines,
			.touch_first = used,
			.workspace = t->ops[a->again].workspace_bytes > 0
					     ? a->workspace_offset
					     : SL_NO_OFFSET,
		};
		used += x->touch_first[g->op + 1] - x->touch_first[g->op];
		g->touch_end = used;
		x->again_of[i] = x->n_again++;
		SL_TRY(fill_touches(x, a, g));
	}
	return SL_OK;
}

/* Where each value's last access by a run again is: touch + 1, and its action. */
struct last {
	uint32_t touch;
	uint32_t action;
};

static void find_last(
	const struct sl_engine_index *x, const struct sl_plan *p, struct last *last)
{
	for (uint32_t i = 0; i < p->n_actions;) {
		const struct sl_engine_again *g = &x->again[x->again_of[i]];

		if (p->actions[i].kind != SL_ACTION_RECOMPUTE) {
			i++;
			continue;
		}
		for (uint32_t k = g->touch_first; k < g->touch_end; k++)
			last[x->again_touches[k].value] = (struct last){k + 1, i};
		i += g->n_lines;
	}
}

/* The later of a value's last accesses ends its life. */
static void end_lives(const struct sl_engine_index *x, const struct sl_trace *t,
	const struct sl_plan *p, const struct last *last)
{
	for (uint32_t op = 0; op < t->n_ops; op++) {
		for (uint32_t i = x->touch_first[op]; i < x->touch_first[op + 1]; i++) {
			struct sl_touch *touch = &x->touches[i];
			const struct last *l = &last[touch->value];

			if (!(touch->flags & SL_TOUCH_LAST) || l->touch == 0 ||
				is_before(&p->actions[l->action], op))
				continue;
			touch->flags &= ~(uint32_t)SL_TOUCH_LAST;
			x->again_touches[l->touch - 1].flags |= SL_TOUCH_LAST;
		}
	}
}

sl_status sl_engine_index_again(
	struct sl_engine_index *x, const struct sl_trace *t, const struct sl_plan *p)
{
	struct last *last = NULL;
	uint32_t n = 0;
	size_t touches = 0;
	sl_status st;

	SL_TRY(count(x, t, p, &n, &touches));
	if (n == 0)
		return SL_OK;
	x->again = sl_calloc(n, sizeof(*x->again));
	x->again_touches = sl_calloc(touches + 1, sizeof(*x->again_touches));
	x->again_of = sl_calloc(p->n_actions, sizeof(*x->again_of));
	last = sl_calloc((size_t)t->n_values + 1, sizeof(*last));
	if (!x->again || !x->again_touches || !x->again_of || !last ||
		touches > UINT32_MAX) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(fill(x, p, t));
	find_last(x, p, last);
	end_lives(x, t, p, last);
out:
	sl_free(last);
	return st;
}
