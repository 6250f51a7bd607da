/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ops have to run again so that values are back at the end of their gaps. A value
 * is rebuilt by the ops that wrote it, in order; what they read is on the device, or is
 * rebuilt in the same way first (chains), and given up again.
 *
 * Content decides as in the checker (memory/plan.h): an op may read only what the last
 * writer before it in the trace had made, and nothing newer may be overwritten.
 */
#include "memory/policy/redo_int.h"

#include "base/alloc.h"

#define MAX_DEPTH 48
#define MAX_RUNS_PER_GAP 64

/* The first of v's uses at or after an op, counted from its first one. */
static uint32_t next_use(const struct sl_gaps *g, uint32_t v, uint32_t op)
{
	uint32_t first = g->x.first[v], lo = 0, hi = g->x.first[v + 1] - first;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (g->x.uses[first + mid].op < op)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint32_t content_before(const struct sl_gaps *g, uint32_t v, uint32_t next)
{
	uint32_t first = g->x.first[v], n = g->x.first[v + 1] - first;

	if (next < n)
		return g->writer[first + next];
	if (n == 0)
		return SL_NO_ID;
	return g->x.uses[first + n - 1].writes ? g->x.uses[first + n - 1].op
					       : g->writer[first + n - 1];
}

struct sl_standing sl_redo_stand(const struct sl_gaps *g, uint32_t v, uint32_t before)
{
	uint32_t n = g->x.first[v + 1] - g->x.first[v], next = next_use(g, v, before);
	bool lasting = sl_class_persistent(g->t->values[v].cls);
	struct sl_standing s = {
		.content = content_before(g, v, next), .born = lasting || next > 0};

	if (n == 0 || (!lasting && (next == 0 || next == n)))
		return s;
	s.gap = &g->gaps[g->first[v] + (next > 0 ? next - 1 : n - 1)];
	s.on_device = s.gap->fate == SL_FATE_KEEP;
	if (!s.on_device && !(s.gap->wraps && next == n))
		s.on_device = s.gap->arrive < before ||
			      (s.gap->fate == SL_FATE_SWAP && s.gap->arrive == before);
	return s;
}

static uint32_t writer_before(const struct sl_gaps *g, uint32_t v, uint32_t op)
{
	return sl_redo_stand(g, v, op).content;
}

static sl_status add_birth(struct sl_redoer *r, uint32_t v, const struct sl_standing *s)
{
	struct sl_redo *d = &r->redo;
	struct sl_redo_birth b = {.value = v, .temporary = true};

	if (s->gap != NULL) {
		b.temporary = s->gap->arrive != r->at;
		b.later = b.temporary;
	}
	if (sl_grow((void **)&d->births, &d->cap_births, (size_t)d->n_births + 1,
		    sizeof(*d->births), SL_REDO_MAX_RUNS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	d->births[d->n_births++] = b;
	r->made[v] = r->stamp;
	return SL_OK;
}

static bool is_made(const struct sl_redoer *r, uint32_t v)
{
	return r->made[v] == r->stamp;
}

/* Whether running `op` again may write what it bears; counts those not on the device. */
static bool may_bear(const struct sl_redoer *r, uint32_t op)
{
	const struct sl_trace_op *o = &r->g->t->ops[op];

	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(r->g->t, o->out[i]);
		struct sl_standing s = sl_redo_stand(r->g, v, r->at);

		if (sl_class_persistent(r->g->t->values[v].cls))
			return false;
		if (is_made(r, v) ? r->content[v] != op : s.on_device && s.content != op)
			return false;
		if (is_made(r, v) || s.on_device)
			continue;
		/* Its copy below would become stale; or its one stay is over. */
		if ((s.gap != NULL && s.gap->fate == SL_FATE_SWAP) ||
			sl_value_fixed(&r->g->t->values[v]))
			return false;
	}
	return true;
}

static sl_status add_run(struct sl_redoer *r, uint32_t op)
{
	struct sl_redo *d = &r->redo;
	const struct sl_trace_op *o = &r->g->t->ops[op];
	struct sl_redo_run run = {
		.before_op = r->at, .op = op, .first_birth = d->n_births};

	if (!o->pure || op >= r->at || !may_bear(r, op) ||
		d->n_runs - r->runs_before >= MAX_RUNS_PER_GAP ||
		(d->n_runs > r->runs_before && sl_add_ns(d->ns, o->dur_ns) > r->cap_ns)) {
		r->possible = false;
		return SL_OK;
	}
	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(r->g->t, o->out[i]);
		struct sl_standing s = sl_redo_stand(r->g, v, r->at);

		if (!s.on_device && !is_made(r, v))
			SL_TRY(add_birth(r, v, &s));
		r->content[v] = op;
	}
	run.n_births = d->n_births - run.first_birth;
	if (sl_grow((void **)&d->runs, &d->cap_runs, (size_t)d->n_runs + 1,
		    sizeof(*d->runs), SL_REDO_MAX_RUNS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	d->runs[d->n_runs++] = run;
	d->ns = sl_add_ns(d->ns, o->dur_ns);
	return SL_OK;
}

static sl_status need(struct sl_redoer *r, uint32_t v, uint32_t content, int depth);

/* What op reads and changes besides v, as it was then. */
static sl_status need_inputs(struct sl_redoer *r, uint32_t op, uint32_t v, int depth)
{
	const struct sl_trace_op *o = &r->g->t->ops[op];

	for (uint32_t i = 0; i < o->n_in && r->possible; i++) {
		uint32_t x = sl_trace_root(r->g->t, o->in[i]);

		if (x != v)
			SL_TRY(need(r, x, writer_before(r->g, x, op), depth));
	}
	for (uint32_t i = 0; i < o->n_mutates && r->possible; i++)
		r->possible = sl_trace_root(r->g->t, o->mutates[i]) == v;
	return SL_OK;
}

/* Runs the writers of v up to `content`, in order. */
static sl_status rebuild(struct sl_redoer *r, uint32_t v, uint32_t content, int depth)
{
	const struct sl_gaps *g = r->g;

	r->possible = depth < MAX_DEPTH && content != SL_NO_ID &&
		      !sl_class_persistent(g->t->values[v].cls);
	for (uint32_t u = g->x.first[v]; u < g->x.first[v + 1] && r->possible; u++) {
		uint32_t op = g->x.uses[u].op;

		if (op > content)
			return SL_OK;
		if (!g->x.uses[u].writes)
			continue;
		SL_TRY(need_inputs(r, op, v, depth + 1));
		if (r->possible)
			SL_TRY(add_run(r, op));
		r->content[v] = op;
	}
	return SL_OK;
}

bool sl_redo_hold(struct sl_redoer *r, uint32_t v, uint32_t to)
{
	uint64_t bytes = sl_redo_room(r, v);

	for (uint32_t i = r->at; i < to; i++) {
		if (r->level[i] + bytes > r->limit)
			return false;
	}
	for (uint32_t i = r->at; i < to; i++)
		r->level[i] += bytes;
	return true;
}

/* Has a swapped value back by this position. */
static sl_status recall(struct sl_redoer *r, struct sl_gap *gap)
{
	r->possible = !gap->wraps && gap->hold < r->at;
	r->recall_ns = sl_add_ns(r->recall_ns, sl_gap_in_ns(r->g, gap));
	if (r->pricing || !r->possible)
		return SL_OK;
	if (sl_grow((void **)&r->recalls, &r->cap_recalls, r->n_recalls + 1,
		    sizeof(*r->recalls), SL_REDO_MAX_RUNS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	r->possible = sl_redo_hold(r, gap->value, gap->due);
	if (!r->possible)
		return SL_OK;
	r->recalls[r->n_recalls++] = (struct sl_recall){gap, gap->due};
	gap->arrive = gap->due = r->at;
	return SL_OK;
}

static void undo_recalls(struct sl_redoer *r, size_t n)
{
	while (r->n_recalls > n) {
		const struct sl_recall *x = &r->recalls[--r->n_recalls];

		for (uint32_t i = x->gap->due; i < x->due; i++)
			r->level[i] -= sl_redo_room(r, x->gap->value);
		x->gap->arrive = x->gap->due = x->due;
	}
}

static sl_status need(struct sl_redoer *r, uint32_t v, uint32_t content, int depth)
{
	struct sl_standing s = sl_redo_stand(r->g, v, r->at);
	uint64_t before = r->redo.ns;

	if (is_made(r, v) || s.on_device) {
		r->possible = content == (is_made(r, v) ? r->content[v] : s.content);
		return SL_OK;
	}
	r->possible = s.born && (s.gap == NULL || s.content == content);
	if (!r->possible)
		return SL_OK;
	if (s.gap != NULL && s.gap->fate == SL_FATE_SWAP)
		return recall(r, s.gap);
	SL_TRY(rebuild(r, v, content, depth));
	if (s.gap != NULL)
		r->shared_ns += r->redo.ns - before;
	return SL_OK;
}

void sl_redo_cut(struct sl_redoer *r, const struct sl_redo_mark *mark)
{
	undo_recalls(r, mark->n_recalls);
	for (uint32_t i = mark->n_births; i < r->redo.n_births; i++)
		r->made[r->redo.births[i].value] = 0;
	r->redo.n_runs = mark->n_runs;
	r->redo.n_births = mark->n_births;
	r->redo.ns = mark->ns;
}

sl_status sl_redo_gap(struct sl_redoer *r, const struct sl_gap *gap)
{
	struct sl_redo_mark mark = sl_redo_mark(r);

	r->possible = true;
	r->runs_before = mark.n_runs;
	if (!is_made(r, gap->value))
		SL_TRY(rebuild(r, gap->value,
			sl_redo_stand(r->g, gap->value, gap->to_op).content, 0));
	if (!r->possible)
		sl_redo_cut(r, &mark);
	return SL_OK;
}

sl_status sl_redoer_price_within(struct sl_redoer *r, struct sl_gap *gap, uint64_t cap_ns,
	struct sl_redo_price *out)
{
	/* What is there now does not count. */
	struct sl_gap was = *gap;
	struct sl_redo_mark none = {.n_recalls = r->n_recalls};
	sl_status st;

	r->stamp++;
	r->at = gap->to_op;
	r->pricing = true;
	r->cap_ns = cap_ns;
	r->shared_ns = r->recall_ns = 0;
	sl_redo_cut(r, &none);
	sl_gap_set(gap, SL_FATE_REDO);
	st = sl_redo_gap(r, gap);
	*out = (struct sl_redo_price){UINT64_MAX, UINT64_MAX, 0};
	if (r->possible)
		*out = (struct sl_redo_price){
			r->redo.ns, r->redo.ns - r->shared_ns, r->recall_ns};
	sl_redo_cut(r, &none);
	*gap = was;
	r->pricing = false;
	return st;
}

sl_status sl_redoer_price(struct sl_redoer *r, struct sl_gap *gap, uint64_t *out_ns)
{
	struct sl_redo_price price = {0};

	SL_TRY(sl_redoer_price_within(r, gap, UINT64_MAX, &price));
	*out_ns = price.all_ns;
	return SL_OK;
}
