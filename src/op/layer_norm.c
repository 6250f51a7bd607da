/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer normalisation over the last axis of x [..., C]: y = (x - mean) rstd gamma + beta
 * with rstd = 1 / sqrt(variance + eps); gamma, beta [C]; mean and rstd [...]; source: Ba,
 * Kiros, Hinton, "Layer normalization", 2016.
 *
 * 1. The variance is of two passes: rows around 40000 keep their digits.
 * 2. dgamma and dbeta add rows in ascending order, whatever the thread count.
 * 3. For x of bf16 y and dx are bf16 and all else is f32.
 * 4. A gradient into the outputs mean and rstd is SL_E_UNSUPPORTED.
 */
#include "op/op_util.h"

#include <math.h>

#include "graph/op_attr.h"

static const struct sl_attr_field fields[] = {SL_ATTR(struct sl_eps_attr, eps, F64, 1)};

/* x [..., C] with C > 0; the next `vectors` inputs are [C]. */
static sl_status check(const struct sl_node_info *n, int vectors)
{
	const struct sl_shape *x = &n->in[0].shape;
	char text[SL_SHAPE_TEXT];

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_min_rank(n, 0, 1));
	if (x->dim[x->rank - 1] < 1)
		return SL_FAIL(SL_E_SHAPE, "x %s has rows of no element to normalise",
			sl_shape_print(x, text));
	for (int i = 1; i <= vectors; i++) {
		SL_TRY(sl_check_wide(n, i));
		SL_TRY(sl_check_shape(n, i, &SL_SHAPE(x->dim[x->rank - 1])));
	}
	return SL_OK;
}

static struct sl_type per_row(const struct sl_type *x)
{
	struct sl_type t = *x;

	t.dtype = sl_dtype_wide(t.dtype);
	t.shape.rank--;
	t.shape.dim[t.shape.rank] = 0;
	return t;
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_eps_attr *attr = n->attr;

	SL_TRY(check(n, 2));
	if (!(attr->eps >= 0) || isinf(attr->eps))
		return SL_FAIL(SL_E_INVALID, "eps %g; it must be at least 0 and finite",
			attr->eps);
	out[0] = n->in[0];
	out[1] = per_row(&n->in[0]);
	out[2] = out[1];
	return SL_OK;
}

/* Inputs x, gamma, mean, rstd, dy. */
static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n, 1));
	struct sl_type row = per_row(&n->in[0]);
	for (int i = 2; i < 4; i++) {
		SL_TRY(sl_check_wide(n, i));
		SL_TRY(sl_check_shape(n, i, &row.shape));
	}
	SL_TRY(sl_check_type_as(n, 4, 0));
	out[0] = n->in[0];
	out[1] = n->in[1];
	out[2] = n->in[1];
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	sl_val d[3];

	if (!sl_val_is_none(c->dout[1]) || !sl_val_is_none(c->dout[2]))
		return SL_FAIL(SL_E_UNSUPPORTED, "a gradient flows into the mean or rstd "
						 "that layer_norm hands out; use "
						 "only its first output in the loss");
	sl_layer_norm_dx(c->g, c->in[0], c->in[1], c->out[1], c->out[2], c->dout[0], d);
	for (int i = 0; i < 3; i++)
		if (c->need[i])
			c->din[i] = d[i];
	return SL_OK;
}

static sl_status ref(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);

	for (int64_t r = 0; r < s.n; r++) {
		double mean = 0;
		double var = 0;
		for (int64_t i = 0; i < s.c; i++)
			mean += sl_in(c, 0, r * s.c + i);
		mean /= (double)s.c;
		for (int64_t i = 0; i < s.c; i++) {
			double d = sl_in(c, 0, r * s.c + i) - mean;
			var += d * d;
		}
		double rstd = 1 / sqrt(var / (double)s.c + attr->eps);
		for (int64_t i = 0; i < s.c; i++) {
			double xhat = (sl_in(c, 0, r * s.c + i) - mean) * rstd;
			sl_put(c, 0, r * s.c + i, xhat * sl_in(c, 1, i) + sl_in(c, 2, i));
		}
		sl_put(c, 1, r, mean);
		sl_put(c, 2, r, rstd);
	}
	return SL_OK;
}

static double xhat_at(
	const struct sl_call *c, const struct sl_rows *s, int64_t r, int64_t i)
{
	return (sl_in(c, 0, r * s->c + i) - sl_in(c, 2, r)) * sl_in(c, 3, r);
}

/* dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma; dx may lie where dy
 * lies. */
static void row_dx(const struct sl_call *c, const struct sl_rows *s, int64_t r)
{
	double sum = 0;
	double sum_xhat = 0;

	for (int64_t i = 0; i < s->c; i++) {
		double g = sl_in(c, 4, r * s->c + i) * sl_in(c, 1, i);
		sum += g;
		sum_xhat += g * xhat_at(c, s, r, i);
	}
	for (int64_t i = 0; i < s->c; i++) {
		double g = sl_in(c, 4, r * s->c + i) * sl_in(c, 1, i);
		double rest = (sum + xhat_at(c, s, r, i) * sum_xhat) / (double)s->c;
		sl_put(c, 0, r * s->c + i, sl_in(c, 3, r) * (g - rest));
	}
}

static sl_status dx_ref(const struct sl_call *c)
{
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);

	for (int64_t i = 0; i < s.c; i++) {
		double dgamma = 0;
		double dbeta = 0;
		for (int64_t r = 0; r < s.n; r++) {
			double dy = sl_in(c, 4, r * s.c + i);
			dgamma += dy * xhat_at(c, &s, r, i);
			dbeta += dy;
		}
		sl_put(c, 1, i, dgamma);
		sl_put(c, 2, i, dbeta);
	}
	for (int64_t r = 0; r < s.n; r++)
		row_dx(c, &s, r);
	return SL_OK;
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 8 * (double)sl_shape_count(&n->in[0].shape);
}

const struct sl_op sl_op_layer_norm = {
	.name = "layer_norm",
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
	.again = sl_op_again,
	.cost = cost,
	.ref = ref,
};

const struct sl_op sl_op_layer_norm_dx = {
	.name = "layer_norm_dx",
	.min_in = 5,
	.max_in = 5,
	.n_out = 3,
	.inplace_in = 1u << 4,
	.infer = dx_infer,
	.cost = cost,
	.ref = dx_ref,
};

sl_val sl_layer_norm(struct sl_graph *g, sl_val x, sl_val gamma, sl_val beta, double eps,
	sl_val out[3])
{
	const sl_val in[] = {x, gamma, beta};

	return sl_graph_add(g, &sl_op_layer_norm, &(struct sl_eps_attr){eps}, in, 3, out);
}

sl_val sl_layer_norm_dx(struct sl_graph *g, sl_val x, sl_val gamma, sl_val mean,
	sl_val rstd, sl_val dy, sl_val out[3])
{
	const sl_val in[] = {x, gamma, mean, rstd, dy};

	return sl_graph_add(g, &sl_op_layer_norm_dx, NULL, in, 5, out);
}
