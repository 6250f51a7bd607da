/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of conv2d: conv2d_dx (dy, w) -> x's shape, conv2d_dw (x, dy) -> w's shape.
 * Both are linear in each operand, so their own gradients are convolutions again.
 *
 * Each element of the result is gathered in one fixed order; inputs that no window
 * touches (a stride that skips them) get zero. Of bf16, dx is bf16 and dw is f32.
 */
#include "op/conv_util.h"

#define FIELD(member, count_) \
	{ \
		.name = #member, .kind = SL_ATTR_I64, \
		.offset = offsetof(struct sl_conv_dx_attr, conv.member), \
		.count = (count_) \
	}

static const struct sl_attr_field fields[] = {
	FIELD(stride, 2),
	FIELD(pad, 4),
	FIELD(dilation, 2),
	FIELD(groups, 1),
	SL_ATTR_SHAPE(struct sl_conv_dx_attr, shape),
};

static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_conv_dx_attr *attr = n->attr;
	struct sl_type x = {n->in[0].dtype, sl_shape_from_attr(&attr->shape)};
	struct sl_shape y;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_wide(n, 1));
	SL_TRY(sl_shape_check(&x.shape, NULL));
	SL_TRY(sl_conv_shape(&attr->conv, &x.shape, &n->in[1].shape, &y));
	SL_TRY(sl_check_shape(n, 0, &y));
	out[0] = x;
	return SL_OK;
}

static sl_status dw_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_conv_dx_attr *attr = n->attr;
	struct sl_type w = {
		sl_dtype_wide(n->in[0].dtype), sl_shape_from_attr(&attr->shape)};
	struct sl_shape y;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_dtype_as(n, 1, 0));
	SL_TRY(sl_shape_check(&w.shape, NULL));
	SL_TRY(sl_conv_shape(&attr->conv, &n->in[0].shape, &w.shape, &y));
	SL_TRY(sl_check_shape(n, 1, &y));
	out[0] = w;
	return SL_OK;
}

static sl_status dx_grad(struct sl_grad *c)
{
	const struct sl_conv_dx_attr *attr = c->node->attr;
	sl_val ddx = c->dout[0];

	if (c->need[0])
		c->din[0] = sl_conv2d(c->g, ddx, c->in[1], SL_VAL_NONE, &attr->conv);
	if (c->need[1])
		c->din[1] = sl_conv2d_dw(
			c->g, ddx, c->in[0], &attr->conv, &c->node->in[1].shape);
	return SL_OK;
}

static sl_status dw_grad(struct sl_grad *c)
{
	const struct sl_conv_dx_attr *attr = c->node->attr;
	sl_val ddw = c->dout[0];

	if (c->need[0])
		c->din[0] = sl_conv2d_dx(
			c->g, c->in[1], ddw, &attr->conv, &c->node->in[0].shape);
	if (c->need[1])
		c->din[1] = sl_conv2d(c->g, c->in[0], ddw, SL_VAL_NONE, &attr->conv);
	return SL_OK;
}

static struct sl_conv_geom dx_geom(const struct sl_node_info *n)
{
	const struct sl_conv_dx_attr *attr = n->attr;

	return sl_conv_geom(
		&attr->conv, &n->out[0].shape, &n->in[1].shape, &n->in[0].shape);
}

static struct sl_conv_geom dw_geom(const struct sl_node_info *n)
{
	const struct sl_conv_dx_attr *attr = n->attr;

	return sl_conv_geom(
		&attr->conv, &n->in[0].shape, &n->out[0].shape, &n->in[1].shape);
}

static void dx_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	struct sl_conv_geom geom = dx_geom(n);

	sl_conv_cost(n, &geom, out);
}

static void dw_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	struct sl_conv_geom geom = dw_geom(n);

	sl_conv_cost(n, &geom, out);
}

/* The output row or column whose tap k reads input i on axis 0 or 1; -1 if there is none.
 */
static int64_t reader(const struct sl_conv_geom *p, int axis, int64_t i, int64_t k)
{
	int64_t from = i + p->attr.pad[axis] - k * p->attr.dilation[axis];
	int64_t at = from / p->attr.stride[axis];

	if (from < 0 || from % p->attr.stride[axis] || at >= (axis ? p->ow : p->oh))
		return -1;
	return at;
}

