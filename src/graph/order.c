/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Early updates: gives each node a place and sorts by it.
 *
 * A node that stays has the place of its index, one that moves that of the last node it
 * depends on. No place lies behind a node's own, so sorting by place and then by index is
 * a topological order. Small results that updates wait for move in two passes: as if they
 * were there from the start, which tells where their users can be; then they go to the
 * first of these, and all others follow.
 */
#include "graph/order.h"

#include "base/alloc.h"

#define SMALL_BYTES 64u

enum kind { STAYS, UPDATE, SUM, SMALL };

struct orderer {
	const struct sl_graph *g;
	const bool *keep;
	uint8_t *kind; /* [n_nodes] */
	uint32_t *place; /* [n_nodes] index + 1 of the node it stands at or behind */
	uint32_t *least; /* [n_nodes] place before which it need not be */
	uint32_t *count; /* [n_nodes + 2] nodes up to a place */
	uint32_t *wrote; /* [n_values], of roots: largest place of a writer so far */
	uint32_t *touched; /* [n_values], of roots: the same of readers and writers */
	uint32_t *last_use; /* [n_values], of roots: last op that touches it */
	struct sl_node_types *types;
};

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void find_last_uses(struct orderer *o)
{
	for (uint32_t k = 0; k < o->g->n_nodes; k++) {
		const struct sl_ir_node *n = &o->g->nodes[k];
		bool runs = o->keep[k] && !(n->op->flags & SL_OP_VIEW);
		for (int i = 0; runs && i < n->n_in; i++)
			if (!sl_val_is_none(n->in[i]))
				o->last_use[o->g->values[n->in[i].index].root] = k;
	}
}

/* Its result takes the bytes of a gradient over and all its inputs end here. */
static bool is_sum(const struct orderer *o, uint32_t k)
{
	const struct sl_ir_value *values = o->g->values;
	const struct sl_ir_node *n = &o->g->nodes[k];
	struct sl_node_info info = sl_ir_info(o->g, k, o->types);
	bool gradient = false, fits = false;

	for (int i = 0; i < n->n_in; i++) {
		if (sl_val_is_none(n->in[i]))
			return false;
		const struct sl_ir_value *v = &values[n->in[i].index];
		if (values[v->root].producer == UINT32_MAX || o->last_use[v->root] != k)
			return false;
		gradient = gradient || v->role == SL_ROLE_GRAD;
		fits = fits || (sl_node_inplace(&info, i) &&
				       sl_type_bytes(&values[v->root].type) ==
					       sl_type_bytes(&info.out[0]));
	}
	return gradient && fits;
}

static bool is_small(const struct sl_graph *g, const struct sl_ir_node *n)
{
	uint64_t bytes = 0;

	for (int i = 0; i < n->n_in; i++)
		if (!sl_val_is_none(n->in[i]) &&
			g->values[n->in[i].index].producer != UINT32_MAX)
			return false;
	for (int i = 0; i < n->n_out; i++)
		bytes += sl_type_bytes(&g->values[n->out[i].index].type);
	return bytes <= SMALL_BYTES;
}

static enum kind kind_of(const struct orderer *o, uint32_t k)
{
	const struct sl_ir_node *n = &o->g->nodes[k];

	if (n->op->mutates)
		return n->n_out ? STAYS : UPDATE;
	if ((n->op->flags & (SL_OP_VIEW | SL_OP_IMPURE)) || !n->n_out)
		return STAYS;
	if (is_small(o->g, n))
		return SMALL;
	return n->n_out == 1 && is_sum(o, k) ? SUM : STAYS;
}

static bool changes(const struct orderer *o, uint32_t k, int i)
{
	return i < 32 && (o->g->nodes[k].op->mutates >> i & 1);
}

