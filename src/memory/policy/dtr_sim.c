/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DTR's run time in virtual time: ops in their turn, the rebuilding of what they read,
 * the pool of what may leave.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "memory/place.h"
#include "memory/policy/dtr_int.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

uint64_t sl_dtr_room(const struct sl_dtr *d, uint32_t v)
{
	return d->rules.bytes ? d->t->values[v].bytes : sl_room_value(&d->t->values[v]);
}

static void pool_join(struct sl_dtr *d, uint32_t v)
{
	uint32_t end = d->t->n_values;

	if (d->locks[v] > 0 || d->pinned[v] || d->after[v] != SL_NO_ID)
		return;
	d->before[v] = d->before[end];
	d->after[v] = end;
	d->after[d->before[end]] = v;
	d->before[end] = v;
}

static void pool_leave(struct sl_dtr *d, uint32_t v)
{
	if (d->after[v] == SL_NO_ID)
		return;
	d->after[d->before[v]] = d->after[v];
	d->before[d->after[v]] = d->before[v];
	d->after[v] = d->before[v] = SL_NO_ID;
}

static void pin(struct sl_dtr *d, uint32_t v)
{
	d->pinned[v] = 1;
	pool_leave(d, v);
}

static sl_status evict(struct sl_dtr *d, uint32_t v)
{
	pool_leave(d, v);
	d->there[v] = 0;
	d->used -= sl_dtr_room(d, v);
	if (d->runs)
		sl_runs_drop(d->runs, v);
	return sl_dtr_score_gone(d, v);
}

static sl_status make_room(struct sl_dtr *d, uint64_t bytes)
{
	while (bytes > d->rules.budget || d->used > d->rules.budget - bytes) {
		uint32_t v = sl_dtr_choose(d, bytes + d->used - d->rules.budget);

		if (v == SL_NO_ID || d->work > SL_DTR_MOST_WORK) {
			d->failed = true;
			return SL_OK;
		}
		d->result.evictions++;
		SL_TRY(evict(d, v));
	}
	return SL_OK;
}

/* Whether the k-th output of an op is a value that it bears, named here first. */
static bool bears(const struct sl_dtr *d, uint32_t op, uint32_t k, uint32_t *v)
{
	const struct sl_trace_op *o = &d->t->ops[op];

	*v = sl_dtr_root(d, o->out[k]);
	if (sl_lineage_stays(d->l, *v) || d->l->birth[*v] != op)
		return false;
	return o->out[k] == *v; /* an alias is named beside its root */
}

/* Room that a run takes before it begins, and how much of it is its own for longer. */
static uint64_t room_to_run(const struct sl_dtr *d, uint32_t op, uint64_t *lasting)
{
	const struct sl_trace_op *o = &d->t->ops[op];
	uint64_t all = d->rules.bytes ? 0 : sl_room_workspace(o);
	uint32_t v;

	*lasting = 0;
	for (uint32_t k = 0; k < o->n_out; k++) {
		if (!bears(d, op, k, &v))
			continue;
		if (!d->there[v])
			*lasting += sl_dtr_room(d, v);
		if (!d->there[v] || d->rules.bytes)
			all += sl_dtr_room(d, v);
	}
	return all;
}

static void bear(struct sl_dtr *d, uint32_t v)
{
	if (d->there[v])
		return;
	d->there[v] = 1;
	sl_dtr_score_back(d, v);
	if (d->l->expires[v] <= d->at && d->l->death[v] >= d->at)
		d->pinned[v] = 1;
	pool_join(d, v);
}

/* What was born joins the pool, that which was asked for last. */
static void bear_all(struct sl_dtr *d, const struct sl_dtr_frame *f)
{
	const struct sl_trace_op *o = &d->t->ops[f->op];
	bool mine = false;
	uint32_t v;

	for (uint32_t k = 0; k < o->n_out; k++) {
		if (!bears(d, f->op, k, &v))
			continue;
		if (v == f->target)
			mine = true;
		else
			bear(d, v);
	}
	if (mine)
		bear(d, f->target);
}

static void unlock(struct sl_dtr *d, const struct sl_dtr_frame *f)
{
	uint32_t n = sl_dtr_inputs(&d->t->ops[f->op]);

	for (uint32_t k = 0; k < n; k++) {
		uint32_t v = sl_dtr_input(d, f->op, k);

		if (!d->marks[f->held + k])
			continue;
		d->locks[v]--;
		pool_join(d, v);
	}
	d->n_marks = f->held;
}

