/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_ORDER_H
#define SL_GRAPH_ORDER_H

#include "graph/ir.h"

/*
 * The op order: program order, except that what only frees memory runs as early as it may
 * (TENSILE, "tensor access sequence"). order gets the kept nodes, views included; *n says
 * how many (order has room for n_nodes).
 *
 * 1. Nodes that change values in place and have no result (updates of an optimizer, of
 * running statistics), and sums into a gradient that take its bytes over, stand directly
 * behind the last node they depend on; several behind one node keep their order.
 * 2. A node depends on the producers of its inputs, on earlier writers of what it reads
 * or writes, and on earlier readers of what it writes, through views.
 * 3. A result of a line at most that comes from persistent values alone (the learning
 * rate) goes before its first user that moves.
 * 4. All others keep their order. The bits are those of program order, and there are
 * never more live bytes, but for the lines of 3.
 */
SL_NODISCARD sl_status sl_graph_order(
	const struct sl_graph *g, const bool *keep, uint32_t *order, uint32_t *n);

#endif