/* The place of the last node that node k depends on; 0 if it depends on none. */
static uint32_t earliest(const struct orderer *o, uint32_t k)
{
	const struct sl_ir_node *n = &o->g->nodes[k];
	uint32_t at = o->least[k];

	for (int i = 0; i < n->n_in; i++) {
		if (sl_val_is_none(n->in[i]))
			continue;
		const struct sl_ir_value *v = &o->g->values[n->in[i].index];
		if (v->producer != UINT32_MAX)
			at = later(at, o->place[v->producer]);
		at = later(at, o->wrote[v->root]);
		/* A sum overwrites what it takes over, so it passes no other reader. */
		if (changes(o, k, i) || o->kind[k] == SUM)
			at = later(at, o->touched[v->root]);
	}
	return at;
}

static void note_touches(struct orderer *o, uint32_t k)
{
	const struct sl_ir_node *n = &o->g->nodes[k];

	for (int i = 0; i < n->n_in; i++) {
		if (sl_val_is_none(n->in[i]))
			continue;
		uint32_t root = o->g->values[n->in[i].index].root;
		o->touched[root] = later(o->touched[root], o->place[k]);
		if (changes(o, k, i))
			o->wrote[root] = later(o->wrote[root], o->place[k]);
	}
}

static void place_all(struct orderer *o)
{
	for (uint32_t v = 0; v < o->g->n_values; v++)
		o->wrote[v] = o->touched[v] = 0;
	for (uint32_t k = 0; k < o->g->n_nodes; k++) {
		if (!o->keep[k])
			continue;
		uint32_t at = o->kind[k] == STAYS ? k + 1 : earliest(o, k);
		o->place[k] = at || o->kind[k] == SMALL ? at : k + 1;
		note_touches(o, k);
	}
}

/* Small results need not be before the first of their users; their own place otherwise.
 */
static void hold_small(struct orderer *o)
{
	for (uint32_t k = 0; k < o->g->n_nodes; k++) {
		const struct sl_ir_node *n = &o->g->nodes[k];
		o->least[k] = o->kind[k] == SMALL ? k + 1 : 0;
		for (int i = 0; o->keep[k] && i < n->n_in; i++) {
			uint32_t from = sl_val_is_none(n->in[i])
						? UINT32_MAX
						: o->g->values[n->in[i].index].producer;
			if (from != UINT32_MAX && o->least[from] > o->place[k])
				o->least[from] = o->place[k];
		}
	}
}

static void sort(struct orderer *o, uint32_t *order, uint32_t *n)
{
	uint32_t n_nodes = o->g->n_nodes;

	for (uint32_t k = 0; k < n_nodes; k++)
		if (o->keep[k])
			o->count[o->place[k] + 1]++;
	for (uint32_t at = 1; at <= n_nodes; at++)
		o->count[at + 1] += o->count[at];
	*n = o->count[n_nodes + 1];
	for (uint32_t k = 0; k < n_nodes; k++)
		if (o->keep[k])
			order[o->count[o->place[k]]++] = k;
}

sl_status sl_graph_order(
	const struct sl_graph *g, const bool *keep, uint32_t *order, uint32_t *n)
{
	size_t nodes = (size_t)g->n_nodes + 1, values = (size_t)g->n_values + 1;
	uint32_t *table = sl_calloc(3 * nodes + 1 + 3 * values, sizeof(*table));
	struct orderer o = {
		.g = g,
		.keep = keep,
		.kind = sl_calloc(nodes, sizeof(*o.kind)),
		.types = sl_calloc(1, sizeof(*o.types)),
	};
	sl_status st = SL_OK;

	if (!table || !o.kind || !o.types) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory to order %u nodes", g->n_nodes);
		goto out;
	}
	o.place = table;
	o.least = o.place + nodes;
	o.count = o.least + nodes;
	o.wrote = o.count + nodes + 1;
	o.touched = o.wrote + values;
	o.last_use = o.touched + values;
	find_last_uses(&o);
	for (uint32_t k = 0; k < g->n_nodes; k++)
		if (keep[k])
			o.kind[k] = (uint8_t)kind_of(&o, k);
	place_all(&o);
	hold_small(&o);
	place_all(&o);
	sort(&o, order, n);
out:
	sl_free(table);
	sl_free(o.kind);
	sl_free(o.types);
	return st;
}
