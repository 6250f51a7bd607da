/* SPDX-License-Identifier: Apache-2.0 */
/* All runs of an iteration, position by position: what the REDO fates ask for, within the
 * bytes there are. */
#include "memory/policy/redo_int.h"

#include "base/alloc.h"

/* Keeps a value that was rebuilt early for others, if there is room until its gap ends.
 */
static void pull_in(struct sl_redoer *r, struct sl_redo_birth *b)
{
	struct sl_gap *gap = sl_redo_stand(r->g, b->value, r->at).gap;

	if (!sl_redo_hold(r, b->value, gap->arrive))
		return;
	gap->arrive = r->at;
	b->temporary = b->later = false;
}

/* Redo gaps by the op that they end at. */
struct ends {
	uint32_t *first; /* [n_ops + 1] */
	uint32_t *gaps;
};

static sl_status list_ends(const struct sl_gaps *g, struct ends *e)
{
	e->first = sl_calloc((size_t)g->t->n_ops + 2, sizeof(*e->first));
	e->gaps = sl_calloc((size_t)g->n + 1, sizeof(*e->gaps));
	if (!e->first || !e->gaps)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (uint32_t i = 0; i < g->n; i++) {
		if (g->gaps[i].fate == SL_FATE_REDO)
			e->first[g->gaps[i].to_op + 2]++;
	}
	for (uint32_t i = 2; i <= g->t->n_ops + 1; i++)
		e->first[i] += e->first[i - 1];
	for (uint32_t i = 0; i < g->n; i++) {
		if (g->gaps[i].fate == SL_FATE_REDO)
			e->gaps[e->first[g->gaps[i].to_op + 1]++] = i;
	}
	return SL_OK;
}

/* The last run at or after `first` that touches each of the values borne since. */
static void note_last_runs(struct sl_redoer *r, uint32_t first)
{
	const struct sl_trace *t = r->g->t;

	for (uint32_t k = first; k < r->redo.n_runs; k++) {
		const struct sl_trace_op *o = &t->ops[r->redo.runs[k].op];
		const uint32_t *lists[] = {o->in, o->out, o->mutates};
		const uint32_t counts[] = {o->n_in, o->n_out, o->n_mutates};

		for (int l = 0; l < 3; l++) {
			for (uint32_t i = 0; i < counts[l]; i++)
				r->last_run[sl_trace_root(t, lists[l][i])] = k;
		}
	}
	for (uint32_t k = first; k < r->redo.n_runs; k++) {
		const struct sl_redo_run *run = &r->redo.runs[k];

		for (uint32_t i = 0; i < run->n_births; i++) {
			struct sl_redo_birth *b = &r->redo.births[run->first_birth + i];

			b->last_run = r->last_run[b->value];
		}
	}
}

/* Bytes on the device as the runs of this position begin: without what the op itself
 * bears, its workspace, and what is redone for it. */
static uint64_t begin_level(const struct sl_redoer *r, const struct ends *e)
{
	const struct sl_trace_op *o = &r->g->t->ops[r->at];
	uint64_t level = r->level[r->at] - sl_room_workspace(o);

	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(r->g->t, o->out[i]);

		if (!sl_class_persistent(r->g->t->values[v].cls))
			level -= sl_redo_room(r, v);
	}
	for (uint32_t k = e->first[r->at]; k < e->first[r->at + 1]; k++) {
		const struct sl_gap *gap = &r->g->gaps[e->gaps[k]];

		if (gap->fate == SL_FATE_REDO && gap->arrive == r->at)
			level -= sl_redo_room(r, gap->value);
	}
	return level;
}

