/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the prologue of an inference graph does to a convolution's weights, once and in
 * place.
 *
 * 1. fold_norm: in[0] w [O, ...], in[1] beta [O], in[2] gamma, in[3] mean, in[4] var,
 * in[5] bias or none. With s = gamma / sqrt(var + eps): w[o] becomes w[o] s, beta becomes
 * beta
 * + (bias - mean) s, so that conv(x, w) + beta is what the batch norm gave.
 * 2. conv_pack: w [O, C, KH, KW] into blocks of 16 outputs (op_attr.h): 16 outputs are
 * the same bytes before and after.
 */
#include "op/conv_util.h"

#include <math.h>
#include <string.h>

static const struct sl_attr_field eps_fields[] = {
	SL_ATTR(struct sl_eps_attr, eps, F64, 1),
};

bool sl_conv_packs(const struct sl_conv_attr *attr, const struct sl_shape *w)
{
	int64_t b = SL_PACK_BLOCK, groups = attr->groups ? attr->groups : 1;

	if (w->rank != 4 || w->dim[0] % b || w->dim[0] == 0 || w->dim[1] == 0)
		return false;
	if (w->dim[1] % b == 0)
		return w->dim[0] / groups % b == 0;
	if (w->dim[1] > 4)
		return false;
	return groups == 1 || (w->dim[1] == 1 && groups == w->dim[0]);
}

static sl_status fold_infer(const struct sl_node_info *n, struct sl_type *out)
{
	(void)out;
	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_min_rank(n, 0, 1));
	for (int i = 1; i < 6; i++) {
		if (!sl_node_has(n, i))
			continue;
		SL_TRY(sl_check_dtype_as(n, i, 0));
		SL_TRY(sl_check_shape(n, i, &SL_SHAPE(n->in[0].shape.dim[0])));
	}
	return SL_OK;
}

/* Writes element i of an input that the node changes. */
static void put_in(const struct sl_call *c, int k, int64_t i, double v)
{
	sl_set(c->in[k], c->node->in[k].dtype, i, v);
}

static sl_status fold_ref(const struct sl_call *c)
{
	const struct sl_eps_attr *a = c->node->attr;
	const struct sl_shape *w = &c->node->in[0].shape;
	int64_t inner = sl_shape_span(w, 1, w->rank);

	for (int64_t o = 0; o < w->dim[0]; o++) {
		double s = sl_in(c, 2, o) / sqrt(sl_in(c, 4, o) + a->eps);
		double bias = c->in[5] ? sl_in(c, 5, o) : 0;
		put_in(c, 1, o, sl_in(c, 1, o) + (bias - sl_in(c, 3, o)) * s);
		for (int64_t i = o * inner; i < (o + 1) * inner; i++)
			put_in(c, 0, i, sl_in(c, 0, i) * s);
	}
	return SL_OK;
}

static sl_status pack_infer(const struct sl_node_info *n, struct sl_type *out)
{
	char text[SL_SHAPE_TEXT];

	(void)out;
	SL_TRY(sl_check_float(n, 0));
	if (!sl_conv_packs(&(struct sl_conv_attr){0}, &n->in[0].shape))
		return SL_FAIL(SL_E_SHAPE,
			"w is %s; [O, C, KH, KW] with O a multiple of 16 and C, too, or "
			"at most 4",
			sl_shape_print(&n->in[0].shape, text));
	return SL_OK;
}

static size_t pack_workspace(const struct sl_node_info *n)
{
	return (size_t)sl_type_bytes(&n->in[0]);
}

/* Where element (o, i, k) of w goes. */
static int64_t packed_at(const struct sl_shape *w, const int64_t at[4])
{
	int64_t b = SL_PACK_BLOCK, c = w->dim[1], area = w->dim[2] * w->dim[3];
	int64_t k = at[2] * w->dim[3] + at[3];

	if (c % b)
		return ((at[0] / b * area + k) * c + at[1]) * b + at[0] % b;
	return (((at[0] / b * (c / b) + at[1] / b) * area + k) * b + at[1] % b) * b +
	       at[0] % b;
}

static sl_status pack_ref(const struct sl_call *c)
{
	const struct sl_shape *s = &c->node->in[0].shape;
	struct sl_walk w;

	if (sl_shape_count(s) == 0)
		return SL_OK;
	memcpy(c->workspace, c->in[0], (size_t)sl_type_bytes(&c->node->in[0]));
	sl_walk_init(&w, s);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		sl_move(c->in[0], packed_at(s, w.index), c->workspace, w.i,
			c->node->in[0].dtype);
	return SL_OK;
}

const struct sl_op sl_op_fold_norm = {
	.name = "fold_norm",
	.attr_bytes = sizeof(struct sl_eps_attr),
	.fields = eps_fields,
	.n_fields = 1,
	.min_in = 6,
	.max_in = 6,
	.optional_in = 1u << 5,
	.mutates = 3,
	.flags = SL_OP_IMPURE,
	.infer = fold_infer,
	.cost = sl_cost_move,
	.ref = fold_ref,
};

const struct sl_op sl_op_conv_pack = {
	.name = "conv_pack",
	.min_in = 1,
	.max_in = 1,
	.mutates = 1,
	.flags = SL_OP_IMPURE,
	.infer = pack_infer,
	.cost = sl_cost_move,
	.ref = pack_ref,
	.ref_workspace = pack_workspace,
};

sl_val sl_fold_norm(struct sl_graph *g, const sl_val in[6], double eps)
{
	return sl_graph_add(g, &sl_op_fold_norm, &(struct sl_eps_attr){eps}, in, 6, NULL);
}

sl_val sl_conv_pack(struct sl_graph *g, sl_val w)
{
	return sl_graph_add(g, &sl_op_conv_pack, NULL, &w, 1, NULL);
}
