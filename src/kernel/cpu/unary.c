/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise kernels of one input, and their gradients. f32, 8 bytes an element
 * (gradients 12), or bf16, half of that; in place where the operator allows it: every
 * loop reads element i before it writes element i.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "graph/op_attr.h"
#include "kernel/cpu/low.h"
#include "kernel/cpu/mathv.h"

/* y[i] of x[i], and of dy[i] in gradients (else NULL). */
typedef void (*row_fn)(const float *x, const float *dy, float *y, int64_t n);

static void rows(const struct sl_call *c, row_fn row, int64_t begin, int64_t end)
{
	enum sl_dtype t = c->node->out[0].dtype;
	bool two = c->node->n_in > 1;
	float x[SL_LOW_BLOCK];
	float dy[SL_LOW_BLOCK];
	float y[SL_LOW_BLOCK];

	for (int64_t n, i = begin; i < end; i += n) {
		n = t == SL_F32 ? end - i : sl_low_block(i, end);
		row(sl_low_load(c->in[0], t, i, n, x),
			two ? sl_low_load(c->in[1], t, i, n, dy) : NULL,
			sl_low_room(c->out[0], t, i, y), n);
		sl_low_store(c->out[0], t, i, n, y);
	}
}

#define ROW(name, expr) \
	static void name##_row(const float *x, const float *dy, float *y, int64_t n) \
	{ \
		(void)dy; \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = (expr); \
	} \
	static void name##_range( \
		const struct sl_call *c, const void *arg, int64_t begin, int64_t end) \
	{ \
		(void)arg; \
		rows(c, name##_row, begin, end); \
	}

#define KERNEL(op_name, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.layouts = SL_KERNEL_ANY, \
		.accepts = sl_cpu_is_f32_or_low, \
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
	ROW(op_name, expr) \
	SIMPLE(op_name)

UNARY(relu, x[i] <= 0 ? 0 : x[i])
UNARY(relu_dx, x[i] <= 0 ? 0 : dy[i])
UNARY(relu6, x[i] >= 6 ? 6 : (x[i] <= 0 ? 0 : x[i]))
UNARY(relu6_dx, x[i] <= 0 || x[i] >= 6 ? 0 : dy[i])
UNARY(tanh, sl_tanhf(x[i]))
UNARY(tanh_dx, dy[i] * (1 - x[i] * x[i]))
UNARY(sigmoid, sl_sigmoidf(x[i]))
UNARY(sigmoid_dx, dy[i] * x[i] * (1 - x[i]))
UNARY(silu, x[i] / (1 + sl_expf(-x[i])))

static inline float silu_slope(float x)
{
	float s = sl_sigmoidf(x);
	return s * (1 + x * (1 - s));
}

UNARY(silu_dx, dy[i] * silu_slope(x[i]))
UNARY(sqrt, sqrtf(x[i]))
UNARY(exp, sl_expf(x[i]))
UNARY(log, sl_logf(x[i]))

ROW(gelu_erf, sl_geluf(x[i]))
ROW(gelu_tanh, sl_gelu_tanhf(x[i]))
ROW(gelu_erf_dx, dy[i] * sl_gelu_dxf(x[i]))
ROW(gelu_tanh_dx, dy[i] * sl_gelu_tanh_dxf(x[i]))

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
	enum sl_dtype t = c->node->out[0].dtype;
	float scale = (float)a->scale;
	float shift = (float)a->shift;
	float buf[2][SL_LOW_BLOCK];

	for (int64_t n, at = begin; at < end; at += n) {
		n = sl_low_block(at, end);
		const float *x = sl_low_load(c->in[0], t, at, n, buf[0]);
		float *y = sl_low_room(c->out[0], t, at, buf[1]);
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = scale * x[i] + shift;
		sl_low_store(c->out[0], t, at, n, y);
	}
}

static sl_status affine_run(const struct sl_call *c)
{
	sl_cpu_for(c, c->node->attr, sl_cpu_count_out(c, 0), SL_CPU_GRAIN, affine_range);
	return SL_OK;
}

KERNEL(affine, affine_run)