/* All inputs are there and locked. */
static sl_status run(struct sl_dtr *d, const struct sl_dtr_frame *f)
{
	uint64_t ns = d->t->ops[f->op].dur_ns, lasting, all;

	SL_TRY(make_room(d, room_to_run(d, f->op, &lasting)));
	if (d->failed)
		return SL_OK;
	all = room_to_run(d, f->op, &lasting);
	if (d->used + all > d->result.peak)
		d->result.peak = d->used + all;
	d->used += lasting;
	d->clock = sl_add_ns(d->clock, ns);
	if (f->op != d->at) {
		d->result.again_ns = sl_add_ns(d->result.again_ns, ns);
		d->result.again_ops++;
		d->failed = d->result.again_ns > d->rules.most_again_ns;
	}
	if (d->runs)
		SL_TRY(sl_runs_add(d->runs, f->op, d->at));
	bear_all(d, f);
	unlock(d, f);
	return SL_OK;
}

static void lock(struct sl_dtr *d, const struct sl_dtr_frame *f, uint32_t k, uint32_t v)
{
	d->marks[f->held + k] = 1;
	d->locks[v]++;
	pool_leave(d, v);
}

/* Op is to run: locks what is there of its inputs. */
static sl_status push(struct sl_dtr *d, uint32_t op, uint32_t target)
{
	uint32_t n = sl_dtr_inputs(&d->t->ops[op]);
	struct sl_dtr_frame f = {
		.op = op, .target = target, .held = (uint32_t)d->n_marks};

	if (sl_grow((void **)&d->frames, &d->cap_frames, d->n_frames + 1,
		    sizeof(*d->frames), SL_RUNS_MAX_STEPS) ||
		sl_grow((void **)&d->marks, &d->cap_marks, d->n_marks + n + 1, 1,
			16 * SL_RUNS_MAX_STEPS))
		return no_memory();
	memset(d->marks + d->n_marks, 0, n);
	d->n_marks += n;
	d->frames[d->n_frames++] = f;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t v = sl_dtr_input(d, op, k);

		if (sl_lineage_stays(d->l, v))
			continue;
		d->last[v] = d->clock;
		if (d->there[v])
			lock(d, &f, k, v);
	}
	return SL_OK;
}

/* Of the inputs that are gone that of the earliest birth: what is young may come of what
 * is old, and need not wait while the latter is rebuilt. */
static uint32_t oldest_missing(struct sl_dtr *d, struct sl_dtr_frame *f)
{
	uint32_t n = sl_dtr_inputs(&d->t->ops[f->op]), oldest = SL_NO_ID;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t v = sl_dtr_input(d, f->op, k);

		if (sl_lineage_stays(d->l, v) || d->marks[f->held + k])
			continue;
		if (d->there[v])
			lock(d, f, k, v);
		else if (oldest == SL_NO_ID || d->l->birth[v] < d->l->birth[oldest])
			oldest = v;
	}
	return oldest;
}

/* The next input that is gone; SL_NO_ID: none. What came meanwhile is locked. */
static uint32_t next_missing(struct sl_dtr *d, struct sl_dtr_frame *f)
{
	uint32_t n = sl_dtr_inputs(&d->t->ops[f->op]);

	if (d->rules.score == SL_DTR_AHEAD)
		return oldest_missing(d, f);

	for (; f->next < n; f->next++) {
		uint32_t v = sl_dtr_input(d, f->op, f->next);

		if (sl_lineage_stays(d->l, v) || d->marks[f->held + f->next])
			continue;
		if (!d->there[v])
			return v;
		lock(d, f, f->next, v);
	}
	return SL_NO_ID;
}

/* Runs op, and before it what rebuilds what it reads. */
static sl_status materialize(struct sl_dtr *d, uint32_t op, uint32_t target)
{
	SL_TRY(push(d, op, target));
	while (d->n_frames > 0 && !d->failed) {
		struct sl_dtr_frame *f = &d->frames[d->n_frames - 1], done;
		uint32_t v = next_missing(d, f), writer;

		if (v == SL_NO_ID) {
			done = *f;
			SL_TRY(run(d, &done));
			d->n_frames--;
			continue;
		}
		writer = sl_lineage_writer(d->l, v, f->op);
		d->failed = writer == SL_NO_ID || d->l->expires[v] < d->at ||
			    d->work > SL_DTR_MOST_WORK;
		if (!d->failed)
			SL_TRY(push(d, writer, v));
	}
	return SL_OK;
}

