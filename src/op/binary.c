/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of two float inputs that broadcast as NumPy's; gradients are summed back to
 * each input's shape by sum_to.
 *
 * pow follows PyTorch at its edges: 0^0 = 1; a negative base with a broken exponent is
 * NaN; d/da is 0 where the exponent is 0; d/db is 0 where the base is 0 and the exponent
 * is not negative (told from the result, which then is 0 or 1), NaN for negative bases.
 */
#include "op/op_util.h"

#include <math.h>

typedef double (*map_fn)(double a, double b);

static sl_status broadcast_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_dtype_as(n, 1, 0));
	out[0].dtype = n->in[0].dtype;
	return sl_shape_broadcast(&n->in[0].shape, &n->in[1].shape, &out[0].shape);
}

/* pow_da: a, b, dy; pow_db: a, y, dy. dy has the shape of the broadcast result. */
static sl_status pow_dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(broadcast_infer(n, out));
	SL_TRY(sl_check_dtype_as(n, 2, 0));
	return sl_check_shape(n, 2, &out[0].shape);
}

static sl_status map(const struct sl_call *c, map_fn fn)
{
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	int a = sl_walk_broadcast(&w, &c->node->in[0].shape);
	int b = sl_walk_broadcast(&w, &c->node->in[1].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		sl_put(c, 0, w.i, fn(sl_in(c, 0, w.at[a]), sl_in(c, 1, w.at[b])));
	return SL_OK;
}

/* fn(in[0], in[1]) times in[2]. */
static sl_status map_dx(const struct sl_call *c, map_fn fn)
{
	struct sl_walk w;

	sl_walk_init(&w, &c->node->out[0].shape);
	int a = sl_walk_broadcast(&w, &c->node->in[0].shape);
	int b = sl_walk_broadcast(&w, &c->node->in[1].shape);
	for (; sl_walk_more(&w); sl_walk_next(&w)) {
		double d = fn(sl_in(c, 0, w.at[a]), sl_in(c, 1, w.at[b]));
		/* A zero by rule wins over an infinite or NaN dy. */
		sl_put(c, 0, w.i, isnan(d) || d != 0 ? d * sl_in(c, 2, w.i) : 0);
	}
	return SL_OK;
}

static double add_at(double a, double b)
{
	return a + b;
}

static double sub_at(double a, double b)
{
	return a - b;
}

static double mul_at(double a, double b)
{
	return a * b;
}

static double div_at(double a, double b)
{
	return a / b;
}

static double pow_da_at(double a, double b)
{
	return b == 0 ? 0 : b * pow(a, b - 1);
}

static double pow_db_at(double a, double y)
{
	return a == 0 && fabs(y) <= 1 ? 0 : y * log(a);
}

/* v, of the result's shape, summed to the shape of input i. */
static void give(struct sl_grad *c, int i, sl_val v)
{
	const struct sl_shape *want = &c->node->in[i].shape;

	c->din[i] = sl_shape_equal(want, &c->node->out[0].shape)
			    ? v
			    : sl_grad_as(c, i, sl_sum_to(c->g, v, want));
}

static sl_status add_grad(struct sl_grad *c)
{
	for (int i = 0; i < 2; i++)
		if (c->need[i])
			give(c, i, c->dout[0]);
	return SL_OK;
}

static sl_status sub_grad(struct sl_grad *c)
{
	if (c->need[0])
		give(c, 0, c->dout[0]);
	if (c->need[1])
		give(c, 1, sl_affine(c->g, c->dout[0], -1, 0));
	return SL_OK;
}

static sl_status mul_grad(struct sl_grad *c)
{
	for (int i = 0; i < 2; i++)
		if (c->need[i])
			give(c, i, sl_mul(c->g, c->dout[0], c->in[1 - i]));
	return SL_OK;
}

static sl_status div_grad(struct sl_grad *c)
{
	/* da = dy / b, db = -(dy y) / b. */
	if (c->need[0])
		give(c, 0, sl_div(c->g, c->dout[0], c->in[1]));
	if (c->need[1]) {
		sl_val t = sl_mul(c->g, c->dout[0], c->out[0]);
		give(c, 1, sl_affine(c->g, sl_div(c->g, t, c->in[1]), -1, 0));
	}
	return SL_OK;
}

static sl_status pow_grad(struct sl_grad *c)
{
	if (c->need[0])
		give(c, 0, sl_pow_da(c->g, c->in[0], c->in[1], c->dout[0]));
	if (c->need[1])
		give(c, 1, sl_pow_db(c->g, c->in[0], c->out[0], c->dout[0]));
	return SL_OK;
}

/* The first input may hold the result where its size is the result's. */
#define BINARY(op, fn, low_) \
	static sl_status op##_ref(const struct sl_call *c) \
	{ \
		return map(c, fn); \
	} \
	const struct sl_op sl_op_##op = { \
		.name = #op, \
		.min_in = 2, \
		.max_in = 2, \
		.n_out = 1, \
		.inplace_in = 1, \
		.low = (low_), \
		.low_in = 3, \
		.nhwc_in = 3, \
		.nhwc_out = 1, \
		.infer = broadcast_infer, \
		.grad = op##_grad, \
		.ref = op##_ref, \
	}; \
	sl_val sl_##op(struct sl_graph *g, sl_val a, sl_val b) \
	{ \
		return sl_op_add2(g, &sl_op_##op, NULL, a, b); \
	}

#define BINARY_DX(op, fn) \
	static sl_status op##_ref(const struct sl_call *c) \
	{ \
		return map_dx(c, fn); \
	} \
	const struct sl_op sl_op_##op = { \
		.name = #op, \
		.min_in = 3, \
		.max_in = 3, \
		.n_out = 1, \
		.inplace_in = 4, \
		.infer = pow_dx_infer, \
		.ref = op##_ref, \
	}; \
	sl_val sl_##op(struct sl_graph *g, sl_val a, sl_val b, sl_val dy) \
	{ \
		return sl_op_add3(g, &sl_op_##op, NULL, a, b, dy); \
	}

BINARY(add, add_at, SL_LOW_FOLLOWS)
BINARY(sub, sub_at, SL_LOW_FOLLOWS)
BINARY(mul, mul_at, SL_LOW_FOLLOWS)
BINARY(div, div_at, SL_LOW_FOLLOWS)
BINARY(pow, pow, SL_LOW_NOT)
BINARY_DX(pow_da, pow_da_at)
BINARY_DX(pow_db, pow_db_at)
