/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scaled dot-product attention: y = dropout(softmax(scale q k^T + mask)) v for q [B, H,
 * T, D], k and v [B, H, S, D]; source: Dao et al., "FlashAttention", NeurIPS 2022, Alg. 1
 * to 4.
 *
 * 1. causal: query t sees the keys s <= t + (S - T), so that the last query sees all.
 * Keys that are not seen are not read.
 * 2. Dropout acts on the probabilities, with the keep rule of the operator dropout, keyed
 * by (seed, stream, step, base + index in [B, H, T, S]).
 * 3. The second output is the log-sum-exp of each row's scores, all that backward needs
 * beside y; a gradient into it, or into the mask, is SL_E_UNSUPPORTED.
 * 4. Departure from PyTorch: a row with no key to see (all -inf) gives zeros, not NaN;
 * its log-sum-exp is -inf and its gradients are zero.
 * 5. With the attribute heads the axis of heads lies within rows: q [B, T, H D], k and v
 * [B, S, H D], as linear layers make and take them, so that nothing has to be transposed.
 */
#include "op/attention.h"

#include <math.h>

const struct sl_attr_field sl_attention_fields[SL_ATTENTION_FIELDS] = {
	SL_ATTR(struct sl_attention_attr, causal, BOOL, 1),
	SL_ATTR(struct sl_attention_attr, scale, F64, 1),
	SL_ATTR(struct sl_attention_attr, dropout, F64, 1),
	SL_ATTR(struct sl_attention_attr, stream, U32, 1),
	SL_ATTR(struct sl_attention_attr, base, U64, 1),
	SL_ATTR(struct sl_attention_attr, heads, I64, 1),
};

sl_status sl_attention_check_attr(const struct sl_attention_attr *attr)
{
	if (!(attr->dropout >= 0 && attr->dropout <= 1))
		return SL_FAIL(
			SL_E_INVALID, "dropout %g; it must be in [0, 1]", attr->dropout);
	if (!isfinite(attr->scale))
		return SL_FAIL(SL_E_INVALID,
			"scale %g; it must be finite (0 means 1 / sqrt(D))", attr->scale);
	if (attr->heads < 0)
		return SL_FAIL(SL_E_INVALID, "heads %lld; there are at least 1",
			(long long)attr->heads);
	return SL_OK;
}

sl_status sl_attention_check_heads(int64_t width, int64_t heads)
{
	if (width > 0 && width % heads == 0)
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE,
		"rows of %lld elements do not hold %lld heads of equal size; set heads "
		"to a "
		"divisor",
		(long long)width, (long long)heads);
}

sl_status sl_attention_check_mask(
	const struct sl_node_info *n, const struct sl_attention_layout *l)
{
	const struct sl_shape scores = SL_SHAPE(l->b, l->h, l->t, l->s);
	int mask = l->in[SL_ATT_MASK];
	char text_m[SL_SHAPE_TEXT];
	char text_s[SL_SHAPE_TEXT];
	struct sl_shape both;

	if (!sl_node_has(n, mask))
		return SL_OK;
	if (n->in[mask].dtype != SL_F32)
		SL_TRY(sl_check_dtype_as(n, mask, 0));
	SL_TRY(sl_shape_broadcast(&n->in[mask].shape, &scores, &both));
	if (!sl_shape_equal(&both, &scores))
		return SL_FAIL(SL_E_SHAPE, "mask %s does not broadcast to the scores %s",
			sl_shape_print(&n->in[mask].shape, text_m),
			sl_shape_print(&scores, text_s));
	return SL_OK;
}

/* Axis 2 where heads have an axis, else axis 1. */
static bool differ_in_rows_only(const struct sl_shape *q, const struct sl_shape *k)
{
	for (int i = 0; i < q->rank; i++)
		if (i != q->rank - 2 && q->dim[i] != k->dim[i])
			return false;
	return true;
}

/* Inputs 0 to 3: q, k, v, mask or none. */
static sl_status check_qkvm(const struct sl_node_info *n, struct sl_attention_layout *l)
{
	int64_t heads = ((const struct sl_attention_attr *)n->attr)->heads;
	const struct sl_shape *q = &n->in[0].shape;
	const struct sl_shape *k = &n->in[1].shape;
	int rank = heads > 0 ? 3 : 4;
	char text_q[SL_SHAPE_TEXT];
	char text_k[SL_SHAPE_TEXT];

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_rank(n, 0, rank));
	SL_TRY(sl_check_dtype_as(n, 1, 0));
	SL_TRY(sl_check_rank(n, 1, rank));
	SL_TRY(sl_check_type_as(n, 2, 1));
	if (!differ_in_rows_only(q, k))
		return SL_FAIL(SL_E_SHAPE,
			"q is %s, k and v are %s; they may differ in axis %d only",
			sl_shape_print(q, text_q), sl_shape_print(k, text_k), rank - 2);
	if (heads > 0)
		SL_TRY(sl_attention_check_heads(q->dim[2], heads));
	if (q->dim[rank - 1] < 1)
		return SL_FAIL(SL_E_SHAPE, "q is %s; heads of no element have no scores",
			sl_shape_print(q, text_q));
	*l = sl_attention_split_layout(n);
	return sl_attention_check_mask(n, l);
}

