/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of one float input, element by element, and their gradients.
 *
 * Rules at the edges are PyTorch's: relu'(0) = 0, relu(NaN) = NaN, gelu(-inf) =
 * silu(-inf) = NaN, the gradients of gelu and silu at an infinity are NaN. Gradients take
 * the output where it suffices (relu relu6 tanh sigmoid sqrt exp) and the input
 * elsewhere, so that memory keeps the smaller need. gelu: x Phi(x), or with tanh_form 0.5
 * x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks, Gimpel, arXiv 1606.08415).
 */
#include "op/op_util.h"

#include <math.h>

#include "base/compiler.h"
#include "graph/op_attr.h"

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588
#define INV_SQRT_2PI 0.39894228040143267794
#define GELU_CUBIC 0.044715

typedef double (*map_fn)(double x);
/* s is the saved input or output. */
typedef double (*map_dx_fn)(double s, double dy);

static sl_status map(const struct sl_call *c, map_fn fn)
{
	int64_t count = sl_shape_count(&c->node->out[0].shape);

	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, fn(sl_in(c, 0, i)));
	return SL_OK;
}

static sl_status map_dx(const struct sl_call *c, map_dx_fn fn)
{
	int64_t count = sl_shape_count(&c->node->out[0].shape);

	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, fn(sl_in(c, 0, i), sl_in(c, 1, i)));
	return SL_OK;
}

static double relu_at(double x)
{
	return x <= 0 ? 0 : x; /* NaN passes */
}

static double relu_dx_at(double y, double dy)
{
	return y <= 0 ? 0 : dy;
}

/* Above, too, the gradient ends where the value does (PyTorch). */
static double relu6_at(double x)
{
	return x >= 6 ? 6 : relu_at(x);
}

static double relu6_dx_at(double y, double dy)
{
	return y <= 0 || y >= 6 ? 0 : dy;
}

static double gelu_at(double x)
{
	return 0.5 * x * erfc(-x * SQRT_HALF);
}

static double gelu_dx_at(double x, double dy)
{
	double phi = INV_SQRT_2PI * exp(-0.5 * x * x);
	return dy * (0.5 * erfc(-x * SQRT_HALF) + x * phi);
}

static double gelu_tanh_at(double x)
{
	return 0.5 * x * (1 + tanh(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x)));
}

static double gelu_tanh_dx_at(double x, double dy)
{
	double t = tanh(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x));
	double du = SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * x * x);
	return dy * 0.5 * (1 + t + x * (1 - t * t) * du);
}

static double tanh_dx_at(double y, double dy)
{
	return dy * (1 - y * y);
}

static double sigmoid_at(double x)
{
	return 1 / (1 + exp(-x));
}

static double sigmoid_dx_at(double y, double dy)
{
	return dy * y * (1 - y);
}

static double silu_at(double x)
{
	return x / (1 + exp(-x));
}

static double silu_dx_at(double x, double dy)
{
	double s = sigmoid_at(x);
	return dy * s * (1 + x * (1 - s));
}

static sl_status relu_grad(struct sl_grad *c)
{
	c->din[0] = sl_relu_dx(c->g, c->out[0], c->dout[0]);
	return SL_OK;
}

static sl_status relu6_grad(struct sl_grad *c)
{
	c->din[0] = sl_relu6_dx(c->g, c->out[0], c->dout[0]);
	return SL_OK;
}

static sl_status gelu_grad(struct sl_grad *c)
{
	const struct sl_gelu_attr *a = c->node->attr;
	c->din[0] = sl_gelu_dx(c->g, c->in[0], c->dout[0], a->tanh_form);
	return SL_OK;
}

static sl_status tanh_grad(struct sl_grad *c)
{
	c->din[0] = sl_tanh_dx(c->g, c->out[0], c->dout[0]);
	return SL_OK;
}

static sl_status sigmoid_grad(struct sl_grad *c)
{
	c->din[0] = sl_sigmoid_dx(c->g, c->out[0], c->dout[0]);
	return SL_OK;
}

static sl_status silu_grad(struct sl_grad *c)
{
	c->din[0] = sl_silu_dx(c->g, c->in[0], c->dout[0]);
	return SL_OK;
}

static sl_status sqrt_grad(struct sl_grad *c)
{
	/* dy / (2 y): infinite at 0, as PyTorch. */
	sl_val half = sl_affine(c->g, c->dout[0], 0.5, 0);
	c->din[0] = sl_div(c->g, half, c->out[0]);
	return SL_OK;
}

static sl_status exp_grad(struct sl_grad *c)
{
	c->din[0] = sl_mul(c->g, c->dout[0], c->out[0]);
	return SL_OK;
}

static sl_status log_grad(struct sl_grad *c)
{
	c->din[0] = sl_div(c->g, c->dout[0], c->in[0]);
	return SL_OK;
}

