/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two-dimensional convolution (cross-correlation, as in PyTorch): x [N, C, H, W],
 * w [O, C / groups, KH, KW], bias [O] or none, gives [N, O, OH, OW] with
 * OH = (H + top + bottom - (dilation (KH - 1) + 1)) / stride + 1, rounded down.
 *
 * 1. Padding is zeros; the four sides are independent.
 * 2. Output channel o reads the input channels of group o / (O / groups); groups = C is
 * depthwise.
 * 3. x of bf16 makes it a convolution of bf16: w and bias are f32, w may be rounded to
 * bf16 element by element, products add up in f32, y is bf16.
 * 4. A kernel larger than the padded input is refused.
 */
#include "op/conv_util.h"

#include <inttypes.h>

/* So that no sum of sizes and paddings overflows. */
#define SETTING_MAX INT32_MAX

static const struct sl_attr_field fields[] = {
	SL_ATTR(struct sl_conv_attr, stride, I64, 2),
	SL_ATTR(struct sl_conv_attr, pad, I64, 4),
	SL_ATTR(struct sl_conv_attr, dilation, I64, 2),
	SL_ATTR(struct sl_conv_attr, groups, I64, 1),
};

struct sl_conv_attr sl_conv_normal(const struct sl_conv_attr *attr)
{
	struct sl_conv_attr a = SL_ATTR_OR_ZERO(struct sl_conv_attr, attr);

	for (int i = 0; i < 2; i++) {
		a.stride[i] = a.stride[i] ? a.stride[i] : 1;
		a.dilation[i] = a.dilation[i] ? a.dilation[i] : 1;
	}
	a.groups = a.groups ? a.groups : 1;
	return a;
}

sl_status sl_conv_check_attr(const struct sl_conv_attr *a)
{
	for (int i = 0; i < 2; i++) {
		if (a->stride[i] < 1 || a->stride[i] > SETTING_MAX)
			return SL_FAIL(SL_E_INVALID,
				"stride %" PRId64 "; it must be at least 1",
				a->stride[i]);
		if (a->dilation[i] < 1 || a->dilation[i] > SETTING_MAX)
			return SL_FAIL(SL_E_INVALID,
				"dilation %" PRId64 "; it must be at least 1",
				a->dilation[i]);
	}
	for (int i = 0; i < 4; i++)
		if (a->pad[i] < 0 || a->pad[i] > SETTING_MAX)
			return SL_FAIL(SL_E_INVALID,
				"padding %" PRId64
				"; it must be at least 0 (crop with slice)",
				a->pad[i]);
	if (a->groups < 1)
		return SL_FAIL(SL_E_INVALID,
			"%" PRId64 " groups; there must be at least 1", a->groups);
	return SL_OK;
}

static sl_status check_channels(
	const struct sl_conv_attr *a, const struct sl_shape *x, const struct sl_shape *w)
{
	char text_x[SL_SHAPE_TEXT];
	char text_w[SL_SHAPE_TEXT];

	if (x->rank != 4 || w->rank != 4)
		return SL_FAIL(SL_E_SHAPE,
			"x is %s and w is %s; they must be [N, C, H, W] and [O, C / "
			"groups, KH, KW]",
			sl_shape_print(x, text_x), sl_shape_print(w, text_w));
	if (x->dim[1] % a->groups || x->dim[1] / a->groups != w->dim[1])
		return SL_FAIL(SL_E_SHAPE,
			"x %s has %" PRId64 " channels in %" PRId64
			" groups, w %s takes %" PRId64 " a group",
			sl_shape_print(x, text_x), x->dim[1], a->groups,
			sl_shape_print(w, text_w), w->dim[1]);
	if (w->dim[0] % a->groups)
		return SL_FAIL(SL_E_SHAPE,
			"w %s: %" PRId64 " output channels do not divide into %" PRId64
			" groups",
			sl_shape_print(w, text_w), w->dim[0], a->groups);
	return SL_OK;
}

sl_status sl_conv_shape(const struct sl_conv_attr *attr, const struct sl_shape *x,
	const struct sl_shape *w, struct sl_shape *out)
{
	struct sl_shape y = {.rank = 4};

	SL_TRY(sl_conv_check_attr(attr));
	SL_TRY(check_channels(attr, x, w));
	y.dim[0] = x->dim[0];
	y.dim[1] = w->dim[0];
	for (int i = 0; i < 2; i++) {
		int64_t padded = x->dim[2 + i] + attr->pad[i] + attr->pad[2 + i];
		int64_t k = w->dim[2 + i];
		/* A division, since dilation times size may overflow. */
		if (k < 1 || padded < 1 || k - 1 > (padded - 1) / attr->dilation[i])
			return SL_FAIL(SL_E_SHAPE,
				"kernel size %" PRId64 " with dilation %" PRId64
				" does not fit in the padded %s of %" PRId64,
				k, attr->dilation[i], i ? "width" : "height", padded);
		y.dim[2 + i] =
			(padded - 1 - attr->dilation[i] * (k - 1)) / attr->stride[i] + 1;
	}
	*out = y;
	return SL_OK;
}

