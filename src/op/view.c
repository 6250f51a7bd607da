/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes changed without arithmetic: reshape (a view), transpose, expand, and full.
 *
 * reshape    dim 0 copies the input's dim at that axis, -1 infers one; same element count
 * transpose  axis i of the result is axis perm[i] of x; a copy, since values are dense
 * expand     NumPy broadcasting to the shape; dim -1 keeps the input's; gradient sum_to
 * full       every element is the value; no inputs, hence no gradient
 */
#include "op/op_util.h"

#include <inttypes.h>
#include <math.h>

#include "base/compiler.h"

static const struct sl_attr_field shape_fields[] = {
	SL_ATTR(struct sl_shape_attr, rank, I64, 1),
	SL_ATTR(struct sl_shape_attr, dim, I64, SL_MAX_RANK),
};

static sl_status check_asked(const struct sl_shape_attr *a)
{
	if (a->rank >= 0 && a->rank <= SL_MAX_RANK)
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE, "rank %" PRId64 " asked for; 0 to %d are possible",
		a->rank, SL_MAX_RANK);
}

/* Puts in what 0 stands for; *hole is the axis of -1, or -1. */
static sl_status resolve(const struct sl_shape *x, struct sl_shape *s, int *hole)
{
	*hole = -1;
	for (int i = 0; i < s->rank; i++) {
		if (s->dim[i] == -1 && *hole >= 0)
			return SL_FAIL(SL_E_SHAPE,
				"axes %d and %d are both -1; one can be inferred", *hole,
				i);
		if (s->dim[i] == -1)
			*hole = i;
		else if (s->dim[i] == 0 && i >= x->rank)
			return SL_FAIL(SL_E_SHAPE,
				"axis %d is 0 (as in the input), but the input has %d "
				"axes",
				i, x->rank);
		else if (s->dim[i] == 0)
			s->dim[i] = x->dim[i];
	}
	return SL_OK;
}

static sl_status reshape_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_shape_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	char text_x[SL_SHAPE_TEXT];
	char text_s[SL_SHAPE_TEXT];
	int64_t rest;
	int hole;

	SL_TRY(check_asked(a));
	struct sl_shape s = sl_shape_from_attr(a);
	SL_TRY(resolve(x, &s, &hole));
	if (hole >= 0)
		s.dim[hole] = 1;
	SL_TRY(sl_shape_check(&s, &rest));
	int64_t count = sl_shape_count(x);
	if (hole >= 0 && rest > 0)
		s.dim[hole] = count / rest;
	if (sl_shape_count(&s) != count || (hole >= 0 && rest == 0)) {
		if (hole >= 0)
			s.dim[hole] = -1;
		return SL_FAIL(SL_E_SHAPE,
			"%s with %" PRId64 " elements cannot become %s",
			sl_shape_print(x, text_x), count, sl_shape_print(&s, text_s));
	}
	out[0] = (struct sl_type){n->in[0].dtype, s};
	return SL_OK;
}

static sl_status reshape_grad(struct sl_grad *c)
{
	const struct sl_type *x = &c->node->in[0];

	/* A zero asked for would mean something else. */
	if (sl_shape_count(&x->shape) == 0)
		c->din[0] = sl_full(c->g, x, 0);
	else
		c->din[0] = sl_reshape(c->g, c->dout[0], &x->shape);
	return SL_OK;
}

static void cost_nothing(const struct sl_node_info *n, struct sl_cost *out)
{
	(void)n;
	*out = (struct sl_cost){0};
}

const struct sl_op sl_op_reshape = {
	.name = "reshape",
	.attr_bytes = sizeof(struct sl_shape_attr),
	.fields = shape_fields,
	.n_fields = SL_COUNT(shape_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.flags = SL_OP_VIEW,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = reshape_infer,
	.grad = reshape_grad,
	.cost = cost_nothing,
};

sl_val sl_reshape(struct sl_graph *g, sl_val x, const struct sl_shape *shape)
{
	struct sl_shape_attr a = sl_shape_to_attr(shape);

	return sl_op_add1(g, &sl_op_reshape, &a, x);
}

static sl_status transpose_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_perm_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	uint32_t seen = 0;

	out[0] = n->in[0];
	for (int i = 0; i < x->rank; i++) {
		int64_t p = a->perm[i];
		if (p < 0 || p >= x->rank || (seen >> p & 1))
			return SL_FAIL(SL_E_INVALID,
				"perm[%d] is %" PRId64
				"; each axis of [0, %d) must come up once",
				i, p, x->rank);
		seen |= 1u << p;
		out[0].shape.dim[i] = x->dim[p];
	}
	return SL_OK;
}

static sl_status transpose_grad(struct sl_grad *c)
{
	const struct sl_perm_attr *a = c->node->attr;
	int inverse[SL_MAX_RANK] = {0};

	for (int i = 0; i < c->node->in[0].shape.rank; i++)
		inverse[a->perm[i]] = i;
	c->din[0] = sl_transpose(c->g, c->dout[0], inverse);
	return SL_OK;
}

static sl_status transpose_ref(const struct sl_call *c)
{
	const struct sl_perm_attr *a = c->node->attr;
	const struct sl_type *x = &c->node->in[0];
	int64_t own[SL_MAX_RANK] = {0};
	int64_t stride[SL_MAX_RANK] = {0};
	struct sl_walk w;

	sl_strides(&x->shape, own);
	for (int i = 0; i < x->shape.rank; i++)
		stride[i] = own[a->perm[i]];
	sl_walk_init(&w, &c->node->out[0].shape);
	int from = sl_walk_strided(&w, stride, 0);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		sl_move(c->out[0], w.i, c->in[0], w.at[from], x->dtype);
	return SL_OK;
}

