/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group normalisation of x [N, C, ...]: the C channels are cut into `groups` equal
 * groups, and each group of a sample is brought to mean 0 and variance 1: y = (x - mean)
 * rstd gamma + beta with rstd = 1 / sqrt(variance + eps); gamma, beta [C]; mean and rstd
 * [N, groups]; source: Wu, He, "Group normalization", 2018.
 *
 * 1. The variance is of two passes, as in layer_norm.
 * 2. dgamma and dbeta add samples in ascending order, whatever the thread count.
 * 3. A gradient into the outputs mean and rstd is SL_E_UNSUPPORTED.
 */
#include "op/op_util.h"

#include <inttypes.h>
#include <math.h>

#include "graph/op_attr.h"

static const struct sl_attr_field fields[] = {
	SL_ATTR(struct sl_group_norm_attr, eps, F64, 1),
	SL_ATTR(struct sl_group_norm_attr, groups, I64, 1),
};

/* x as [n, c, inner]; a group is `size` elements in one piece. */
struct groups {
	int64_t n, c, inner, groups, size;
};

static struct groups groups_of(const struct sl_node_info *n)
{
	const struct sl_group_norm_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	struct groups s = {.n = x->dim[0],
		.c = x->dim[1],
		.inner = sl_shape_span(x, 2, x->rank),
		.groups = a->groups};

	s.size = s.c / s.groups * s.inner;
	return s;
}

/* x [N, C, ...] with groups that are not empty; the next `vectors` inputs are [C]. */
static sl_status check(const struct sl_node_info *n, int vectors)
{
	const struct sl_group_norm_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	char text[SL_SHAPE_TEXT];

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_min_rank(n, 0, 2));
	if (a->groups < 1 || x->dim[1] % a->groups)
		return SL_FAIL(SL_E_INVALID,
			"%" PRId64 " groups of the channels of x %s; groups must divide "
			"the channels",
			a->groups, sl_shape_print(x, text));
	if (!(a->eps >= 0) || isinf(a->eps))
		return SL_FAIL(
			SL_E_INVALID, "eps %g; it must be at least 0 and finite", a->eps);
	if (x->dim[1] < 1 || sl_shape_span(x, 2, x->rank) < 1)
		return SL_FAIL(SL_E_SHAPE, "x %s has groups of no element to normalise",
			sl_shape_print(x, text));
	for (int i = 1; i <= vectors; i++) {
		SL_TRY(sl_check_dtype_as(n, i, 0));
		SL_TRY(sl_check_shape(n, i, &SL_SHAPE(x->dim[1])));
	}
	return SL_OK;
}

static struct sl_shape per_group(const struct sl_node_info *n)
{
	const struct sl_group_norm_attr *a = n->attr;

	return SL_SHAPE(n->in[0].shape.dim[0], a->groups);
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, 2));
	out[0] = n->in[0];
	out[1] = (struct sl_type){n->in[0].dtype, per_group(n)};
	out[2] = out[1];
	return SL_OK;
}

/* Inputs x, gamma, mean, rstd, dy. */
static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, 1));
	struct sl_shape each = per_group(n);
	for (int i = 2; i < 4; i++) {
		SL_TRY(sl_check_dtype_as(n, i, 0));
		SL_TRY(sl_check_shape(n, i, &each));
	}
	SL_TRY(sl_check_type_as(n, 4, 0));
	out[0] = n->in[0];
	out[1] = n->in[1];
	out[2] = n->in[1];
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	const sl_val in[5] = {c->in[0], c->in[1], c->out[1], c->out[2], c->dout[0]};
	sl_val d[3];

	if (!sl_val_is_none(c->dout[1]) || !sl_val_is_none(c->dout[2]))
		return SL_FAIL(SL_E_UNSUPPORTED, "a gradient flows into the mean or rstd "
						 "that group_norm hands out; use "
						 "only its first output in the loss");
	sl_group_norm_dx(c->g, in, c->node->attr, d);
	for (int i = 0; i < 3; i++)
		if (c->need[i])
			c->din[i] = d[i];
	return SL_OK;
}

static int64_t channel_of(const struct groups *s, int64_t i)
{
	return i / s->inner % s->c;
}