/* Whether the runs from `first` on stay within the limit. */
static bool runs_fit(struct sl_redoer *r, uint64_t level, uint32_t first)
{
	note_last_runs(r, first);
	for (uint32_t k = first; k < r->redo.n_runs; k++) {
		const struct sl_redo_run *run = &r->redo.runs[k];

		for (uint32_t i = 0; i < run->n_births; i++)
			level += sl_redo_room(
				r, r->redo.births[run->first_birth + i].value);
		if (level + sl_room_workspace(&r->g->t->ops[run->op]) > r->limit)
			return false;
		for (uint32_t i = r->redo.runs[first].first_birth;
			i < run->first_birth + run->n_births; i++) {
			const struct sl_redo_birth *b = &r->redo.births[i];

			if (b->temporary && b->last_run == k)
				level -= sl_redo_room(r, b->value);
		}
	}
	return true;
}

static sl_status resolve_op(struct sl_redoer *r, const struct ends *e, bool *changed)
{
	uint32_t first = r->redo.n_runs, first_birth = r->redo.n_births;
	uint64_t level;

	if (e->first[r->at] == e->first[r->at + 1])
		return SL_OK;
	level = begin_level(r, e);
	r->stamp++;
	for (uint32_t k = e->first[r->at]; k < e->first[r->at + 1]; k++) {
		struct sl_gap *gap = &r->g->gaps[e->gaps[k]];
		struct sl_redo_mark mark = sl_redo_mark(r);

		if (gap->fate != SL_FATE_REDO || gap->arrive != r->at)
			continue;
		SL_TRY(sl_redo_gap(r, gap));
		if (r->possible && runs_fit(r, level, first))
			continue;
		sl_redo_cut(r, &mark);
		sl_gap_set(gap, r->g->n_tiers > 0 ? SL_FATE_SWAP : SL_FATE_KEEP);
		*changed = true;
	}
	note_last_runs(r, first);
	for (uint32_t i = first_birth; i < r->redo.n_births; i++) {
		if (r->redo.births[i].later)
			pull_in(r, &r->redo.births[i]);
	}
	return SL_OK;
}

/* All arrivals as late as they can be, levels as they are then. */
static void rewind_redo(struct sl_redoer *r)
{
	for (uint32_t i = 0; i < r->g->n; i++) {
		struct sl_gap *gap = &r->g->gaps[i];
		uint32_t save = gap->save;

		sl_gap_set(gap, (enum sl_fate)gap->fate);
		gap->save = save;
	}
	r->cap_ns = UINT64_MAX;
	sl_gaps_levels(r->g, r->level);
	r->n_recalls = 0;
	sl_redo_cut(r, &(struct sl_redo_mark){0});
}

sl_status sl_redoer_resolve(struct sl_redoer *r, const struct sl_redo **out)
{
	struct ends e = {0};
	bool changed = true;
	sl_status st = SL_OK;

	SL_TRY_OUT(list_ends(r->g, &e));
	while (changed) {
		changed = false;
		rewind_redo(r);
		for (r->at = 0; r->at < r->g->t->n_ops; r->at++)
			SL_TRY_OUT(resolve_op(r, &e, &changed));
	}
	*out = &r->redo;
out:
	sl_free(e.first);
	sl_free(e.gaps);
	return st;
}

sl_status sl_redoer_create(
	struct sl_gaps *g, uint64_t *level, uint64_t limit, struct sl_redoer **out)
{
	struct sl_redoer *r = sl_calloc(1, sizeof(*r));
	size_t n = (size_t)g->t->n_values + 1;

	if (!r)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	*r = (struct sl_redoer){.g = g, .level = level, .limit = limit};
	r->made = sl_calloc(n, sizeof(*r->made));
	r->content = sl_calloc(n, sizeof(*r->content));
	r->last_run = sl_calloc(n, sizeof(*r->last_run));
	if (!r->made || !r->content || !r->last_run) {
		sl_redoer_destroy(r);
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	}
	*out = r;
	return SL_OK;
}

void sl_redoer_destroy(struct sl_redoer *r)
{
	if (!r)
		return;
	sl_free(r->redo.runs);
	sl_free(r->redo.births);
	sl_free(r->recalls);
	sl_free(r->made);
	sl_free(r->content);
	sl_free(r->last_run);
	sl_free(r);
}