/* What cannot be rebuilt after this op, and is needed, is there from now on. */
static sl_status keep_expiring(struct sl_dtr *d)
{
	uint32_t from = d->expiring_first[d->at], to = d->expiring_first[d->at + 1];

	for (uint32_t i = from; i < to; i++) {
		if (d->there[d->expiring[i]])
			pin(d, d->expiring[i]);
	}
	for (uint32_t i = from; i < to && !d->failed; i++) {
		uint32_t v = d->expiring[i];

		if (!d->there[v])
			SL_TRY(materialize(d, sl_lineage_writer(d->l, v, d->at), v));
		if (d->there[v])
			pin(d, v);
	}
	return SL_OK;
}

static sl_status announce(struct sl_dtr *d)
{
	const struct sl_trace_op *o = &d->t->ops[d->at];

	d->now++;
	for (uint32_t k = 0; k < sl_dtr_results(o); k++) {
		uint32_t v = sl_dtr_made(d, d->at, k);

		if (sl_lineage_stays(d->l, v) || d->stamp[v] == d->now)
			continue;
		d->stamp[v] = d->now;
		d->ns[v] = sl_add_ns(d->ns[v], o->dur_ns);
		d->dirty[v] = 1;
		if (d->l->birth[v] == d->at)
			SL_TRY(sl_dtr_score_new(d, v));
	}
	return SL_OK;
}

static sl_status bury(struct sl_dtr *d, uint32_t v)
{
	if (sl_lineage_stays(d->l, v) || d->l->death[v] != d->at || !d->there[v])
		return SL_OK;
	d->pinned[v] = 0;
	return evict(d, v);
}

/* Brings what an op to come reads, and holds it. */
static sl_status bring_early(struct sl_dtr *d, uint32_t op)
{
	for (uint32_t k = 0; k < sl_dtr_inputs(&d->t->ops[op]) && !d->failed; k++) {
		uint32_t v = sl_dtr_input(d, op, k);

		if (sl_lineage_stays(d->l, v) || d->l->birth[v] >= d->at)
			continue;
		if (!d->there[v])
			SL_TRY(materialize(d, sl_lineage_writer(d->l, v, d->at), v));
		if (d->failed)
			return SL_OK;
		d->locks[v]++;
		pool_leave(d, v);
	}
	return SL_OK;
}

static void let_go(struct sl_dtr *d)
{
	uint32_t early = d->rules.early[d->at];

	for (uint32_t k = 0; k < sl_dtr_inputs(&d->t->ops[d->at]); k++) {
		uint32_t v = sl_dtr_input(d, d->at, k);

		if (early == d->at || sl_lineage_stays(d->l, v) ||
			d->l->birth[v] >= early)
			continue;
		d->locks[v]--;
		pool_join(d, v);
	}
}

static sl_status turn(struct sl_dtr *d)
{
	const struct sl_trace_op *o = &d->t->ops[d->at];

	SL_TRY(keep_expiring(d));
	if (d->early) {
		for (uint32_t i = d->early_first[d->at];
			i < d->early_first[d->at + 1] && !d->failed; i++)
			SL_TRY(bring_early(d, d->early[i]));
		if (!d->failed)
			let_go(d);
	}
	if (d->failed)
		return SL_OK;
	SL_TRY(announce(d));
	SL_TRY(materialize(
		d, d->at, o->n_out > 0 ? sl_dtr_root(d, o->out[0]) : SL_NO_ID));
	if (d->failed)
		return SL_OK;
	for (uint32_t k = 0; k < sl_dtr_results(o); k++)
		d->last[sl_dtr_made(d, d->at, k)] = d->clock;
	for (uint32_t k = 0; k < sl_dtr_inputs(o); k++)
		SL_TRY(bury(d, sl_dtr_input(d, d->at, k)));
	for (uint32_t k = 0; k < o->n_out; k++)
		SL_TRY(bury(d, sl_dtr_root(d, o->out[k])));
	return SL_OK;
}

sl_status sl_dtr_simulate(const struct sl_lineage *l, const struct sl_dtr_rules *rules,
	struct sl_runs *runs, struct sl_dtr_result *out)
{
	struct sl_dtr d = {.l = l, .t = l->t, .rules = *rules, .runs = runs, .clock = 1};
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_dtr_begin(&d));
	if (runs)
		sl_runs_reset(runs);
	for (; d.at < d.t->n_ops && !d.failed; d.at++)
		SL_TRY_OUT(turn(&d));
	*out = d.result;
	out->failed_at = d.at - d.failed;
	out->work = d.work + d.t->n_ops;
	out->fits = !d.failed && d.used <= rules->budget;
out:
	sl_dtr_finish(&d);
	return st;
}
