/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation with what follows it in most nets, in one pass over memory:
 * y = relu(batch_norm(x)) and y = relu(batch_norm(x) + z). Mean, variance and rules are
 * those of batch_norm (batch_norm.c).
 *
 * 1. The gradient of the first computes the sign of y again from x, so that y need not be
 * kept for it.
 * 2. The gradient of the second is made of relu_dx and batch_norm_dx: z needs what
 * relu_dx gives anyway.
 */
#include "op/op_util.h"

#include <math.h>

#include "base/compiler.h"

static const struct sl_attr_field fields[] = {SL_ATTR(struct sl_eps_attr, eps, F64, 1)};

static struct sl_type per_channel(const struct sl_type *x)
{
	struct sl_type t = {.dtype = sl_dtype_wide(x->dtype)};

	t.shape = SL_SHAPE(x->shape.dim[1]);
	return t;
}

/* x [N, C, ...] with more than one value a channel; inputs [1, 1 + n_channels) are [C].
 */
static sl_status check(const struct sl_node_info *n, int n_channels)
{
	const struct sl_eps_attr *attr = n->attr;
	char text[SL_SHAPE_TEXT];

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_min_rank(n, 0, 2));
	const struct sl_shape *x = &n->in[0].shape;
	for (int i = 1; i <= n_channels; i++) {
		SL_TRY(sl_check_wide(n, i));
		SL_TRY(sl_check_shape(n, i, &SL_SHAPE(x->dim[1])));
	}
	if (!(attr->eps >= 0) || isinf(attr->eps))
		return SL_FAIL(SL_E_INVALID, "eps %g; it must be at least 0 and finite",
			attr->eps);
	if (x->dim[0] * sl_shape_span(x, 2, x->rank) > 1)
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE,
		"x %s has no two values a channel; training needs at least 2 "
		"(larger batch, or batch_norm_infer)",
		sl_shape_print(x, text));
}

static void put_types(const struct sl_node_info *n, struct sl_type *out)
{
	out[0] = n->in[0];
	out[1] = per_channel(&n->in[0]);
	out[2] = out[1];
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, 2));
	put_types(n, out);
	return SL_OK;
}

static sl_status add_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, 2));
	SL_TRY(sl_check_type_as(n, 3, 0));
	put_types(n, out);
	return SL_OK;
}

static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, 4));
	SL_TRY(sl_check_type_as(n, 5, 0));
	put_types(n, out);
	return SL_OK;
}

static sl_status check_flow(const struct sl_grad *c)
{
	if (sl_val_is_none(c->dout[1]) && sl_val_is_none(c->dout[2]))
		return SL_OK;
	return SL_FAIL(SL_E_UNSUPPORTED,
		"a gradient flows into the mean or variance that %s hands out; use only "
		"its first output in the loss",
		c->node->op->name);
}

static sl_status grad(struct sl_grad *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	const sl_val of[5] = {c->in[0], c->in[1], c->in[2], c->out[1], c->out[2]};
	sl_val d[3];

	SL_TRY(check_flow(c));
	sl_batch_norm_relu_dx(c->g, of, c->dout[0], attr->eps, d);
	for (int i = 0; i < 3; i++)
		if (c->need[i])
			c->din[i] = d[i];
	return SL_OK;
}

static sl_status add_grad(struct sl_grad *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	sl_val d[3];

	SL_TRY(check_flow(c));
	sl_val dz = sl_relu_dx(c->g, c->out[0], c->dout[0]);
	if (c->need[0] || c->need[1] || c->need[2])
		sl_batch_norm_dx(
			c->g, c->in[0], c->in[1], c->out[1], c->out[2], dz, attr->eps, d);
	for (int i = 0; i < 3; i++)
		if (c->need[i])
			c->din[i] = d[i];
	if (c->need[3])
		c->din[3] = dz;
	return SL_OK;
}

/* x seen as [n, c, inner]. */
struct channels {
	int64_t n, c, inner, count;
};

static struct channels channels_of(const struct sl_shape *x)
{
	struct channels s = {
		.n = x->dim[0], .c = x->dim[1], .inner = sl_shape_span(x, 2, x->rank)};

	s.count = s.n * s.inner;
	return s;
}

static int64_t at(const struct channels *s, int64_t channel, int64_t i)
{
	return (i / s->inner * s->c + channel) * s->inner + i % s->inner;
}

/* Mean and biased variance of a channel of x. */
static void moments(
	const struct sl_call *c, const struct channels *s, int64_t ch, double out[2])
{
	double mean = 0;
	double var = 0;

	for (int64_t i = 0; i < s->count; i++)
		mean += sl_in(c, 0, at(s, ch, i));
	mean /= (double)s->count;
	for (int64_t i = 0; i < s->count; i++) {
		double d = sl_in(c, 0, at(s, ch, i)) - mean;
		var += d * d;
	}
	out[0] = mean;
	out[1] = var / (double)s->count;
}

