/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max and average pooling over windows of x [N, C, H, W], with PyTorch's shape rule:
 * OH = (H + top + bottom - kernel) / stride + 1, rounded down, or up with ceil_mode,
 * where a window that would start beyond input and left padding is dropped.
 *
 * 1. Each padding is smaller than the kernel, so each window holds an element: no 0/0, no
 * -inf out of nothing.
 * 2. Max: padding counts as -inf; NaN wins over everything, and among equals (or NaNs)
 * the first in row-major order wins. The gradient finds the winner again from x and adds
 * up where windows overlap; where they do not, it may take the bytes of x.
 * 3. Average: divides by the elements inside the input or, with count_include_pad, inside
 * the padded input; what ceil_mode adds beyond the padding counts in neither.
 */
#include "op/op_util.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SETTING_MAX INT32_MAX

/* Attributes of avg_pool2d_dx; begin with those of the pool. */
struct avg_dx_attr {
	struct sl_pool_attr pool;
	struct sl_shape_attr shape; /* of x */
};

#define FIELD(type, prefix, member, kind_, count_) \
	{ \
		.name = #member, .kind = SL_ATTR_##kind_, \
		.offset = offsetof(type, prefix member), .count = (count_) \
	}
#define POOL_FIELDS(type, prefix) \
	FIELD(type, prefix, kernel, I64, 2), FIELD(type, prefix, stride, I64, 2), \
		FIELD(type, prefix, pad, I64, 4), \
		FIELD(type, prefix, ceil_mode, BOOL, 1), \
		FIELD(type, prefix, count_include_pad, BOOL, 1)

static const struct sl_attr_field fields[] = {POOL_FIELDS(struct sl_pool_attr, )};
static const struct sl_attr_field avg_dx_fields[] = {
	POOL_FIELDS(struct avg_dx_attr, pool.),
	SL_ATTR_SHAPE(struct avg_dx_attr, shape),
};

/* Nodes hold strides that are set. */
static struct sl_pool_attr normal(const struct sl_pool_attr *attr)
{
	struct sl_pool_attr a = SL_ATTR_OR_ZERO(struct sl_pool_attr, attr);

	for (int i = 0; i < 2; i++)
		a.stride[i] = a.stride[i] ? a.stride[i] : a.kernel[i];
	return a;
}

static sl_status check_attr(const struct sl_pool_attr *a)
{
	for (int i = 0; i < 2; i++) {
		if (a->kernel[i] < 1 || a->kernel[i] > SETTING_MAX)
			return SL_FAIL(SL_E_INVALID,
				"kernel size %" PRId64 "; it must be at least 1",
				a->kernel[i]);
		if (a->stride[i] < 1 || a->stride[i] > SETTING_MAX)
			return SL_FAIL(SL_E_INVALID,
				"stride %" PRId64 "; it must be at least 1",
				a->stride[i]);
	}
	for (int i = 0; i < 4; i++)
		if (a->pad[i] < 0 || a->pad[i] >= a->kernel[i % 2])
			return SL_FAIL(SL_E_INVALID,
				"padding %" PRId64 " with a kernel of %" PRId64
				"; it must be at least 0 and less than the kernel",
				a->pad[i], a->kernel[i % 2]);
	return SL_OK;
}

static sl_status pool_shape(
	const struct sl_pool_attr *a, const struct sl_shape *x, struct sl_shape *out)
{
	struct sl_shape y = *x;
	char text[SL_SHAPE_TEXT];

	SL_TRY(check_attr(a));
	if (x->rank != 4)
		return SL_FAIL(SL_E_SHAPE, "x is %s; it must be [N, C, H, W]",
			sl_shape_print(x, text));
	for (int i = 0; i < 2; i++) {
		int64_t size = x->dim[2 + i];
		int64_t room = size + a->pad[i] + a->pad[2 + i] - a->kernel[i];
		room += a->ceil_mode ? a->stride[i] - 1 : 0;
		if (size < 1 || room < 0)
			return SL_FAIL(SL_E_SHAPE,
				"x %s: a window of %" PRId64
				" does not fit in a padded %s of %" PRId64,
				sl_shape_print(x, text), a->kernel[i],
				i ? "width" : "height", size + a->pad[i] + a->pad[2 + i]);
		y.dim[2 + i] = room / a->stride[i] + 1;
		if (a->ceil_mode && (y.dim[2 + i] - 1) * a->stride[i] >= size + a->pad[i])
			y.dim[2 + i]--;
	}
	*out = y;
	return SL_OK;
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_type y = {.dtype = n->in[0].dtype};

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(pool_shape(n->attr, &n->in[0].shape, &y.shape));
	out[0] = y;
	return SL_OK;
}

static sl_status max_dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_shape y;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_dtype_as(n, 1, 0));
	SL_TRY(pool_shape(n->attr, &n->in[0].shape, &y));
	SL_TRY(sl_check_shape(n, 1, &y));
	out[0] = n->in[0];
	return SL_OK;
}

