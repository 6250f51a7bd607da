/* SPDX-License-Identifier: Apache-2.0 */
/* How long each value of a trace can be rebuilt: one pass over the ops. */
#include "memory/policy/lineage.h"

#include "base/alloc.h"
#include "memory/place.h"

#define MOST_OUT 256 /* of an op that runs again */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The first use of v at or after op, as an index into uses. */
static uint32_t use_at(const struct sl_lineage *l, uint32_t v, uint32_t op)
{
	uint32_t lo = l->x.first[v], hi = l->x.first[v + 1];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->x.uses[mid].op < op)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t sl_lineage_writer(const struct sl_lineage *l, uint32_t v, uint32_t op)
{
	uint32_t u = use_at(l, v, op);

	if (u == l->x.first[v])
		return SL_NO_ID;
	return l->x.uses[u - 1].writes ? l->x.uses[u - 1].op : l->before[u - 1];
}

/* The next op after `op` that writes v; n_ops: none. */
static uint32_t next_writer(const struct sl_lineage *l, uint32_t v, uint32_t op)
{
	uint32_t u = use_at(l, v, op + 1);

	if (u == l->x.first[v + 1])
		return l->t->n_ops;
	return l->x.uses[u].writes ? l->x.uses[u].op : l->after[u];
}

static void note_writers(struct sl_lineage *l, uint32_t v)
{
	uint32_t from = l->x.first[v], to = l->x.first[v + 1];
	uint32_t before = SL_NO_ID, after = l->t->n_ops;

	for (uint32_t u = from; u < to; u++) {
		l->before[u] = before;
		before = l->x.uses[u].writes ? l->x.uses[u].op : before;
	}
	for (uint32_t u = to; u-- > from;) {
		l->after[u] = after;
		after = l->x.uses[u].writes ? l->x.uses[u].op : after;
	}
}

/* The last op before which v can be had, by what is known so far. */
static uint32_t had_until(const struct sl_lineage *l, uint32_t v)
{
	if (sl_lineage_stays(l, v))
		return l->t->n_ops;
	return l->expires[v] > l->death[v] ? l->expires[v] : l->death[v];
}

/* How long op can run again, as far as what it reads goes. */
static uint32_t inputs_until(const struct sl_lineage *l, uint32_t op)
{
	const struct sl_trace_op *o = &l->t->ops[op];
	uint32_t until = o->pure ? l->t->n_ops : 0;

	for (uint32_t i = 0; i < o->n_in; i++) {
		uint32_t v = sl_trace_root(l->t, o->in[i]);

		until = least(until, least(had_until(l, v), next_writer(l, v, op)));
	}
	return until;
}

/* As far as it goes what else it bears than v; what cannot move has one stay. */
static uint32_t others_until(const struct sl_lineage *l, uint32_t op, uint32_t v)
{
	const struct sl_trace_op *o = &l->t->ops[op];
	uint32_t until = l->t->n_ops;

	if (o->n_out > MOST_OUT)
		return 0;
	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t s = sl_trace_root(l->t, o->out[i]);

		if (sl_lineage_stays(l, s) || l->birth[s] != op)
			return 0;
		if (sl_value_fixed(&l->t->values[s]))
			until = least(until, l->death[s]);
		if (s != v)
			until = least(until, next_writer(l, s, op));
	}
	for (uint32_t i = 0; i < o->n_mutates; i++) {
		if (sl_trace_root(l->t, o->mutates[i]) != v)
			return 0;
	}
	return until;
}

static void see_op(struct sl_lineage *l, uint32_t op)
{
	const struct sl_trace_op *o = &l->t->ops[op];
	uint32_t until = inputs_until(l, op);

	for (uint32_t i = 0; i < o->n_out + o->n_mutates; i++) {
		uint32_t v = sl_trace_root(
			l->t, i < o->n_out ? o->out[i] : o->mutates[i - o->n_out]);
		uint32_t mine;

		if (sl_lineage_stays(l, v))
			continue;
		mine = least(until, others_until(l, op, v));
		if (l->birth[v] != op) /* changes it; reads what it was */
			mine = least(mine, l->expires[v]);
		l->expires[v] = sl_value_fixed(&l->t->values[v]) ? 0 : mine;
	}
}

sl_status sl_lineage_init(struct sl_lineage *l, const struct sl_trace *t)
{
	size_t n = (size_t)t->n_values + 1;

	*l = (struct sl_lineage){.t = t};
	SL_TRY(sl_trace_index_init(t, &l->x));
	l->expires = sl_calloc(n, sizeof(*l->expires));
	l->birth = sl_calloc(n, sizeof(*l->birth));
	l->death = sl_calloc(n, sizeof(*l->death));
	l->before = sl_calloc((size_t)l->x.first[t->n_values] + 1, sizeof(*l->before));
	l->after = sl_calloc((size_t)l->x.first[t->n_values] + 1, sizeof(*l->after));
	if (!l->expires || !l->birth || !l->death || !l->before || !l->after) {
		sl_lineage_finish(l);
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	}
	for (uint32_t v = 0; v < t->n_values; v++) {
		uint32_t from = l->x.first[v], to = l->x.first[v + 1];

		l->birth[v] = from < to ? l->x.uses[from].op : SL_NO_ID;
		l->death[v] = from < to ? l->x.uses[to - 1].op : SL_NO_ID;
		note_writers(l, v);
	}
	for (uint32_t op = 0; op < t->n_ops; op++)
		see_op(l, op);
	return SL_OK;
}

void sl_lineage_finish(struct sl_lineage *l)
{
	sl_trace_index_finish(&l->x);
	sl_free(l->expires);
	sl_free(l->birth);
	sl_free(l->death);
	sl_free(l->before);
	sl_free(l->after);
	*l = (struct sl_lineage){0};
}
