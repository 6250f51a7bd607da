/* SPDX-License-Identifier: Apache-2.0 */
/* What passes do with nodes: copying them, and asking who makes and who uses a value. */
#include "graph/pass/rewrite.h"

#include <string.h>

sl_val sl_rewrite_in(const struct sl_rewrite *r, sl_val v)
{
	return sl_val_is_none(v) ? v : r->map[v.index];
}

void sl_rewrite_out(struct sl_rewrite *r, uint32_t node, int i, sl_val v)
{
	sl_val old = r->from->nodes[node].out[i];

	r->map[old.index] = v;
	if (v.index < r->to->n_values && r->to->values[v.index].producer != UINT32_MAX)
		r->to->values[v.index].role = r->from->values[old.index].role;
}

/* Feeds carry a name and symbols beside their node. */
static void copy_feed(struct sl_rewrite *r, uint32_t node)
{
	const struct sl_ir_node *n = &r->from->nodes[node];
	const struct sl_ir_value *old = &r->from->values[n->out[0].index];
	sl_val v = sl_graph_add(r->to, n->op, n->attr, NULL, 0, NULL);
	struct sl_ir_value *fed;

	r->map[n->out[0].index] = v;
	if (v.index >= r->to->n_values)
		return;
	fed = &r->to->values[v.index];
	fed->role = old->role;
	memcpy(fed->symbol, old->symbol, sizeof(fed->symbol));
	fed->name = sl_arena_strdup(&r->to->arena, old->name);
	if (fed->name != NULL)
		return;
	fed->name = "";
	(void)sl_graph_poison(r->to,
		SL_FAIL(SL_E_NOMEM, "no host memory for the input '%s'", old->name));
}

void sl_rewrite_copy(struct sl_rewrite *r, uint32_t node)
{
	const struct sl_ir_node *n = &r->from->nodes[node];
	sl_val in[SL_OP_MAX_IN], out[SL_OP_MAX_OUT];

	if (n->op == &sl_op_feed) {
		copy_feed(r, node);
		return;
	}
	for (int i = 0; i < n->n_in; i++)
		in[i] = sl_rewrite_in(r, n->in[i]);
	(void)sl_graph_add(r->to, n->op, n->attr, in, n->n_in, out);
	for (int i = 0; i < n->n_out; i++)
		sl_rewrite_out(r, node, i, out[i]);
}

uint32_t sl_rewrite_producer(const struct sl_rewrite *r, sl_val v)
{
	return sl_val_is_none(v) ? SL_REWRITE_NO_NODE : r->from->values[v.index].producer;
}

uint32_t sl_rewrite_only_user(const struct sl_rewrite *r, sl_val v)
{
	return r->uses[v.index] == 1 ? r->user[v.index] : SL_REWRITE_NO_NODE;
}

bool sl_rewrite_is_weight(const struct sl_rewrite *r, sl_val v)
{
	return !sl_val_is_none(v) && r->from->values[v.index].producer == UINT32_MAX;
}

bool sl_rewrite_is_own_weight(const struct sl_rewrite *r, sl_val v)
{
	return sl_rewrite_is_weight(r, v) && r->uses[v.index] == 1;
}

sl_val sl_rewrite_weight(struct sl_rewrite *r, sl_val v)
{
	const char *name = r->from->values[v.index].name;
	sl_val own = SL_VAL_NONE;

	if (sl_map_find(&r->prologue->persistent, name, &own.index))
		return own;
	return sl_graph_poison(r->prologue,
		SL_FAIL(SL_E_INVALID, "the prologue does not declare '%s'", name));
}
