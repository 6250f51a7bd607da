/* SPDX-License-Identifier: Apache-2.0 */
/* From a node to the figures that the cost book asks for. */
#include "exec/cost.h"

void sl_cost_work(const struct sl_node_info *n, struct sl_cost *out)
{
	*out = (struct sl_cost){0};
	if (n->op->cost != NULL) {
		n->op->cost(n, out);
		return;
	}
	for (int i = 0; i < n->n_in; i++)
		out->bytes += sl_node_has(n, i) ? (double)sl_type_bytes(&n->in[i]) : 0;
	for (int i = 0; i < n->n_out; i++)
		out->bytes += (double)sl_type_bytes(&n->out[i]);
	out->flops = n->n_out > 0 ? (double)sl_shape_count(&n->out[0].shape) : 0;
}

uint64_t sl_cost_ns(const struct sl_cost_book *book, const struct sl_node_info *n)
{
	struct sl_cost work;

	sl_cost_work(n, &work);
	return sl_cost_predict(book, n->op->name, work.flops, work.bytes, 0);
}
