/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search over the sets of values on the device. A state is how many ops have had
 * their turn and which contents of which values are there; an edge is a run, in its turn
 * or again, with a largest set of the others kept that leaves it room. Dijkstra's order
 * by the time of runs again: the first state with all ops done is the least of all.
 *
 * A value that is changed in place has a bit for each content, of which it holds one.
 */
#include "memory/policy/optimal_int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"
#include "memory/place.h"

#define MAX_BITS 64
#define MAX_OPS 64
#define SPLITS ((uint64_t)1 << 24) /* work on what to keep, of a whole search */

struct op_bits {
	uint64_t need; /* contents it reads or changes */
	uint64_t make; /* contents it leaves */
	uint64_t gone; /* contents that its changes end */
	uint64_t touch; /* one bit for each value that it holds */
	uint64_t clear; /* all contents of what it bears */
	uint64_t workspace, ns;
	uint32_t until; /* runs again before this op and none later */
};

struct node {
	uint64_t set, ns;
	uint32_t next; /* ops in their turn so far */
	uint32_t op; /* that led here */
	uint32_t parent;
};

struct queued {
	uint64_t ns;
	uint32_t next, node;
};

struct search {
	const struct sl_optimal *o;
	const struct sl_trace *t;
	uint64_t room; /* beside what persists */
	uint64_t below_ns;
	struct op_bits *ops;
	uint64_t bytes[MAX_BITS];
	uint64_t stuck; /* contents of values that must not be given up */
	uint64_t useful[MAX_OPS + 1]; /* contents that are of use from an op on */
	uint32_t n_bits;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	uint32_t *table; /* node + 1 by state */
	size_t n_table;
	struct queued *heap;
	size_t n_heap, cap_heap;
	uint64_t splits;
	bool over; /* too large: given up */
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

/* Who wrote each root last, and the bit of that content. */
struct contents {
	uint32_t *writer; /* op + 1 */
	uint32_t *bit; /* + 1 */
	uint64_t *all; /* all bits so far */
};

static void read_list(struct search *s, struct contents *c, uint32_t op,
	const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(s->t, list[i]);
		uint64_t bit = c->bit[v] > 0 ? (uint64_t)1 << (c->bit[v] - 1) : 0;

		s->ops[op].need |= bit;
		s->ops[op].touch |= bit;
	}
}

static void new_content(struct search *s, struct contents *c, uint32_t op, uint32_t v)
{
	uint64_t bit;

	if (c->writer[v] == op + 1)
		return; /* another view of it */
	if (s->n_bits == MAX_BITS) {
		s->over = true;
		return;
	}
	bit = (uint64_t)1 << s->n_bits;
	s->bytes[s->n_bits++] = sl_room_value(&s->t->values[v]);
	s->ops[op].make |= bit;
	if (s->o->birth[v] == op)
		s->ops[op].touch |= bit;
	else
		s->ops[op].gone |= (uint64_t)1 << (c->bit[v] - 1);
	if (sl_value_fixed(&s->t->values[v]))
		s->stuck |= bit;
	c->bit[v] = s->n_bits;
	c->all[v] |= bit;
	c->writer[v] = op + 1;
}

static void write_list(struct search *s, struct contents *c, uint32_t op,
	const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n && !s->over; i++) {
		uint32_t v = sl_trace_root(s->t, list[i]);

		if (sl_optimal_persists(s->t, v))
			c->writer[v] = op + 1;
		else
			new_content(s, c, op, v);
	}
}

/* An op may run again until somebody writes what it reads and what persists. */
uint32_t sl_optimal_until(const struct sl_trace *t, uint32_t op)
{
	const struct sl_trace_op *o = &t->ops[op];
	uint32_t until = t->n_ops;

	for (uint32_t i = 0; i < o->n_in; i++) {
		uint32_t v = sl_trace_root(t, o->in[i]);
		uint32_t k = op + 1;

		if (!sl_optimal_persists(t, v))
			continue;
		while (k < until && !sl_op_has(t, k, v, t->ops[k].n_in))
			k++;
		until = k < until ? k : until;
	}
	return until;
}

static void find_useful(struct search *s)
{
	for (uint32_t next = 0; next <= s->t->n_ops; next++) {
		uint64_t *u = &s->useful[next];

		for (uint32_t op = s->t->n_ops; op-- > 0;) {
			const struct op_bits *b = &s->ops[op];

			if (op >= next ||
				(s->o->rerun[op] && next <= b->until && (b->make & *u)))
				*u |= b->need;
		}
	}
}

