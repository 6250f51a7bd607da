/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relayout: the same values [N, C, H, W] with bytes in another order, plain or channels
 * last. Put into graphs by layout assignment at seal (exec/layout.h); a builder sees only
 * that nothing changes.
 */
#include "op/op_util.h"

#include "base/compiler.h"

static const struct sl_attr_field fields[] = {
	SL_ATTR(struct sl_relayout_attr, to_nhwc, BOOL, 1),
};

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_check_rank(n, 0, 4));
	out[0] = n->in[0];
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	const struct sl_relayout_attr *a = c->node->attr;

	c->din[0] = sl_relayout(c->g, c->dout[0], !a->to_nhwc);
	return SL_OK;
}

/* Positions and channels change places. */
static sl_status ref(const struct sl_call *c)
{
	const struct sl_relayout_attr *a = c->node->attr;
	const struct sl_type *t = &c->node->in[0];
	int64_t area = t->shape.dim[2] * t->shape.dim[3];
	int64_t rows = a->to_nhwc ? t->shape.dim[1] : area;
	int64_t columns = a->to_nhwc ? area : t->shape.dim[1];
	int64_t image = rows * columns;

	for (int64_t i = 0; i < t->shape.dim[0] * image; i++) {
		int64_t in = i % image;
		sl_move(c->out[0], i - in + in % columns * rows + in / columns, c->in[0],
			i, t->dtype);
	}
	return SL_OK;
}

const struct sl_op sl_op_relayout = {
	.name = "relayout",
	.attr_bytes = sizeof(struct sl_relayout_attr),
	.fields = fields,
	.n_fields = SL_COUNT(fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = infer,
	.grad = grad,
	.cost = sl_cost_move,
	.ref = ref,
};

sl_val sl_relayout(struct sl_graph *g, sl_val x, bool to_nhwc)
{
	struct sl_relayout_attr a = {.to_nhwc = to_nhwc};

	return sl_op_add1(g, &sl_op_relayout, &a, x);
}
