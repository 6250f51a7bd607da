/* SPDX-License-Identifier: Apache-2.0 */
/* What delta knows about values while it goes through an iteration. */
#include "memory/policy/delta_int.h"

#include "base/alloc.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

/* The first op that bears a gradient, or that most bytes live at. */
static sl_status find_turn(struct sl_delta *d)
{
	const struct sl_trace *t = d->g->t;
	uint64_t *level = sl_calloc((size_t)t->n_ops + 1, sizeof(*level));
	uint32_t most = 0;

	if (!level)
		return no_memory();
	sl_gaps_levels(d->g, level);
	for (uint32_t i = 0; i < t->n_ops; i++) {
		if (level[i] > level[most])
			most = i;
	}
	sl_free(level);
	d->turn = most;
	for (uint32_t i = 0; i < t->n_ops; i++) {
		for (uint32_t k = 0; k < t->ops[i].n_out; k++) {
			uint32_t v = sl_trace_root(t, t->ops[i].out[k]);

			if (t->values[v].cls != SL_CLASS_GRAD)
				continue;
			d->turn = i;
			return SL_OK;
		}
	}
	return SL_OK;
}

/* All that persists is on the device; what is never written has a copy below. */
static void begin_values(struct sl_delta *d)
{
	const struct sl_gaps *g = d->g;

	for (uint32_t v = 0; v < g->t->n_values; v++) {
		bool written = false;

		d->v[v].gap = SL_NO_ID;
		if (g->t->values[v].alias != SL_NO_ID ||
			!sl_class_persistent(g->t->values[v].cls))
			continue;
		for (uint32_t u = g->x.first[v]; u < g->x.first[v + 1]; u++)
			written = written || g->x.uses[u].writes;
		d->v[v].gap = g->first[v + 1] - 1;
		d->v[v].below = !written;
		sl_delta_arrive(d, v);
	}
}

sl_status sl_delta_init(struct sl_delta *d, struct sl_gaps *g,
	const struct sl_delta_rule *rule, uint64_t limit)
{
	size_t n = (size_t)g->t->n_values + 1, ops = 2 * (size_t)g->t->n_ops + 1;
	sl_status st = SL_OK;

	*d = (struct sl_delta){.g = g, .rule = *rule, .limit = limit};
	d->v = sl_calloc(n, sizeof(*d->v));
	d->here = sl_calloc(n, sizeof(*d->here));
	d->items = sl_calloc(n, sizeof(*d->items));
	d->due_ns = sl_calloc(ops, sizeof(*d->due_ns));
	d->slack_ns = sl_calloc(ops, sizeof(*d->slack_ns));
	if (!d->v || !d->here || !d->items || !d->due_ns || !d->slack_ns) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(sl_redoer_create(g, NULL, 0, &d->prices));
	SL_TRY_OUT(sl_redoer_create(g, NULL, 0, &d->chains));
	SL_TRY_OUT(find_turn(d));
	begin_values(d);
	return SL_OK;
out:
	sl_delta_finish(d);
	return st;
}

void sl_delta_finish(struct sl_delta *d)
{
	sl_redoer_destroy(d->prices);
	sl_redoer_destroy(d->chains);
	sl_free(d->v);
	sl_free(d->here);
	sl_free(d->items);
	sl_free(d->due_ns);
	sl_free(d->slack_ns);
	sl_free(d->made.runs);
	sl_free(d->made.births);
	*d = (struct sl_delta){0};
}

void sl_delta_arrive(struct sl_delta *d, uint32_t v)
{
	d->v[v].here = true;
	d->v[v].at = d->n_here;
	d->here[d->n_here++] = v;
	d->used += sl_room_value(&d->g->t->values[v]);
}

void sl_delta_leave(struct sl_delta *d, uint32_t v)
{
	uint32_t last = d->here[--d->n_here];

	d->here[d->v[v].at] = last;
	d->v[last].at = d->v[v].at;
	d->v[v].here = d->v[v].held = false;
	d->v[v].borne = 0;
	d->used -= sl_room_value(&d->g->t->values[v]);
}

uint32_t sl_delta_due(const struct sl_delta *d, uint32_t v)
{
	const struct sl_gap *gap = &d->g->gaps[d->v[v].gap];

	if (gap->to_op == SL_NO_ID)
		return SL_NO_ID;
	/* After its last use a gap round the boundary ends in the next iteration. */
	return gap->wraps && d->v[v].next > 0 ? gap->to_op + d->g->t->n_ops : gap->to_op;
}

static uint64_t start_of(const struct sl_gaps *g, uint32_t position)
{
	uint32_t n = g->t->n_ops;

	return position <= n ? g->start_ns[position]
			     : g->start_ns[n] + g->start_ns[position - n];
}

uint64_t sl_delta_until(const struct sl_delta *d, uint32_t position)
{
	return start_of(d->g, position) - d->g->start_ns[d->op];
}

/* What runs again touched in a gap leaves after that. */
static void leave_late(struct sl_delta *d, uint32_t v)
{
	struct sl_gap *gap = &d->g->gaps[d->v[v].gap];
	uint32_t touched = d->v[v].touched;

	if (touched == 0 || gap->from_op == SL_NO_ID || touched - 1 <= gap->from_op ||
		(gap->wraps && d->v[v].next == 0))
		return;
	gap->leave = touched - 1;
	gap->hold = touched;
}

/* The copy begins at the last access, and its bytes are others' from now on. */
static void swap_out(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];
	struct sl_gap *gap = &d->g->gaps[s->gap];
	uint32_t due = sl_delta_due(d, v), arrive = gap->arrive;
	bool wrapped = gap->wraps && gap->fate == SL_FATE_SWAP;
	uint64_t end;

	sl_gap_set(gap, SL_FATE_SWAP);
	leave_late(d, v);
	gap->tier = sl_delta_tier(d, v);
	if (wrapped)
		gap->arrive = arrive; /* as it came in this iteration */
	if (due == SL_NO_ID)
		return;
	if (gap->wraps && s->next == 0)
		gap->hold = d->g->t->n_ops; /* it is not away before the boundary */
	else if (gap->hold < d->op)
		gap->hold = d->op;
	if (!s->slotted)
		d->tier_bytes[gap->tier] +=
			sl_align_up(d->g->t->values[v].bytes, SL_PAGE_BYTES);
	s->slotted = true;
	s->tier = gap->tier;
	d->due_ns[due] += sl_gap_in_ns(d->g, gap);
	d->n_swapped++;
	if (s->below)
		return;
	end = sl_delta_out_end(d, v, gap);
	d->out_free_ns[gap->tier] = end;
	if (end > d->now_ns)
		d->now_ns = end; /* the bytes are wanted now */
	s->below = true;
}

static void redo_later(struct sl_delta *d, uint32_t v)
{
	struct sl_gap *gap = &d->g->gaps[d->v[v].gap];

	if (d->v[v].borne == 0) {
		sl_gap_set(gap, SL_FATE_REDO);
		leave_late(d, v);
	}
	gap->arrive = gap->to_op;
	d->v[v].below = false;
	d->chains->made[v] = 0;
}

void sl_delta_evict(struct sl_delta *d, uint32_t v, enum sl_fate fate)
{
	if (fate == SL_FATE_REDO)
		redo_later(d, v);
	else
		swap_out(d, v);
	sl_delta_leave(d, v);
}
