/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions over a set of axes (none named: all), and sum_to, the adjoint of
 * broadcasting.
 *
 * sum of nothing is 0, mean of nothing NaN (as PyTorch), max of nothing an error. max
 * lets NaN through and shares its gradient equally among ties (PyTorch amax); where the
 * largest is NaN the gradient is NaN. References add in double and round once.
 * Sums and means of bf16 are f32: they are statistics and gradients of parameters.
 */
#include "op/op_util.h"

#include <math.h>

#include "base/compiler.h"

static const struct sl_attr_field reduce_fields[] = {
	SL_ATTR(struct sl_reduce_attr, axes, U32, 1),
	SL_ATTR(struct sl_reduce_attr, keep_dims, BOOL, 1),
};

static bool is_reduced(const struct sl_reduce_attr *a, int axis)
{
	return a->axes == 0 || (a->axes >> axis & 1);
}

/* The result's shape with reduced axes as 1. */
static struct sl_shape kept_shape(
	const struct sl_reduce_attr *a, const struct sl_shape *x)
{
	struct sl_shape s = *x;

	for (int i = 0; i < s.rank; i++)
		if (is_reduced(a, i))
			s.dim[i] = 1;
	return s;
}

static sl_status reduce_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_reduce_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;

	SL_TRY(sl_check_float(n, 0));
	if (a->axes >> x->rank) {
		char text[SL_SHAPE_TEXT];
		return SL_FAIL(SL_E_INVALID,
			"axes 0x%x name an axis that %s does not have", (unsigned)a->axes,
			sl_shape_print(x, text));
	}
	struct sl_shape kept = kept_shape(a, x);
	struct sl_shape s = {0};
	for (int i = 0; i < x->rank; i++)
		if (a->keep_dims || !is_reduced(a, i))
			s.dim[s.rank++] = kept.dim[i];
	out[0] = (struct sl_type){.dtype = sl_dtype_wide(n->in[0].dtype), .shape = s};
	return SL_OK;
}

static sl_status max_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(reduce_infer(n, out));
	out[0].dtype = n->in[0].dtype;
	if (sl_shape_count(&n->in[0].shape) == 0 && sl_shape_count(&out[0].shape) > 0) {
		char text[SL_SHAPE_TEXT];
		return SL_FAIL(SL_E_SHAPE, "the largest of no elements: the input is %s",
			sl_shape_print(&n->in[0].shape, text));
	}
	return SL_OK;
}

static sl_status max_dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_type y;

	SL_TRY(max_infer(n, &y));
	for (int i = 1; i < 3; i++) {
		SL_TRY(sl_check_dtype_as(n, i, 0));
		SL_TRY(sl_check_shape(n, i, &y.shape));
	}
	out[0] = n->in[0];
	return SL_OK;
}

/* A walk over x whose operand 0 is the reduced result. */
static void walk_both(struct sl_walk *w, const struct sl_node_info *n)
{
	int64_t stride[SL_MAX_RANK];
	struct sl_shape kept = kept_shape(n->attr, &n->in[0].shape);

	sl_strides(&kept, stride);
	for (int i = 0; i < kept.rank; i++)
		if (is_reduced(n->attr, i))
			stride[i] = 0;
	sl_walk_init(w, &n->in[0].shape);
	sl_walk_strided(w, stride, 0);
}

static size_t out_workspace(const struct sl_node_info *n)
{
	return (size_t)sl_shape_count(&n->out[0].shape) * sizeof(double);
}

static size_t y_workspace(const struct sl_node_info *n)
{
	return (size_t)sl_shape_count(&n->in[1].shape) * sizeof(double);
}

static void clear(double *acc, int64_t count, double v)
{
	for (int64_t i = 0; i < count; i++)
		acc[i] = v;
}

