/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of x [N, C, H, W] or [N, C], per channel; source: Ioffe and
 * Szegedy, "Batch normalization", ICML 2015, Alg. 1. Training gives y, the batch's mean
 * and its biased variance.
 *
 * 1. The variance is of two passes (mean first), never E[x^2] - E[x]^2. y does not depend
 * on momentum.
 * 2. A channel with one value has no variance to learn from: SL_E_SHAPE.
 * 3. batch_norm's gradient needs mean and variance, not y; a gradient into the outputs
 * mean and variance is SL_E_UNSUPPORTED.
 * 4. Running statistics are state, changed by stats_update alone, with momentum as in
 * PyTorch (running = (1 - momentum) running + momentum batch) and the unbiased variance.
 *    Where mean is an output of batch_norm, the number of values is read from the shape
 * of its x, so that an instance with another batch size divides by its own.
 */
#include "op/batch_norm.h"

#include <inttypes.h>
#include <math.h>

#include "graph/ir.h"
#include "graph/op_attr.h"

extern const struct sl_op sl_op_batch_norm_relu, sl_op_batch_norm_add_relu;

static const struct sl_attr_field fields[] = {SL_ATTR(struct sl_eps_attr, eps, F64, 1)};
static const struct sl_attr_field stats_fields[] = {
	SL_ATTR(struct sl_stats_attr, momentum, F64, 1),
	SL_ATTR(struct sl_stats_attr, count, I64, 1),
};

sl_status sl_batch_norm_check(const struct sl_node_info *n, int last)
{
	const struct sl_eps_attr *attr = n->attr;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_min_rank(n, 0, 2));
	for (int i = 1; i < last; i++) {
		SL_TRY(sl_check_wide(n, i));
		SL_TRY(sl_check_shape(n, i, &SL_SHAPE(n->in[0].shape.dim[1])));
	}
	if (!(attr->eps >= 0) || isinf(attr->eps))
		return SL_FAIL(SL_E_INVALID, "eps %g; it must be at least 0 and finite",
			attr->eps);
	return SL_OK;
}

sl_status sl_batch_norm_check_count(const struct sl_shape *x)
{
	char text[SL_SHAPE_TEXT];
	struct sl_channels s = sl_channels_of(x);

	if (s.count > 1)
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE,
		"x %s has %" PRId64
		" values a channel; training needs at least 2 (larger batch, "
		"or batch_norm_infer)",
		sl_shape_print(x, text), s.count);
}

void sl_batch_norm_types(const struct sl_node_info *n, struct sl_type out[3])
{
	const struct sl_type *x = &n->in[0];

	out[0] = *x;
	out[1] = (struct sl_type){sl_dtype_wide(x->dtype), SL_SHAPE(x->shape.dim[1])};
	out[2] = out[1];
}

sl_status sl_batch_norm_check_flow(const struct sl_grad *c)
{
	if (sl_val_is_none(c->dout[1]) && sl_val_is_none(c->dout[2]))
		return SL_OK;
	return SL_FAIL(SL_E_UNSUPPORTED,
		"a gradient flows into the mean or variance that %s hands out; use only "
		"its first output in the loss",
		c->node->op->name);
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_batch_norm_check(n, n->n_in));
	SL_TRY(sl_batch_norm_check_count(&n->in[0].shape));
	sl_batch_norm_types(n, out);
	return SL_OK;
}

static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_batch_norm_check(n, 4));
	SL_TRY(sl_check_type_as(n, 4, 0));
	SL_TRY(sl_batch_norm_check_count(&n->in[0].shape));
	sl_batch_norm_types(n, out);
	return SL_OK;
}

static sl_status infer_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_batch_norm_check(n, n->n_in));
	out[0] = n->in[0];
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	sl_val d[3];

	SL_TRY(sl_batch_norm_check_flow(c));
	sl_batch_norm_dx(
		c->g, c->in[0], c->in[1], c->out[1], c->out[2], c->dout[0], attr->eps, d);
	for (int i = 0; i < 3; i++)
		if (c->need[i])
			c->din[i] = d[i];
	return SL_OK;
}

/* A value [C] that broadcasts against x. */
static sl_val spread(struct sl_graph *g, sl_val v, const struct sl_shape *x)
{
	struct sl_shape s = {.rank = x->rank - 1, .dim = {x->dim[1]}};

	for (int i = 1; i < s.rank; i++)
		s.dim[i] = 1;
	return sl_reshape(g, v, &s);
}

/* All axes but the channels' summed. */
static sl_val sum_channels(struct sl_graph *g, sl_val v, const struct sl_shape *x)
{
	uint32_t axes = ((1u << x->rank) - 1) & ~2u;

	return sl_sum(g, v, &(struct sl_reduce_attr){.axes = axes});
}

/* y = (x - mean) r gamma + beta with r = 1 / sqrt(var + eps), constants as far as
 * learning goes. */
