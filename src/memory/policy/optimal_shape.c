/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the chain in a trace: where the backward pass begins, the cuts of the forward one
 * that a single value crosses, whose each backward op is, and what all of it takes. */
#include "memory/policy/optimal_chain_int.h"

#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"

/* What crosses a cut just before each op. */
struct cuts {
	uint32_t *count; /* [n_ops + 2] as differences, then values */
	uint32_t *sum; /* of their ids */
	uint32_t *barred; /* what crosses is changed later on */
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static uint64_t room(const struct sl_chain *c, uint32_t v)
{
	return sl_room_value(&c->o->t->values[v]);
}

typedef void (*use_fn)(struct sl_chain *c, uint32_t op, uint32_t root);

static void for_uses(struct sl_chain *c, uint32_t op, use_fn fn)
{
	for (uint32_t i = 0; i < sl_op_touches(&c->o->t->ops[op]); i++)
		fn(c, op, sl_op_touch(c->o->t, op, i));
}

static void note_last(struct sl_chain *c, uint32_t op, uint32_t v)
{
	c->last[v] = op;
	if (op < c->turn)
		c->last_forward[v] = op;
}

static bool belongs(const struct sl_chain *c, uint32_t v)
{
	const struct sl_trace_value *value = &c->o->t->values[v];
	uint32_t birth = c->o->birth[v];

	return value->alias == SL_NO_ID && birth != SL_NO_ID && birth < c->turn &&
	       c->o->rerun[birth] && value->cls != SL_CLASS_INPUT;
}

static void span(uint32_t *list, uint32_t from, uint32_t to, uint32_t by)
{
	list[from] += by;
	list[to] -= by;
}

static void cross(const struct sl_chain *c, struct cuts *x)
{
	const struct sl_trace *t = c->o->t;

	for (uint32_t v = 0; v < t->n_values; v++) {
		if (!belongs(c, v))
			continue;
		span(x->count, c->o->birth[v] + 1, c->last_forward[v] + 1, 1);
		span(x->sum, c->o->birth[v] + 1, c->last_forward[v] + 1, v);
	}
	for (uint32_t op = 0; op < c->turn; op++) {
		for (uint32_t i = t->ops[op].n_in; i < sl_op_touches(&t->ops[op]); i++) {
			uint32_t v = sl_op_touch(t, op, i);

			if (belongs(c, v))
				span(x->barred, c->o->birth[v] + 1, op + 1, 1);
		}
	}
	for (uint32_t op = 1; op <= c->turn; op++) {
		x->count[op] += x->count[op - 1];
		x->sum[op] += x->sum[op - 1];
		x->barred[op] += x->barred[op - 1];
	}
}

static bool is_cut(const struct sl_chain *c, const struct cuts *x, uint32_t op)
{
	return op > 0 && op < c->turn && x->count[op] <= 1 && x->barred[op] == 0;
}

static void make_stages(struct sl_chain *c, const struct cuts *x)
{
	uint32_t n = 1, every, seen = 0, from = 0;

	for (uint32_t op = 1; op < c->turn; op++)
		n += is_cut(c, x, op);
	every = (n + SL_CHAIN_MAX - 1) / (SL_CHAIN_MAX - 1);
	for (uint32_t op = 1; op <= c->turn; op++) {
		struct sl_stage *s = &c->stages[c->n];

		if (op < c->turn && (!is_cut(c, x, op) || ++seen % every != 0))
			continue;
		*s = (struct sl_stage){.from = from, .to = op, .output = SL_NO_ID};
		if (op < c->turn && x->count[op] == 1) {
			s->output = x->sum[op];
			s->output_bytes = room(c, s->output);
		}
		for (uint32_t v = 0; v < c->o->t->n_values; v++) {
			if (belongs(c, v) && c->o->birth[v] >= from &&
				c->o->birth[v] < op)
				c->stage[v] = c->n;
		}
		c->n++;
		from = op;
	}
}

static sl_status cut(struct sl_chain *c)
{
	size_t n = (size_t)c->o->t->n_ops + 2;
	struct cuts x = {.count = sl_calloc(n, sizeof(*x.count)),
		.sum = sl_calloc(n, sizeof(*x.sum)),
		.barred = sl_calloc(n, sizeof(*x.barred))};
	sl_status st = SL_OK;

	if (!x.count || !x.sum || !x.barred) {
		st = no_memory();
		goto out;
	}
	cross(c, &x);
	make_stages(c, &x);
out:
	sl_free(x.count);
	sl_free(x.sum);
	sl_free(x.barred);
	return st;
}

/* Whether the backward ops of a stage may use v. */
static bool is_theirs(const struct sl_chain *c, uint32_t stage, uint32_t v)
{
	return c->stage[v] == SL_NO_ID || c->stage[v] == stage ||
	       (stage > 0 && c->stages[stage - 1].output == v);
}

static bool all_theirs(const struct sl_chain *c, uint32_t stage, uint32_t op)
{
	for (uint32_t i = 0; i < sl_op_touches(&c->o->t->ops[op]); i++) {
		if (!is_theirs(c, stage, sl_op_touch(c->o->t, op, i)))
			return false;
	}
	return true;
}

/* Where the first backward op reads a single value of the last stage and nothing else of
 * the chain, a stage without forward ops is put before it, whose input that is. */
static void add_turn(struct sl_chain *c)
{
	const struct sl_trace_op *o = &c->o->t->ops[c->turn];
	struct sl_stage *s = &c->stages[c->n - 1];
	uint32_t v = SL_NO_ID;

	for (uint32_t i = 0; i < o->n_in; i++) {
		uint32_t root = sl_trace_root(c->o->t, o->in[i]);

		if (c->stage[root] == c->n - 1)
			v = root;
	}
	if (v == SL_NO_ID || c->n == SL_CHAIN_MAX)
		return;
	s->output = v;
	c->stages[c->n] =
		(struct sl_stage){.from = c->turn, .to = c->turn, .output = SL_NO_ID};
	if (!all_theirs(c, c->n, c->turn)) {
		s->output = SL_NO_ID;
		return;
	}
	s->output_bytes = room(c, v);
	c->n++;
}

static void mark_saved(struct sl_chain *c, uint32_t op, uint32_t v)
{
	uint32_t stage = c->stage[v];

	if (stage == SL_NO_ID || op < c->stages[stage].back_from ||
		(c->mark[v] & SL_CHAIN_SAVED))
		return;
	c->mark[v] |= SL_CHAIN_SAVED;
	c->stages[stage].saved_bytes += room(c, v);
	if (c->stages[stage].output == v)
		c->stages[stage].output_saved = true;
}

/* Gives each backward op to a stage; false: this is no chain. */
static bool share_backward(struct sl_chain *c)
{
	uint32_t stage = c->n - 1, n_ops = c->o->t->n_ops;

	for (uint32_t i = 0; i < c->n; i++)
		c->stages[i].back_from = c->stages[i].back_to = n_ops;
	c->stages[stage].back_from = c->turn;
	for (uint32_t op = c->turn; op < n_ops; op++) {
		while (!all_theirs(c, stage, op)) {
			c->stages[stage].back_to = op;
			if (stage-- == 0)
				return false;
			c->stages[stage].back_from = op;
		}
		for_uses(c, op, mark_saved);
	}
	return true;
}

static void add_loads(struct sl_chain *c)
{
	const struct sl_trace *t = c->o->t;

	for (uint32_t v = 0; v < t->n_values; v++) {
		uint32_t birth = c->o->birth[v];

		if (birth == SL_NO_ID || c->stage[v] != SL_NO_ID)
			continue;
		c->load[birth] += room(c, v);
		c->load[c->last[v] + 1] -= room(c, v);
		c->gap_load[birth + 1] += room(c, v);
		c->gap_load[c->last[v] + 1] -= room(c, v);
	}
	for (uint32_t op = 1; op <= t->n_ops; op++) {
		c->load[op] += c->load[op - 1];
		c->gap_load[op] += c->gap_load[op - 1];
	}
	for (uint32_t op = 0; op < t->n_ops; op++)
		c->load[op] += sl_room_workspace(&t->ops[op]);
}

/* The chain whose backward pass begins at c->turn. */
static sl_status shape(struct sl_chain *c)
{
	const struct sl_trace *t = c->o->t;
	struct sl_order runs = {0};
	sl_status st = SL_OK;

	c->n = 0;
	memset(c->stage, 0xff, ((size_t)t->n_values + 1) * sizeof(*c->stage));
	memset(c->last_forward, 0, ((size_t)t->n_values + 1) * sizeof(*c->last_forward));
	memset(c->load, 0, ((size_t)t->n_ops + 2) * sizeof(*c->load));
	memset(c->gap_load, 0, ((size_t)t->n_ops + 2) * sizeof(*c->gap_load));
	memset(c->mark, 0, (size_t)t->n_values + 1);
	for (uint32_t op = 0; op < t->n_ops; op++)
		for_uses(c, op, note_last);
	SL_TRY_OUT(cut(c));
	add_turn(c);
	if (c->n < 2 || !share_backward(c)) {
		c->n = 0;
		goto out;
	}
	add_loads(c);
	for (uint32_t i = 0; i < c->n; i++)
		SL_TRY_OUT(sl_chain_measure(c, i, &runs));
out:
	sl_order_finish(&runs);
	return st;
}

/* The first op that bears a gradient; n_ops: none does. */
static uint32_t first_gradient(const struct sl_trace *t)
{
	for (uint32_t op = 0; op < t->n_ops; op++) {
		for (uint32_t i = 0; i < t->ops[op].n_out; i++) {
			uint32_t v = sl_trace_root(t, t->ops[op].out[i]);

			if (t->values[v].cls == SL_CLASS_GRAD)
				return op;
		}
	}
	return t->n_ops;
}

static sl_status begin(struct sl_chain *c, const struct sl_optimal *o)
{
	size_t values = (size_t)o->t->n_values + 1, ops = (size_t)o->t->n_ops + 2;

	*c = (struct sl_chain){.o = o};
	c->stage = sl_calloc(values, sizeof(*c->stage));
	c->last = sl_calloc(values, sizeof(*c->last));
	c->last_forward = sl_calloc(values, sizeof(*c->last_forward));
	c->load = sl_calloc(ops, sizeof(*c->load));
	c->gap_load = sl_calloc(ops, sizeof(*c->gap_load));
	c->mark = sl_calloc(values, 1);
	c->position = sl_calloc(values, sizeof(*c->position));
	if (!c->stage || !c->last || !c->last_forward || !c->load || !c->gap_load ||
		!c->mark || !c->position)
		return no_memory();
	return SL_OK;
}

/* Before which op the most values live that do not persist; the first such op. */
static uint32_t most_alive(struct sl_chain *c)
{
	const struct sl_trace *t = c->o->t;
	uint32_t best = 0, alive = 0, most = 0;

	memset(c->gap_load, 0, ((size_t)t->n_ops + 2) * sizeof(*c->gap_load));
	for (uint32_t op = 0; op < t->n_ops; op++)
		for_uses(c, op, note_last);
	for (uint32_t v = 0; v < t->n_values; v++) {
		if (c->o->birth[v] == SL_NO_ID)
			continue;
		c->gap_load[c->o->birth[v] + 1]++;
		c->gap_load[c->last[v] + 1]--;
	}
	for (uint32_t op = 0; op < t->n_ops; op++) {
		alive += (uint32_t)c->gap_load[op];
		if (alive > most) {
			most = alive;
			best = op;
		}
	}
	return best;
}

static bool is_turn(const struct sl_optimal *o, uint32_t op)
{
	return op > 0 && op < o->t->n_ops;
}

sl_status sl_chain_find(const struct sl_optimal *o, struct sl_chain *out)
{
	uint32_t turns[2], n = 0;

	SL_TRY(begin(out, o));
	turns[0] = first_gradient(o->t);
	turns[1] = most_alive(out);
	for (int i = 0; i < 2; i++) {
		out->turn = turns[i];
		if (is_turn(o, turns[i]))
			SL_TRY(shape(out));
		if (i == 0)
			n = out->n;
	}
	if (n < out->n || !is_turn(o, turns[0]))
		return SL_OK;
	out->turn = turns[0];
	return shape(out);
}

void sl_chain_finish(struct sl_chain *c)
{
	sl_free(c->stage);
	sl_free(c->last);
	sl_free(c->last_forward);
	sl_free(c->load);
	sl_free(c->gap_load);
	sl_free(c->mark);
	sl_free(c->position);
	*c = (struct sl_chain){0};
}
