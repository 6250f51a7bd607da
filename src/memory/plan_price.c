/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time of one steady iteration of a sound plan. Ops run in order on one stream;
 * copies queue first in first out on their channel, a half-duplex link having one queue
 * for both directions, a full-duplex one a queue for each. A copy in holds its bytes from
 * its start, a copy out until its end; nothing is written where a copy still reads. A
 * move is done by the compute stream at the rate of the trace.
 * An op that runs again waits as in its turn and takes as long.
 * The iteration ends when the last copy does.
 */
#include "memory/plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

struct busy {
	uint64_t start, end;
	uint64_t until_ns;
	uint32_t value; /* that is copied */
};

struct pricer {
	const struct sl_trace *t;
	const struct sl_plan *p;
	uint64_t *at; /* [n_values] device offset */
	uint64_t
		*ready_ns; /* [n_values] its bytes on the device are there from then on */
	uint64_t *copied_ns; /* [n_tiers, n_values] its copy there is whole from then on
			      */
	uint64_t *queue_ns; /* [2 * n_links] free from then on */
	uint32_t *queue_of; /* [2 * n_links] link x (0 from, 1 to the device) to queue */
	struct busy *busy; /* device ranges that a copy still uses although given up */
	size_t n_busy, cap_busy;
	uint64_t now_ns, copies_end_ns;
	bool anywhere; /* addresses do not matter */
	uint32_t last_copy; /* the value whose copy ends last */
	uint64_t *start_ns; /* [n_ops] when ops start; may be NULL */
	struct sl_plan_wait wait; /* what the op at hand has waited for */
	struct sl_plan_wait *waits; /* [n_ops + 1]; may be NULL */
	struct sl_plan_price price;
};

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t bytes_ns(uint64_t bytes, uint64_t per_s)
{
	long double ns = (long double)bytes * 1e9L / (long double)per_s;

	return ns >= 9e18L ? (uint64_t)9e18L : (uint64_t)ns;
}

static bool same_ends(const struct sl_trace_link *a, const struct sl_trace_link *b)
{
	return (a->from == b->from && a->to == b->to) ||
	       (a->from == b->to && a->to == b->from);
}

/* Half-duplex links between the same places are one wire. */
static void map_queues(struct pricer *w)
{
	for (uint32_t i = 0; i < w->t->n_links; i++) {
		uint32_t wire = i;

		for (uint32_t k = 0; k < i; k++) {
			if (w->t->links[k].half_duplex && w->t->links[i].half_duplex &&
				same_ends(&w->t->links[k], &w->t->links[i])) {
				wire = k;
				break;
			}
		}
		w->queue_of[2 * i] = 2 * wire;
		w->queue_of[2 * i + 1] = 2 * wire + (w->t->links[i].half_duplex ? 0 : 1);
	}
}

static sl_status begin(struct pricer *w)
{
	size_t n = w->t->n_values, links = w->t->n_links;

	w->at = sl_calloc(n + 1, sizeof(*w->at));
	w->ready_ns = sl_calloc(n + 1, sizeof(*w->ready_ns));
	w->copied_ns = sl_calloc((size_t)w->t->n_tiers * n + 1, sizeof(*w->copied_ns));
	w->queue_ns = sl_calloc(2 * links + 1, sizeof(*w->queue_ns));
	w->queue_of = sl_calloc(2 * links + 1, sizeof(*w->queue_of));
	if (!w->at || !w->ready_ns || !w->copied_ns || !w->queue_ns || !w->queue_of)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to price a plan");
	/* Births overwrite this with the same; what starts below is not asked for. */
	memcpy(w->at, w->p->value_offset, n * sizeof(*w->at));
	map_queues(w);
	return SL_OK;
}

static void finish(struct pricer *w)
{
	sl_free(w->at);
	sl_free(w->ready_ns);
	sl_free(w->copied_ns);
	sl_free(w->queue_ns);
	sl_free(w->queue_of);
	sl_free(w->busy);
}

static sl_status hold_busy(struct pricer *w, uint32_t v, uint64_t until_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n_busy; i++) {
		if (w->busy[i].until_ns > w->now_ns)
			w->busy[kept++] = w->busy[i];
	}
	w->n_busy = kept;
	if (sl_grow((void **)&w->busy, &w->cap_busy, kept + 1, sizeof(*w->busy),
		    SIZE_MAX / 64))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to price a plan");
	w->busy[w->n_busy++] =
		(struct busy){w->at[v], w->at[v] + w->t->values[v].bytes, until_ns, v};
	return SL_OK;
}

/* Compute goes on no earlier than at `until`, because of v. */
static void wait_until(struct pricer *w, uint64_t until, uint32_t v, bool leaving)
{
	if (until <= w->now_ns)
		return;
	w->wait = (struct sl_plan_wait){
		.ns = w->wait.ns + until - w->now_ns, .value = v, .leaving = leaving};
	w->now_ns = until;
}