static sl_status infer_grad(struct sl_grad *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	const struct sl_shape *x = &c->node->in[0].shape;
	struct sl_graph *g = c->g;
	sl_val dy = c->dout[0];

	if (c->need[3] || c->need[4])
		return SL_FAIL(SL_E_UNSUPPORTED, "batch_norm_infer has no gradient for "
						 "mean and variance; use batch_norm");
	sl_val root = sl_sqrt(g, sl_affine(g, c->in[4], 1, attr->eps));
	if (c->need[0])
		c->din[0] = sl_mul(g, dy, spread(g, sl_div(g, c->in[1], root), x));
	if (c->need[1]) {
		sl_val centred = sl_sub(g, c->in[0], spread(g, c->in[3], x));
		c->din[1] = sl_div(g, sum_channels(g, sl_mul(g, dy, centred), x), root);
	}
	if (c->need[2])
		c->din[2] = sum_channels(g, dy, x);
	return SL_OK;
}

static sl_status ref(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct sl_channels s = sl_channels_of(&c->node->in[0].shape);

	for (int64_t ch = 0; ch < s.c; ch++) {
		double mean = 0;
		double var = 0;
		for (int64_t i = 0; i < s.count; i++)
			mean += sl_in(c, 0, sl_channels_at(&s, ch, i));
		mean /= (double)s.count;
		for (int64_t i = 0; i < s.count; i++) {
			double d = sl_in(c, 0, sl_channels_at(&s, ch, i)) - mean;
			var += d * d;
		}
		var /= (double)s.count;
		double scale = sl_in(c, 1, ch) / sqrt(var + attr->eps);
		for (int64_t i = 0; i < s.count; i++) {
			double d = sl_in(c, 0, sl_channels_at(&s, ch, i)) - mean;
			sl_put(c, 0, sl_channels_at(&s, ch, i),
				d * scale + sl_in(c, 2, ch));
		}
		sl_put(c, 1, ch, mean);
		sl_put(c, 2, ch, var);
	}
	return SL_OK;
}

/* dx = gamma r (dy - mean(dy) - xhat mean(dy xhat)): the last two are the means' own
 * gradients. dx may lie where dy lies: a channel's sums come first. */
static sl_status dx_ref(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct sl_channels s = sl_channels_of(&c->node->in[0].shape);

	for (int64_t ch = 0; ch < s.c; ch++) {
		double mean = sl_in(c, 2, ch);
		double r = 1 / sqrt(sl_in(c, 3, ch) + attr->eps);
		double dgamma = 0;
		double dbeta = 0;
		for (int64_t i = 0; i < s.count; i++) {
			double dy = sl_in(c, 4, sl_channels_at(&s, ch, i));
			dgamma +=
				dy * (sl_in(c, 0, sl_channels_at(&s, ch, i)) - mean) * r;
			dbeta += dy;
		}
		for (int64_t i = 0; i < s.count; i++) {
			double xhat = (sl_in(c, 0, sl_channels_at(&s, ch, i)) - mean) * r;
			double rest = (dbeta + xhat * dgamma) / (double)s.count;
			double dy = sl_in(c, 4, sl_channels_at(&s, ch, i));
			sl_put(c, 0, sl_channels_at(&s, ch, i),
				sl_in(c, 1, ch) * r * (dy - rest));
		}
		sl_put(c, 1, ch, dgamma);
		sl_put(c, 2, ch, dbeta);
	}
	return SL_OK;
}

static sl_status infer_ref(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct sl_channels s = sl_channels_of(&c->node->in[0].shape);

	for (int64_t ch = 0; ch < s.c; ch++) {
		double scale = sl_in(c, 1, ch) / sqrt(sl_in(c, 4, ch) + attr->eps);
		for (int64_t i = 0; i < s.count; i++) {
			double d =
				sl_in(c, 0, sl_channels_at(&s, ch, i)) - sl_in(c, 3, ch);
			sl_put(c, 0, sl_channels_at(&s, ch, i),
				d * scale + sl_in(c, 2, ch));
		}
	}
	return SL_OK;
}

static sl_status stats_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_stats_attr *attr = n->attr;

	(void)out;
	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_rank(n, 0, 1));
	for (int i = 1; i < 4; i++)
		SL_TRY(sl_check_type_as(n, i, 0));
	if (!(attr->momentum >= 0 && attr->momentum <= 1))
		return SL_FAIL(SL_E_INVALID,
			"momentum %g; it must be in [0, 1], the weight of the batch",
			attr->momentum);
	if (sl_node_has(n, 4)) {
		SL_TRY(sl_check_min_rank(n, 4, 2));
		return sl_batch_norm_check_count(&n->in[4].shape);
	}
	if (attr->count < 2)
		return SL_FAIL(SL_E_INVALID,
			"%" PRId64
			" values a channel; the unbiased variance needs at least 2",
			attr->count);
	return SL_OK;
}

