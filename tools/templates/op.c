/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operator @NAME@: the formula.
 *
 * x [...] f32 or f64; gives the same type. Gradient: the formula.
 */
#include "op/op_util.h"

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	return sl_infer_same_float(n, out);
}

static sl_status ref(const struct sl_call *c)
{
	int64_t count = sl_shape_count(&c->node->out[0].shape);

	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, sl_in(c, 0, i));
	return SL_OK;
}

const struct sl_op sl_op_@NAME@ = {
	.name = "@NAME@",
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = infer,
	.ref = ref,
};

sl_val sl_@NAME@(struct sl_graph *g, sl_val x)
{
	return sl_op_add1(g, &sl_op_@NAME@, NULL, x);
}
