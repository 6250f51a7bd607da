/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise kernels of one input, and their gradients. f32, 8 bytes an element
 * (gradients 12), in place where the operator allows it: every loop reads element i
 * before it writes element i.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "graph/op_attr.h"
#include "kernel/cpu/mathv.h"

/* A loop y[i] = expr over x[i]. */
#define RANGE(name, expr) \
	static void name##_range( \
		const struct sl_call *c, const void *arg, int64_t begin, int64_t end) \
	{ \
		const float *x = c->in[0]; \
		float *y = c->out[0]; \
		(void)arg; \
		_Pragma("omp simd") for (int64_t i = begin; i < end; i++) y[i] = (expr); \
	}

/* A loop dx[i] = expr over the saved s[i] and dy[i]. */
#define RANGE_DX(name, expr) \
	static void name##_range( \
		const struct sl_call *c, const void *arg, int64_t begin, int64_t end) \
	{ \
		const float *s = c->in[0]; \
		const float *dy = c->in[1]; \
		float *dx = c->out[0]; \
		(void)arg; \
		_Pragma("omp simd") for (int64_t i = begin; i < end; i++) dx[i] = \
			(expr); \
	}

#define KERNEL(op_name, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.layouts = SL_KERNEL_ANY, \
		.accepts = sl_cpu_is_f32, \
		.run = run_fn, \
	};

#define SIMPLE(op_name) \
	static sl_status op_name##_run(const struct sl_call *c) \
	{ \
		sl_cpu_for( \
			c, NULL, sl_cpu_count_out(c, 0), SL_CPU_GRAIN, op_name##_range); \
		return SL_OK; \
	} \
	KERNEL(op_name, op_name##_run)

#define UNARY(op_name, expr) \
	RANGE(op_name, expr) \
	SIMPLE(op_name)

#define UNARY_DX(op_name, expr) \
	RANGE_DX(op_name, expr) \
	SIMPLE(op_name)

UNARY(relu, x[i] <= 0 ? 0 : x[i])
UNARY_DX(relu_dx, s[i] <= 0 ? 0 : dy[i])
UNARY(relu6, x[i] >= 6 ? 6 : (x[i] <= 0 ? 0 : x[i]))
UNARY_DX(relu6_dx, s[i] <= 0 || s[i] >= 6 ? 0 : dy[i])
UNARY(tanh, sl_tanhf(x[i]))
UNARY_DX(tanh_dx, dy[i] * (1 - s[i] * s[i]))
UNARY(sigmoid, sl_sigmoidf(x[i]))
UNARY_DX(sigmoid_dx, dy[i] * s[i] * (1 - s[i]))
UNARY(silu, x[i] / (1 + sl_expf(-x[i])))

static inline float silu_slope(float x)
{
	float s = sl_sigmoidf(x);
	return s * (1 + x * (1 - s));
}

UNARY_DX(silu_dx, dy[i] * silu_slope(s[i]))
UNARY(sqrt, sqrtf(x[i]))
UNARY(exp, sl_expf(x[i]))
UNARY(log, sl_logf(x[i]))

RANGE(gelu_erf, sl_geluf(x[i]))
RANGE(gelu_tanh, sl_gelu_tanhf(x[i]))
RANGE_DX(gelu_erf_dx, dy[i] * sl_gelu_dxf(s[i]))
RANGE_DX(gelu_tanh_dx, dy[i] * sl_gelu_tanh_dxf(s[i]))

static sl_status gelu_run(const struct sl_call *c)
{
	const struct sl_gelu_attr *a = c->node->attr;

	sl_cpu_for(c, NULL, sl_cpu_count_out(c, 0), SL_CPU_GRAIN,
		a->tanh_form ? gelu_tanh_range : gelu_erf_range);
	return SL_OK;
}

static sl_status gelu_dx_run(const struct sl_call *c)
{
	const struct sl_gelu_attr *a = c->node->attr;

	sl_cpu_for(c, NULL, sl_cpu_count_out(c, 0), SL_CPU_GRAIN,
		a->tanh_form ? gelu_tanh_dx_range : gelu_erf_dx_range);
	return SL_OK;
}

KERNEL(gelu, gelu_run)
KERNEL(gelu_dx, gelu_dx_run)

static void affine_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_affine_attr *a = arg;
	const float *x = c->in[0];
	float *y = c->out[0];
	float scale = (float)a->scale;
	float shift = (float)a->shift;

#pragma omp simd
	for (int64_t i = begin; i < end; i++)
		y[i] = scale * x[i] + shift;
}

static sl_status affine_run(const struct sl_call *c)
{
	sl_cpu_for(c, c->node->attr, sl_cpu_count_out(c, 0), SL_CPU_GRAIN, affine_range);
	return SL_OK;
}

KERNEL(affine, affine_run)