static sl_status find_contents(struct search *s, struct contents *c)
{
	const struct sl_trace *t = s->t;

	c->writer = sl_calloc((size_t)t->n_values + 1, sizeof(*c->writer));
	c->bit = sl_calloc((size_t)t->n_values + 1, sizeof(*c->bit));
	c->all = sl_calloc((size_t)t->n_values + 1, sizeof(*c->all));
	if (!c->writer || !c->bit || !c->all)
		return no_memory();
	for (uint32_t op = 0; op < t->n_ops && !s->over; op++) {
		const struct sl_trace_op *o = &t->ops[op];

		read_list(s, c, op, o->in, o->n_in);
		read_list(s, c, op, o->mutates, o->n_mutates);
		for (uint32_t i = 0; i < o->n_out; i++) {
			if (s->o->birth[sl_trace_root(t, o->out[i])] != op)
				read_list(s, c, op, &o->out[i], 1);
		}
		write_list(s, c, op, o->mutates, o->n_mutates);
		write_list(s, c, op, o->out, o->n_out);
		s->ops[op].workspace = sl_room_workspace(o);
		s->ops[op].ns = o->dur_ns;
		s->ops[op].until = sl_optimal_until(t, op);
	}
	for (uint32_t v = 0; v < t->n_values && !s->over; v++) {
		if (s->o->birth[v] != SL_NO_ID)
			s->ops[s->o->birth[v]].clear |= c->all[v];
	}
	return SL_OK;
}

/* Ops that take up to an eighth less than they do: which runs are the least then differs
 * from one number to the next. */
static void draw_times(struct search *s, uint32_t number)
{
	const struct sl_rng_key key = {.seed = number};

	for (uint32_t op = 0; op < s->t->n_ops; op++) {
		double part = (double)sl_rng_unit(sl_rng_u32(&key, op)) / 8;

		s->ops[op].ns -= (uint64_t)(part * (double)s->ops[op].ns);
	}
}

static sl_status begin(struct search *s, const struct sl_optimal *o, uint64_t bytes,
	const struct sl_optimal_limits *limits)
{
	struct contents c = {0};
	sl_status st = SL_OK;

	*s = (struct search){.o = o,
		.t = o->t,
		.below_ns = limits->below_ns,
		.over = o->t->n_ops > MAX_OPS || o->t->n_ops > limits->ops};
	if (s->over || bytes < o->base)
		return SL_OK;
	s->room = bytes - o->base;
	s->ops = sl_calloc((size_t)o->t->n_ops + 1, sizeof(*s->ops));
	s->n_table = 4;
	while (s->n_table < 2 * (size_t)limits->states)
		s->n_table *= 2;
	s->table = sl_calloc(s->n_table, sizeof(*s->table));
	s->cap_nodes = (size_t)limits->states + 1;
	s->nodes = sl_calloc(s->cap_nodes, sizeof(*s->nodes));
	if (!s->ops || !s->table || !s->nodes)
		return no_memory();
	SL_TRY_OUT(find_contents(s, &c));
	if (!s->over)
		find_useful(s);
	if (limits->draw > 0)
		draw_times(s, limits->draw);
out:
	sl_free(c.writer);
	sl_free(c.bit);
	sl_free(c.all);
	return st;
}

static void finish(struct search *s)
{
	sl_free(s->ops);
	sl_free(s->table);
	sl_free(s->nodes);
	sl_free(s->heap);
}

/* The cheapest first, then the one that is furthest on. */
static bool before(const struct queued *a, const struct queued *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns;
	return a->next != b->next ? a->next > b->next : a->node < b->node;
}

