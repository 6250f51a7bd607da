/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and log-softmax along one axis, of x less its largest element, so that 1e4 does
 * not overflow. The gradients are computed from the results: they keep y, not x.
 *
 * A row of -inf only is 0/0 and gives NaN, as in PyTorch; so does a row with NaN or +inf.
 */
#include "op/op_util.h"

#include <math.h>

static int axis_of(const struct sl_node_info *n)
{
	return (int)((const struct sl_axis_attr *)n->attr)->axis;
}

static sl_status check_axis(const struct sl_node_info *n)
{
	const struct sl_axis_attr *attr = n->attr;

	return sl_check_axis_attr(attr->axis, n->in[0].shape.rank);
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_infer_same_float(n, out));
	return check_axis(n);
}

static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_infer_pair_float(n, out));
	return check_axis(n);
}

/* One row: elements at + k step for k in [0, n). */
struct row {
	int64_t at, step, n;
};

/* Sum of exp(x - most) over a row; most: its largest element. */
static double exp_sum(const struct sl_call *c, const struct row *r, double *most)
{
	double sum = 0;

	*most = -HUGE_VAL;
	for (int64_t k = 0; k < r->n; k++)
		*most = fmax(*most, sl_in(c, 0, r->at + k * r->step));
	for (int64_t k = 0; k < r->n; k++)
		sum += exp(sl_in(c, 0, r->at + k * r->step) - *most);
	return sum;
}

static void softmax_row(const struct sl_call *c, const struct row *r)
{
	double most;
	double sum = exp_sum(c, r, &most);

	for (int64_t k = 0; k < r->n; k++) {
		int64_t i = r->at + k * r->step;
		sl_put(c, 0, i, exp(sl_in(c, 0, i) - most) / sum);
	}
}

static void log_softmax_row(const struct sl_call *c, const struct row *r)
{
	double most;
	double sum = exp_sum(c, r, &most);

	for (int64_t k = 0; k < r->n; k++) {
		int64_t i = r->at + k * r->step;
		sl_put(c, 0, i, sl_in(c, 0, i) - most - log(sum));
	}
}

/* dx = y (dy - sum(y dy)). */
static void softmax_dx_row(const struct sl_call *c, const struct row *r)
{
	double sum = 0;

	for (int64_t k = 0; k < r->n; k++) {
		int64_t i = r->at + k * r->step;
		sum += sl_in(c, 0, i) * sl_in(c, 1, i);
	}
	for (int64_t k = 0; k < r->n; k++) {
		int64_t i = r->at + k * r->step;
		sl_put(c, 0, i, sl_in(c, 0, i) * (sl_in(c, 1, i) - sum));
	}
}

/* dx = dy - exp(y) sum(dy). */
static void log_softmax_dx_row(const struct sl_call *c, const struct row *r)
{
	double sum = 0;

	for (int64_t k = 0; k < r->n; k++)
		sum += sl_in(c, 1, r->at + k * r->step);
	for (int64_t k = 0; k < r->n; k++) {
		int64_t i = r->at + k * r->step;
		sl_put(c, 0, i, sl_in(c, 1, i) - exp(sl_in(c, 0, i)) * sum);
	}
}

static sl_status each_row(const struct sl_call *c,
	void (*run)(const struct sl_call *c, const struct row *r))
{
	struct sl_around s = sl_around_axis(&c->node->in[0].shape, axis_of(c->node));

	for (int64_t i = 0; i < s.outer * s.inner; i++) {
		struct row r = {.at = i / s.inner * s.n * s.inner + i % s.inner,
			.step = s.inner,
			.n = s.n};
		run(c, &r);
	}
	return SL_OK;
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 5 * (double)sl_shape_count(&n->out[0].shape);
}

#define ROWS_OP(op, n_inputs, over, infer_fn, grad_fn) \
	static sl_status op##_ref(const struct sl_call *c) \
	{ \
		return each_row(c, op##_row); \
	} \
	const struct sl_op sl_op_##op = { \
		.name = #op, \
		.attr_bytes = sizeof(struct sl_axis_attr), \
		.fields = sl_axis_fields, \
		.n_fields = 1, \
		.min_in = (n_inputs), \
		.max_in = (n_inputs), \
		.n_out = 1, \
		.inplace_in = 1u << (over), \
		.infer = infer_fn, \
		.grad = grad_fn, \
		.cost = cost, \
		.ref = op##_ref, \
	};

/* An operator, the operator of its gradient, and their builders. */
#define SOFTMAX(op) \
	static sl_status op##_grad(struct sl_grad *c) \
	{ \
		if (c->need[0]) \
			c->din[0] = sl_##op##_dx( \
				c->g, c->out[0], c->dout[0], axis_of(c->node)); \
		return SL_OK; \
	} \
	ROWS_OP(op, 1, 0, infer, op##_grad) \
	ROWS_OP(op##_dx, 2, 1, dx_infer, NULL) \
	sl_val sl_##op(struct sl_graph *g, sl_val x, int axis) \
	{ \
		struct sl_axis_attr attr = sl_op_axis(g, x, axis); \
		return sl_op_add1(g, &sl_op_##op, &attr, x); \
	} \
	sl_val sl_##op##_dx(struct sl_graph *g, sl_val y, sl_val dy, int axis) \
	{ \
		struct sl_axis_attr attr = sl_op_axis(g, y, axis); \
		return sl_op_add2(g, &sl_op_##op##_dx, &attr, y, dy); \
	}

SOFTMAX(softmax)
SOFTMAX(log_softmax)
