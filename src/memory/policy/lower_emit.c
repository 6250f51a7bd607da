/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of stays as actions: who leaves and arrives when, what runs again, what is
 * below at the start. */
#include "memory/policy/lower_int.h"

#include <stdlib.h>

#include "base/alloc.h"

static sl_status emit(struct sl_lowerer *l, const struct sl_action *a)
{
	struct sl_action full = *a;

	if (a->kind != SL_ACTION_RECOMPUTE)
		full.workspace_offset = SL_NO_OFFSET;
	return sl_plan_add_action(&l->plan, &full);
}

static sl_status emit_leave(struct sl_lowerer *l, const struct sl_gap *gap)
{
	const struct sl_reach *tier = &l->g->tiers[gap->tier];
	struct sl_action a = {.op = gap->leave,
		.phase = SL_AFTER,
		.kind = SL_ACTION_DROP_CLEAN,
		.value = gap->value};

	if (gap->fate == SL_FATE_REDO)
		a.kind = SL_ACTION_DROP;
	if (gap->fate == SL_FATE_SWAP && gap->dirty) {
		struct sl_action copy = {.op = sl_gap_saved(gap) ? gap->save : gap->leave,
			.phase = SL_AFTER,
			.kind = sl_gap_saved(gap) ? SL_ACTION_SAVE : SL_ACTION_OUT,
			.value = gap->value,
			.tier = tier->tier,
			.channel = tier->out_link,
			.offset = l->slot[gap->value],
			.delay_ns = gap->delay_ns};

		SL_TRY(emit(l, &copy));
		if (copy.kind == SL_ACTION_OUT)
			return SL_OK;
	}
	return emit(l, &a);
}

static sl_status emit_arrive(struct sl_lowerer *l, uint32_t i)
{
	const struct sl_gap *gap = &l->g->gaps[i];
	const struct sl_reach *tier = &l->g->tiers[gap->tier];

	return emit(l, &(struct sl_action){.op = gap->arrive,
			       .phase = SL_BEFORE,
			       .kind = SL_ACTION_IN,
			       .value = gap->value,
			       .tier = tier->tier,
			       .channel = tier->in_link,
			       .offset = l->landing[i]});
}

/* Where a value lands that a run bears: for good after its gap, or for a moment. */
static uint64_t birth_offset(const struct sl_lowerer *l, uint32_t op, uint32_t birth)
{
	const struct sl_redo_birth *b = &l->redo->births[birth];

	return b->temporary ? l->again_at[birth]
			    : l->landing[sl_lower_gap_of_birth(l, op, b)];
}

static sl_status emit_run(struct sl_lowerer *l, const struct sl_redo_run *run)
{
	const struct sl_trace_op *o = &l->g->t->ops[run->op];
	struct sl_action a = {.op = run->before_op,
		.phase = SL_BEFORE,
		.kind = SL_ACTION_RECOMPUTE,
		.again = run->op,
		.offset = SL_NO_OFFSET,
		.workspace_offset = SL_NO_OFFSET};

	if (o->workspace_bytes > 0)
		a.workspace_offset = l->redo_workspace[run - l->redo->runs];
	if (run->n_births == 0) {
		a.value = sl_trace_root(
			l->g->t, o->n_mutates > 0 ? o->mutates[0] : o->out[0]);
		return emit(l, &a);
	}
	for (uint32_t k = 0; k < run->n_births; k++) {
		a.value = l->redo->births[run->first_birth + k].value;
		a.offset = birth_offset(l, run->before_op, run->first_birth + k);
		SL_TRY(emit(l, &a));
		a.workspace_offset = SL_NO_OFFSET;
	}
	return SL_OK;
}

static void note_again(
	struct sl_lowerer *l, uint32_t run, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		l->last_again[sl_trace_root(l->g->t, list[i])] = run + 1;
}

static bool is_dead(const struct sl_lowerer *l, uint32_t v, uint32_t op)
{
	return l->g->x.uses[l->g->x.first[v + 1] - 1].op < op;
}

/* Values given up between their last use and a run that bears them once more. */
static sl_status emit_early_deaths(struct sl_lowerer *l)
{
	for (uint32_t i = 0; i < l->redo->n_runs; i++) {
		const struct sl_trace_op *o = &l->g->t->ops[l->redo->runs[i].op];

		note_again(l, i, o->in, o->n_in);
		note_again(l, i, o->mutates, o->n_mutates);
		note_again(l, i, o->out, o->n_out);
	}
	for (uint32_t v = 0; v < l->g->t->n_values; v++) {
		uint32_t run = l->last_again[v], last;

		if (run == 0 || sl_class_persistent(l->g->t->values[v].cls))
			continue;
		last = l->g->x.uses[l->g->x.first[v + 1] - 1].op;
		if (l->redo->runs[run - 1].before_op <= last)
			continue;
		SL_TRY(emit(l, &(struct sl_action){.op = last,
				       .phase = SL_AFTER,
				       .kind = SL_ACTION_DROP,
				       .value = v}));
	}
	return SL_OK;
}

