/* SPDX-License-Identifier: Apache-2.0 */
/* The checker's ops: in their turn, and again by a group of recompute lines. Both ask for
 * the same contents of what they read and change. */
#include "memory/plan_check_int.h"

#include <stdio.h>

/* Which run of which op is replayed; group: NULL in its turn. */
struct run {
	struct sl_plan_checker *c;
	const struct sl_trace_op *o;
	uint32_t op;
	const struct sl_check_group *group;
};

static void name_content(uint32_t op, char out[32])
{
	if (op == SL_NO_ID)
		(void)snprintf(out, 32, "the start");
	else
		(void)snprintf(out, 32, "op %u", op);
}

static sl_status need_content(
	const struct sl_plan_checker *c, uint32_t v, uint32_t op, uint32_t need)
{
	char has[32], wants[32];

	SL_TRY(sl_plan_checker_resident(c, v));
	if (c->content[v] == need)
		return SL_OK;
	name_content(c->content[v], has);
	name_content(need, wants);
	return SL_FAIL(SL_E_NO, "v%u has the content of %s; op %u needs that of %s", v,
		has, op, wants);
}

static sl_status need_list(
	const struct run *r, const uint32_t *list, uint32_t n, const uint32_t *need)
{
	for (uint32_t i = 0; i < n; i++)
		SL_TRY(need_content(
			r->c, sl_trace_root(r->c->t, list[i]), r->op, need[i]));
	return SL_OK;
}

/* What the run bears has its place; other outputs are written over what they are. */
static sl_status need_out(const struct run *r, const uint32_t *need)
{
	struct sl_plan_checker *c = r->c;

	for (uint32_t i = 0; i < r->o->n_out; i++) {
		uint32_t v = sl_trace_root(c->t, r->o->out[i]);

		if (c->birth[v] != r->op) {
			SL_TRY(need_content(c, v, r->op, need[i]));
		} else if (r->group) {
			SL_TRY(need_content(c, v, r->op, r->op));
		} else if (c->at[v] == SL_NO_OFFSET) {
			SL_TRY(sl_plan_checker_hold(
				c, v, c->p->value_offset[v], c->t->values[v].bytes));
			c->at[v] = c->p->value_offset[v];
			c->alive[v] = 1;
		}
	}
	return SL_OK;
}

static sl_status hold_workspace(const struct run *r, uint64_t offset)
{
	struct sl_plan_checker *c = r->c;

	if (r->o->workspace_bytes > 0) {
		SL_TRY(sl_plan_checker_hold(
			c, c->t->n_values + r->op, offset, r->o->workspace_bytes));
		sl_ranges_remove(&c->device, offset);
	} else if (offset != SL_NO_OFFSET) {
		return SL_FAIL(SL_E_NO, "w%u has a place but no bytes", r->op);
	}
	return SL_OK;
}

static void write_list(const struct run *r, const uint32_t *list, uint32_t n)
{
	struct sl_plan_checker *c = r->c;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(c->t, list[i]);

		/* The same bits once more: copies of them stay current. */
		if (r->group && c->birth[v] == r->op && c->content[v] == r->op)
			continue;
		sl_plan_checker_stale(c, v);
		c->content[v] = r->op;
	}
}

static void bury_list(
	const struct run *r, uint64_t position, const uint32_t *list, uint32_t n)
{
	struct sl_plan_checker *c = r->c;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(c->t, list[i]);

		if (c->last_use[v] != position || !c->alive[v] ||
			sl_class_persistent(c->t->values[v].cls))
			continue;
		sl_plan_checker_leave(c, v);
		sl_plan_checker_stale(c, v);
		c->alive[v] = 0;
	}
}