static sl_status ref(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct channels s = channels_of(&c->node->in[0].shape);

	for (int64_t ch = 0; ch < s.c; ch++) {
		double m[2];
		moments(c, &s, ch, m);
		double scale = sl_in(c, 1, ch) / sqrt(m[1] + attr->eps);
		for (int64_t i = 0; i < s.count; i++) {
			int64_t k = at(&s, ch, i);
			double y = (sl_in(c, 0, k) - m[0]) * scale + sl_in(c, 2, ch);
			y += c->node->n_in > 3 ? sl_in(c, 3, k) : 0;
			sl_put(c, 0, k, y <= 0 ? 0 : y);
		}
		sl_put(c, 1, ch, m[0]);
		sl_put(c, 2, ch, m[1]);
	}
	return SL_OK;
}

/* dy where y was positive. */
static double passed(const struct sl_call *c, int64_t k, double xhat, int64_t ch)
{
	double y = xhat * sl_in(c, 1, ch) + sl_in(c, 2, ch);

	return y <= 0 ? 0 : sl_in(c, 5, k);
}

/* As batch_norm_dx of what passes. */
static sl_status dx_ref(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct channels s = channels_of(&c->node->in[0].shape);

	for (int64_t ch = 0; ch < s.c; ch++) {
		double mean = sl_in(c, 3, ch);
		double r = 1 / sqrt(sl_in(c, 4, ch) + attr->eps);
		double dgamma = 0;
		double dbeta = 0;
		for (int64_t i = 0; i < s.count; i++) {
			int64_t k = at(&s, ch, i);
			double xhat = (sl_in(c, 0, k) - mean) * r;
			double dy = passed(c, k, xhat, ch);
			dgamma += dy * xhat;
			dbeta += dy;
		}
		for (int64_t i = 0; i < s.count; i++) {
			int64_t k = at(&s, ch, i);
			double xhat = (sl_in(c, 0, k) - mean) * r;
			double rest = (dbeta + xhat * dgamma) / (double)s.count;
			double dy = passed(c, k, xhat, ch);
			sl_put(c, 0, k, sl_in(c, 1, ch) * r * (dy - rest));
		}
		sl_put(c, 1, ch, dgamma);
		sl_put(c, 2, ch, dbeta);
	}
	return SL_OK;
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 9 * (double)sl_shape_count(&n->in[0].shape);
}

const struct sl_op sl_op_batch_norm_relu = {
	.name = "batch_norm_relu",
	.attr_bytes = sizeof(struct sl_eps_attr),
	.fields = fields,
	.n_fields = SL_COUNT(fields),
	.min_in = 3,
	.max_in = 3,
	.n_out = 3,
	.nhwc_in = 1,
	.nhwc_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = infer,
	.grad = grad,
	.cost = cost,
	.ref = ref,
};

const struct sl_op sl_op_batch_norm_add_relu = {
	.name = "batch_norm_add_relu",
	.attr_bytes = sizeof(struct sl_eps_attr),
	.fields = fields,
	.n_fields = SL_COUNT(fields),
	.min_in = 4,
	.max_in = 4,
	.n_out = 3,
	.inplace_in = 1u << 3,
	.nhwc_in = 1u << 0 | 1u << 3,
	.nhwc_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1u << 0 | 1u << 3,
	.infer = add_infer,
	.grad = add_grad,
	.cost = cost,
	.ref = ref,
};

const struct sl_op sl_op_batch_norm_relu_dx = {
	.name = "batch_norm_relu_dx",
	.attr_bytes = sizeof(struct sl_eps_attr),
	.fields = fields,
	.n_fields = SL_COUNT(fields),
	.min_in = 6,
	.max_in = 6,
	.n_out = 3,
	.inplace_in = 1u << 5,
	.nhwc_in = 1u << 0 | 1u << 5,
	.nhwc_out = 1,
	.infer = dx_infer,
	.cost = cost,
	.ref = dx_ref,
};

sl_val sl_batch_norm_relu(struct sl_graph *g, sl_val x, sl_val gamma, sl_val beta,
	double eps, sl_val out[3])
{
	const sl_val in[] = {x, gamma, beta};

	return sl_graph_add(
		g, &sl_op_batch_norm_relu, &(struct sl_eps_attr){eps}, in, 3, out);
}

sl_val sl_batch_norm_add_relu(
	struct sl_graph *g, const sl_val xgbz[4], double eps, sl_val out[3])
{
	return sl_graph_add(
		g, &sl_op_batch_norm_add_relu, &(struct sl_eps_attr){eps}, xgbz, 4, out);
}

sl_val sl_batch_norm_relu_dx(
	struct sl_graph *g, const sl_val xgbmv[5], sl_val dy, double eps, sl_val out[3])
{
	const sl_val in[] = {xgbmv[0], xgbmv[1], xgbmv[2], xgbmv[3], xgbmv[4], dy};

	return sl_graph_add(
		g, &sl_op_batch_norm_relu_dx, &(struct sl_eps_attr){eps}, in, 6, out);
}