struct sl_conv_geom sl_conv_geom(const struct sl_conv_attr *attr,
	const struct sl_shape *x, const struct sl_shape *w, const struct sl_shape *y)
{
	return (struct sl_conv_geom){
		.attr = *attr,
		.n = x->dim[0],
		.c = x->dim[1],
		.h = x->dim[2],
		.w = x->dim[3],
		.o = w->dim[0],
		.cg = w->dim[1],
		.kh = w->dim[2],
		.kw = w->dim[3],
		.oh = y->dim[2],
		.ow = y->dim[3],
		.og = w->dim[0] / attr->groups,
	};
}

void sl_conv_cost(const struct sl_node_info *n, const struct sl_conv_geom *geom,
	struct sl_cost *out)
{
	double taps = (double)(geom->cg * geom->kh * geom->kw);

	sl_cost_move(n, out);
	out->flops =
		2 * taps * (double)(geom->n * geom->o) * (double)(geom->oh * geom->ow);
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_type y = {.dtype = n->in[0].dtype};

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_wide(n, 1));
	SL_TRY(sl_conv_shape(n->attr, &n->in[0].shape, &n->in[1].shape, &y.shape));
	if (sl_node_has(n, 2)) {
		SL_TRY(sl_check_wide(n, 2));
		SL_TRY(sl_check_shape(n, 2, &SL_SHAPE(y.shape.dim[1])));
	}
	out[0] = y;
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	const struct sl_node_info *n = c->node;
	sl_val dy = c->dout[0];

	if (c->need[0])
		c->din[0] = sl_conv2d_dx(c->g, dy, c->in[1], n->attr, &n->in[0].shape);
	if (c->need[1])
		c->din[1] = sl_conv2d_dw(c->g, c->in[0], dy, n->attr, &n->in[1].shape);
	if (sl_node_has(n, 2) && c->need[2])
		c->din[2] = sl_sum(c->g, dy, &(struct sl_reduce_attr){.axes = 0xd});
	return SL_OK;
}

static struct sl_conv_geom geom_of(const struct sl_node_info *n)
{
	return sl_conv_geom(n->attr, &n->in[0].shape, &n->in[1].shape, &n->out[0].shape);
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	struct sl_conv_geom geom = geom_of(n);

	sl_conv_cost(n, &geom, out);
}

/* The products of one kernel plane at input (top, left) with one input plane. */
static double plane(const struct sl_call *c, const struct sl_conv_geom *p,
	const int64_t at[2], int64_t x0, int64_t w0)
{
	double sum = 0;

	for (int64_t k = 0; k < p->kh * p->kw; k++) {
		int64_t ih = at[0] + k / p->kw * p->attr.dilation[0];
		int64_t iw = at[1] + k % p->kw * p->attr.dilation[1];
		if (ih >= 0 && ih < p->h && iw >= 0 && iw < p->w)
			sum += sl_in(c, 0, x0 + ih * p->w + iw) * sl_in(c, 1, w0 + k);
	}
	return sum;
}

static sl_status ref(const struct sl_call *c)
{
	struct sl_conv_geom p = geom_of(c->node);
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		int64_t o = w.index[1];
		int64_t first = o / p.og * p.cg; /* input channel */
		const int64_t at[] = {
			w.index[2] * p.attr.stride[0] - p.attr.pad[0],
			w.index[3] * p.attr.stride[1] - p.attr.pad[1],
		};
		double sum = c->in[2] ? sl_in(c, 2, o) : 0;
		for (int64_t i = 0; i < p.cg; i++)
			sum += plane(c, &p, at,
				(w.index[0] * p.c + first + i) * p.h * p.w,
				(o * p.cg + i) * p.kh * p.kw);
		sl_put(c, 0, w.i, sum);
	}
	return SL_OK;
}

const struct sl_op sl_op_conv2d = {
	.name = "conv2d",
	.flags = SL_OP_WANTS_NHWC,
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_conv_attr),
	.fields = fields,
	.n_fields = 4,
	.min_in = 3,
	.max_in = 3,
	.n_out = 1,
	.optional_in = 1u << 2,
	.low = SL_LOW_ALWAYS,
	.low_in = 1,
	.infer = infer,
	.grad = grad,
	.cost = cost,
	.ref = ref,
};

sl_val sl_conv2d(struct sl_graph *g, sl_val x, sl_val w, sl_val bias,
	const struct sl_conv_attr *attr)
{
	struct sl_conv_attr own = sl_conv_normal(attr);

	return sl_op_add3(g, &sl_op_conv2d, &own, x, w, bias);
}
