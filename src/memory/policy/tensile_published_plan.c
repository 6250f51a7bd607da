/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The published schedule of one job as a plan. Times become positions: a copy in is
 * issued before the op that runs when it is to start, and what a copy out frees is used
 * from the first op on that starts after its end. So more may be held than the schedule
 * says; then less is recomputed for, or belady's plan is used (baseline.h), which stands
 * for the paper's passive swapping.
 *
 * Departure: what persists and leaves before its first use, which the paper copies out at
 * the start of each iteration, is copied out at the end of the one before.
 */
#include "base/alloc.h"
#include "memory/policy/baseline.h"
#include "memory/policy/tensile_published_int.h"

#define TARGET_ROUNDS 4

static uint32_t op_at(const struct sl_tp_job *j, uint64_t ns)
{
	uint32_t low = 0, high = j->t->n_ops; /* op_end[low] <= ns */

	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (j->op_end[mid] <= ns)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

static void set_swap(const struct sl_tp_job *j, struct sl_gap *gap, uint32_t use)
{
	uint32_t v = gap->value, n_ops = j->t->n_ops;
	bool copied = use == sl_tp_first_in(j, v);

	sl_gap_set(gap, SL_FATE_SWAP);
	gap->arrive = op_at(j, j->uses[use].in_ns);
	if (gap->wraps && j->state[v] != SL_TP_CROSSED) {
		gap->hold = n_ops;
	} else if (copied) {
		uint64_t end = j->out_ns[v] + sl_tp_out_ns(j, v);

		gap->delay_ns = j->out_ns[v] - j->op_end[gap->from_op + 1];
		gap->hold = op_at(j, end);
		gap->hold += gap->hold < n_ops && j->op_end[gap->hold] < end;
	}
	if (gap->wraps ? gap->arrive == 0 && gap->hold == n_ops
		       : gap->hold >= gap->arrive)
		sl_gap_set(gap, SL_FATE_KEEP); /* no op runs without it */
}

static void set_fates(const struct sl_tp_job *j, struct sl_gaps *g)
{
	sl_gaps_reset(g);
	for (uint32_t v = 0; v < j->t->n_values; v++) {
		uint32_t from = j->x.first[v], to = j->x.first[v + 1];

		for (uint32_t u = from; u < to; u++) {
			uint32_t before = u > from ? u - 1 - from : to - 1 - from;
			struct sl_gap *gap = &g->gaps[g->first[v] + before];

			if (j->uses[u].redo)
				sl_gap_set(gap, SL_FATE_REDO);
			else if (j->uses[u].in_ns != SL_TP_NEVER)
				set_swap(j, gap, u);
		}
	}
}

static sl_status schedule(
	struct sl_gaps *g, const struct sl_tp_options *opt, uint64_t *out_peak)
{
	struct sl_tp_wire wire = sl_tp_wire_of(g->t);
	struct sl_tp p = {0};
	sl_status st = SL_OK;

	SL_TRY(sl_tp_init(&p, &g->t, &wire, 1, opt));
	SL_TRY_OUT(sl_tp_run(&p));
	set_fates(&p.jobs[0], g);
	*out_peak = p.peak;
out:
	sl_tp_finish(&p);
	return st;
}

/*
 * Copies out wait for the op that ends last before they start, as published, and not for
 * their value's last access: a channel is first in first out, so that one that waits long
 * would hold up all that come after it. Their bytes are reused later still.
 */
static void sink_outs(const struct sl_trace *t, struct sl_plan *p)
{
	for (uint32_t i = 0; i < p->n_actions; i++) {
		struct sl_action *a = &p->actions[i];

		while (a->kind == SL_ACTION_OUT && a->op + 1 < t->n_ops &&
			a->delay_ns > 0 && a->delay_ns >= t->ops[a->op + 1].dur_ns)
			a->delay_ns -= t->ops[++a->op].dur_ns;
	}
}

static sl_status fates(struct sl_gaps *g, uint64_t budget, const char *name,
	const void *ctx, struct sl_plan *out)
{
	struct sl_tp_options opt = *(const struct sl_tp_options *)ctx;
	uint64_t height = 0, peak = 0;

	opt.target_bytes = budget;
	for (int i = 0; i < TARGET_ROUNDS; i++) {
		SL_TRY(schedule(g, &opt, &peak));
		SL_TRY(sl_baseline_lower(g, budget, name, out, &height));
		if (height <= budget || opt.no_recompute)
			break;
		if (peak < opt.target_bytes)
			opt.target_bytes = peak;
		if (height - budget > opt.target_bytes / 2)
			break;
		opt.target_bytes -= height - budget;
	}
	if (!out->value_offset)
		return SL_OK;
	sink_outs(g->t, out);
	return sl_plan_seal(out, g->t);
}

sl_status sl_tensile_published_plan(const struct sl_trace *t, uint64_t budget,
	const char *policy, const struct sl_tp_options *opt, struct sl_plan *out)
{
	static const struct sl_tp_options as_published = {0};

	return sl_baseline_plan(t, budget, policy, fates, opt ? opt : &as_published, out);
}
