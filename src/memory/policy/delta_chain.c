/* SPDX-License-Identifier: Apache-2.0 */
/* How a value comes back: by a copy in, or by the ops that bore it, which run again and
 * may want others back first. */
#include "memory/policy/delta_int.h"

#include "base/alloc.h"

/* All that an op touches; a value that it touches twice comes up twice. */
sl_status sl_delta_for_op(struct sl_delta *d, uint32_t op, sl_delta_fn fn)
{
	const struct sl_trace_op *o = &d->g->t->ops[op];
	const uint32_t *lists[] = {o->in, o->mutates, o->out};
	const uint32_t counts[] = {o->n_in, o->n_mutates, o->n_out};

	for (int l = 0; l < 3; l++) {
		for (uint32_t i = 0; i < counts[l]; i++)
			SL_TRY(fn(d, sl_trace_root(d->g->t, lists[l][i])));
	}
	return SL_OK;
}

void sl_delta_wait(struct sl_delta *d, uint64_t ns)
{
	if (ns > d->now_ns)
		d->now_ns = ns;
}

/* Starts a copy in; there is room for it. */
void sl_delta_copy_in(struct sl_delta *d, uint32_t v)
{
	struct sl_gap *gap = &d->g->gaps[d->v[v].gap];
	uint64_t start = d->in_free_ns[gap->tier], own = sl_gap_in_ns(d->g, gap);
	uint32_t due = sl_delta_due(d, v);

	if (start < d->now_ns)
		start = d->now_ns;
	if (d->g->t->links[d->g->tiers[gap->tier].in_link].half_duplex &&
		start < d->out_free_ns[gap->tier])
		start = d->out_free_ns[gap->tier];
	d->v[v].ready_ns = d->in_free_ns[gap->tier] = sl_add_ns(start, own);
	if (d->g->t->links[d->g->tiers[gap->tier].in_link].half_duplex)
		d->out_free_ns[gap->tier] = d->v[v].ready_ns;
	if (due != SL_NO_ID)
		d->due_ns[due] -= own < d->due_ns[due] ? own : d->due_ns[due];
	d->n_swapped--;
	sl_delta_arrive(d, v);
}

/* The ends of its gap in the fates: it may be there before the use. */
void sl_delta_come(struct sl_delta *d, uint32_t v, uint32_t op)
{
	struct sl_gap *gap = &d->g->gaps[d->v[v].gap];

	if (gap->wraps || gap->hold <= op)
		gap->arrive = op;
}

static sl_status note_run(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];

	if (s->last_run == 0)
		s->pins++;
	s->last_run = d->run + 1;
	return SL_OK;
}

/* A chain reads what was swapped out. */
static sl_status recall(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];

	if (s->here || s->gap == SL_NO_ID || d->g->gaps[s->gap].fate != SL_FATE_SWAP)
		return SL_OK;
	SL_TRY(sl_delta_make_room(d, sl_room_value(&d->g->t->values[v])));
	sl_delta_copy_in(d, v);
	sl_delta_come(d, v, d->op);
	s->held = true;
	sl_delta_wait(d, s->ready_ns);
	return SL_OK;
}

/* Another run touches v; what a run bore has its last one with it. */
static sl_status run_over(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];

	s->last_ns = d->now_ns;
	s->touched = d->op + 1;
	if (s->borne > 0)
		d->made.births[s->borne - 1].last_run = d->made.n_runs - 1;
	return SL_OK;
}

static sl_status bear_again(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];

	if (s->here)
		return SL_OK;
	if (sl_grow((void **)&d->made.births, &d->made.cap_births,
		    (size_t)d->made.n_births + 1, sizeof(*d->made.births),
		    SL_REDO_MAX_RUNS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	d->made.births[d->made.n_births++] =
		(struct sl_redo_birth){.value = v, .temporary = true};
	s->borne = d->made.n_births;
	sl_delta_arrive(d, v);
	s->ready_ns = 0;
	s->below = false;
	if (s->gap != SL_NO_ID)
		d->g->gaps[s->gap].arrive = d->op;
	return SL_OK;
}

static sl_status add_run(struct sl_delta *d, const struct sl_redo_run *run)
{
	if (sl_grow((void **)&d->made.runs, &d->made.cap_runs, (size_t)d->made.n_runs + 1,
		    sizeof(*d->made.runs), SL_REDO_MAX_RUNS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	d->made.runs[d->made.n_runs++] = (struct sl_redo_run){
		.before_op = d->op, .op = run->op, .first_birth = d->made.n_births};
	return SL_OK;
}

/* What a chain touches for the last time; the dead ones go. */
static sl_status let_go(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];

	if (s->last_run != d->run + 1)
		return SL_OK;
	s->last_run = 0;
	s->pins--;
	if (s->gap == SL_NO_ID && s->here && s->pins == 0) {
		sl_delta_leave(d, v);
		d->chains->made[v] = 0;
	}
	return SL_OK;
}

static sl_status run_again(struct sl_delta *d, const struct sl_redo_run *run)
{
	const struct sl_trace_op *o = &d->g->t->ops[run->op];
	const struct sl_redo_birth *births = &d->chains->redo.births[run->first_birth];
	uint64_t need = sl_room_workspace(o);

	SL_TRY(sl_delta_for_op(d, run->op, recall));
	for (uint32_t i = 0; i < run->n_births; i++)
		need += sl_room_value(&d->g->t->values[births[i].value]);
	SL_TRY(sl_delta_make_room(d, need));
	SL_TRY(add_run(d, run));
	for (uint32_t i = 0; i < run->n_births; i++)
		SL_TRY(bear_again(d, births[i].value));
	d->made.runs[d->made.n_runs - 1].n_births =
		d->made.n_births - d->made.runs[d->made.n_runs - 1].first_birth;
	d->now_ns = sl_add_ns(d->now_ns, o->dur_ns);
	return sl_delta_for_op(d, run->op, run_over);
}

/* Runs from `first` on, in order. Each value is pinned from the beginning to the end of
 * the last run that touches it. */
static sl_status walk_chain(struct sl_delta *d, uint32_t first)
{
	const struct sl_redo *redo = &d->chains->redo;

	for (d->run = first; d->run < redo->n_runs; d->run++)
		SL_TRY(sl_delta_for_op(d, redo->runs[d->run].op, note_run));
	for (d->run = first; d->run < redo->n_runs; d->run++) {
		SL_TRY(run_again(d, &redo->runs[d->run]));
		SL_TRY(sl_delta_for_op(d, redo->runs[d->run].op, let_go));
	}
	return SL_OK;
}

/* The director did not foresee it: a sibling or an ancestor went elsewhere. */
static void give_up_redo(struct sl_delta *d, uint32_t v)
{
	d->g->gaps[d->v[v].gap].barred |= 1 << SL_FATE_REDO;
	d->broken = true;
	sl_delta_arrive(d, v);
}

sl_status sl_delta_redo(struct sl_delta *d, uint32_t v)
{
	struct sl_redoer *r = d->chains;
	uint32_t first = r->redo.n_runs;

	/* The chain is found with the fates as they are, and nothing is changed by that.
	 */
	r->pricing = true;
	r->cap_ns = UINT64_MAX;
	r->made[v] = 0;
	SL_TRY(sl_redo_gap(r, &d->g->gaps[d->v[v].gap]));
	if (!r->possible) {
		give_up_redo(d, v);
		return SL_OK;
	}
	return walk_chain(d, first);
}
