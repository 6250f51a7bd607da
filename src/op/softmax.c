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

static sl_status softmax_grad(struct sl_grad *c)
{
	if (c->need[0])
		c->din[0] = sl_softmax_dx(c->g, c->out[0], c->dout[0], axis_of(c->node));
	return SL_OK;
}

static sl_status log_softmax_grad(struct sl_grad *c)
{
	if (c->need[0])
		c->din[0] =
			sl_log_softmax_dx(c->g, c->out[0], c->dout[0], axis_of(c->node));
	return SL_OK;
}

/* One row: elements at + k step for k in [0, n). */
struct row {
	int64_t at, step, n;
};

static void softmax_row(const struct sl_call *c, const struct row *r)
{
	double most = -HUGE_VAL;
	double sum = 0;

	for (int64_t k = 0; k < r->n; k++)
		most = fmax(most, sl_in(c, 0, r->at + k * r->step));
	for (int64_t k = 0; k < r->n; k++)
		sum += exp(sl_in(c, 0, r->at + k * r->step) - most);
	for (int64_t k = 0; k < r->n; k++) {
		int64_t i = r->at + k * r->step;
		sl_put(c, 0, i, exp(sl_in(c, 0, i) - most) / sum);
	}
}

static void log_softmax_row(const struct sl_call *c, const struct row *r)
{
	double most = -HUGE_VAL;
	double sum = 0;

	for (int64_t k = 0; k < r->n; k++)
		most = fmax(most, sl_in(c, 0, r->at + k * r->step));
	for (int64_t k = 0; k < r->n; k++)
		sum += exp(sl_in(c, 0, r->at + k * r->step) - most);
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

static sl_status softmax_ref(const struct sl_call *c)
{
	return each_row(c, softmax_row);
}

static sl_status log_softmax_ref(const struct sl_call *c)
{
	return each_row(c, log_softmax_row);
}

static sl_status softmax_dx_ref(const struct sl_call *c)
{
	return each_row(c, softmax_dx_row);
}

static sl_status log_softmax_dx_ref(const struct sl_call *c)
{
	return each_row(c, log_softmax_dx_row);
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 5 * (double)sl_shape_count(&n->out[0].shape);
}

const struct sl_op sl_op_softmax = {
	.name = "softmax",
	.attr_bytes = sizeof(struct sl_axis_attr),
	.fields = sl_axis_fields,
	.n_fields = 1,
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.inplace_in = 1,
	.infer = infer,
	.grad = softmax_grad,
	.cost = cost,
	.ref = softmax_ref,
};

const struct sl_op sl_op_log_softmax = {
	.name = "log_softmax",
	.attr_bytes = sizeof(struct sl_axis_attr),
	.fields = sl_axis_fields,
	.n_fields = 1,
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.inplace_in = 1,
	.infer = infer,
	.grad = log_softmax_grad,
	.cost = cost,
	.ref = log_softmax_ref,
};

const struct sl_op sl_op_softmax_dx = {
	.name = "softmax_dx",
	.attr_bytes = sizeof(struct sl_axis_attr),
	.fields = sl_axis_fields,
	.n_fields = 1,
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.inplace_in = 1u << 1,
	.infer = dx_infer,
	.cost = cost,
	.ref = softmax_dx_ref,
};

const struct sl_op sl_op_log_softmax_dx = {
	.name = "log_softmax_dx",
	.attr_bytes = sizeof(struct sl_axis_attr),
	.fields = sl_axis_fields,
	.n_fields = 1,
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.inplace_in = 1u << 1,
	.infer = dx_infer,
	.cost = cost,
	.ref = log_softmax_dx_ref,
};

sl_val sl_softmax(struct sl_graph *g, sl_val x, int axis)
{
	struct sl_axis_attr attr = sl_op_axis(g, x, axis);

	return sl_op_add1(g, &sl_op_softmax, &attr, x);
}

sl_val sl_softmax_dx(struct sl_graph *g, sl_val y, sl_val dy, int axis)
{
	struct sl_axis_attr attr = sl_op_axis(g, y, axis);

	return sl_op_add2(g, &sl_op_softmax_dx, &attr, y, dy);
}

sl_val sl_log_softmax(struct sl_graph *g, sl_val x, int axis)
{
	struct sl_axis_attr attr = sl_op_axis(g, x, axis);

	return sl_op_add1(g, &sl_op_log_softmax, &attr, x);
}

sl_val sl_log_softmax_dx(struct sl_graph *g, sl_val y, sl_val dy, int axis)
{
	struct sl_axis_attr attr = sl_op_axis(g, y, axis);

	return sl_op_add2(g, &sl_op_log_softmax_dx, &attr, y, dy);
}
