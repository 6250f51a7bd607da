/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The greedy scheduler of [tensile] as published: look at the peak, swap the largest
 * tensor that is there then, and begin again; when nothing can be swapped any more,
 * recompute by bytes per second until the target is met.
 *
 * Where the text and the code of the paper differ, or cannot be meant, this is
 * what is done here:
 *
 * 1. Bytes are booked as they are held (the code books copies in at their end and copies
 * out at their start), workspaces too; a tensor that nobody uses is freed after its op.
 * 2. A copy may begin where another ends (strict comparisons there).
 * 3. All jobs share one channel (one each there), unless channel_per_job asks for it.
 * 4. The window out ends at the peak (the text's idea), unless early_close asks for the
 * code's earlier moment.
 * 5. An update changes a parameter in place here and makes no new tensor: scheduled over
 * the boundary, it is below when the iteration starts. Its window out begins at its last
 * access. The order of ops is the trace's; updates are not moved.
 * 6. What persists counts as borne at time 0 by an access of no length.
 * 7. Nothing is dropped without a copy after a write to it.
 * 8. Recomputation asks besides that the producer is pure, that nothing it reads or bears
 * changed since, and that all of that stays where it is.
 * 9. After a pair over the boundary the round goes on with the peak as it then is.
 */
#include "memory/policy/tensile_published_int.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "memory/place.h"

#define STOP_ROUNDS 100u
#define STOP_SPAN 3u
#define STOP_RATIO 0.0005

static int by_bytes(const void *a, const void *b)
{
	const struct sl_tp_pick *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static sl_status order_picks(struct sl_tp *p)
{
	size_t most = 1;

	for (uint32_t i = 0; i < p->n_jobs; i++)
		most += p->jobs[i].t->n_values;
	p->order = sl_calloc(most, sizeof(*p->order));
	if (!p->order)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (uint32_t i = 0; i < p->n_jobs; i++) {
		const struct sl_tp_job *j = &p->jobs[i];

		for (uint32_t v = 0; v < j->t->n_values; v++) {
			const struct sl_trace_value *value = &j->t->values[v];

			if (value->alias == SL_NO_ID && !sl_value_fixed(value) &&
				j->x.first[v] < j->x.first[v + 1])
				p->order[p->n_order++] =
					(struct sl_tp_pick){i, v, sl_room_value(value)};
		}
	}
	qsort(p->order, p->n_order, sizeof(*p->order), by_bytes);
	return SL_OK;
}

static void sum_peaks(struct sl_tp *p)
{
	p->peak = 0;
	for (uint32_t i = 0; i < p->n_jobs; i++)
		p->peak += p->jobs[i].peak;
}

sl_status sl_tp_init(struct sl_tp *p, const struct sl_trace *const *traces,
	const struct sl_tp_wire *wires, uint32_t n_jobs, const struct sl_tp_options *opt)
{
	sl_status st = SL_OK;

	*p = (struct sl_tp){.opt = *opt};
	p->jobs = sl_calloc((size_t)n_jobs + 1, sizeof(*p->jobs));
	p->channels = sl_calloc((size_t)n_jobs + 1, sizeof(*p->channels));
	if (!p->jobs || !p->channels) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		goto out;
	}
	for (uint32_t i = 0; i < n_jobs; i++) {
		p->n_jobs++;
		SL_TRY_OUT(sl_tp_job_init(&p->jobs[i], traces[i], &wires[i]));
	}
	SL_TRY_OUT(order_picks(p));
	sum_peaks(p);
	return SL_OK;
out:
	sl_tp_finish(p);
	return st;
}

void sl_tp_finish(struct sl_tp *p)
{
	for (uint32_t i = 0; i < p->n_jobs; i++) {
		sl_tp_job_finish(&p->jobs[i]);
		sl_free(p->channels[i].busy);
	}
	sl_free(p->jobs);
	sl_free(p->channels);
	sl_free(p->order);
	*p = (struct sl_tp){0};
}

/* Books what was done to a value, or undoes it if it won nothing; *done says which. */
static sl_status settle(struct sl_tp *p, const struct sl_tp_pick *k, bool *done)
{
	struct sl_tp_job *j = &p->jobs[k->job];
	uint64_t peak = j->peak, at_peak = j->at_peak_ns;

	SL_TRY(sl_tp_rebook(j, k->value));
	*done = !p->opt.skip_worthless || j->peak < peak ||
		(j->peak == peak && j->at_peak_ns < at_peak);
	if (*done)
		return SL_OK;
	sl_tp_undo(p, k->job, k->value);
	for (uint32_t u = j->x.first[k->value]; u < j->x.first[k->value + 1]; u++)
		j->uses[u].redo = false;
	j->state[k->value] = SL_TP_GIVEN_UP;
	return sl_tp_rebook(j, k->value);
}

/* An update or an overwriting makes a parameter's next version. */
static bool updated(const struct sl_tp_job *j, uint32_t v)
{
	bool written = false;

	for (uint32_t u = j->x.first[v]; u < j->x.first[v + 1]; u++)
		written = written || j->x.uses[u].writes;
	return written && sl_tp_persists(j, v);
}

/* The last access before the peak that is an input and not the last of its value. */
static uint64_t early_close_ns(const struct sl_tp_job *j, uint32_t v)
{
	uint64_t best = SL_TP_NEVER;

	for (uint32_t w = 0; w < j->t->n_values; w++) {
		uint32_t u = j->x.first[w] + (sl_tp_persists(j, w) ? 0 : 1);
		uint32_t end = j->x.first[w + 1] - (sl_tp_persists(j, w) ? 0 : 1);

		for (; u < end && sl_tp_start(j, u) < j->peak_ns; u++) {
			if (best == SL_TP_NEVER || sl_tp_start(j, u) > best)
				best = sl_tp_start(j, u);
		}
	}
	if (best != SL_TP_NEVER)
		return best;
	return sl_tp_end(j, j->x.first[v + 1] - 1) + sl_tp_out_ns(j, v);
}

static sl_status swap_one(
	struct sl_tp *p, const struct sl_tp_pick *k, bool *done, bool *crossed)
{
	struct sl_tp_job *j = &p->jobs[k->job];
	double weight = p->opt.weight > 0 ? p->opt.weight : 1;
	uint32_t accesses = j->x.first[k->value + 1] - j->x.first[k->value] +
			    (sl_tp_persists(j, k->value) ? 1 : 0);
	uint64_t close = j->peak_ns;

	*done = *crossed = false;
	if (!p->opt.no_cross_iteration && updated(j, k->value))
		SL_TRY(sl_tp_cross_iteration(p, k->job, k->value, crossed));
	*done = *crossed;
	if (!*done && accesses >= 2 &&
		(double)j->swaps <= weight * (double)j->n_tensors) {
		if (p->opt.early_close)
			close = early_close_ns(j, k->value);
		SL_TRY(sl_tp_swap_normal(p, k->job, k->value, close, done));
	}
	if (*done)
		SL_TRY(settle(p, k, done));
	j->swaps += *done;
	return SL_OK;
}

static sl_status swap_round(struct sl_tp *p, bool *swapping)
{
	*swapping = false;
	for (size_t i = 0; i < p->n_order; i++) {
		const struct sl_tp_pick *k = &p->order[i];
		struct sl_tp_job *j = &p->jobs[k->job];
		bool done = false, crossed = false;

		if (!j->held[k->value] || j->state[k->value] != SL_TP_PLAIN ||
			j->wire.out_bytes_per_s == 0 || j->wire.in_bytes_per_s == 0)
			continue;
		SL_TRY(swap_one(p, k, &done, &crossed));
		*swapping = *swapping || done;
		if (done && !crossed)
			break;
	}
	return SL_OK;
}

/* Whether v is as op `made` left it, and on the device, when op `again` starts. */
static bool stays(const struct sl_tp_job *j, uint32_t v, uint32_t made, uint32_t again)
{
	uint32_t from = j->x.first[v], to = j->x.first[v + 1];
	uint8_t state = j->state[v];

	if (state != SL_TP_PLAIN && state != SL_TP_GIVEN_UP && state != SL_TP_SOURCE)
		return false;
	for (uint32_t u = from; u < to; u++) {
		if (j->x.uses[u].writes && j->x.uses[u].op > made &&
			j->x.uses[u].op < again)
			return false;
	}
	return sl_tp_persists(j, v) || (from < to && j->x.uses[to - 1].op >= again);
}

/* Marks all that op reads and bears, but v, or only asks whether it stays. */
static bool sources(struct sl_tp_job *j, uint32_t v, uint32_t again, bool mark)
{
	uint32_t made = j->x.uses[j->x.first[v]].op;
	const struct sl_trace_op *op = &j->t->ops[made];
	bool all = op->pure && op->n_mutates == 0;

	for (uint32_t i = 0; i < op->n_in + op->n_out && all; i++) {
		uint32_t w = sl_trace_root(
			j->t, i < op->n_in ? op->in[i] : op->out[i - op->n_in]);

		if (w == v)
			continue;
		all = stays(j, w, made, again) && (i < op->n_in || !sl_tp_persists(j, w));
		if (mark)
			j->state[w] = SL_TP_SOURCE;
	}
	return all;
}

/* The next use after the peak, if v can be had again there; else SL_NO_ID. */
static uint32_t redo_use(struct sl_tp_job *j, uint32_t v)
{
	uint32_t u = j->x.first[v], end = j->x.first[v + 1];

	if (sl_tp_persists(j, v) || !j->held[v] ||
		(j->state[v] != SL_TP_PLAIN && j->state[v] != SL_TP_GIVEN_UP))
		return SL_NO_ID;
	for (u++; u < end && sl_tp_start(j, u) <= j->peak_ns; u++) {
		if (j->x.uses[u].writes)
			return SL_NO_ID;
	}
	if (u >= end || !sources(j, v, j->x.uses[u].op, false))
		return SL_NO_ID;
	return u;
}

static double saved_per_ns(const struct sl_tp_job *j, uint32_t v)
{
	uint32_t op = j->x.uses[j->x.first[v]].op;

	return (double)sl_room_value(&j->t->values[v]) /
	       (double)(j->op_end[op + 1] - j->op_end[op]);
}

static sl_status recompute_one(struct sl_tp *p, bool *done)
{
	const struct sl_tp_pick *best = NULL;
	struct sl_tp_job *j;
	uint32_t use = SL_NO_ID;

	for (size_t i = 0; i < p->n_order; i++) {
		const struct sl_tp_pick *k = &p->order[i];
		uint32_t u = redo_use(&p->jobs[k->job], k->value);

		if (u == SL_NO_ID ||
			(best && saved_per_ns(&p->jobs[k->job], k->value) <=
					 saved_per_ns(&p->jobs[best->job], best->value)))
			continue;
		best = k;
		use = u;
	}
	*done = best != NULL;
	if (!best)
		return SL_OK;
	j = &p->jobs[best->job];
	j->uses[use].redo = true;
	j->state[best->value] = SL_TP_REDONE;
	SL_TRY(settle(p, best, done));
	if (!*done) {
		/* To be redone is as worthless as to be swapped: it just stays. */
		j->state[best->value] = SL_TP_SOURCE;
		*done = true;
		return SL_OK;
	}
	(void)sources(j, best->value, j->x.uses[use].op, true);
	j->redo_ns += j->t->ops[j->x.uses[j->x.first[best->value]].op].dur_ns;
	j->redos++;
	return SL_OK;
}

/* After STOP_ROUNDS, whether the last few rounds won next to nothing. */
static bool stalled(const struct sl_tp *p, const uint64_t totals[STOP_SPAN + 1])
{
	double best = 0;

	if (p->rounds <= STOP_ROUNDS)
		return false;
	for (uint32_t i = 0; i < STOP_SPAN; i++) {
		double won = (double)totals[i + 1] - (double)totals[i];

		best = won > best ? won : best;
	}
	return best < STOP_RATIO * (double)p->peak;
}

static sl_status one_round(struct sl_tp *p, bool *swapping, bool *recomputing)
{
	if (*swapping)
		return swap_round(p, swapping);
	*recomputing = false;
	if (!p->opt.no_recompute && p->peak >= p->opt.target_bytes)
		SL_TRY(recompute_one(p, recomputing));
	*swapping = *recomputing && p->opt.retry_swaps;
	return SL_OK;
}

sl_status sl_tp_run(struct sl_tp *p)
{
	bool swapping = true, recomputing = true;
	uint64_t totals[STOP_SPAN + 1] = {0}; /* newest first */

	while (swapping || recomputing) {
		for (uint32_t i = STOP_SPAN; i > 0; i--)
			totals[i] = totals[i - 1];
		totals[0] = p->peak;
		if (stalled(p, totals) ||
			(p->opt.max_rounds && p->rounds == p->opt.max_rounds))
			break;
		SL_TRY(one_round(p, &swapping, &recomputing));
		sum_peaks(p);
		p->rounds++;
	}
	for (uint32_t i = 0; i < p->n_jobs; i++)
		SL_TRY(sl_tp_list_tasks(&p->jobs[i]));
	return SL_OK;
}