/* Temporary births by the last run that touches them, in the order of births. */
struct ends {
	uint32_t *first; /* [n_runs + 2] */
	uint32_t *births;
};

static sl_status list_ends(const struct sl_redo *r, struct ends *e)
{
	e->first = sl_calloc((size_t)r->n_runs + 2, sizeof(*e->first));
	e->births = sl_calloc((size_t)r->n_births + 1, sizeof(*e->births));
	if (!e->first || !e->births)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (uint32_t k = 0; k < r->n_births; k++) {
		if (r->births[k].temporary)
			e->first[r->births[k].last_run + 2]++;
	}
	for (uint32_t i = 2; i <= r->n_runs + 1; i++)
		e->first[i] += e->first[i - 1];
	for (uint32_t k = 0; k < r->n_births; k++) {
		if (r->births[k].temporary)
			e->births[e->first[r->births[k].last_run + 1]++] = k;
	}
	return SL_OK;
}

/* What was borne for the moment and has this run for its last. A dead value goes by
 * itself after the last run of all that touches it. */
static sl_status emit_drops(struct sl_lowerer *l, const struct ends *e, uint32_t run)
{
	uint32_t op = l->redo->runs[run].before_op;

	for (uint32_t i = e->first[run]; i < e->first[run + 1]; i++) {
		const struct sl_redo_birth *b = &l->redo->births[e->births[i]];

		if (is_dead(l, b->value, op) && l->last_again[b->value] == run + 1)
			continue;
		SL_TRY(emit(l, &(struct sl_action){.op = op,
				       .phase = SL_BEFORE,
				       .kind = SL_ACTION_DROP,
				       .value = b->value}));
	}
	return SL_OK;
}

static sl_status emit_redo(struct sl_lowerer *l)
{
	struct ends e = {0};
	sl_status st = SL_OK;

	if (l->redo == NULL)
		return SL_OK;
	SL_TRY_OUT(emit_early_deaths(l));
	SL_TRY_OUT(list_ends(l->redo, &e));
	for (uint32_t i = 0; i < l->redo->n_runs; i++) {
		SL_TRY_OUT(emit_run(l, &l->redo->runs[i]));
		SL_TRY_OUT(emit_drops(l, &e, i));
	}
out:
	sl_free(e.first);
	sl_free(e.births);
	return st;
}

/* A copy in, to be put in order. */
struct arrival {
	uint32_t due, value, gap;
};

static int by_deadline(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->due != y->due)
		return x->due < y->due ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static sl_status emit_copies(struct sl_lowerer *l)
{
	const struct sl_gaps *g = l->g;
	struct arrival *arrivals = sl_calloc((size_t)g->n + 1, sizeof(*arrivals));
	size_t n = 0;
	sl_status st = SL_OK;

	if (!arrivals)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (uint32_t i = 0; i < g->n; i++) {
		const struct sl_gap *gap = &g->gaps[i];

		if (gap->fate == SL_FATE_KEEP || gap->from_op == SL_NO_ID)
			continue;
		SL_TRY_OUT(emit_leave(l, gap));
		if (gap->fate == SL_FATE_SWAP)
			arrivals[n++] = (struct arrival){gap->due, gap->value, i};
	}
	qsort(arrivals, n, sizeof(*arrivals), by_deadline);
	for (size_t i = 0; i < n; i++)
		SL_TRY_OUT(emit_arrive(l, arrivals[i].gap));
out:
	sl_free(arrivals);
	return st;
}

static sl_status emit_starts(struct sl_lowerer *l)
{
	for (uint32_t v = 0; v < l->g->t->n_values; v++) {
		const struct sl_gap *wrap;
		bool below, saved = false;

		if (!sl_lower_lasting(l, v) || l->slot[v] == SL_NO_OFFSET)
			continue;
		wrap = sl_lower_wrap(l, v);
		below = wrap->fate == SL_FATE_SWAP;
		for (uint32_t i = l->g->first[v]; i < l->g->first[v + 1]; i++)
			saved = saved || sl_gap_saved(&l->g->gaps[i]);
		/* At home and saved, or never written: the copy below is current as
		 * well. */
		if (!below && wrap->dirty && !saved)
			continue;
		if (!below)
			SL_TRY(sl_plan_add_start(
				&l->plan, &(struct sl_plan_start){.value = v}));
		SL_TRY(sl_plan_add_start(
			&l->plan, &(struct sl_plan_start){.value = v,
					  .tier = l->g->tiers[wrap->tier].tier,
					  .offset = l->slot[v]}));
	}
	return SL_OK;
}

sl_status sl_lower_emit(struct sl_lowerer *l)
{
	SL_TRY(emit_starts(l));
	SL_TRY(emit_copies(l));
	return emit_redo(l);
}
