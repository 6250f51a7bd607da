/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bilinear resizing of x [N, C, H, W] to [N, C, size] and its gradient (PyTorch, without
 * smoothing). Output i lies at (i + 0.5) in / out - 0.5 of the input, at least 0; with
 * align_corners at i (in - 1) / (out - 1). The two inputs around it count by distance;
 * beyond the last pixel there is only that one. What has no weight is not read: no NaN
 * comes from it.
 *
 * Linear in x, so the gradient's gradient is resize again. A plane's gradients are added
 * in double in row-major order of dy.
 */
#include <inttypes.h>
#include <string.h>

#include "op/op_util.h"

/* Where one output of an axis lies: between inputs at[0] and at[1]. */
struct between {
	int64_t at[2];
	double weight[2];
};

/* In whole numbers, so that no rounding moves an output past an input. */
static struct between between(
	const struct sl_resize_attr *a, int axis, int64_t i, int64_t in)
{
	int64_t out = a->size[axis];
	int64_t at = a->align_corners ? i * (in - 1) : (2 * i + 1) * in - out;
	int64_t unit = a->align_corners ? out - 1 : 2 * out;

	at = at > 0 && unit > 0 ? at : 0;
	unit = unit > 0 ? unit : 1;
	int64_t low = at / unit;
	double weight = low < in - 1 ? (double)(at % unit) / (double)unit : 0;
	return (struct between){
		.at = {low, low + (low < in - 1)}, .weight = {1 - weight, weight}};
}

static sl_status resized(
	const struct sl_resize_attr *a, const struct sl_shape *x, struct sl_shape *out)
{
	char text[SL_SHAPE_TEXT];

	if (x->rank != 4 || x->dim[2] < 1 || x->dim[3] < 1 || x->dim[2] > INT32_MAX ||
		x->dim[3] > INT32_MAX)
		return SL_FAIL(SL_E_SHAPE,
			"x is %s; it must be [N, C, H, W] with 1 to 2^31 - 1 rows and "
			"columns",
			sl_shape_print(x, text));
	*out = *x;
	for (int i = 0; i < 2; i++) {
		if (a->size[i] < 1 || a->size[i] > INT32_MAX)
			return SL_FAIL(SL_E_INVALID,
				"%s %" PRId64 " asked for; it must be at least 1",
				i ? "width" : "height", a->size[i]);
		out->dim[2 + i] = a->size[i];
	}
	return SL_OK;
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_type y = {.dtype = n->in[0].dtype};

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(resized(n->attr, &n->in[0].shape, &y.shape));
	out[0] = y;
	return SL_OK;
}

static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_resize_dx_attr *a = n->attr;
	struct sl_type x = {n->in[0].dtype, sl_shape_from_attr(&a->shape)};
	struct sl_shape y;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_shape_check(&x.shape, NULL));
	SL_TRY(resized(&a->resize, &x.shape, &y));
	SL_TRY(sl_check_shape(n, 0, &y));
	out[0] = x;
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	if (c->need[0])
		c->din[0] = sl_resize_dx(
			c->g, c->dout[0], c->node->attr, &c->node->in[0].shape);
	return SL_OK;
}

static sl_status dx_grad(struct sl_grad *c)
{
	const struct sl_resize_dx_attr *a = c->node->attr;

	if (c->need[0])
		c->din[0] = sl_resize(c->g, c->dout[0], &a->resize);
	return SL_OK;
}

/* Four products and sums an element of the larger result. */
static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 8 * out->bytes / (double)sl_dtype_bytes(n->in[0].dtype);
}

static sl_status ref(const struct sl_call *c)
{
	const struct sl_shape *x = &c->node->in[0].shape;
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		int64_t x0 = (w.index[0] * x->dim[1] + w.index[1]) * x->dim[2];
		struct between h = between(c->node->attr, 0, w.index[2], x->dim[2]);
		struct between v = between(c->node->attr, 1, w.index[3], x->dim[3]);
		double sum = 0;
		for (int k = 0; k < 4; k++) {
			double weight = h.weight[k / 2] * v.weight[k % 2];
			int64_t at = (x0 + h.at[k / 2]) * x->dim[3] + v.at[k % 2];
			sum += weight > 0 ? weight * sl_in(c, 0, at) : 0;
		}
		sl_put(c, 0, w.i, sum);
	}
	return SL_OK;
}