static const struct sl_attr_field perm_fields[] = {
	SL_ATTR(struct sl_perm_attr, perm, I64, SL_MAX_RANK),
};

const struct sl_op sl_op_transpose = {
	.name = "transpose",
	.attr_bytes = sizeof(struct sl_perm_attr),
	.fields = perm_fields,
	.n_fields = SL_COUNT(perm_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = transpose_infer,
	.grad = transpose_grad,
	.cost = sl_cost_move,
	.ref = transpose_ref,
};

sl_val sl_transpose(struct sl_graph *g, sl_val x, const int perm[SL_MAX_RANK])
{
	const struct sl_shape *s = sl_op_shape(g, x);
	struct sl_perm_attr a = {{0}};

	/* Only as many as x has axes: callers may give a shorter array. */
	for (int i = 0; s && i < s->rank; i++)
		a.perm[i] = perm[i];
	return sl_op_add1(g, &sl_op_transpose, &a, x);
}

static sl_status expand_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_shape_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	struct sl_shape both;
	char text_x[SL_SHAPE_TEXT];
	char text_s[SL_SHAPE_TEXT];

	SL_TRY(check_asked(a));
	struct sl_shape s = sl_shape_from_attr(a);
	for (int i = 0; i < s.rank; i++)
		if (s.dim[i] == -1 && i >= s.rank - x->rank)
			s.dim[i] = x->dim[i - (s.rank - x->rank)];
	SL_TRY(sl_shape_check(&s, NULL));
	SL_TRY(sl_shape_broadcast(x, &s, &both));
	if (!sl_shape_equal(&both, &s))
		return SL_FAIL(SL_E_SHAPE, "%s does not expand to %s",
			sl_shape_print(x, text_x), sl_shape_print(&s, text_s));
	out[0] = (struct sl_type){n->in[0].dtype, s};
	return SL_OK;
}

static sl_status expand_grad(struct sl_grad *c)
{
	c->din[0] = sl_sum_to(c->g, c->dout[0], &c->node->in[0].shape);
	return SL_OK;
}

static sl_status expand_ref(const struct sl_call *c)
{
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	int from = sl_walk_broadcast(&w, &c->node->in[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		sl_move(c->out[0], w.i, c->in[0], w.at[from], c->node->in[0].dtype);
	return SL_OK;
}

const struct sl_op sl_op_expand = {
	.name = "expand",
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_shape_attr),
	.fields = shape_fields,
	.n_fields = SL_COUNT(shape_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = expand_infer,
	.grad = expand_grad,
	.cost = sl_cost_move,
	.ref = expand_ref,
};

sl_val sl_expand(struct sl_graph *g, sl_val x, const struct sl_shape *shape)
{
	struct sl_shape_attr a = sl_shape_to_attr(shape);

	return sl_op_add1(g, &sl_op_expand, &a, x);
}

/* Integers that `full` can say exactly through its double. */
static const double int_bound[SL_DTYPE_COUNT][2] = {
	[SL_I32] = {INT32_MIN, INT32_MAX},
	[SL_I64] = {-0x1p53, 0x1p53},
	[SL_U8] = {0, UINT8_MAX},
};

static sl_status full_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_full_attr *a = n->attr;
	struct sl_shape_attr asked = {.rank = a->rank};

	if (a->dtype < 0 || a->dtype >= SL_DTYPE_COUNT)
		return SL_FAIL(
			SL_E_DTYPE, "element type %" PRId64 " is unknown", a->dtype);
	enum sl_dtype t = (enum sl_dtype)a->dtype;
	SL_TRY(check_asked(&asked));
	struct sl_shape s = {.rank = (int)a->rank};
	for (int i = 0; i < s.rank; i++)
		s.dim[i] = a->dim[i];
	if (!sl_dtype_is_float(t) &&
		!(a->value == floor(a->value) && a->value >= int_bound[t][0] &&
			a->value <= int_bound[t][1]))
		return SL_FAIL(
			SL_E_INVALID, "%g is no value of %s", a->value, sl_dtype_name(t));
	out[0] = (struct sl_type){t, s};
	return SL_OK;
}

static sl_status full_ref(const struct sl_call *c)
{
	const struct sl_full_attr *a = c->node->attr;
	int64_t count = sl_shape_count(&c->node->out[0].shape);

	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, a->value);
	return SL_OK;
}

static const struct sl_attr_field full_fields[] = {
	SL_ATTR(struct sl_full_attr, value, F64, 1),
	SL_ATTR(struct sl_full_attr, dtype, I64, 1),
	SL_ATTR(struct sl_full_attr, rank, I64, 1),
	SL_ATTR(struct sl_full_attr, dim, I64, SL_MAX_RANK),
};

const struct sl_op sl_op_full = {
	.name = "full",
	.attr_bytes = sizeof(struct sl_full_attr),
	.fields = full_fields,
	.n_fields = SL_COUNT(full_fields),
	.n_out = 1,
	.infer = full_infer,
	.cost = sl_cost_move,
	.ref = full_ref,
};

sl_val sl_full(struct sl_graph *g, const struct sl_type *type, double value)
{
	struct sl_shape_attr s = sl_shape_to_attr(&type->shape);
	struct sl_full_attr a = {.value = value, .dtype = type->dtype, .rank = s.rank};

	for (int i = 0; i < SL_MAX_RANK; i++)
		a.dim[i] = s.dim[i];
	return sl_graph_add(g, &sl_op_full, &a, NULL, 0, NULL);
}