static sl_status add_up(const struct sl_call *c, struct sl_walk *w, double scale)
{
	double *acc = c->workspace;
	int64_t count = sl_shape_count(&c->node->out[0].shape);

	clear(acc, count, 0);
	for (; sl_walk_more(w); sl_walk_next(w))
		acc[w->at[0]] += sl_in(c, 0, w->i);
	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, acc[i] * scale);
	return SL_OK;
}

/* Elements of x for each one of the result. */
static double group_size(const struct sl_node_info *n)
{
	double size = 1;

	for (int i = 0; i < n->in[0].shape.rank; i++)
		if (is_reduced(n->attr, i))
			size *= (double)n->in[0].shape.dim[i];
	return size;
}

static sl_status sum_ref(const struct sl_call *c)
{
	struct sl_walk w;

	walk_both(&w, c->node);
	return add_up(c, &w, 1);
}

static sl_status mean_ref(const struct sl_call *c)
{
	struct sl_walk w;

	walk_both(&w, c->node);
	return add_up(c, &w, 1 / group_size(c->node));
}

static sl_status max_ref(const struct sl_call *c)
{
	struct sl_walk w;
	double *acc = c->workspace;
	int64_t count = sl_shape_count(&c->node->out[0].shape);

	clear(acc, count, -HUGE_VAL);
	walk_both(&w, c->node);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		double v = sl_in(c, 0, w.i);
		if (v > acc[w.at[0]] || isnan(v))
			acc[w.at[0]] = v;
	}
	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, acc[i]);
	return SL_OK;
}

static sl_status max_dx_ref(const struct sl_call *c)
{
	struct sl_walk w;
	double *ties = c->workspace;

	clear(ties, sl_shape_count(&c->node->in[1].shape), 0);
	walk_both(&w, c->node);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		if (sl_in(c, 0, w.i) == sl_in(c, 1, w.at[0]))
			ties[w.at[0]]++;
	walk_both(&w, c->node);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		bool wins = sl_in(c, 0, w.i) == sl_in(c, 1, w.at[0]);
		/* No winner means that the largest is NaN: 0 / 0. */
		sl_put(c, 0, w.i, (wins ? sl_in(c, 2, w.at[0]) : 0) / ties[w.at[0]]);
	}
	return SL_OK;
}

/* v, of the result's shape, repeated over the reduced axes. */
static sl_val spread(struct sl_grad *c, sl_val v)
{
	const struct sl_type *x = &c->node->in[0];
	const struct sl_reduce_attr *a = c->node->attr;
	struct sl_shape kept = kept_shape(a, &x->shape);

	/* Nothing to repeat, and a 0 in a reshape would mean something else. */
	if (sl_shape_count(&x->shape) == 0)
		return sl_full(c->g, x, 0);
	v = sl_grad_as(c, 0, v);
	if (!sl_shape_equal(&kept, &c->node->out[0].shape))
		v = sl_reshape(c->g, v, &kept);
	return sl_shape_equal(&kept, &x->shape) ? v : sl_expand(c->g, v, &x->shape);
}

static sl_status sum_grad(struct sl_grad *c)
{
	c->din[0] = spread(c, c->dout[0]);
	return SL_OK;
}

static sl_status mean_grad(struct sl_grad *c)
{
	if (sl_shape_count(&c->node->in[0].shape) == 0)
		c->din[0] = sl_full(c->g, &c->node->in[0], 0);
	else
		c->din[0] = spread(
			c, sl_affine(c->g, c->dout[0], 1 / group_size(c->node), 0));
	return SL_OK;
}

static sl_status max_grad(struct sl_grad *c)
{
	c->din[0] = sl_max_dx(c->g, c->in[0], c->out[0], c->dout[0], c->node->attr);
	return SL_OK;
}