static sl_status run(const struct run *r, uint64_t position, uint64_t workspace)
{
	const struct sl_trace_op *o = r->o;
	const uint32_t *need = &r->c->need[r->c->need_first[r->op]];

	SL_TRY(need_list(r, o->in, o->n_in, need));
	SL_TRY(need_list(r, o->mutates, o->n_mutates, need + o->n_in));
	SL_TRY(need_out(r, need + o->n_in + o->n_mutates));
	SL_TRY(hold_workspace(r, workspace));
	write_list(r, o->out, o->n_out);
	write_list(r, o->mutates, o->n_mutates);
	bury_list(r, position, o->in, o->n_in);
	bury_list(r, position, o->out, o->n_out);
	bury_list(r, position, o->mutates, o->n_mutates);
	return SL_OK;
}

sl_status sl_plan_checker_run(struct sl_plan_checker *c, uint32_t op)
{
	struct run r = {.c = c, .o = &c->t->ops[op], .op = op};

	return run(
		&r, sl_check_position(op, SL_CHECK_RUN, 0), c->p->workspace_offset[op]);
}

static bool persists(const struct run *r, const uint32_t *list, uint32_t n, uint32_t *out)
{
	for (uint32_t i = 0; i < n; i++) {
		*out = sl_trace_root(r->c->t, list[i]);
		if (sl_class_persistent(r->c->t->values[*out].cls))
			return true;
	}
	return false;
}

/* What may run twice at all. */
static sl_status may_repeat(const struct run *r)
{
	uint32_t v = 0;

	if (!r->o->pure)
		return SL_FAIL(SL_E_NO, "op %u (%s) is not pure: it runs once", r->op,
			r->o->kind);
	if (sl_check_position(r->op, SL_CHECK_RUN, 0) >= r->group->position)
		return SL_FAIL(SL_E_NO, "op %u has not run yet", r->op);
	if (persists(r, r->o->out, r->o->n_out, &v) ||
		persists(r, r->o->mutates, r->o->n_mutates, &v))
		return SL_FAIL(SL_E_NO, "op %u writes v%u, which persists: it runs once",
			r->op, v);
	return SL_OK;
}

static bool mutates(const struct run *r, uint32_t v)
{
	for (uint32_t i = 0; i < r->o->n_mutates; i++) {
		if (sl_trace_root(r->c->t, r->o->mutates[i]) == v)
			return true;
	}
	return false;
}

/* Bears the value of a line anew, or sees that op changes it in place. */
static sl_status take_line(const struct run *r, const struct sl_action *a)
{
	struct sl_plan_checker *c = r->c;
	uint32_t v = a->value;

	SL_TRY(sl_plan_checker_names(c, a));
	if (c->birth[v] != r->op) {
		if (!mutates(r, v) || r->group->n > 1 || a->offset != SL_NO_OFFSET)
			return SL_FAIL(SL_E_NO,
				"op %u does not bear v%u; what it changes in place alone "
				"has a line of its own, with offset=-",
				r->op, v);
		return SL_OK;
	}
	if (c->at[v] != SL_NO_OFFSET)
		return SL_FAIL(SL_E_NO, "v%u is on the device already", v);
	SL_TRY(sl_plan_checker_hold(c, v, a->offset, c->t->values[v].bytes));
	c->at[v] = a->offset;
	sl_plan_checker_stale(c, v);
	c->content[v] = r->op;
	return SL_OK;
}

sl_status sl_plan_checker_again(struct sl_plan_checker *c, const struct sl_check_group *g)
{
	const struct sl_action *lines = &c->p->actions[g->first];
	struct run r = {.c = c, .op = g->op, .group = g};

	if (g->op >= c->t->n_ops)
		return SL_FAIL(SL_E_NO, "there is no op %u to run again", g->op);
	r.o = &c->t->ops[g->op];
	SL_TRY(may_repeat(&r));
	for (uint32_t i = 0; i < g->n; i++) {
		SL_TRY(take_line(&r, &lines[i]));
		if (i > 0 && lines[i].workspace_offset != SL_NO_OFFSET)
			return SL_FAIL(SL_E_NO,
				"the workspace stands on the first line of a group");
	}
	return run(&r, g->position, lines[0].workspace_offset);
}
