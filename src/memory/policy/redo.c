/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ops have to run again so that values are back at the end of their gaps. A value
 * is rebuilt by the ops that wrote it, in order; what they read is on the device, or is
 * rebuilt in the same way first (chains), and given up again.
 *
 * Content decides as in the checker (memory/plan.h): an op may read only what the last
 * writer before it in the trace had made, and nothing newer may be overwritten.
 */
#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/gaps.h"

#define MAX_DEPTH 48
#define MAX_RUNS_PER_GAP 64
#define MAX_RUNS ((size_t)1 << 22)

struct sl_redoer {
	struct sl_gaps *g;
	uint64_t *level;
	uint64_t limit;
	struct sl_redo redo;
	uint32_t *made; /* [n_values] stamp of the position at which it was rebuilt */
	uint32_t *content; /* [n_values] op that wrote what was rebuilt */
	uint32_t *last_run; /* [n_values] work space */
	uint32_t stamp;
	uint32_t at; /* the position: before this op */
	uint32_t runs_before; /* of the gap under way */
	bool possible;
	bool pricing; /* nothing is changed */
	uint64_t cap_ns;
	uint64_t shared_ns; /* of runs for inputs that are redone for their own sake */
	struct recall *recalls;
	size_t n_recalls, cap_recalls;
};

/* A swapped value that has to be back earlier, because a run reads it. */
struct recall {
	struct sl_gap *gap;
	uint32_t due; /* before */
};

/* What there is of a value just before an op. */
struct standing {
	uint32_t content; /* last writer, or SL_NO_ID */
	struct sl_gap *gap; /* that it is in; NULL: unborn or dead */
	bool born;
	bool on_device;
};

static struct standing stand(const struct sl_gaps *g, uint32_t v, uint32_t before)
{
	uint32_t first = g->x.first[v], n = g->x.first[v + 1] - first, lo = 0, hi = n;
	bool lasting = sl_class_persistent(g->t->values[v].cls);
	struct standing s = {.content = SL_NO_ID};

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (g->x.uses[first + mid].op < before)
			lo = mid + 1;
		else
			hi = mid;
	}
	s.born = lasting || lo > 0;
	if (lo < n)
		s.content = g->writer[first + lo];
	else if (n > 0)
		s.content = g->x.uses[first + n - 1].writes ? g->x.uses[first + n - 1].op
							    : g->writer[first + n - 1];
	if (n == 0 || (!lasting && (lo == 0 || lo == n)))
		return s;
	s.gap = &g->gaps[g->first[v] + (lo > 0 ? lo - 1 : n - 1)];
	s.on_device = s.gap->fate == SL_FATE_KEEP;
	if (!s.on_device && !(s.gap->wraps && lo == n))
		s.on_device = s.gap->arrive < before ||
			      (s.gap->fate == SL_FATE_SWAP && s.gap->arrive == before);
	return s;
}

static uint32_t writer_before(const struct sl_gaps *g, uint32_t v, uint32_t op)
{
	return stand(g, v, op).content;
}

