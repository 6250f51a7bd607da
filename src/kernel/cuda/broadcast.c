/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of two operands that broadcast (broadcast.cu); of one shape they go by
 * map.cu, without a walk. */
#include "kernel/cuda/launch.h"

static struct sl_cuda_walk walk_of(const struct sl_node_info *n)
{
	int64_t stride[2][SL_MAX_RANK];

	for (int i = 0; i < 2; i++)
		sl_cuda_spread(&n->in[i].shape, &n->out[0].shape, stride[i]);
	return sl_cuda_walk_over(&n->out[0].shape, 2, stride);
}

static sl_status spread2(
	const struct sl_call *c, enum sl_cuda_code flat, enum sl_cuda_code any)
{
	enum sl_dtype t = c->node->in[0].dtype;
	int64_t n = sl_shape_count(&c->node->out[0].shape);
	struct sl_cuda_walk w = walk_of(c->node);
	void *a = c->in[0], *b = c->in[1], *y = c->out[0];

	if (flat != any && sl_cuda_is_flat(&w, 0) && sl_cuda_is_flat(&w, 1))
		return sl_cuda_each(c, sl_cuda_of(flat, t), n, SL_PARAMS(&a, &b, &y, &n));
	return sl_cuda_each(c, sl_cuda_of(any, t), n, SL_PARAMS(&a, &b, &y, &n, &w));
}

static sl_status spread3(const struct sl_call *c, enum sl_cuda_code pair)
{
	int64_t n = sl_shape_count(&c->node->out[0].shape);
	struct sl_cuda_walk w = walk_of(c->node);
	void *a = c->in[0], *b = c->in[1], *dy = c->in[2], *y = c->out[0];

	return sl_cuda_each(c, sl_cuda_of(pair, c->node->in[0].dtype), n,
		SL_PARAMS(&a, &b, &dy, &y, &n, &w));
}

#define KERNEL(op_, call) \
	static sl_status op_##_run(const struct sl_call *c) \
	{ \
		return call; \
	} \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.accepts = sl_cuda_is_float, \
		.run = op_##_run, \
	};

KERNEL(add, spread2(c, SL_IN_sl_cu_add_f32, SL_IN_sl_cu_spread_add_f32))
KERNEL(sub, spread2(c, SL_IN_sl_cu_sub_f32, SL_IN_sl_cu_spread_sub_f32))
KERNEL(mul, spread2(c, SL_IN_sl_cu_mul_f32, SL_IN_sl_cu_spread_mul_f32))
KERNEL(div, spread2(c, SL_IN_sl_cu_div_f32, SL_IN_sl_cu_spread_div_f32))
KERNEL(pow, spread2(c, SL_IN_sl_cu_spread_pow_f32, SL_IN_sl_cu_spread_pow_f32))
KERNEL(pow_da, spread3(c, SL_IN_sl_cu_spread_pow_da_f32))
KERNEL(pow_db, spread3(c, SL_IN_sl_cu_spread_pow_db_f32))