static sl_status ref(const struct sl_call *c)
{
	const struct sl_group_norm_attr *a = c->node->attr;
	struct groups s = groups_of(c->node);

	for (int64_t g = 0; g < s.n * s.groups; g++) {
		double mean = 0;
		double var = 0;
		for (int64_t i = g * s.size; i < (g + 1) * s.size; i++)
			mean += sl_in(c, 0, i);
		mean /= (double)s.size;
		for (int64_t i = g * s.size; i < (g + 1) * s.size; i++) {
			double d = sl_in(c, 0, i) - mean;
			var += d * d;
		}
		double rstd = 1 / sqrt(var / (double)s.size + a->eps);
		for (int64_t i = g * s.size; i < (g + 1) * s.size; i++) {
			int64_t ch = channel_of(&s, i);
			double xhat = (sl_in(c, 0, i) - mean) * rstd;
			sl_put(c, 0, i, xhat * sl_in(c, 1, ch) + sl_in(c, 2, ch));
		}
		sl_put(c, 1, g, mean);
		sl_put(c, 2, g, rstd);
	}
	return SL_OK;
}

/* Sums of dy and of dy (x - mean) over plane `plane` of N times C. */
static void channel_sums(
	const struct sl_call *c, const struct groups *s, int64_t plane, double out[2])
{
	double mean = sl_in(c, 2, plane * s->inner / s->size);

	out[0] = out[1] = 0;
	for (int64_t i = plane * s->inner; i < (plane + 1) * s->inner; i++) {
		out[0] += sl_in(c, 4, i);
		out[1] += sl_in(c, 4, i) * (sl_in(c, 0, i) - mean);
	}
}

/* dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma; dx may lie where dy
 * lies. */
static void group_dx(const struct sl_call *c, const struct groups *s, int64_t group)
{
	int64_t planes = s->c / s->groups;
	double mean = sl_in(c, 2, group);
	double rstd = sl_in(c, 3, group);
	double sum[2] = {0, 0};

	for (int64_t p = group * planes; p < (group + 1) * planes; p++) {
		double own[2];
		channel_sums(c, s, p, own);
		sum[0] += sl_in(c, 1, p % s->c) * own[0];
		sum[1] += sl_in(c, 1, p % s->c) * own[1];
	}
	double slope = -rstd * rstd * sum[1] / (double)s->size;
	double shift = -sum[0] / (double)s->size;
	for (int64_t i = group * s->size; i < (group + 1) * s->size; i++) {
		double g = sl_in(c, 4, i) * sl_in(c, 1, channel_of(s, i));
		double rest = slope * (sl_in(c, 0, i) - mean) + shift;
		sl_put(c, 0, i, rstd * (g + rest));
	}
}

static sl_status dx_ref(const struct sl_call *c)
{
	struct groups s = groups_of(c->node);

	for (int64_t ch = 0; ch < s.c; ch++) {
		double dgamma = 0;
		double dbeta = 0;
		for (int64_t n = 0; n < s.n; n++) {
			int64_t plane = n * s.c + ch;
			double own[2];
			channel_sums(c, &s, plane, own);
			dgamma += own[1] * sl_in(c, 3, plane * s.inner / s.size);
			dbeta += own[0];
		}
		sl_put(c, 1, ch, dgamma);
		sl_put(c, 2, ch, dbeta);
	}
	for (int64_t g = 0; g < s.n * s.groups; g++)
		group_dx(c, &s, g);
	return SL_OK;
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 8 * (double)sl_shape_count(&n->in[0].shape);
}

const struct sl_op sl_op_group_norm = {
	.name = "group_norm",
	.attr_bytes = sizeof(struct sl_group_norm_attr),
	.fields = fields,
	.n_fields = 2,
	.min_in = 3,
	.max_in = 3,
	.n_out = 3,
	.infer = infer,
	.grad = grad,
	.cost = cost,
	.ref = ref,
};

const struct sl_op sl_op_group_norm_dx = {
	.name = "group_norm_dx",
	.attr_bytes = sizeof(struct sl_group_norm_attr),
	.fields = fields,
	.n_fields = 2,
	.min_in = 5,
	.max_in = 5,
	.n_out = 3,
	.inplace_in = 1u << 4,
	.infer = dx_infer,
	.cost = cost,
	.ref = dx_ref,
};

sl_val sl_group_norm(struct sl_graph *g, sl_val x, sl_val gamma, sl_val beta,
	const struct sl_group_norm_attr *attr, sl_val out[3])
{
	struct sl_group_norm_attr own = SL_ATTR_OR_ZERO(struct sl_group_norm_attr, attr);
	const sl_val in[] = {x, gamma, beta};

	return sl_graph_add(g, &sl_op_group_norm, &own, in, 3, out);
}

sl_val sl_group_norm_dx(struct sl_graph *g, const sl_val in[5],
	const struct sl_group_norm_attr *attr, sl_val out[3])
{
	struct sl_group_norm_attr own = SL_ATTR_OR_ZERO(struct sl_group_norm_attr, attr);

	return sl_graph_add(g, &sl_op_group_norm_dx, &own, in, 5, out);
}