/* An operator without attributes and its builder. */
#define UNARY(op, fn, low_) \
	static sl_status op##_ref(const struct sl_call *c) \
	{ \
		return map(c, fn); \
	} \
	const struct sl_op sl_op_##op = { \
		.name = #op, \
		.min_in = 1, \
		.max_in = 1, \
		.n_out = 1, \
		.inplace_in = 1, \
		.low = (low_), \
		.low_in = 1, \
		.nhwc_in = 1, \
		.nhwc_out = 1, \
		.infer = sl_infer_same_float, \
		.grad = op##_grad, \
		.ref = op##_ref, \
	}; \
	sl_val sl_##op(struct sl_graph *g, sl_val x) \
	{ \
		return sl_op_add1(g, &sl_op_##op, NULL, x); \
	}

/* A gradient's operator: the saved value, dy; may overwrite dy. */
#define UNARY_DX(op, fn) \
	static sl_status op##_ref(const struct sl_call *c) \
	{ \
		return map_dx(c, fn); \
	} \
	const struct sl_op sl_op_##op = { \
		.name = #op, \
		.min_in = 2, \
		.max_in = 2, \
		.n_out = 1, \
		.inplace_in = 2, \
		.nhwc_in = 3, \
		.nhwc_out = 1, \
		.infer = sl_infer_pair_float, \
		.ref = op##_ref, \
	}; \
	sl_val sl_##op(struct sl_graph *g, sl_val saved, sl_val dy) \
	{ \
		return sl_op_add2(g, &sl_op_##op, NULL, saved, dy); \
	}

UNARY(relu, relu_at, SL_LOW_FOLLOWS)
UNARY_DX(relu_dx, relu_dx_at)
UNARY(relu6, relu6_at, SL_LOW_FOLLOWS)
UNARY_DX(relu6_dx, relu6_dx_at)
UNARY(tanh, tanh, SL_LOW_FOLLOWS)
UNARY_DX(tanh_dx, tanh_dx_at)
UNARY(sigmoid, sigmoid_at, SL_LOW_FOLLOWS)
UNARY_DX(sigmoid_dx, sigmoid_dx_at)
UNARY(silu, silu_at, SL_LOW_FOLLOWS)
UNARY_DX(silu_dx, silu_dx_at)
UNARY(sqrt, sqrt, SL_LOW_NOT)
UNARY(exp, exp, SL_LOW_NOT)
UNARY(log, log, SL_LOW_NOT)

static const struct sl_attr_field gelu_fields[] = {
	SL_ATTR(struct sl_gelu_attr, tanh_form, BOOL, 1),
};

static sl_status gelu_ref(const struct sl_call *c)
{
	const struct sl_gelu_attr *a = c->node->attr;
	return map(c, a->tanh_form ? gelu_tanh_at : gelu_at);
}

static sl_status gelu_dx_ref(const struct sl_call *c)
{
	const struct sl_gelu_attr *a = c->node->attr;
	return map_dx(c, a->tanh_form ? gelu_tanh_dx_at : gelu_dx_at);
}

const struct sl_op sl_op_gelu = {
	.name = "gelu",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_gelu_attr),
	.fields = gelu_fields,
	.n_fields = SL_COUNT(gelu_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.inplace_in = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = sl_infer_same_float,
	.grad = gelu_grad,
	.again = sl_op_again,
	.ref = gelu_ref,
};

const struct sl_op sl_op_gelu_dx = {
	.name = "gelu_dx",
	.nhwc_in = 3,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_gelu_attr),
	.fields = gelu_fields,
	.n_fields = SL_COUNT(gelu_fields),
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.inplace_in = 2,
	.infer = sl_infer_pair_float,
	.ref = gelu_dx_ref,
};

sl_val sl_gelu(struct sl_graph *g, sl_val x, bool tanh_form)
{
	struct sl_gelu_attr a = {.tanh_form = tanh_form};
	return sl_op_add1(g, &sl_op_gelu, &a, x);
}

sl_val sl_gelu_dx(struct sl_graph *g, sl_val x, sl_val dy, bool tanh_form)
{
	struct sl_gelu_attr a = {.tanh_form = tanh_form};
	return sl_op_add2(g, &sl_op_gelu_dx, &a, x, dy);
}

static const struct sl_attr_field affine_fields[] = {
	SL_ATTR(struct sl_affine_attr, scale, F64, 1),
	SL_ATTR(struct sl_affine_attr, shift, F64, 1),
};

static sl_status affine_ref(const struct sl_call *c)
{
	const struct sl_affine_attr *a = c->node->attr;
	int64_t count = sl_shape_count(&c->node->out[0].shape);

	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, a->scale * sl_in(c, 0, i) + a->shift);
	return SL_OK;
}

static sl_status affine_grad(struct sl_grad *c)
{
	const struct sl_affine_attr *a = c->node->attr;
	c->din[0] = sl_affine(c->g, c->dout[0], a->scale, 0);
	return SL_OK;
}

const struct sl_op sl_op_affine = {
	.name = "affine",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_affine_attr),
	.fields = affine_fields,
	.n_fields = SL_COUNT(affine_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.inplace_in = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = sl_infer_same_float,
	.grad = affine_grad,
	.ref = affine_ref,
};

sl_val sl_affine(struct sl_graph *g, sl_val x, double scale, double shift)
{
	struct sl_affine_attr a = {.scale = scale, .shift = shift};
	return sl_op_add1(g, &sl_op_affine, &a, x);
}