#define REDUCE(op, infer_fn, low_) \
	const struct sl_op sl_op_##op = { \
		.name = #op, \
		.attr_bytes = sizeof(struct sl_reduce_attr), \
		.fields = reduce_fields, \
		.n_fields = SL_COUNT(reduce_fields), \
		.min_in = 1, \
		.max_in = 1, \
		.n_out = 1, \
		.low = (low_), \
		.low_in = 1, \
		.nhwc_in = 1, \
		.infer = infer_fn, \
		.grad = op##_grad, \
		.cost = cost, \
		.ref = op##_ref, \
		.ref_workspace = out_workspace, \
	}; \
	sl_val sl_##op(struct sl_graph *g, sl_val x, const struct sl_reduce_attr *attr) \
	{ \
		struct sl_reduce_attr a = SL_ATTR_OR_ZERO(struct sl_reduce_attr, attr); \
		return sl_op_add1(g, &sl_op_##op, &a, x); \
	}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	out->flops = (double)sl_shape_count(&n->in[0].shape);
	out->bytes = (double)sl_type_bytes(&n->in[0]) + (double)sl_type_bytes(&n->out[0]);
}

REDUCE(sum, reduce_infer, SL_LOW_FOLLOWS)
REDUCE(mean, reduce_infer, SL_LOW_FOLLOWS)
REDUCE(max, max_infer, SL_LOW_NOT)

const struct sl_op sl_op_max_dx = {
	.name = "max_dx",
	.attr_bytes = sizeof(struct sl_reduce_attr),
	.fields = reduce_fields,
	.n_fields = SL_COUNT(reduce_fields),
	.min_in = 3,
	.max_in = 3,
	.n_out = 1,
	.infer = max_dx_infer,
	.ref = max_dx_ref,
	.ref_workspace = y_workspace,
};

sl_val sl_max_dx(struct sl_graph *g, sl_val x, sl_val y, sl_val dy,
	const struct sl_reduce_attr *attr)
{
	struct sl_reduce_attr a = SL_ATTR_OR_ZERO(struct sl_reduce_attr, attr);
	return sl_op_add3(g, &sl_op_max_dx, &a, x, y, dy);
}

static const struct sl_attr_field sum_to_fields[] = {
	SL_ATTR(struct sl_shape_attr, rank, I64, 1),
	SL_ATTR(struct sl_shape_attr, dim, I64, SL_MAX_RANK),
};

static sl_status sum_to_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_shape to = sl_shape_from_attr(n->attr);
	struct sl_shape both;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_shape_check(&to, NULL));
	SL_TRY(sl_shape_broadcast(&n->in[0].shape, &to, &both));
	if (!sl_shape_equal(&both, &n->in[0].shape)) {
		char text_x[SL_SHAPE_TEXT];
		char text_to[SL_SHAPE_TEXT];
		return SL_FAIL(SL_E_SHAPE,
			"cannot sum %s to %s, which does not broadcast to it",
			sl_shape_print(&n->in[0].shape, text_x),
			sl_shape_print(&to, text_to));
	}
	out[0] = (struct sl_type){.dtype = sl_dtype_wide(n->in[0].dtype), .shape = to};
	return SL_OK;
}

static sl_status sum_to_ref(const struct sl_call *c)
{
	struct sl_walk w;

	sl_walk_init(&w, &c->node->in[0].shape);
	sl_walk_broadcast(&w, &c->node->out[0].shape);
	return add_up(c, &w, 1);
}

static sl_status sum_to_grad(struct sl_grad *c)
{
	c->din[0] = sl_expand(c->g, sl_grad_as(c, 0, c->dout[0]), &c->node->in[0].shape);
	return SL_OK;
}

const struct sl_op sl_op_sum_to = {
	.name = "sum_to",
	.attr_bytes = sizeof(struct sl_shape_attr),
	.fields = sum_to_fields,
	.n_fields = SL_COUNT(sum_to_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = sum_to_infer,
	.grad = sum_to_grad,
	.cost = cost,
	.ref = sum_to_ref,
	.ref_workspace = out_workspace,
};

sl_val sl_sum_to(struct sl_graph *g, sl_val x, const struct sl_shape *shape)
{
	struct sl_shape_attr a = sl_shape_to_attr(shape);
	return sl_op_add1(g, &sl_op_sum_to, &a, x);
}
