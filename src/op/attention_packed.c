/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention on one value [B, T, 3 H D] whose rows hold q, k and v of all heads behind one
 * another, as one linear layer makes them: no split, no transposition, and one gradient
 * of the same form. All else as in attention.c.
 */
#include "op/attention.h"

static sl_status check(const struct sl_node_info *n, struct sl_attention_layout *l)
{
	const struct sl_attention_attr *attr = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	char text[SL_SHAPE_TEXT];

	SL_TRY(sl_attention_check_attr(attr));
	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_rank(n, 0, 3));
	if (attr->heads < 1)
		return SL_FAIL(SL_E_INVALID, "heads is not set; q, k and v lie packed");
	if (x->dim[2] % 3 != 0)
		return SL_FAIL(SL_E_SHAPE,
			"qkv is %s; its last axis must hold q, k and v of equal size",
			sl_shape_print(x, text));
	SL_TRY(sl_attention_check_heads(x->dim[2] / 3, attr->heads));
	*l = sl_attention_packed_layout(n);
	return sl_attention_check_mask(n, l);
}

static struct sl_type y_type(
	const struct sl_node_info *n, const struct sl_attention_layout *l)
{
	return (struct sl_type){n->in[0].dtype, SL_SHAPE(l->b, l->t, l->h * l->d)};
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_attention_layout l;

	SL_TRY(check(n, &l));
	out[0] = y_type(n, &l);
	out[1] = sl_attention_lse_type(n, &l);
	return SL_OK;
}

/* Inputs qkv, mask, y, lse, dy. */
static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_attention_layout l;

	SL_TRY(check(n, &l));
	struct sl_type y = y_type(n, &l);
	struct sl_type lse = sl_attention_lse_type(n, &l);
	for (int i = 2; i < 5; i++)
		SL_TRY(sl_check_shape(n, i, i == 3 ? &lse.shape : &y.shape));
	SL_TRY(sl_check_dtype_as(n, 2, 0));
	SL_TRY(sl_check_wide(n, 3));
	SL_TRY(sl_check_dtype_as(n, 4, 0));
	out[0] = n->in[0];
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	SL_TRY(sl_attention_check_grad(c, 1));
	if (c->need[0])
		c->din[0] = sl_attention_packed_dx(
			c->g, c->in, c->out[0], c->out[1], c->dout[0], c->node->attr);
	return SL_OK;
}

/* in: the type of qkv. */
static void rebind(void *attr, const struct sl_type *in, const struct sl_bind *bind)
{
	struct sl_attention_attr *own = attr;
	int64_t rows = in[0].shape.dim[1];

	own->base = (uint64_t)bind->batch_offset * (uint64_t)(own->heads * rows * rows);
}

const struct sl_op sl_op_attention_packed = {
	.name = "attention_packed",
	.attr_bytes = sizeof(struct sl_attention_attr),
	.fields = sl_attention_fields,
	.n_fields = SL_ATTENTION_FIELDS,
	.min_in = 2,
	.max_in = 2,
	.n_out = 2,
	.optional_in = 1u << 1,
	.low = SL_LOW_ALWAYS,
	.low_in = 1,
	.infer = infer,
	.grad = grad,
	.cost = sl_attention_cost,
	.ref = sl_attention_ref,
	.ref_workspace = sl_attention_ref_workspace,
	.rebind = rebind,
};

const struct sl_op sl_op_attention_packed_dx = {
	.name = "attention_packed_dx",
	.attr_bytes = sizeof(struct sl_attention_attr),
	.fields = sl_attention_fields,
	.n_fields = SL_ATTENTION_FIELDS,
	.min_in = 5,
	.max_in = 5,
	.n_out = 1,
	.optional_in = 1u << 1,
	.infer = dx_infer,
	.cost = sl_attention_dx_cost,
	.ref = sl_attention_dx_ref,
	.ref_workspace = sl_attention_dx_ref_workspace,
	.rebind = rebind,
};

sl_val sl_attention_packed(struct sl_graph *g, sl_val qkv, sl_val mask,
	const struct sl_attention_attr *attr, sl_val out[2])
{
	struct sl_attention_attr own = SL_ATTR_OR_ZERO(struct sl_attention_attr, attr);
	const sl_val in[] = {qkv, mask};

	return sl_graph_add(g, &sl_op_attention_packed, &own, in, 2, out);
}

sl_val sl_attention_packed_dx(struct sl_graph *g, const sl_val qkv_mask[2], sl_val y,
	sl_val lse, sl_val dy, const struct sl_attention_attr *attr)
{
	struct sl_attention_attr own = SL_ATTR_OR_ZERO(struct sl_attention_attr, attr);
	const sl_val in[] = {qkv_mask[0], qkv_mask[1], y, lse, dy};

	return sl_graph_add(g, &sl_op_attention_packed_dx, &own, in, 5, NULL);
}