static sl_status avg_dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct avg_dx_attr *attr = n->attr;
	struct sl_type x = {n->in[0].dtype, sl_shape_from_attr(&attr->shape)};
	struct sl_shape y;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_shape_check(&x.shape, NULL));
	SL_TRY(pool_shape(&attr->pool, &x.shape, &y));
	SL_TRY(sl_check_shape(n, 0, &y));
	out[0] = x;
	return SL_OK;
}

static sl_status max_grad(struct sl_grad *c)
{
	if (c->need[0])
		c->din[0] = sl_max_pool2d_dx(c->g, c->in[0], c->dout[0], c->node->attr);
	return SL_OK;
}

static sl_status avg_grad(struct sl_grad *c)
{
	if (c->need[0])
		c->din[0] = sl_avg_pool2d_dx(
			c->g, c->dout[0], c->node->attr, &c->node->in[0].shape);
	return SL_OK;
}

static sl_status avg_dx_grad(struct sl_grad *c)
{
	const struct avg_dx_attr *attr = c->node->attr;

	if (c->need[0])
		c->din[0] = sl_avg_pool2d(c->g, c->dout[0], &attr->pool);
	return SL_OK;
}

/* The part of a window inside the input, and what an average divides by. */
struct window {
	int64_t from[2], to[2];
	double count;
};

static struct window window_at(
	const struct sl_pool_attr *a, const struct sl_shape *x, int64_t oh, int64_t ow)
{
	const int64_t at[] = {oh, ow};
	struct window w;
	int64_t real = 1;
	int64_t padded = 1;

	for (int i = 0; i < 2; i++) {
		int64_t size = x->dim[2 + i];
		int64_t start = at[i] * a->stride[i] - a->pad[i];
		int64_t end = start + a->kernel[i];
		int64_t end_padded =
			end < size + a->pad[2 + i] ? end : size + a->pad[2 + i];
		w.from[i] = start > 0 ? start : 0;
		w.to[i] = end < size ? end : size;
		real *= w.to[i] - w.from[i];
		padded *= end_padded - start;
	}
	w.count = (double)(a->count_include_pad ? padded : real);
	return w;
}

/* Offset in the plane of the first largest element, or of the first NaN. */
static int64_t winner(
	const struct sl_call *c, const struct window *w, int64_t x0, int64_t width)
{
	int64_t best = w->from[0] * width + w->from[1];
	double most = sl_in(c, 0, x0 + best);

	for (int64_t h = w->from[0]; h < w->to[0]; h++) {
		for (int64_t i = w->from[1]; i < w->to[1]; i++) {
			double v = sl_in(c, 0, x0 + h * width + i);
			if (v > most || (isnan(v) && !isnan(most))) {
				most = v;
				best = h * width + i;
			}
		}
	}
	return best;
}

static double average(
	const struct sl_call *c, const struct window *w, int64_t x0, int64_t width)
{
	double sum = 0;

	for (int64_t h = w->from[0]; h < w->to[0]; h++)
		for (int64_t i = w->from[1]; i < w->to[1]; i++)
			sum += sl_in(c, 0, x0 + h * width + i);
	return sum / w->count;
}

static sl_status max_ref(const struct sl_call *c)
{
	const struct sl_shape *x = &c->node->in[0].shape;
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		struct window win = window_at(c->node->attr, x, w.index[2], w.index[3]);
		int64_t x0 =
			(w.index[0] * x->dim[1] + w.index[1]) * x->dim[2] * x->dim[3];
		sl_put(c, 0, w.i, sl_in(c, 0, x0 + winner(c, &win, x0, x->dim[3])));
	}
	return SL_OK;
}

static sl_status avg_ref(const struct sl_call *c)
{
	const struct sl_shape *x = &c->node->in[0].shape;
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		struct window win = window_at(c->node->attr, x, w.index[2], w.index[3]);
		int64_t x0 =
			(w.index[0] * x->dim[1] + w.index[1]) * x->dim[2] * x->dim[3];
		sl_put(c, 0, w.i, average(c, &win, x0, x->dim[3]));
	}
	return SL_OK;
}

static void spread(const struct window *w, double each, double *plane, int64_t width)
{
	for (int64_t h = w->from[0]; h < w->to[0]; h++)
		for (int64_t i = w->from[1]; i < w->to[1]; i++)
			plane[h * width + i] += each;
}

/* Gradients of one plane of x, added up in double before they are rounded. */
static void plane_dx(
	const struct sl_call *c, const struct sl_pool_attr *attr, bool max, int64_t p)
{
	const struct sl_shape *x = &c->node->out[0].shape;
	const struct sl_shape *y = &c->node->in[max ? 1 : 0].shape;
	int64_t size = x->dim[2] * x->dim[3];
	int64_t size_y = y->dim[2] * y->dim[3];
	double *plane = c->workspace;

	memset(plane, 0, (size_t)size * sizeof(*plane));
	for (int64_t i = 0; i < size_y; i++) {
		struct window w = window_at(attr, x, i / y->dim[3], i % y->dim[3]);
		double dy = sl_in(c, max ? 1 : 0, p * size_y + i);
		if (max)
			plane[winner(c, &w, p * size, x->dim[3])] += dy;
		else
			spread(&w, dy / w.count, plane, x->dim[3]);
	}
	for (int64_t i = 0; i < size; i++)
		sl_put(c, 0, p * size + i, plane[i]);
}

