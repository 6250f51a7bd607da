/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root mean square normalisation over the last axis of x [..., C]: y = x rstd gamma with
 * rstd = 1 / sqrt(mean(x x) + eps); gamma [C]; rstd [...]; source: Zhang, Sennrich, "Root
 * mean square layer normalization", 2019.
 *
 * dgamma adds rows in ascending order, whatever the thread count. A gradient into the
 * output rstd is SL_E_UNSUPPORTED.
 */
#include "op/op_util.h"

#include <math.h>

#include "graph/op_attr.h"

static const struct sl_attr_field fields[] = {SL_ATTR(struct sl_eps_attr, eps, F64, 1)};

/* x [..., C] with C > 0, gamma [C]. */
static sl_status check(const struct sl_node_info *n)
{
	const struct sl_shape *x = &n->in[0].shape;
	char text[SL_SHAPE_TEXT];

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_min_rank(n, 0, 1));
	if (x->dim[x->rank - 1] < 1)
		return SL_FAIL(SL_E_SHAPE, "x %s has rows of no element to normalise",
			sl_shape_print(x, text));
	SL_TRY(sl_check_dtype_as(n, 1, 0));
	return sl_check_shape(n, 1, &SL_SHAPE(x->dim[x->rank - 1]));
}

static struct sl_type per_row(const struct sl_type *x)
{
	struct sl_type t = *x;

	t.shape.rank--;
	t.shape.dim[t.shape.rank] = 0;
	return t;
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_eps_attr *attr = n->attr;

	SL_TRY(check(n));
	if (!(attr->eps >= 0) || isinf(attr->eps))
		return SL_FAIL(SL_E_INVALID, "eps %g; it must be at least 0 and finite",
			attr->eps);
	out[0] = n->in[0];
	out[1] = per_row(&n->in[0]);
	return SL_OK;
}

/* Inputs x, gamma, rstd, dy. */
static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check(n));
	struct sl_type row = per_row(&n->in[0]);
	SL_TRY(sl_check_dtype_as(n, 2, 0));
	SL_TRY(sl_check_shape(n, 2, &row.shape));
	SL_TRY(sl_check_type_as(n, 3, 0));
	out[0] = n->in[0];
	out[1] = n->in[1];
	return SL_OK;
}

static sl_status grad(struct sl_grad *c)
{
	sl_val d[2];

	if (!sl_val_is_none(c->dout[1]))
		return SL_FAIL(SL_E_UNSUPPORTED, "a gradient flows into the rstd that "
						 "rms_norm hands out; use only its "
						 "first output in the loss");
	sl_rms_norm_dx(c->g, c->in[0], c->in[1], c->out[1], c->dout[0], d);
	for (int i = 0; i < 2; i++)
		if (c->need[i])
			c->din[i] = d[i];
	return SL_OK;
}

static sl_status ref(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);

	for (int64_t r = 0; r < s.n; r++) {
		double sum = 0;
		for (int64_t i = r * s.c; i < (r + 1) * s.c; i++)
			sum += sl_in(c, 0, i) * sl_in(c, 0, i);
		double rstd = 1 / sqrt(sum / (double)s.c + attr->eps);
		for (int64_t i = 0; i < s.c; i++)
			sl_put(c, 0, r * s.c + i,
				sl_in(c, 0, r * s.c + i) * rstd * sl_in(c, 1, i));
		sl_put(c, 1, r, rstd);
	}
	return SL_OK;
}

/* dx = rstd (g - xhat mean(g xhat)) with g = dy gamma, xhat = x rstd; dx may lie where dy
 * lies. */
static void row_dx(const struct sl_call *c, const struct sl_rows *s, int64_t r)
{
	double rstd = sl_in(c, 2, r);
	double sum = 0;

	for (int64_t i = 0; i < s->c; i++)
		sum += sl_in(c, 3, r * s->c + i) * sl_in(c, 1, i) *
		       sl_in(c, 0, r * s->c + i) * rstd;
	for (int64_t i = 0; i < s->c; i++) {
		double g = sl_in(c, 3, r * s->c + i) * sl_in(c, 1, i);
		double xhat = sl_in(c, 0, r * s->c + i) * rstd;
		sl_put(c, 0, r * s->c + i, rstd * (g - xhat * sum / (double)s->c));
	}
}

static sl_status dx_ref(const struct sl_call *c)
{
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);

	for (int64_t i = 0; i < s.c; i++) {
		double dgamma = 0;
		for (int64_t r = 0; r < s.n; r++)
			dgamma += sl_in(c, 3, r * s.c + i) * sl_in(c, 0, r * s.c + i) *
				  sl_in(c, 2, r);
		sl_put(c, 1, i, dgamma);
	}
	for (int64_t r = 0; r < s.n; r++)
		row_dx(c, &s, r);
	return SL_OK;
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 6 * (double)sl_shape_count(&n->in[0].shape);
}

const struct sl_op sl_op_rms_norm = {
	.name = "rms_norm",
	.attr_bytes = sizeof(struct sl_eps_attr),
	.fields = fields,
	.n_fields = 1,
	.min_in = 2,
	.max_in = 2,
	.n_out = 2,
	.infer = infer,
	.grad = grad,
	.again = sl_op_again,
	.cost = cost,
	.ref = ref,
};

const struct sl_op sl_op_rms_norm_dx = {
	.name = "rms_norm_dx",
	.min_in = 4,
	.max_in = 4,
	.n_out = 2,
	.inplace_in = 1u << 3,
	.infer = dx_infer,
	.cost = cost,
	.ref = dx_ref,
};

sl_val sl_rms_norm(struct sl_graph *g, sl_val x, sl_val gamma, double eps, sl_val out[2])
{
	const sl_val in[] = {x, gamma};

	return sl_graph_add(g, &sl_op_rms_norm, &(struct sl_eps_attr){eps}, in, 2, out);
}

sl_val sl_rms_norm_dx(
	struct sl_graph *g, sl_val x, sl_val gamma, sl_val rstd, sl_val dy, sl_val out[2])
{
	const sl_val in[] = {x, gamma, rstd, dy};

	return sl_graph_add(g, &sl_op_rms_norm_dx, NULL, in, 4, out);
}