/* What flows back to input (ih, iw) through one output channel. */
static double back(const struct sl_call *c, const struct sl_conv_geom *p,
	const int64_t at[2], int64_t y0, int64_t w0)
{
	double sum = 0;

	for (int64_t k = 0; k < p->kh * p->kw; k++) {
		int64_t oh = reader(p, 0, at[0], k / p->kw);
		int64_t ow = reader(p, 1, at[1], k % p->kw);
		if (oh >= 0 && ow >= 0)
			sum += sl_in(c, 0, y0 + oh * p->ow + ow) * sl_in(c, 1, w0 + k);
	}
	return sum;
}

static sl_status dx_ref(const struct sl_call *c)
{
	struct sl_conv_geom p = dx_geom(c->node);
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		int64_t group = w.index[1] / p.cg;
		int64_t in_group = w.index[1] % p.cg;
		double sum = 0;
		for (int64_t o = group * p.og; o < (group + 1) * p.og; o++)
			sum += back(c, &p, w.index + 2,
				(w.index[0] * p.o + o) * p.oh * p.ow,
				(o * p.cg + in_group) * p.kh * p.kw);
		sl_put(c, 0, w.i, sum);
	}
	return SL_OK;
}

/* The products of one output plane with the input plane that tap k (row, column) reads.
 */
static double tap(const struct sl_call *c, const struct sl_conv_geom *p,
	const int64_t k[2], int64_t x0, int64_t y0)
{
	double sum = 0;

	for (int64_t i = 0; i < p->oh * p->ow; i++) {
		int64_t ih = i / p->ow * p->attr.stride[0] - p->attr.pad[0] +
			     k[0] * p->attr.dilation[0];
		int64_t iw = i % p->ow * p->attr.stride[1] - p->attr.pad[1] +
			     k[1] * p->attr.dilation[1];
		if (ih >= 0 && ih < p->h && iw >= 0 && iw < p->w)
			sum += sl_in(c, 0, x0 + ih * p->w + iw) * sl_in(c, 1, y0 + i);
	}
	return sum;
}

static sl_status dw_ref(const struct sl_call *c)
{
	struct sl_conv_geom p = dw_geom(c->node);
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		int64_t o = w.index[0];
		int64_t channel = o / p.og * p.cg + w.index[1];
		double sum = 0;
		for (int64_t n = 0; n < p.n; n++)
			sum += tap(c, &p, w.index + 2, (n * p.c + channel) * p.h * p.w,
				(n * p.o + o) * p.oh * p.ow);
		sl_put(c, 0, w.i, sum);
	}
	return SL_OK;
}

/* in0 is dy: the batch of x is its own. */
static void dx_rebind(void *attr, const struct sl_type *in0, const struct sl_bind *bind)
{
	struct sl_conv_dx_attr *own = attr;

	(void)bind;
	sl_rebind_dim0(&own->shape, in0);
}

const struct sl_op sl_op_conv2d_dx = {
	.name = "conv2d_dx",
	.flags = SL_OP_WANTS_NHWC,
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_conv_dx_attr),
	.fields = fields,
	.n_fields = 6,
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.infer = dx_infer,
	.grad = dx_grad,
	.cost = dx_cost,
	.ref = dx_ref,
	.rebind = dx_rebind,
};

const struct sl_op sl_op_conv2d_dw = {
	.name = "conv2d_dw",
	.flags = SL_OP_WANTS_NHWC,
	.nhwc_in = 3,
	.attr_bytes = sizeof(struct sl_conv_dx_attr),
	.fields = fields,
	.n_fields = 6,
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.infer = dw_infer,
	.grad = dw_grad,
	.cost = dw_cost,
	.ref = dw_ref,
};

sl_val sl_conv2d_dx(struct sl_graph *g, sl_val dy, sl_val w,
	const struct sl_conv_attr *attr, const struct sl_shape *x_shape)
{
	struct sl_conv_dx_attr own = {sl_conv_normal(attr), sl_shape_to_attr(x_shape)};

	return sl_op_add2(g, &sl_op_conv2d_dx, &own, dy, w);
}

sl_val sl_conv2d_dw(struct sl_graph *g, sl_val x, sl_val dy,
	const struct sl_conv_attr *attr, const struct sl_shape *w_shape)
{
	struct sl_conv_dx_attr own = {sl_conv_normal(attr), sl_shape_to_attr(w_shape)};

	return sl_op_add2(g, &sl_op_conv2d_dw, &own, x, dy);
}
