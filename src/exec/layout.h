/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_EXEC_LAYOUT_H
#define SL_EXEC_LAYOUT_H

#include "graph/ir.h"
#include "kernel/kernel.h"

/*
 * Layout assignment (docs/adr/0033-layouts.md): which nodes of a graph run channels last,
 * and where values change their layout.
 *
 * 1. A node may run channels last if its operator names operands for it and a kernel
 * other than the reference accepts it so. Values that such nodes share make them one
 * region, which is taken or left as a whole.
 * 2. A region is taken if the convolutions in it that gain from it outweigh the values
 * that cross its border; the rest stays plain, small nets among it.
 * 3. A value that crosses a border is brought over by a `relayout` node before its first
 * user there, once for all its users, unless something changes it in place.
 * 4. Nothing but graph and kernels decides. Shapes, types and value numbers stay.
 */

/* Like g, with layouts. It borrows from g, which must outlive it. Finish it in any case.
 */
SL_NODISCARD sl_status sl_layout_assign(const struct sl_graph *g,
	const struct sl_kernel_set *kernels, struct sl_graph *out);
void sl_layout_finish(struct sl_graph *g);

#endif