static sl_status add_birth(struct sl_redoer *r, uint32_t v, const struct standing *s)
{
	struct sl_redo *d = &r->redo;
	struct sl_redo_birth b = {.value = v, .temporary = true};

	if (s->gap != NULL) {
		b.temporary = s->gap->arrive != r->at;
		b.later = b.temporary;
	}
	if (sl_grow((void **)&d->births, &d->cap_births, (size_t)d->n_births + 1,
		    sizeof(*d->births), MAX_RUNS))
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
		struct standing s = stand(r->g, v, r->at);

		if (sl_class_persistent(r->g->t->values[v].cls))
			return false;
		if (is_made(r, v) ? r->content[v] != op : s.on_device && s.content != op)
			return false;
		if (!is_made(r, v) && !s.on_device && s.gap != NULL &&
			s.gap->fate == SL_FATE_SWAP)
			return false; /* its copy below would become stale */
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
		d->ns + o->dur_ns > r->cap_ns) {
		r->possible = false;
		return SL_OK;
	}
	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(r->g->t, o->out[i]);
		struct standing s = stand(r->g, v, r->at);

		if (!s.on_device && !is_made(r, v))
			SL_TRY(add_birth(r, v, &s));
		r->content[v] = op;
	}
	run.n_births = d->n_births - run.first_birth;
	if (sl_grow((void **)&d->runs, &d->cap_runs, (size_t)d->n_runs + 1,
		    sizeof(*d->runs), MAX_RUNS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	d->runs[d->n_runs++] = run;
	d->ns += o->dur_ns;
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

static uint64_t room(const struct sl_redoer *r, uint32_t v)
{
	return sl_room_value(&r->g->t->values[v]);
}

/* Room for v from this position to op `to`; takes it. */
static bool hold_until(struct sl_redoer *r, uint32_t v, uint32_t to)
{
	uint64_t bytes = room(r, v);

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
	if (r->pricing || !r->possible)
		return SL_OK;
	if (sl_grow((void **)&r->recalls, &r->cap_recalls, r->n_recalls + 1,
		    sizeof(*r->recalls), MAX_RUNS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	r->possible = hold_until(r, gap->value, gap->due);
	if (!r->possible)
		return SL_OK;
	r->recalls[r->n_recalls++] = (struct recall){gap, gap->due};
	gap->arrive = gap->due = r->at;
	return SL_OK;
}

static void undo_recalls(struct sl_redoer *r, size_t n)
{
	while (r->n_recalls > n) {
		const struct recall *x = &r->recalls[--r->n_recalls];

		for (uint32_t i = x->gap->due; i < x->due; i++)
			r->level[i] -= room(r, x->gap->value);
		x->gap->arrive = x->gap->due = x->due;
	}
}

static sl_status need(struct sl_redoer *r, uint32_t v, uint32_t content, int depth)
{
	struct standing s = stand(r->g, v, r->at);
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

static void cut_back(struct sl_redoer *r, uint32_t n_runs, uint32_t n_births, uint64_t ns)
{
	for (uint32_t i = n_births; i < r->redo.n_births; i++)
		r->made[r->redo.births[i].value] = 0;
	r->redo.n_runs = n_runs;
	r->redo.n_births = n_births;
	r->redo.ns = ns;
}

/* Adds the runs for a gap whose value is not there yet; r->possible tells whether they
 * are. */
static sl_status redo_gap(struct sl_redoer *r, const struct sl_gap *gap)
{
	uint32_t runs = r->redo.n_runs, births = r->redo.n_births;
	uint64_t ns = r->redo.ns;

	r->possible = !sl_class_persistent(r->g->t->values[gap->value].cls);
	r->runs_before = runs;
	if (r->possible && !is_made(r, gap->value))
		SL_TRY(rebuild(
			r, gap->value, stand(r->g, gap->value, gap->to_op).content, 0));
	if (!r->possible)
		cut_back(r, runs, births, ns);
	return SL_OK;
}

sl_status sl_redoer_price_within(struct sl_redoer *r, struct sl_gap *gap, uint64_t cap_ns,
	struct sl_redo_price *out)
{
	/* What is there now does not count. */
	struct sl_gap was = *gap;
	sl_status st;

	r->stamp++;
	r->at = gap->to_op;
	r->pricing = true;
	r->cap_ns = cap_ns;
	r->shared_ns = 0;
	cut_back(r, 0, 0, 0);
	sl_gap_set(gap, SL_FATE_REDO);
	st = redo_gap(r, gap);
	*out = (struct sl_redo_price){UINT64_MAX, UINT64_MAX};
	if (r->possible)
		*out = (struct sl_redo_price){r->redo.ns, r->redo.ns - r->shared_ns};
	cut_back(r, 0, 0, 0);
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

/* Keeps a value that was rebuilt early for others, if there is room until its gap ends.
 */
static void pull_in(struct sl_redoer *r, struct sl_redo_birth *b)
{
	struct sl_gap *gap = stand(r->g, b->value, r->at).gap;

	if (!hold_until(r, b->value, gap->arrive))
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
			level -= room(r, v);
	}
	for (uint32_t k = e->first[r->at]; k < e->first[r->at + 1]; k++) {
		const struct sl_gap *gap = &r->g->gaps[e->gaps[k]];

		if (gap->fate == SL_FATE_REDO && gap->arrive == r->at)
			level -= room(r, gap->value);
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
			level += room(r, r->redo.births[run->first_birth + i].value);
		if (level + sl_room_workspace(&r->g->t->ops[run->op]) > r->limit)
			return false;
		for (uint32_t i = r->redo.runs[first].first_birth;
			i < run->first_birth + run->n_births; i++) {
			const struct sl_redo_birth *b = &r->redo.births[i];

			if (b->temporary && b->last_run == k)
				level -= room(r, b->value);
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
		uint32_t runs = r->redo.n_runs, births = r->redo.n_births;
		size_t recalls = r->n_recalls;
		uint64_t ns = r->redo.ns;

		if (gap->fate != SL_FATE_REDO || gap->arrive != r->at)
			continue;
		SL_TRY(redo_gap(r, gap));
		if (r->possible && runs_fit(r, level, first))
			continue;
		undo_recalls(r, recalls);
		cut_back(r, runs, births, ns);
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
	for (uint32_t i = 0; i < r->g->n; i++)
		sl_gap_set(&r->g->gaps[i], (enum sl_fate)r->g->gaps[i].fate);
	r->n_recalls = 0;
	r->cap_ns = UINT64_MAX;
	sl_gaps_levels(r->g, r->level);
	cut_back(r, 0, 0, 0);
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
