/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation with what follows it in most nets, in one pass over memory:
 * y = relu(batch_norm(x)) and y = relu(batch_norm(x) + z). Mean, variance and rules are
 * those of batch_norm (batch_norm.c).
 *
 * 1. The gradient of the first computes the sign of y again from x, so that y need not be
 * kept for it.
 * 2. Gradients that read y have it made again from x and the mean and variance that are
 * known then, the optional inputs of the first.
 * 3. The gradient of the second is made of relu_dx and batch_norm_dx: z needs what
 * relu_dx gives anyway.
 */
#include "op/batch_norm.h"

#include <math.h>

#include "base/compiler.h"

extern const struct sl_op sl_op_batch_norm_add_relu;

static const struct sl_attr_field fields[] = {SL_ATTR(struct sl_eps_attr, eps, F64, 1)};

/* Inputs [1, last) are [C], and each channel has two values. */
static sl_status check(const struct sl_node_info *n, int last)
{
	SL_TRY(sl_batch_norm_check(n, last));
	return sl_batch_norm_check_count(&n->in[0].shape);
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, n->n_in));
	if (n->n_in != 3 && n->n_in != 5)
		return SL_FAIL(SL_E_INVALID, "a mean without a variance; give both");
	sl_batch_norm_types(n, out);
	return SL_OK;
}

static sl_status add_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, 3));
	SL_TRY(sl_check_type_as(n, 3, 0));
	sl_batch_norm_types(n, out);
	return SL_OK;
}

static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, 5));
	SL_TRY(sl_check_type_as(n, 5, 0));
	sl_batch_norm_types(n, out);
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	const sl_val of[5] = {c->in[0], c->in[1], c->in[2], c->out[1], c->out[2]};
	sl_val d[3];

	SL_TRY(sl_batch_norm_check_flow(c));
	if (sl_node_has(c->node, 3))
		return SL_FAIL(SL_E_UNSUPPORTED, "batch_norm_relu with a mean that is "
						 "given has no gradient");
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

	SL_TRY(sl_batch_norm_check_flow(c));
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

static sl_val again(struct sl_graph *g, const struct sl_node_info *n, const sl_val *in,
	const sl_val *out)
{
	const sl_val known[5] = {in[0], in[1], in[2], out[1], out[2]};

	return sl_graph_add(g, n->op, n->attr, known, 5, NULL);
}

static bool adds(const struct sl_call *c)
{
	return c->node->op == &sl_op_batch_norm_add_relu;
}

/* Mean and biased variance of a channel of x. */
static void moments(
	const struct sl_call *c, const struct sl_channels *s, int64_t ch, double out[2])
{
	double mean = 0;
	double var = 0;

	if (!adds(c) && sl_node_has(c->node, 4)) {
		out[0] = sl_in(c, 3, ch);
		out[1] = sl_in(c, 4, ch);
		return;
	}

	for (int64_t i = 0; i < s->count; i++)
		mean += sl_in(c, 0, sl_channels_at(s, ch, i));
	mean /= (double)s->count;
	for (int64_t i = 0; i < s->count; i++) {
		double d = sl_in(c, 0, sl_channels_at(s, ch, i)) - mean;
		var += d * d;
	}
	out[0] = mean;
	out[1] = var / (double)s->count;
}

static sl_status ref(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct sl_channels s = sl_channels_of(&c->node->in[0].shape);

	for (int64_t ch = 0; ch < s.c; ch++) {
		double m[2];
		moments(c, &s, ch, m);
		double scale = sl_in(c, 1, ch) / sqrt(m[1] + attr->eps);
		for (int64_t i = 0; i < s.count; i++) {
			int64_t k = sl_channels_at(&s, ch, i);
			double y = (sl_in(c, 0, k) - m[0]) * scale + sl_in(c, 2, ch);
			y += adds(c) ? sl_in(c, 3, k) : 0;
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
	struct sl_channels s = sl_channels_of(&c->node->in[0].shape);

	for (int64_t ch = 0; ch < s.c; ch++) {
		double mean = sl_in(c, 3, ch);
		double r = 1 / sqrt(sl_in(c, 4, ch) + attr->eps);
		double dgamma = 0;
		double dbeta = 0;
		for (int64_t i = 0; i < s.count; i++) {
			int64_t k = sl_channels_at(&s, ch, i);
			double xhat = (sl_in(c, 0, k) - mean) * r;
			double dy = passed(c, k, xhat, ch);
			dgamma += dy * xhat;
			dbeta += dy;
		}
		for (int64_t i = 0; i < s.count; i++) {
			int64_t k = sl_channels_at(&s, ch, i);
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
	.max_in = 5,
	.n_out = 3,
	.nhwc_in = 1,
	.nhwc_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = infer,
	.grad = grad,
	.again = again,
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