/* When every copy that still uses these bytes is over. */
static uint64_t free_ns(
	const struct pricer *w, uint64_t offset, uint64_t bytes, uint32_t *last)
{
	uint64_t when = 0;

	for (size_t i = 0; i < w->n_busy && !w->anywhere; i++) {
		const struct busy *b = &w->busy[i];

		if (b->start >= offset + bytes || offset >= b->end || b->until_ns <= when)
			continue;
		when = b->until_ns;
		*last = b->value;
	}
	return when;
}

static void wait_free(struct pricer *w, uint64_t offset, uint64_t bytes)
{
	uint32_t last = SL_NO_ID;
	uint64_t until = free_ns(w, offset, bytes, &last);

	wait_until(w, until, last, true);
}

/* Queues v's copy on a channel no earlier than from_ns; gives its end. */
static uint64_t queue_copy(struct pricer *w, const struct sl_action *a, uint64_t from_ns)
{
	const struct sl_trace_link *l = &w->t->links[a->channel];
	bool to_device = a->kind == SL_ACTION_IN;
	uint64_t *queue = &w->queue_ns[w->queue_of[2 * a->channel + (to_device ? 1 : 0)]];
	uint64_t start =
		max_u64(max_u64(sl_add_ns(w->now_ns, a->delay_ns), from_ns), *queue);

	*queue = sl_add_ns(sl_add_ns(start, l->latency_ns),
		bytes_ns(w->t->values[a->value].bytes, l->bytes_per_s));
	if (*queue > w->copies_end_ns) {
		w->copies_end_ns = *queue;
		w->last_copy = a->value;
	}
	return *queue;
}

/* When the copy of a's value in a's tier is whole. */
static uint64_t *copied_ns(struct pricer *w, const struct sl_action *a)
{
	return &w->copied_ns[(size_t)(a->tier - 1) * w->t->n_values + a->value];
}

/* Its bytes are held, even where it stays: whoever writes it waits. */
static sl_status apply_out(struct pricer *w, const struct sl_action *a)
{
	uint64_t end = queue_copy(w, a, w->ready_ns[a->value]);

	*copied_ns(w, a) = end;
	w->price.swap_out_bytes += w->t->values[a->value].bytes;
	return hold_busy(w, a->value, end);
}

static sl_status apply_in(struct pricer *w, const struct sl_action *a)
{
	uint64_t bytes = w->t->values[a->value].bytes;
	uint32_t last = SL_NO_ID;
	uint64_t from = max_u64(*copied_ns(w, a), free_ns(w, a->offset, bytes, &last));

	w->ready_ns[a->value] = queue_copy(w, a, from);
	w->at[a->value] = a->offset;
	w->price.swap_in_bytes += bytes;
	return SL_OK;
}

static sl_status apply_drop(struct pricer *w, const struct sl_action *a)
{
	if (w->ready_ns[a->value] <= w->now_ns)
		return SL_OK;
	return hold_busy(w, a->value, w->ready_ns[a->value]);
}

static sl_status apply_move(struct pricer *w, const struct sl_action *a)
{
	uint64_t bytes = w->t->values[a->value].bytes;

	wait_until(w, w->ready_ns[a->value], a->value, false);
	wait_free(w, w->at[a->value], bytes);
	wait_free(w, a->offset, bytes);
	w->now_ns = sl_add_ns(w->now_ns, sl_trace_move_ns(w->t, bytes));
	w->at[a->value] = a->offset;
	w->price.move_bytes += bytes;
	return SL_OK;
}

static void wait_list(struct pricer *w, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(w->t, list[i]);

		wait_until(w, w->ready_ns[v], v, false);
	}
}

/* Births are ready at 0. */
static void wait_values(struct pricer *w, const struct sl_trace_op *o)
{
	wait_list(w, o->in, o->n_in);
	wait_list(w, o->mutates, o->n_mutates);
	wait_list(w, o->out, o->n_out);
}

/* No copy uses what the op overwrites any more. */
static void wait_writes(struct pricer *w, const struct sl_trace_op *o)
{
	for (uint32_t i = 0; i < o->n_out + o->n_mutates; i++) {
		uint32_t x = i < o->n_out ? o->out[i] : o->mutates[i - o->n_out];
		uint32_t v = sl_trace_root(w->t, x);

		wait_free(w, w->at[v], w->t->values[v].bytes);
	}
}

/* One run for the group of lines that begins at a. */
static sl_status apply_again(struct pricer *w, const struct sl_action *a)
{
	uint32_t n = sl_plan_group_lines(w->p, (uint32_t)(a - w->p->actions));
	const struct sl_trace_op *o;

	if (a->again >= w->t->n_ops)
		return SL_FAIL(SL_E_INVALID, "there is no op %u to run again", a->again);
	o = &w->t->ops[a->again];
	for (uint32_t i = 0; i < n && a[i].value < w->t->n_values; i++) {
		if (a[i].offset == SL_NO_OFFSET)
			continue;
		w->at[a[i].value] = a[i].offset;
		w->ready_ns[a[i].value] = 0;
	}
	wait_values(w, o);
	wait_writes(w, o);
	if (o->workspace_bytes > 0)
		wait_free(w, a->workspace_offset, o->workspace_bytes);
	w->now_ns = sl_add_ns(w->now_ns, o->dur_ns);
	w->price.recompute_ns = sl_add_ns(w->price.recompute_ns, o->dur_ns);
	w->price.recompute_ops++;
	return SL_OK;
}

