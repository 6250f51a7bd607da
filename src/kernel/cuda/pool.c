/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling (pool.cu). */
#include "kernel/cuda/launch.h"

/* Attributes of the gradient of average pooling begin with the pool's. */
static struct sl_cuda_pool pool_of(
	const struct sl_pool_attr *a, const struct sl_shape *x, const struct sl_shape *y)
{
	struct sl_cuda_pool p = {.h = x->dim[2],
		.w = x->dim[3],
		.oh = y->dim[2],
		.ow = y->dim[3],
		.count_pad = a->count_include_pad};

	for (int i = 0; i < 2; i++) {
		p.kernel[i] = a->kernel[i];
		p.stride[i] = a->stride[i];
	}
	for (int i = 0; i < 4; i++)
		p.pad[i] = a->pad[i];
	return p;
}

static sl_status forward(const struct sl_call *c, enum sl_cuda_code pair)
{
	const struct sl_shape *y_shape = &c->node->out[0].shape;
	struct sl_cuda_pool p = pool_of(c->node->attr, &c->node->in[0].shape, y_shape);
	int64_t n = sl_shape_count(y_shape);
	void *x = c->in[0], *y = c->out[0];

	return sl_cuda_each(
		c, sl_cuda_of(pair, c->node->in[0].dtype), n, SL_PARAMS(&x, &y, &n, &p));
}

static sl_status max_pool2d_run(const struct sl_call *c)
{
	return forward(c, SL_IN_sl_cu_max_pool_f32);
}

static sl_status avg_pool2d_run(const struct sl_call *c)
{
	return forward(c, SL_IN_sl_cu_avg_pool_f32);
}

static sl_status max_pool2d_dx_run(const struct sl_call *c)
{
	const struct sl_shape *x_shape = &c->node->out[0].shape;
	const struct sl_shape *y_shape = &c->node->in[1].shape;
	struct sl_cuda_pool p = pool_of(c->node->attr, x_shape, y_shape);
	bool apart = p.stride[0] >= p.kernel[0] && p.stride[1] >= p.kernel[1];
	enum sl_cuda_code pair =
		apart ? SL_IN_sl_cu_max_pool_dx_apart_f32 : SL_IN_sl_cu_max_pool_dx_f32;
	int64_t n = sl_shape_count(apart ? y_shape : x_shape);
	void *x = c->in[0], *dy = c->in[1], *dx = c->out[0];

	return sl_cuda_each(c, sl_cuda_of(pair, c->node->in[0].dtype), n,
		SL_PARAMS(&x, &dy, &dx, &n, &p));
}

static sl_status avg_pool2d_dx_run(const struct sl_call *c)
{
	const struct sl_shape *x_shape = &c->node->out[0].shape;
	struct sl_cuda_pool p = pool_of(c->node->attr, x_shape, &c->node->in[0].shape);
	int64_t n = sl_shape_count(x_shape);
	void *dy = c->in[0], *dx = c->out[0];

	return sl_cuda_each(c,
		sl_cuda_of(SL_IN_sl_cu_avg_pool_dx_f32, c->node->in[0].dtype), n,
		SL_PARAMS(&dy, &dx, &n, &p));
}

#define KERNEL(op_) \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.accepts = sl_cuda_is_float, \
		.run = op_##_run, \
	};

KERNEL(avg_pool2d)
KERNEL(avg_pool2d_dx)
KERNEL(max_pool2d)
KERNEL(max_pool2d_dx)