struct sl_type sl_attention_lse_type(
	const struct sl_node_info *n, const struct sl_attention_layout *l)
{
	return (struct sl_type){
		sl_dtype_wide(n->in[0].dtype), SL_SHAPE(l->b, l->h, l->t)};
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_attention_layout l;

	SL_TRY(sl_attention_check_attr(n->attr));
	SL_TRY(check_qkvm(n, &l));
	out[0] = n->in[0];
	out[1] = sl_attention_lse_type(n, &l);
	return SL_OK;
}

/* Inputs q, k, v, mask, y, lse, dy. */
static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_attention_layout l;

	SL_TRY(sl_attention_check_attr(n->attr));
	SL_TRY(check_qkvm(n, &l));
	struct sl_type lse = sl_attention_lse_type(n, &l);
	SL_TRY(sl_check_type_as(n, 4, 0));
	SL_TRY(sl_check_wide(n, 5));
	SL_TRY(sl_check_shape(n, 5, &lse.shape));
	SL_TRY(sl_check_type_as(n, 6, 0));
	for (int i = 0; i < 3; i++)
		out[i] = n->in[i];
	return SL_OK;
}

sl_status sl_attention_check_grad(const struct sl_grad *c, int mask)
{
	if (!sl_val_is_none(c->dout[1]))
		return SL_FAIL(SL_E_UNSUPPORTED, "a gradient flows into the log-sum-exp "
						 "that attention hands out; use only "
						 "its first output in the loss");
	if (c->need[mask])
		return SL_FAIL(SL_E_UNSUPPORTED, "attention has no gradient for its "
						 "mask; build a learned bias from "
						 "matmul, add and softmax");
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	sl_val d[3];

	SL_TRY(sl_attention_check_grad(c, 3));
	sl_attention_dx(c->g, c->in, c->out[0], c->out[1], c->dout[0], c->node->attr, d);
	for (int i = 0; i < 3; i++)
		if (c->need[i])
			c->din[i] = d[i];
	return SL_OK;
}

/* Pairs of query and key that see each other, as a share of all where causal. */
static double pairs(const struct sl_node_info *n, const struct sl_attention_layout *l)
{
	const struct sl_attention_attr *attr = n->attr;
	double heads = (double)(l->b * l->h);
	double t = (double)l->t;
	double s = (double)l->s;

	if (!attr->causal)
		return heads * t * s;
	/* Rows see s - t + 1 to s keys; where t > s the first t - s see none. */
	return heads * (s >= t ? t * (s - t + (t + 1) / 2) : s * (s + 1) / 2);
}

/* Two products of 2 D flops a pair. */
void sl_attention_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	struct sl_attention_layout l = sl_attention_layout_of(n);

	sl_cost_move(n, out);
	out->flops = 4 * (double)l.d * pairs(n, &l);
}

/* Five: scores again, dp, dq, dk, dv. */
void sl_attention_dx_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	struct sl_attention_layout l = sl_attention_layout_of(n);

	sl_cost_move(n, out);
	out->flops = 10 * (double)l.d * pairs(n, &l);
}

/* in: the types of q and k. */
static void rebind(void *attr, const struct sl_type *in, const struct sl_bind *bind)
{
	struct sl_attention_attr *own = attr;
	int rows = own->heads > 0 ? 1 : 2;
	int64_t heads = own->heads > 0 ? own->heads : in[0].shape.dim[1];
	uint64_t per_sample = (uint64_t)(heads * in[0].shape.dim[rows]);

	own->base = (uint64_t)bind->batch_offset * per_sample *
		    (uint64_t)in[1].shape.dim[rows];
}

const struct sl_op sl_op_attention = {
	.name = "attention",
	.attr_bytes = sizeof(struct sl_attention_attr),
	.fields = sl_attention_fields,
	.n_fields = SL_ATTENTION_FIELDS,
	.min_in = 4,
	.max_in = 4,
	.n_out = 2,
	.optional_in = 1u << 3,
	.low = SL_LOW_ALWAYS,
	.low_in = 7,
	.infer = infer,
	.grad = grad,
	.cost = sl_attention_cost,
	.ref = sl_attention_ref,
	.ref_workspace = sl_attention_ref_workspace,
	.rebind = rebind,
};

const struct sl_op sl_op_attention_dx = {
	.name = "attention_dx",
	.attr_bytes = sizeof(struct sl_attention_attr),
	.fields = sl_attention_fields,
	.n_fields = SL_ATTENTION_FIELDS,
	.min_in = 7,
	.max_in = 7,
	.n_out = 3,
	.optional_in = 1u << 3,
	.infer = dx_infer,
	.cost = sl_attention_dx_cost,
	.ref = sl_attention_dx_ref,
	.ref_workspace = sl_attention_dx_ref_workspace,
	.rebind = rebind,
};

sl_val sl_attention(struct sl_graph *g, sl_val q, sl_val k, sl_val v, sl_val mask,
	const struct sl_attention_attr *attr, sl_val out[2])
{
	struct sl_attention_attr own = SL_ATTR_OR_ZERO(struct sl_attention_attr, attr);
	const sl_val in[] = {q, k, v, mask};

	return sl_graph_add(g, &sl_op_attention, &own, in, 4, out);
}

sl_val sl_attention_dx(struct sl_graph *g, const sl_val qkvm[4], sl_val y, sl_val lse,
	sl_val dy, const struct sl_attention_attr *attr, sl_val out[3])
{
	struct sl_attention_attr own = SL_ATTR_OR_ZERO(struct sl_attention_attr, attr);
	const sl_val in[] = {qkvm[0], qkvm[1], qkvm[2], qkvm[3], y, lse, dy};

	return sl_graph_add(g, &sl_op_attention_dx, &own, in, 7, out);
}
