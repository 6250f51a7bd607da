/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and stays of an iteration that was simulated, and the plan that they make: all
 * stays get addresses at once, their ends become actions. */
#include "memory/policy/runs.h"

#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/keep_int.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

sl_status sl_runs_init(struct sl_runs *r, const struct sl_trace *t)
{
	*r = (struct sl_runs){.t = t};
	r->open = sl_calloc((size_t)t->n_values + 1, sizeof(*r->open));
	if (!r->open)
		return no_memory();
	sl_runs_reset(r);
	return SL_OK;
}

void sl_runs_finish(struct sl_runs *r)
{
	sl_free(r->steps);
	sl_free(r->stays);
	sl_free(r->open);
	*r = (struct sl_runs){0};
}

void sl_runs_reset(struct sl_runs *r)
{
	r->n_steps = r->n_stays = 0;
	memset(r->open, 0xff, ((size_t)r->t->n_values + 1) * sizeof(*r->open));
}

static sl_status touch(struct sl_runs *r, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(r->t, list[i]);

		if (sl_class_persistent(r->t->values[v].cls))
			continue;
		if (r->open[v] != SL_NO_ID) {
			r->stays[r->open[v]].last = r->n_steps;
			continue;
		}
		if (sl_grow((void **)&r->stays, &r->cap_stays, (size_t)r->n_stays + 1,
			    sizeof(*r->stays), 4 * SL_RUNS_MAX_STEPS))
			return no_memory();
		r->open[v] = r->n_stays;
		r->stays[r->n_stays++] = (struct sl_runs_stay){v, r->n_steps, r->n_steps};
	}
	return SL_OK;
}

sl_status sl_runs_add(struct sl_runs *r, uint32_t op, uint32_t before)
{
	const struct sl_trace_op *o = &r->t->ops[op];

	if (sl_grow((void **)&r->steps, &r->cap_steps, (size_t)r->n_steps + 1,
		    sizeof(*r->steps), SL_RUNS_MAX_STEPS))
		return no_memory();
	SL_TRY(touch(r, o->in, o->n_in));
	SL_TRY(touch(r, o->mutates, o->n_mutates));
	SL_TRY(touch(r, o->out, o->n_out));
	r->steps[r->n_steps++] = (struct sl_runs_step){op, before};
	return SL_OK;
}

struct lowerer {
	const struct sl_runs *r;
	struct sl_plan plan;
	struct sl_place_item *items; /* stays, then workspaces by step */
	size_t n;
	uint32_t *workspace; /* [n_steps] its item, or SL_NO_ID */
	uint32_t *final; /* [n_values] the last stay */
	uint32_t *end_first; /* [n_steps + 2] into ends, stays by last step */
	uint32_t *ends;
};

static sl_status begin(struct lowerer *l, uint64_t budget, const char *policy)
{
	const struct sl_runs *r = l->r;
	size_t steps = (size_t)r->n_steps + 2, stays = (size_t)r->n_stays + 1;

	l->items = sl_calloc(stays + steps, sizeof(*l->items));
	l->workspace = sl_calloc(steps, sizeof(*l->workspace));
	l->final = sl_calloc((size_t)r->t->n_values + 1, sizeof(*l->final));
	l->end_first = sl_calloc(steps, sizeof(*l->end_first));
	l->ends = sl_calloc(stays, sizeof(*l->ends));
	if (!l->items || !l->workspace || !l->final || !l->end_first || !l->ends)
		return no_memory();
	for (uint32_t i = 0; i < r->n_stays; i++) {
		l->final[r->stays[i].value] = i;
		l->end_first[r->stays[i].last + 1]++;
	}
	for (uint32_t i = 1; i <= r->n_steps + 1; i++)
		l->end_first[i] += l->end_first[i - 1];
	for (uint32_t i = r->n_stays; i-- > 0;)
		l->ends[--l->end_first[r->stays[i].last + 1]] = i;
	return sl_plan_begin(&l->plan, r->t, budget, policy);
}

static void finish(struct lowerer *l)
{
	sl_plan_finish(&l->plan);
	sl_free(l->items);
	sl_free(l->workspace);
	sl_free(l->final);
	sl_free(l->end_first);
	sl_free(l->ends);
}