static size_t dx_workspace(const struct sl_node_info *n)
{
	return (size_t)sl_shape_span(&n->out[0].shape, 2, 4) * sizeof(double);
}

static sl_status dx_ref(const struct sl_call *c)
{
	const struct sl_resize_dx_attr *a = c->node->attr;
	const struct sl_shape *x = &c->node->out[0].shape;
	int64_t size = sl_shape_span(x, 2, 4);
	int64_t size_y = sl_shape_span(&c->node->in[0].shape, 2, 4);
	double *plane = c->workspace;

	for (int64_t p = 0; p < sl_shape_span(x, 0, 2); p++) {
		memset(plane, 0, (size_t)size * sizeof(*plane));
		for (int64_t i = 0; i < 4 * size_y; i++) {
			int64_t at = i / 4;
			int kh = (int)(i % 4) / 2;
			int kw = (int)(i % 2);
			struct between h =
				between(&a->resize, 0, at / a->resize.size[1], x->dim[2]);
			struct between v =
				between(&a->resize, 1, at % a->resize.size[1], x->dim[3]);
			double weight = h.weight[kh] * v.weight[kw];
			plane[h.at[kh] * x->dim[3] + v.at[kw]] +=
				weight > 0 ? weight * sl_in(c, 0, p * size_y + at) : 0;
		}
		for (int64_t i = 0; i < size; i++)
			sl_put(c, 0, p * size + i, plane[i]);
	}
	return SL_OK;
}

/* in0 is dy: the batch of x is its own. */
static void dx_rebind(void *attr, const struct sl_type *in0, const struct sl_bind *bind)
{
	struct sl_resize_dx_attr *own = attr;

	(void)bind;
	sl_rebind_dim0(&own->shape, in0);
}

#define FIELDS(type, prefix) \
	{.name = "size", \
		.kind = SL_ATTR_I64, \
		.offset = offsetof(type, prefix size), \
		.count = 2}, \
	{ \
		.name = "align_corners", .kind = SL_ATTR_BOOL, \
		.offset = offsetof(type, prefix align_corners), .count = 1 \
	}
static const struct sl_attr_field fields[] = {FIELDS(struct sl_resize_attr, )};
static const struct sl_attr_field dx_fields[] = {
	FIELDS(struct sl_resize_dx_attr, resize.),
	SL_ATTR_SHAPE(struct sl_resize_dx_attr, shape),
};

const struct sl_op sl_op_resize = {
	.name = "resize",
	.attr_bytes = sizeof(struct sl_resize_attr),
	.fields = fields,
	.n_fields = 2,
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = infer,
	.grad = grad,
	.cost = cost,
	.ref = ref,
};

const struct sl_op sl_op_resize_dx = {
	.name = "resize_dx",
	.attr_bytes = sizeof(struct sl_resize_dx_attr),
	.fields = dx_fields,
	.n_fields = 4,
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = dx_infer,
	.grad = dx_grad,
	.cost = cost,
	.ref = dx_ref,
	.ref_workspace = dx_workspace,
	.rebind = dx_rebind,
};

sl_val sl_resize(struct sl_graph *g, sl_val x, const struct sl_resize_attr *attr)
{
	return sl_op_add1(g, &sl_op_resize, attr, x);
}

sl_val sl_resize_dx(struct sl_graph *g, sl_val dy, const struct sl_resize_attr *attr,
	const struct sl_shape *x_shape)
{
	struct sl_resize_dx_attr own = {.shape = sl_shape_to_attr(x_shape)};

	if (attr)
		own.resize = *attr;
	return sl_op_add1(g, &sl_op_resize_dx, &own, dy);
}
