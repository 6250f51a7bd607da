/* SPDX-License-Identifier: Apache-2.0 */
/* Roofline estimate: the slower of arithmetic and memory, plus what starting an op costs.
 */
#include "exec/cost.h"

/* Two cores of a current server processor: about half of its FMA peak, and its memory
 * bandwidth. */
#define FLOPS_PER_NS 100.0
#define BYTES_PER_NS 20.0
#define START_NS 500.0

uint64_t sl_cost_ns(const struct sl_node_info *n)
{
	struct sl_cost cost = {0};
	double arithmetic_ns, memory_ns;

	if (n->op->cost != NULL) {
		n->op->cost(n, &cost);
	} else {
		for (int i = 0; i < n->n_in; i++)
			cost.bytes +=
				sl_node_has(n, i) ? (double)sl_type_bytes(&n->in[i]) : 0;
		for (int i = 0; i < n->n_out; i++)
			cost.bytes += (double)sl_type_bytes(&n->out[i]);
		cost.flops = n->n_out > 0 ? (double)sl_shape_count(&n->out[0].shape) : 0;
	}
	arithmetic_ns = cost.flops / FLOPS_PER_NS;
	memory_ns = cost.bytes / BYTES_PER_NS;
	return (uint64_t)(START_NS +
			  (arithmetic_ns > memory_ns ? arithmetic_ns : memory_ns));
}
