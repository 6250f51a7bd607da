/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution and max pooling of inference: conv2d and max_pool2d on x [N, H, W, C],
 * which give [N, OH, OW, O]. in[0] x, in[1] w as conv2d takes it, in[2] bias [O] or none,
 * in[3] a residual of the result's shape or none; out = relu(conv(x, w) + bias +
 * residual), relu where asked for.
 *
 * 1. Shape rules, paddings and groups are those of conv2d and max_pool2d.
 * 2. With `packed`, w has the bytes that conv_pack left; its shape stays [O, C / groups,
 * KH, KW].
 * 3. relu is the larger of sum and 0, as instructions take it: of NaN it is 0, unlike the
 * operator relu.
 * 4. No gradients: passes over inference graphs alone make these nodes.
 */
#include "op/conv_util.h"

#include <math.h>

static const struct sl_attr_field conv_fields[] = {
#define FIELD(member_, kind_, count_) \
	{ \
		.name = #member_, .kind = SL_ATTR_##kind_, \
		.offset = offsetof(struct sl_conv_last_attr, conv.member_), \
		.count = (count_) \
	}
	FIELD(stride, I64, 2),
	FIELD(pad, I64, 4),
	FIELD(dilation, I64, 2),
	FIELD(groups, I64, 1),
	SL_ATTR(struct sl_conv_last_attr, packed, BOOL, 1),
	SL_ATTR(struct sl_conv_last_attr, relu, BOOL, 1),
};

static const struct sl_attr_field pool_fields[] = {
	SL_ATTR(struct sl_pool_attr, kernel, I64, 2),
	SL_ATTR(struct sl_pool_attr, stride, I64, 2),
	SL_ATTR(struct sl_pool_attr, pad, I64, 4),
	SL_ATTR(struct sl_pool_attr, ceil_mode, BOOL, 1),
	SL_ATTR(struct sl_pool_attr, count_include_pad, BOOL, 1),
};

/* [N, H, W, C] as [N, C, H, W] and back. */
static struct sl_shape channels_second(const struct sl_shape *s)
{
	if (s->rank != 4)
		return *s;
	return SL_SHAPE(s->dim[0], s->dim[3], s->dim[1], s->dim[2]);
}

static struct sl_shape channels_last(const struct sl_shape *s)
{
	return SL_SHAPE(s->dim[0], s->dim[2], s->dim[3], s->dim[1]);
}

static sl_status conv_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_conv_last_attr *a = n->attr;
	struct sl_shape x = channels_second(&n->in[0].shape), y;

	SL_TRY(sl_check_float(n, 0));
	for (int i = 1; i < 4; i++)
		if (sl_node_has(n, i))
			SL_TRY(sl_check_dtype_as(n, i, 0));
	SL_TRY(sl_conv_shape(&a->conv, &x, &n->in[1].shape, &y));
	if (sl_node_has(n, 2))
		SL_TRY(sl_check_shape(n, 2, &SL_SHAPE(y.dim[1])));
	y = channels_last(&y);
	if (sl_node_has(n, 3))
		SL_TRY(sl_check_shape(n, 3, &y));
	if (a->packed && !sl_conv_packs(&a->conv, &n->in[1].shape))
		return SL_FAIL(SL_E_INVALID, "weights of this shape are never packed");
	out[0] = (struct sl_type){.dtype = n->in[0].dtype, .shape = y};
	return SL_OK;
}

static struct sl_conv_geom geom_of(const struct sl_node_info *n)
{
	const struct sl_conv_last_attr *a = n->attr;
	struct sl_shape x = channels_second(&n->in[0].shape);
	struct sl_shape y = channels_second(&n->out[0].shape);

	return sl_conv_geom(&a->conv, &x, &n->in[1].shape, &y);
}

static void conv_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	struct sl_conv_geom geom = geom_of(n);

	sl_conv_cost(n, &geom, out);
}

/* Of weight (o, i, k): k counts places of the kernel. */
static int64_t weight_at(const struct sl_conv_geom *p, bool packed, const int64_t at[3])
{
	int64_t b = SL_PACK_BLOCK;
	int64_t o = at[0], i = at[1], k = at[2], area = p->kh * p->kw;

	if (!packed)
		return (o * p->cg + i) * area + k;
	if (p->cg % b)
		return ((o / b * area + k) * p->cg + i) * b + o % b;
	return (((o / b * (p->cg / b) + i / b) * area + k) * b + i % b) * b + o % b;
}

/* The products of one input pixel with output channel o at place k of the kernel. */
static double pixel(const struct sl_call *c, const struct sl_conv_geom *p, int64_t x0,
	int64_t o, int64_t k)
{
	const struct sl_conv_last_attr *a = c->node->attr;
	double sum = 0;

	for (int64_t i = 0; i < p->cg; i++)
		sum += sl_in(c, 0, x0 + i) *
		       sl_in(c, 1, weight_at(p, a->packed, (const int64_t[]){o, i, k}));
	return sum;
}