static void list_items(struct lowerer *l)
{
	const struct sl_runs *r = l->r;

	for (uint32_t i = 0; i < r->n_stays; i++) {
		const struct sl_trace_value *v = &r->t->values[r->stays[i].value];

		l->items[l->n++] = (struct sl_place_item){.first = r->stays[i].first,
			.last = r->stays[i].last,
			.bytes = sl_room_value(v),
			.align = v->align};
	}
	for (uint32_t i = 0; i < r->n_steps; i++) {
		const struct sl_trace_op *o = &r->t->ops[r->steps[i].op];

		l->workspace[i] = SL_NO_ID;
		if (o->workspace_bytes == 0)
			continue;
		l->workspace[i] = (uint32_t)l->n;
		l->items[l->n++] = (struct sl_place_item){.first = i,
			.last = i,
			.bytes = sl_room_workspace(o),
			.align = sl_room_workspace_align(o->workspace_bytes)};
	}
}

static sl_status emit_again(struct lowerer *l, uint32_t step, uint32_t *stay)
{
	const struct sl_runs *r = l->r;
	const struct sl_runs_step *s = &r->steps[step];
	const struct sl_trace_op *o = &r->t->ops[s->op];
	struct sl_action a = {.op = s->before,
		.phase = SL_BEFORE,
		.kind = SL_ACTION_RECOMPUTE,
		.again = s->op,
		.offset = SL_NO_OFFSET,
		.workspace_offset = SL_NO_OFFSET};

	if (l->workspace[step] != SL_NO_ID)
		a.workspace_offset = l->items[l->workspace[step]].offset;
	if (*stay == r->n_stays || r->stays[*stay].first != step) {
		if (o->n_mutates == 0)
			return SL_OK; /* it bears nothing: in vain */
		a.value = sl_trace_root(r->t, o->mutates[0]);
		return sl_plan_add_action(&l->plan, &a);
	}
	for (; *stay < r->n_stays && r->stays[*stay].first == step; ++*stay) {
		a.value = r->stays[*stay].value;
		a.offset = l->items[*stay].offset;
		SL_TRY(sl_plan_add_action(&l->plan, &a));
		a.workspace_offset = SL_NO_OFFSET;
	}
	return SL_OK;
}

static void place_births(struct lowerer *l, uint32_t step, uint32_t *stay)
{
	const struct sl_runs *r = l->r;

	for (; *stay < r->n_stays && r->stays[*stay].first == step; ++*stay)
		l->plan.value_offset[r->stays[*stay].value] = l->items[*stay].offset;
	if (l->workspace[step] != SL_NO_ID)
		l->plan.workspace_offset[r->steps[step].op] =
			l->items[l->workspace[step]].offset;
}

/* A value's last stay ends by itself. */
static sl_status emit_drops(struct lowerer *l, uint32_t step)
{
	const struct sl_runs_step *s = &l->r->steps[step];
	struct sl_action a = {.op = s->before,
		.phase = s->op == s->before ? SL_AFTER : SL_BEFORE,
		.kind = SL_ACTION_DROP,
		.workspace_offset = SL_NO_OFFSET};

	for (uint32_t k = l->end_first[step + 1]; k < l->end_first[step + 2]; k++) {
		a.value = l->r->stays[l->ends[k]].value;
		if (l->final[a.value] != l->ends[k])
			SL_TRY(sl_plan_add_action(&l->plan, &a));
	}
	return SL_OK;
}

static sl_status emit(struct lowerer *l)
{
	const struct sl_runs *r = l->r;
	uint32_t stay = 0;

	for (uint32_t i = 0; i < r->n_steps; i++) {
		if (r->steps[i].op == r->steps[i].before)
			place_births(l, i, &stay);
		else
			SL_TRY(emit_again(l, i, &stay));
		SL_TRY(emit_drops(l, i));
	}
	return sl_plan_seal(&l->plan, r->t);
}

sl_status sl_runs_lower(const struct sl_runs *r, uint64_t budget, const char *policy,
	struct sl_plan *out, uint64_t *out_height)
{
	struct lowerer l = {.r = r, .plan = SL_PLAN_INIT};
	struct sl_place_opts opts = {.capacity = budget,
		.hopeless = budget + budget / 16,
		.effort = r->thorough ? SL_PLACE_IMPROVE : SL_PLACE_FAMILY};
	sl_status st = SL_OK;

	SL_TRY_OUT(begin(&l, budget, policy));
	opts.base = sl_keep_pack(r->t, &l.plan);
	list_items(&l);
	SL_TRY_OUT(sl_place_with(&opts, l.items, l.n, out_height));
	if (*out_height > budget)
		goto out;
	SL_TRY_OUT(emit(&l));
	sl_plan_move(out, &l.plan);
out:
	finish(&l);
	return st;
}
