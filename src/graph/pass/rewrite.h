/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_PASS_REWRITE_H
#define SL_GRAPH_PASS_REWRITE_H

#include "graph/pass/pass.h"

/*
 * One sweep over the nodes of a graph, in order, building another: nodes are copied, left
 * out, or replaced by others, while a map says which new value stands for an old one.
 */
struct sl_rewrite {
	const struct sl_graph *from;
	struct sl_graph *to;
	struct sl_graph *prologue; /* NULL: weights must not change */
	const struct sl_pass_env *env;
	bool *keep; /* [nodes] the live ones */
	uint32_t *uses; /* [values] inputs of live nodes that are this value */
	uint32_t *user; /* [values] the last such node */
	sl_val *map; /* [values] in `to`; NONE where left out */
	sl_val *other; /* [values] for the pass's own use, NONE at first */
};

struct sl_pass {
	const char *name, *help;
	bool weights; /* appends to the prologue */
	/* Whether the pass does anything; NULL: yes. Nothing is built before it. */
	bool (*begin)(struct sl_rewrite *r);
	/* At each live node: true, and the node's outputs are mapped or it is left out;
	 * false: it is copied. A failure poisons r->to. */
	bool (*node)(struct sl_rewrite *r, uint32_t node);
};

#define SL_REWRITE_NO_NODE UINT32_MAX

/* The old node's copy with its inputs mapped. */
void sl_rewrite_copy(struct sl_rewrite *r, uint32_t node);
/* What stands for an old value (NONE for NONE). */
sl_val sl_rewrite_in(const struct sl_rewrite *r, sl_val v);
/* Maps output i of an old node, and gives the new value the old one's role. */
void sl_rewrite_out(struct sl_rewrite *r, uint32_t node, int i, sl_val v);
/* The node that makes an old value, and the one node that uses it, once: NO_NODE if there
 * is none, or not one. */
uint32_t sl_rewrite_producer(const struct sl_rewrite *r, sl_val v);
uint32_t sl_rewrite_only_user(const struct sl_rewrite *r, sl_val v);
/* Whether the old value is persistent, and whether one node alone uses it. */
bool sl_rewrite_is_weight(const struct sl_rewrite *r, sl_val v);
bool sl_rewrite_is_own_weight(const struct sl_rewrite *r, sl_val v);
/* The prologue's value of that name; POISON and a failed prologue if it has none. */
sl_val sl_rewrite_weight(struct sl_rewrite *r, sl_val v);

static inline const struct sl_ir_node *sl_rewrite_node(
	const struct sl_rewrite *r, uint32_t node)
{
	return &r->from->nodes[node];
}
static inline const struct sl_type *sl_rewrite_type(const struct sl_rewrite *r, sl_val v)
{
	return &r->from->values[v.index].type;
}

#endif
