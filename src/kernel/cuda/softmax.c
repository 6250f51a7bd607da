/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax along an axis (softmax.cu). */
#include "kernel/cuda/launch.h"

struct around {
	int64_t rows, n, inner;
};

static struct around around_of(const struct sl_node_info *n)
{
	const struct sl_axis_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	int axis = (int)a->axis;
	int64_t inner = sl_shape_span(x, axis + 1, x->rank);

	return (struct around){sl_shape_span(x, 0, axis) * inner, x->dim[axis], inner};
}

/* Entries for rows in place and across the axes behind. */
static sl_status softmax(
	const struct sl_call *c, enum sl_cuda_code rows, enum sl_cuda_code across)
{
	enum sl_dtype t = c->node->in[0].dtype;
	struct around a = around_of(c->node);
	void *x = c->in[0], *y = c->out[0];

	if (a.inner == 1)
		return sl_cuda_rows(c, sl_cuda_of(rows, t), a.rows, a.n,
			SL_PARAMS(&x, &y, &a.rows, &a.n));
	return sl_cuda_long(c, sl_cuda_of(across, t), a.rows,
		SL_PARAMS(&x, &y, &a.rows, &a.n, &a.inner));
}

static sl_status softmax_dx(
	const struct sl_call *c, enum sl_cuda_code rows, enum sl_cuda_code across)
{
	enum sl_dtype t = c->node->in[0].dtype;
	struct around a = around_of(c->node);
	void *y = c->in[0], *dy = c->in[1], *dx = c->out[0];

	if (a.inner == 1)
		return sl_cuda_rows(c, sl_cuda_of(rows, t), a.rows, a.n,
			SL_PARAMS(&y, &dy, &dx, &a.rows, &a.n));
	return sl_cuda_long(c, sl_cuda_of(across, t), a.rows,
		SL_PARAMS(&y, &dy, &dx, &a.rows, &a.n, &a.inner));
}

#define KERNEL(op_, run_) \
	static sl_status op_##_run(const struct sl_call *c) \
	{ \
		return run_(c, SL_IN_sl_cu_##op_##_f32, SL_IN_sl_cu_##op_##_across_f32); \
	} \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.accepts = sl_cuda_is_float, \
		.run = op_##_run, \
	};

KERNEL(softmax, softmax)
KERNEL(log_softmax, softmax)
KERNEL(softmax_dx, softmax_dx)
KERNEL(log_softmax_dx, softmax_dx)
