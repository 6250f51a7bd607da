/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dst = src and dst += src, in place: how results get into persistent values. dst and src
 * have one type; nodes built later see the new contents. No result, hence no gradient:
 * sl_graph_grad refuses a loss that depends on what was written.
 */
#include "op/op_util.h"

#include <string.h>

static sl_status assign_infer(const struct sl_node_info *n, struct sl_type *out)
{
	(void)out;
	return sl_check_type_as(n, 1, 0);
}

static sl_status assign_ref(const struct sl_call *c)
{
	/* Source and destination may be views of one root. */
	memmove(c->in[0], c->in[1], sl_type_bytes(&c->node->in[0]));
	return SL_OK;
}

static void assign_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	*out = (struct sl_cost){.bytes = 2 * (double)sl_type_bytes(&n->in[0])};
}

const struct sl_op sl_op_assign = {
	.name = "assign",
	.min_in = 2,
	.max_in = 2,
	.mutates = 1,
	.flags = SL_OP_IMPURE,
	.infer = assign_infer,
	.cost = assign_cost,
	.ref = assign_ref,
};

sl_val sl_assign(struct sl_graph *g, sl_val dst, sl_val src)
{
	return sl_op_add2(g, &sl_op_assign, NULL, dst, src);
}

static sl_status accumulate_infer(const struct sl_node_info *n, struct sl_type *out)
{
	(void)out;
	SL_TRY(sl_check_float(n, 0));
	return sl_check_type_as(n, 1, 0);
}

static sl_status accumulate_ref(const struct sl_call *c)
{
	enum sl_dtype t = c->node->in[0].dtype;
	int64_t count = sl_shape_count(&c->node->in[0].shape);

	for (int64_t i = 0; i < count; i++)
		sl_set(c->in[0], t, i, sl_in(c, 0, i) + sl_in(c, 1, i));
	return SL_OK;
}

static void accumulate_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	*out = (struct sl_cost){.flops = (double)sl_shape_count(&n->in[0].shape),
		.bytes = 3 * (double)sl_type_bytes(&n->in[0])};
}

const struct sl_op sl_op_accumulate = {
	.name = "accumulate",
	.min_in = 2,
	.max_in = 2,
	.mutates = 1,
	.flags = SL_OP_IMPURE,
	.infer = accumulate_infer,
	.cost = accumulate_cost,
	.ref = accumulate_ref,
};

sl_val sl_accumulate(struct sl_graph *g, sl_val dst, sl_val src)
{
	return sl_op_add2(g, &sl_op_accumulate, NULL, dst, src);
}