typedef sl_status (*apply_fn)(struct pricer *w, const struct sl_action *a);

static const apply_fn apply_rows[SL_ACTION_COUNT] = {
	[SL_ACTION_OUT] = apply_out,
	[SL_ACTION_SAVE] = apply_out,
	[SL_ACTION_IN] = apply_in,
	[SL_ACTION_DROP] = apply_drop,
	[SL_ACTION_DROP_CLEAN] = apply_drop,
	[SL_ACTION_MOVE] = apply_move,
	[SL_ACTION_RECOMPUTE] = apply_again,
};

static bool fits_tier(const struct sl_trace *t, const struct sl_action *a)
{
	if (!sl_action_copies(a->kind))
		return true;
	return a->tier >= 1 && a->tier <= t->n_tiers && a->channel < t->n_links;
}

static sl_status apply_actions(
	struct pricer *w, uint32_t *next, uint32_t op, enum sl_phase phase)
{
	while (*next < w->p->n_actions) {
		uint32_t n = sl_plan_group_lines(w->p, *next);
		const struct sl_action *a = &w->p->actions[*next];

		if (a->op != op || a->phase != phase)
			return SL_OK;
		if ((unsigned)a->kind >= SL_ACTION_COUNT || !apply_rows[a->kind] ||
			a->value >= w->t->n_values || !fits_tier(w->t, a))
			return SL_FAIL(SL_E_INVALID,
				"action %u cannot be priced; check the plan "
				"first",
				*next);
		SL_TRY(apply_rows[a->kind](w, a));
		*next += n > 0 ? n : 1;
	}
	return SL_OK;
}

static void run_op(struct pricer *w, uint32_t op)
{
	const struct sl_trace_op *o = &w->t->ops[op];

	wait_values(w, o);
	wait_writes(w, o);
	if (o->workspace_bytes > 0)
		wait_free(w, w->p->workspace_offset[op], o->workspace_bytes);
	if (w->start_ns)
		w->start_ns[op] = w->now_ns;
	if (w->waits)
		w->waits[op] = w->wait;
	w->wait = (struct sl_plan_wait){.value = SL_NO_ID};
	w->now_ns = sl_add_ns(w->now_ns, o->dur_ns);
	w->price.base_iter_ns += o->dur_ns;
}

static sl_status walk(struct pricer *w, struct sl_plan_price *out)
{
	sl_status st = SL_OK;
	uint32_t next = 0;
	uint64_t base;

	if (w->p->n_values != w->t->n_values || w->p->n_ops != w->t->n_ops)
		return SL_FAIL(SL_E_INVALID, "the plan is for another trace");
	w->last_copy = w->wait.value = SL_NO_ID;
	SL_TRY_OUT(begin(w));
	for (uint32_t op = 0; op < w->t->n_ops; op++) {
		SL_TRY_OUT(apply_actions(w, &next, op, SL_BEFORE));
		run_op(w, op);
		SL_TRY_OUT(apply_actions(w, &next, op, SL_AFTER));
	}
	wait_until(w, w->copies_end_ns, w->last_copy, true);
	if (w->waits)
		w->waits[w->t->n_ops] = w->wait;
	w->price.iter_ns = w->now_ns;
	base = sl_add_ns(w->price.base_iter_ns, w->price.recompute_ns);
	w->price.stall_ns = w->price.iter_ns - base;
	*out = w->price;
out:
	finish(w);
	return st;
}

sl_status sl_plan_price(
	const struct sl_trace *t, const struct sl_plan *p, struct sl_plan_price *out)
{
	return sl_plan_price_waits(t, p, out, NULL, NULL);
}

sl_status sl_plan_price_timed(const struct sl_trace *t, const struct sl_plan *p,
	struct sl_plan_price *out, uint64_t *start_ns)
{
	return sl_plan_price_waits(t, p, out, start_ns, NULL);
}

sl_status sl_plan_price_anywhere(const struct sl_trace *t, const struct sl_plan *p,
	struct sl_plan_price *out, uint64_t *start_ns)
{
	return walk(
		&(struct pricer){.t = t, .p = p, .start_ns = start_ns, .anywhere = true},
		out);
}

sl_status sl_plan_price_waits(const struct sl_trace *t, const struct sl_plan *p,
	struct sl_plan_price *out, uint64_t *start_ns, struct sl_plan_wait *waits)
{
	return walk(
		&(struct pricer){.t = t, .p = p, .start_ns = start_ns, .waits = waits},
		out);
}