static size_t dx_workspace(const struct sl_node_info *n)
{
	const struct sl_shape *x = &n->out[0].shape;

	return (size_t)(x->dim[2] * x->dim[3]) * sizeof(double);
}

static sl_status max_dx_ref(const struct sl_call *c)
{
	int64_t planes = sl_shape_span(&c->node->out[0].shape, 0, 2);

	for (int64_t p = 0; p < planes; p++)
		plane_dx(c, c->node->attr, true, p);
	return SL_OK;
}

/* A window's winner is found before anything in its reach is written. */
static bool is_apart(const struct sl_node_info *n)
{
	const struct sl_pool_attr *attr = n->attr;

	return attr->stride[0] >= attr->kernel[0] && attr->stride[1] >= attr->kernel[1];
}

static sl_status avg_dx_ref(const struct sl_call *c)
{
	const struct avg_dx_attr *attr = c->node->attr;
	int64_t planes = sl_shape_span(&c->node->out[0].shape, 0, 2);

	for (int64_t p = 0; p < planes; p++)
		plane_dx(c, &attr->pool, false, p);
	return SL_OK;
}

static void cost_of(const struct sl_node_info *n, const struct sl_pool_attr *attr,
	const struct sl_shape *y, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = (double)sl_shape_count(y) * (double)attr->kernel[0] *
		     (double)attr->kernel[1];
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	cost_of(n, n->attr, &n->out[0].shape, out);
}

static void max_dx_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	cost_of(n, n->attr, &n->in[1].shape, out);
}

static void avg_dx_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	const struct avg_dx_attr *attr = n->attr;

	cost_of(n, &attr->pool, &n->in[0].shape, out);
}

/* in0 is dy: the batch of x is its own. */
static void avg_dx_rebind(
	void *attr, const struct sl_type *in0, const struct sl_bind *bind)
{
	struct avg_dx_attr *own = attr;

	(void)bind;
	sl_rebind_dim0(&own->shape, in0);
}

const struct sl_op sl_op_max_pool2d = {
	.name = "max_pool2d",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_pool_attr),
	.fields = fields,
	.n_fields = 5,
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = infer,
	.grad = max_grad,
	.cost = cost,
	.ref = max_ref,
};

const struct sl_op sl_op_max_pool2d_dx = {
	.name = "max_pool2d_dx",
	.nhwc_in = 3,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_pool_attr),
	.fields = fields,
	.n_fields = 5,
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.inplace_in = 1,
	.inplace_ok = is_apart,
	.infer = max_dx_infer,
	.cost = max_dx_cost,
	.ref = max_dx_ref,
	.ref_workspace = dx_workspace,
};

const struct sl_op sl_op_avg_pool2d = {
	.name = "avg_pool2d",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_pool_attr),
	.fields = fields,
	.n_fields = 5,
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = infer,
	.grad = avg_grad,
	.cost = cost,
	.ref = avg_ref,
};

const struct sl_op sl_op_avg_pool2d_dx = {
	.name = "avg_pool2d_dx",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct avg_dx_attr),
	.fields = avg_dx_fields,
	.n_fields = 7,
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = avg_dx_infer,
	.grad = avg_dx_grad,
	.cost = avg_dx_cost,
	.ref = avg_dx_ref,
	.ref_workspace = dx_workspace,
	.rebind = avg_dx_rebind,
};

sl_val sl_max_pool2d(struct sl_graph *g, sl_val x, const struct sl_pool_attr *attr)
{
	struct sl_pool_attr own = normal(attr);

	return sl_op_add1(g, &sl_op_max_pool2d, &own, x);
}

sl_val sl_max_pool2d_dx(
	struct sl_graph *g, sl_val x, sl_val dy, const struct sl_pool_attr *attr)
{
	struct sl_pool_attr own = normal(attr);

	return sl_op_add2(g, &sl_op_max_pool2d_dx, &own, x, dy);
}

sl_val sl_avg_pool2d(struct sl_graph *g, sl_val x, const struct sl_pool_attr *attr)
{
	struct sl_pool_attr own = normal(attr);

	return sl_op_add1(g, &sl_op_avg_pool2d, &own, x);
}

sl_val sl_avg_pool2d_dx(struct sl_graph *g, sl_val dy, const struct sl_pool_attr *attr,
	const struct sl_shape *x_shape)
{
	struct avg_dx_attr own = {normal(attr), sl_shape_to_attr(x_shape)};

	return sl_op_add1(g, &sl_op_avg_pool2d_dx, &own, dy);
}

/* [N, C, H, W] to [N, C, 1, 1]; no size of x is in its attributes, so it binds to any. */
sl_val sl_global_avg_pool2d(struct sl_graph *g, sl_val x)
{
	return sl_mean(g, x, &(struct sl_reduce_attr){.axes = 0xc, .keep_dims = true});
}
