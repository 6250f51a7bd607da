/* SPDX-License-Identifier: Apache-2.0 */
/* One iteration under delta's rules, op by op in virtual time: what is away comes back
 * where it is wanted, what has no room makes others leave. */
#include "memory/policy/delta_int.h"

#define MOST_RUNS 8 /* again, a run of the trace */

static sl_status pin(struct sl_delta *d, uint32_t v)
{
	d->v[v].pins++;
	return SL_OK;
}

/* A value that the op reads, changes or overwrites in place is there. */
static sl_status fetch(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];

	if (s->here || s->gap == SL_NO_ID)
		return SL_OK;
	if (d->g->gaps[s->gap].fate == SL_FATE_REDO)
		return sl_delta_redo(d, v);
	SL_TRY(sl_delta_make_room(d, sl_room_value(&d->g->t->values[v])));
	sl_delta_copy_in(d, v);
	sl_delta_come(d, v, d->op);
	return SL_OK;
}

static uint64_t need_of(const struct sl_delta *d, uint32_t op)
{
	const struct sl_trace_op *o = &d->g->t->ops[op];
	uint64_t need = sl_room_workspace(o);

	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(d->g->t, o->out[i]);

		if (!sl_class_persistent(d->g->t->values[v].cls))
			need += sl_room_value(&d->g->t->values[v]);
	}
	return need;
}

static sl_status begin_access(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];

	if (!s->here) {
		sl_delta_arrive(d, v); /* borne */
		s->ready_ns = 0;
		s->below = false;
	}
	sl_delta_wait(d, s->ready_ns);
	return SL_OK;
}

/* Moves v on by one use; the same op may touch it more than once. */
static sl_status end_access(struct sl_delta *d, uint32_t v)
{
	const struct sl_gaps *g = d->g;
	struct sl_delta_value *s = &d->v[v];
	uint32_t first = g->x.first[v], n = g->x.first[v + 1] - first;

	s->pins--;
	if (s->next == n || g->x.uses[first + s->next].op != d->op)
		return SL_OK;
	if (g->x.uses[first + s->next].writes)
		s->below = false;
	s->last_ns = d->now_ns;
	if (s->borne > 0)
		d->made.births[s->borne - 1].temporary = false; /* until here */
	s->borne = 0;
	s->priced = s->held = false;
	s->gap = s->next < g->first[v + 1] - g->first[v] ? g->first[v] + s->next
							 : SL_NO_ID;
	s->next++;
	return SL_OK;
}

static sl_status bury(struct sl_delta *d, uint32_t v)
{
	if (d->v[v].gap == SL_NO_ID && d->v[v].here)
		sl_delta_leave(d, v);
	return SL_OK;
}

/* Brings what was swapped out back ahead of its use, nearest first, while that leaves
 * what any op until then wants. */
static sl_status prefetch_value(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];
	uint64_t bytes = sl_room_value(&d->g->t->values[v]);

	if (s->here || s->gap == SL_NO_ID || d->ahead >= d->rule.window ||
		d->g->gaps[s->gap].fate != SL_FATE_SWAP)
		return SL_OK;
	if (d->used + bytes + d->need > d->limit) {
		d->ahead = d->rule.window; /* none of those behind it either */
		return SL_OK;
	}
	d->ahead++;
	sl_delta_copy_in(d, v);
	sl_delta_come(d, v, d->op + 1);
	s->held = true;
	return SL_OK;
}

static sl_status prefetch(struct sl_delta *d)
{
	uint32_t n = d->g->t->n_ops;

	d->ahead = 0;
	d->need = 0;
	if (d->op + 1 < d->turn && !d->rule.knapsack)
		return SL_OK;
	for (uint32_t i = d->op + 1; i < n && d->n_swapped > 0; i++) {
		if (d->ahead >= d->rule.window)
			break;
		if (need_of(d, i) > d->need)
			d->need = need_of(d, i);
		if (d->due_ns[i] > 0)
			SL_TRY(sl_delta_for_op(d, i, prefetch_value));
	}
	return SL_OK;
}

sl_status sl_delta_step(struct sl_delta *d)
{
	const struct sl_trace_op *o = &d->g->t->ops[d->op];

	d->chains->stamp++;
	d->chains->at = d->op;
	SL_TRY(sl_delta_for_op(d, d->op, pin));
	SL_TRY(sl_delta_for_op(d, d->op, fetch));
	SL_TRY(sl_delta_make_room(d, need_of(d, d->op)));
	SL_TRY(sl_delta_for_op(d, d->op, begin_access));
	d->now_ns = sl_add_ns(d->now_ns, o->dur_ns);
	SL_TRY(sl_delta_for_op(d, d->op, end_access));
	SL_TRY(sl_delta_for_op(d, d->op, bury));
	return prefetch(d);
}

/* What persists goes on as it was; all else begins anew. */
void sl_delta_begin(struct sl_delta *d)
{
	const struct sl_gaps *g = d->g;
	uint32_t n = g->t->n_ops;

	for (uint32_t i = 0; i <= n; i++) {
		d->due_ns[i] = d->due_ns[n + i];
		d->due_ns[n + i] = 0;
	}
	sl_redo_cut(d->chains, &(struct sl_redo_mark){0});
	d->made.n_runs = d->made.n_births = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		struct sl_gap *gap = &g->gaps[i];
		uint32_t hold = gap->hold;
		bool away = gap->wraps && !d->v[gap->value].here;

		sl_gap_set(gap, away ? SL_FATE_SWAP : SL_FATE_KEEP);
		if (away)
			gap->hold = hold;
	}
	for (uint32_t v = 0; v < g->t->n_values; v++) {
		d->v[v].next = d->v[v].touched = 0;
		d->v[v].priced = false;
	}
}

/* A value that was away at the start and did not leave yet does so at the very end. */
static void end_iteration(struct sl_delta *d)
{
	const struct sl_gaps *g = d->g;

	for (uint32_t i = 0; i < g->n; i++) {
		struct sl_gap *gap = &g->gaps[i];
		const struct sl_delta_value *s = &d->v[gap->value];

		if (!gap->wraps || gap->fate != SL_FATE_SWAP || gap->to_op == SL_NO_ID)
			continue;
		if (s->here)
			gap->hold = g->t->n_ops;
		if (s->touched > gap->from_op + 1)
			gap->leave = s->touched - 1;
		if (gap->hold <= gap->leave)
			gap->hold = gap->leave + 1;
	}
}

sl_status sl_delta_iteration(struct sl_delta *d)
{
	sl_delta_begin(d);
	for (d->op = 0; d->op < d->g->t->n_ops && !d->over; d->op++) {
		SL_TRY(sl_delta_step(d));
		d->over = d->over || d->made.n_runs / MOST_RUNS > d->g->t->n_ops;
	}
	end_iteration(d);
	return SL_OK;
}
