/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dead nodes: those that nothing with an effect depends on.
 *
 * Program order is a topological order, so one sweep from the end sees each user before
 * what it uses.
 */
#include "graph/dce.h"

sl_status sl_graph_dce(const struct sl_graph *g, bool *keep)
{
	for (uint32_t k = 0; k < g->n_nodes; k++)
		keep[k] =
			g->nodes[k].op->mutates || (g->nodes[k].op->flags & SL_OP_IMPURE);
	for (uint32_t k = g->n_nodes; k-- > 0;) {
		const struct sl_ir_node *n = &g->nodes[k];
		for (int i = 0; keep[k] && i < n->n_in; i++) {
			if (sl_val_is_none(n->in[i]))
				continue;
			uint32_t producer = g->values[n->in[i].index].producer;
			if (producer != UINT32_MAX)
				keep[producer] = true;
		}
	}
	return SL_OK;
}
