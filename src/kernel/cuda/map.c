/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that go element by element over operands of one shape (map.cu, cast.cu). */
#include "kernel/cuda/launch.h"

#include <math.h>

static int64_t count_out(const struct sl_call *c)
{
	return sl_shape_count(&c->node->out[0].shape);
}

static sl_status map1(const struct sl_call *c, enum sl_cuda_code pair)
{
	void *x = c->in[0], *y = c->out[0];
	int64_t n = count_out(c);

	return sl_cuda_each(
		c, sl_cuda_of(pair, c->node->in[0].dtype), n, SL_PARAMS(&x, &y, &n));
}

static sl_status map2(const struct sl_call *c, enum sl_cuda_code pair)
{
	void *a = c->in[0], *b = c->in[1], *y = c->out[0];
	int64_t n = count_out(c);

	return sl_cuda_each(
		c, sl_cuda_of(pair, c->node->in[0].dtype), n, SL_PARAMS(&a, &b, &y, &n));
}

#define KERNEL(op_, accepts_) \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.layouts = SL_KERNEL_ANY, \
		.accepts = (accepts_), \
		.run = op_##_run, \
	};
#define MAP1(op) \
	static sl_status op##_run(const struct sl_call *c) \
	{ \
		return map1(c, SL_IN_sl_cu_##op##_f32); \
	} \
	KERNEL(op, sl_cuda_is_float)
#define MAP2(op) \
	static sl_status op##_run(const struct sl_call *c) \
	{ \
		return map2(c, SL_IN_sl_cu_##op##_f32); \
	} \
	KERNEL(op, sl_cuda_is_float)

MAP1(relu)
MAP1(relu6)
MAP1(tanh)
MAP1(sigmoid)
MAP1(silu)
MAP1(sqrt)
MAP1(exp)
MAP1(log)
MAP2(relu_dx)
MAP2(relu6_dx)
MAP2(tanh_dx)
MAP2(sigmoid_dx)
MAP2(silu_dx)

static sl_status gelu_run(const struct sl_call *c)
{
	const struct sl_gelu_attr *a = c->node->attr;

	return map1(c, a->tanh_form ? SL_IN_sl_cu_gelu_tanh_f32 : SL_IN_sl_cu_gelu_f32);
}

static sl_status gelu_dx_run(const struct sl_call *c)
{
	const struct sl_gelu_attr *a = c->node->attr;

	return map2(
		c, a->tanh_form ? SL_IN_sl_cu_gelu_tanh_dx_f32 : SL_IN_sl_cu_gelu_dx_f32);
}

KERNEL(gelu, sl_cuda_is_float)
KERNEL(gelu_dx, sl_cuda_is_float)

static sl_status affine_run(const struct sl_call *c)
{
	const struct sl_affine_attr *a = c->node->attr;
	float scale = (float)a->scale, shift = (float)a->shift;
	void *x = c->in[0], *y = c->out[0];
	int64_t n = count_out(c);

	return sl_cuda_each(c, sl_cuda_of(SL_IN_sl_cu_affine_f32, c->node->in[0].dtype),
		n, SL_PARAMS(&x, &y, &n, &scale, &shift));
}

KERNEL(affine, sl_cuda_is_float)

static sl_status accumulate_run(const struct sl_call *c)
{
	void *x = c->in[0], *y = c->in[1];
	int64_t n = sl_shape_count(&c->node->in[0].shape);

	return sl_cuda_each(c,
		sl_cuda_of(SL_IN_sl_cu_accumulate_f32, c->node->in[0].dtype), n,
		SL_PARAMS(&x, &y, &x, &n));
}

KERNEL(accumulate, sl_cuda_is_float)

static sl_status mse_dx_run(const struct sl_call *c)
{
	void *x = c->in[0], *target = c->in[1], *dloss = c->in[2], *y = c->out[0];
	int64_t n = count_out(c);

	return sl_cuda_each(
		c, SL_IN_sl_cu_mse_dx_f32, n, SL_PARAMS(&x, &target, &dloss, &y, &n));
}

KERNEL(mse_dx, sl_cuda_is_f32)

static sl_status dropout_run(const struct sl_call *c)
{
	const struct sl_dropout_attr *a = c->node->attr;
	uint64_t seed = c->run->seed, base = a->base;
	uint32_t stream = a->stream, step = (uint32_t)c->run->step;
	/* The rule as a comparison of integers: unit numbers are (word >> 8) / 2^24. */
	uint32_t from = (uint32_t)ceil(a->ratio * 0x1p24);
	float scale = a->ratio < 1 ? (float)(1 / (1 - a->ratio)) : 0;
	void *x = c->in[0], *y = c->out[0];
	int64_t n = count_out(c);

	return sl_cuda_each(c, sl_cuda_of(SL_IN_sl_cu_dropout_f32, c->node->in[0].dtype),
		n, SL_PARAMS(&x, &y, &n, &seed, &stream, &step, &base, &from, &scale));
}

const struct sl_kernel sl_kernel_cuda_dropout = {
	.name = "cuda_dropout",
	.op = "dropout",
	.rank = 10,
	.accepts = sl_cuda_is_float,
	.run = dropout_run,
};

static sl_status cast_run(const struct sl_call *c)
{
	int from = (int)c->node->in[0].dtype, to = (int)c->node->out[0].dtype;
	void *x = c->in[0], *y = c->out[0];
	int64_t n = count_out(c);

	if (from == SL_F32 && to == SL_BF16)
		return sl_cuda_each(c, SL_IN_sl_cu_narrow, n, SL_PARAMS(&x, &y, &n));
	if (from == SL_BF16 && to == SL_F32)
		return sl_cuda_each(c, SL_IN_sl_cu_widen, n, SL_PARAMS(&x, &y, &n));
	return sl_cuda_each(c, SL_IN_sl_cu_cast, n, SL_PARAMS(&x, &y, &n, &from, &to));
}

KERNEL(cast, NULL)