static double conv_at(
	const struct sl_call *c, const struct sl_conv_geom *p, const struct sl_walk *w)
{
	int64_t o = w->index[3];
	double sum = c->in[2] ? sl_in(c, 2, o) : 0;

	for (int64_t k = 0; k < p->kh * p->kw; k++) {
		int64_t ih = w->index[1] * p->attr.stride[0] - p->attr.pad[0] +
			     k / p->kw * p->attr.dilation[0];
		int64_t iw = w->index[2] * p->attr.stride[1] - p->attr.pad[1] +
			     k % p->kw * p->attr.dilation[1];
		if (ih >= 0 && ih < p->h && iw >= 0 && iw < p->w)
			sum += pixel(c, p,
				((w->index[0] * p->h + ih) * p->w + iw) * p->c +
					o / p->og * p->cg,
				o, k);
	}
	return sum;
}

static sl_status conv_ref(const struct sl_call *c)
{
	const struct sl_conv_last_attr *a = c->node->attr;
	struct sl_conv_geom p = geom_of(c->node);
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		double v = conv_at(c, &p, &w) + (c->in[3] ? sl_in(c, 3, w.i) : 0);
		sl_put(c, 0, w.i, a->relu && !(v > 0) ? 0 : v);
	}
	return SL_OK;
}

/* max_pool2d's rule on the turned shape. */
static sl_status pool_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_type x = {n->in[0].dtype, channels_second(&n->in[0].shape)}, y;
	struct sl_node_info turned = *n;

	turned.in = &x;
	SL_TRY(sl_op_find("max_pool2d")->infer(&turned, &y));
	out[0] = (struct sl_type){.dtype = y.dtype, .shape = channels_last(&y.shape)};
	return SL_OK;
}

/* Whether b takes the place of a: larger, or the first NaN. */
static bool wins(double b, double a)
{
	return b > a || (isnan(b) && !isnan(a));
}

static double pool_at(const struct sl_call *c, const struct sl_walk *w)
{
	const struct sl_pool_attr *a = c->node->attr;
	const struct sl_shape *x = &c->node->in[0].shape;
	double most = -INFINITY;

	for (int64_t k = 0; k < a->kernel[0] * a->kernel[1]; k++) {
		int64_t h = w->index[1] * a->stride[0] - a->pad[0] + k / a->kernel[1];
		int64_t i = w->index[2] * a->stride[1] - a->pad[1] + k % a->kernel[1];
		if (h < 0 || h >= x->dim[1] || i < 0 || i >= x->dim[2])
			continue;
		double v = sl_in(c, 0,
			((w->index[0] * x->dim[1] + h) * x->dim[2] + i) * x->dim[3] +
				w->index[3]);
		most = wins(v, most) ? v : most;
	}
	return most;
}

static sl_status pool_ref(const struct sl_call *c)
{
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		sl_put(c, 0, w.i, pool_at(c, &w));
	return SL_OK;
}

const struct sl_op sl_op_conv2d_last = {
	.name = "conv2d_last",
	.attr_bytes = sizeof(struct sl_conv_last_attr),
	.fields = conv_fields,
	.n_fields = 6,
	.min_in = 4,
	.max_in = 4,
	.n_out = 1,
	.optional_in = 1u << 2 | 1u << 3,
	.inplace_in = 1u << 3,
	.infer = conv_infer,
	.cost = conv_cost,
	.ref = conv_ref,
};

const struct sl_op sl_op_max_pool2d_last = {
	.name = "max_pool2d_last",
	.attr_bytes = sizeof(struct sl_pool_attr),
	.fields = pool_fields,
	.n_fields = 5,
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = pool_infer,
	.ref = pool_ref,
};

sl_val sl_conv2d_last(
	struct sl_graph *g, const sl_val in[4], const struct sl_conv_last_attr *attr)
{
	struct sl_conv_last_attr own = SL_ATTR_OR_ZERO(struct sl_conv_last_attr, attr);

	own.conv = sl_conv_normal(&own.conv);
	return sl_graph_add(g, &sl_op_conv2d_last, &own, in, 4, NULL);
}

sl_val sl_max_pool2d_last(struct sl_graph *g, sl_val x, const struct sl_pool_attr *attr)
{
	struct sl_pool_attr own = SL_ATTR_OR_ZERO(struct sl_pool_attr, attr);

	for (int i = 0; i < 2; i++)
		own.stride[i] = own.stride[i] ? own.stride[i] : own.kernel[i];
	return sl_op_add1(g, &sl_op_max_pool2d_last, &own, x);
}