static sl_status push(struct search *s, uint32_t node)
{
	struct queued q = {s->nodes[node].ns, s->nodes[node].next, node};
	size_t i = s->n_heap++;

	if (sl_grow((void **)&s->heap, &s->cap_heap, s->n_heap, sizeof(*s->heap),
		    UINT32_MAX))
		return no_memory();
	while (i > 0 && before(&q, &s->heap[(i - 1) / 2])) {
		s->heap[i] = s->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->heap[i] = q;
	return SL_OK;
}

static struct queued pop(struct search *s)
{
	struct queued top = s->heap[0], q = s->heap[--s->n_heap];
	size_t i = 0;

	for (size_t k = 1; k < s->n_heap; k = 2 * i + 1) {
		if (k + 1 < s->n_heap && before(&s->heap[k + 1], &s->heap[k]))
			k++;
		if (!before(&s->heap[k], &q))
			break;
		s->heap[i] = s->heap[k];
		i = k;
	}
	s->heap[i] = q;
	return top;
}

static uint32_t *slot_of(struct search *s, uint64_t set, uint32_t next)
{
	uint64_t h = (set ^ ((uint64_t)next << 57) ^ next) * 0x9e3779b97f4a7c15u;

	for (size_t i = (size_t)(h >> 20) & (s->n_table - 1);;
		i = (i + 1) & (s->n_table - 1)) {
		uint32_t *slot = &s->table[i];

		if (*slot == 0 || (s->nodes[*slot - 1].set == set &&
					  s->nodes[*slot - 1].next == next))
			return slot;
	}
}

static sl_status reach(struct search *s, const struct node *n)
{
	uint32_t *slot = slot_of(s, n->set, n->next);

	if (n->ns >= s->below_ns)
		return SL_OK;
	if (*slot > 0) {
		if (s->nodes[*slot - 1].ns <= n->ns)
			return SL_OK;
		s->nodes[*slot - 1] = *n;
		return push(s, *slot - 1);
	}
	if (s->n_nodes + 1 >= s->cap_nodes) {
		s->over = true;
		return SL_OK;
	}
	s->nodes[s->n_nodes++] = *n;
	*slot = (uint32_t)s->n_nodes;
	return push(s, *slot - 1);
}

static uint64_t bytes_of(const struct search *s, uint64_t set)
{
	uint64_t sum = 0;

	for (; set; set &= set - 1)
		sum += s->bytes[__builtin_ctzll(set)];
	return sum;
}

/* A run and what may be kept beside it. */
struct split {
	struct search *s;
	struct node to; /* its set: what is there whatever is kept */
	uint64_t useful;
};

/* All largest sets of `rest` with `kept` that fit; `dropped` is decided against. */
static sl_status keep_some(
	struct split *x, uint64_t rest, uint64_t kept, uint64_t dropped, uint64_t room)
{
	uint64_t bit = rest & (~rest + 1), bytes;

	if (x->s->over)
		return SL_OK;
	if (++x->s->splits > SPLITS)
		x->s->over = true;
	bytes = bytes_of(x->s, rest);
	if (bytes <= room) {
		struct node n = x->to;

		for (uint64_t d = dropped; d; d &= d - 1) {
			if (x->s->bytes[__builtin_ctzll(d)] <= room - bytes)
				return SL_OK; /* there is a larger one */
		}
		n.set = (n.set | kept | rest) & x->useful;
		return reach(x->s, &n);
	}
	bytes = bytes_of(x->s, bit);
	if (bytes <= room)
		SL_TRY(keep_some(x, rest & ~bit, kept | bit, dropped, room - bytes));
	return keep_some(x, rest & ~bit, kept, dropped | bit, room);
}

static sl_status try_run(struct search *s, uint32_t from, uint32_t op)
{
	const struct node *n = &s->nodes[from];
	const struct op_bits *b = &s->ops[op];
	bool first = op == n->next;
	uint64_t others = n->set & ~(b->need | b->make | b->clear);
	uint64_t bytes = bytes_of(s, b->touch) + b->workspace;
	struct split x = {.s = s,
		.to = {.ns = sl_add_ns(n->ns, first ? 0 : b->ns),
			.next = n->next + first,
			.op = op,
			.parent = from}};

	if ((b->need & ~n->set) || (n->set & b->clear & s->stuck & ~b->make))
		return SL_OK;
	bytes += bytes_of(s, others & s->stuck);
	if (bytes > s->room)
		return SL_OK;
	x.useful = s->useful[x.to.next];
	x.to.set = (b->need & ~b->gone) | b->make | (others & s->stuck);
	others &= x.useful & ~s->stuck;
	return keep_some(&x, others, 0, 0, s->room - bytes);
}

static sl_status expand(struct search *s, uint32_t node)
{
	uint32_t next = s->nodes[node].next;

	for (uint32_t op = 0; op < next; op++) {
		const struct op_bits *b = &s->ops[op];

		if (s->o->rerun[op] && next <= b->until &&
			(b->make & s->useful[next] & ~s->nodes[node].set))
			SL_TRY(try_run(s, node, op));
	}
	return try_run(s, node, next);
}

static sl_status retrace(const struct search *s, uint32_t node, struct sl_order *out)
{
	out->again_ns = s->nodes[node].ns;
	for (; s->nodes[node].parent != SL_NO_ID; node = s->nodes[node].parent)
		SL_TRY(sl_order_add(out, s->nodes[node].op));
	for (size_t i = 0; i < out->n / 2; i++) {
		uint32_t op = out->ops[i];

		out->ops[i] = out->ops[out->n - 1 - i];
		out->ops[out->n - 1 - i] = op;
	}
	return SL_OK;
}

static sl_status walk(struct search *s, struct sl_order *out)
{
	SL_TRY(reach(s, &(struct node){.parent = SL_NO_ID}));
	while (s->n_heap > 0 && !s->over) {
		struct queued q = pop(s);

		if (q.ns > s->nodes[q.node].ns)
			continue; /* since reached for less */
		if (q.next == s->t->n_ops)
			return retrace(s, q.node, out);
		SL_TRY(expand(s, q.node));
	}
	return SL_OK;
}

sl_status sl_optimal_search(const struct sl_optimal *o, uint64_t bytes,
	const struct sl_optimal_limits *limits, struct sl_order *out, bool *exact)
{
	struct search s = {0};
	sl_status st = SL_OK;

	SL_TRY_OUT(begin(&s, o, bytes, limits));
	if (!s.over && bytes >= o->base)
		SL_TRY_OUT(walk(&s, out));
	*exact = !s.over;
out:
	finish(&s);
	return st;
}