static sl_status stats_ref(const struct sl_call *c)
{
	const struct sl_stats_attr *attr = c->node->attr;
	const struct sl_type *in = c->node->in;
	double count = (double)attr->count;
	double m = attr->momentum;

	if (sl_node_has(c->node, 4))
		count = (double)sl_channels_of(&in[4].shape).count;
	for (int64_t i = 0; i < in[0].shape.dim[0]; i++) {
		double var = sl_in(c, 3, i) * count / (count - 1);
		sl_set(c->in[0], in[0].dtype, i,
			(1 - m) * sl_in(c, 0, i) + m * sl_in(c, 2, i));
		sl_set(c->in[1], in[1].dtype, i, (1 - m) * sl_in(c, 1, i) + m * var);
	}
	return SL_OK;
}

/* x is read for its shape only. */
static void stats_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	out->flops = 8 * (double)sl_shape_count(&n->in[0].shape);
	out->bytes = 6 * (double)sl_type_bytes(&n->in[0]);
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 8 * (double)sl_shape_count(&n->in[0].shape);
}

static void infer_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 3 * (double)sl_shape_count(&n->in[0].shape);
}

const struct sl_op sl_op_batch_norm = {
	.name = "batch_norm",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_eps_attr),
	.fields = fields,
	.n_fields = 1,
	.min_in = 3,
	.max_in = 3,
	.n_out = 3,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = infer,
	.grad = grad,
	.cost = cost,
	.ref = ref,
};

const struct sl_op sl_op_batch_norm_dx = {
	.name = "batch_norm_dx",
	.nhwc_in = 1u << 0 | 1u << 4,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_eps_attr),
	.fields = fields,
	.n_fields = 1,
	.min_in = 5,
	.max_in = 5,
	.n_out = 3,
	.inplace_in = 1u << 4,
	.infer = dx_infer,
	.cost = cost,
	.ref = dx_ref,
};

const struct sl_op sl_op_batch_norm_infer = {
	.name = "batch_norm_infer",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_eps_attr),
	.fields = fields,
	.n_fields = 1,
	.min_in = 5,
	.max_in = 5,
	.n_out = 1,
	.inplace_in = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = infer_infer,
	.grad = infer_grad,
	.cost = infer_cost,
	.ref = infer_ref,
};

const struct sl_op sl_op_stats_update = {
	.name = "stats_update",
	.shape_in = 1u << 4,
	.attr_bytes = sizeof(struct sl_stats_attr),
	.fields = stats_fields,
	.n_fields = 2,
	.min_in = 5,
	.max_in = 5,
	.optional_in = 1u << 4,
	.mutates = 3,
	.flags = SL_OP_IMPURE,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1u << 4,
	.infer = stats_infer,
	.cost = stats_cost,
	.ref = stats_ref,
};

sl_val sl_batch_norm(struct sl_graph *g, sl_val x, sl_val gamma, sl_val beta, double eps,
	sl_val out[3])
{
	const sl_val in[] = {x, gamma, beta};

	return sl_graph_add(g, &sl_op_batch_norm, &(struct sl_eps_attr){eps}, in, 3, out);
}

sl_val sl_batch_norm_dx(struct sl_graph *g, sl_val x, sl_val gamma, sl_val mean,
	sl_val var, sl_val dy, double eps, sl_val out[3])
{
	const sl_val in[] = {x, gamma, mean, var, dy};

	return sl_graph_add(
		g, &sl_op_batch_norm_dx, &(struct sl_eps_attr){eps}, in, 5, out);
}

sl_val sl_batch_norm_infer(struct sl_graph *g, sl_val x, sl_val gamma, sl_val beta,
	sl_val mean, sl_val var, double eps)
{
	const sl_val in[] = {x, gamma, beta, mean, var};

	return sl_graph_add(
		g, &sl_op_batch_norm_infer, &(struct sl_eps_attr){eps}, in, 5, NULL);
}

/* The x that mean was taken of; NONE if mean is not a batch_norm's. */
static sl_val source_of(const struct sl_graph *g, sl_val mean)
{
	if (mean.index >= g->n_values || g->values[mean.index].producer >= g->n_nodes)
		return SL_VAL_NONE;
	const struct sl_ir_node *node = &g->nodes[g->values[mean.index].producer];
	bool is_norm = node->op == &sl_op_batch_norm ||
		       node->op == &sl_op_batch_norm_relu ||
		       node->op == &sl_op_batch_norm_add_relu;

	return is_norm ? node->in[0] : SL_VAL_NONE;
}

sl_val sl_stats_update(struct sl_graph *g, sl_val running_mean, sl_val running_var,
	sl_val mean, sl_val var, double momentum, int64_t count)
{
	struct sl_stats_attr attr = {momentum, count};
	sl_val x = source_of(g, mean);

	if (!sl_val_is_none(x)) {
		int64_t own = sl_channels_of(&sl_val_type(g, x)->shape).count;
		if (count != 0 && count != own)
			return sl_graph_poison(
				g, SL_FAIL(SL_E_INVALID,
					   "stats_update: %" PRId64
					   " values a channel given, x has %" PRId64
					   "; give 0 to take them from x",
					   count, own));
		attr.count = 0;
	}
	const sl_val in[] = {running_mean, running_var, mean, var, x};
	return sl_graph_add(g, &sl_op_stats_update, &attr, in, 5, NULL);
}
