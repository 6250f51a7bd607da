/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and log-softmax over the last axis, and their gradients, a row at a time; other
 * axes go to the reference. f32, sums in f32 over blocks of 1024 and in double over
 * blocks. A row is read two or three times, from the cache as long as it fits. In place
 * as the operators allow: the row's sums are taken before its first element is written.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "graph/op_attr.h"
#include "kernel/cpu/mathv.h"

static bool accepts(const struct sl_node_info *n)
{
	const struct sl_axis_attr *a = n->attr;
	return sl_cpu_is_f32(n) && a->axis == n->in[0].shape.rank - 1;
}

static int64_t row_length(const struct sl_call *c)
{
	const struct sl_shape *s = &c->node->out[0].shape;
	return s->dim[s->rank - 1];
}

static void softmax_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	int64_t n = row_length(c);

	(void)arg;
	for (int64_t r = begin; r < end; r++) {
		const float *x = (const float *)c->in[0] + r * n;
		float *y = (float *)c->out[0] + r * n;
		float scale = (float)(1 / sl_cpu_exp_sum(x, y, n, sl_cpu_max(x, n)));
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] *= scale;
	}
}

static void log_softmax_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	int64_t n = row_length(c);

	(void)arg;
	for (int64_t r = begin; r < end; r++) {
		const float *x = (const float *)c->in[0] + r * n;
		float *y = (float *)c->out[0] + r * n;
		float top = sl_cpu_max(x, n);
		float rest = (float)log(sl_cpu_exp_sum(x, NULL, n, top));
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] - top - rest;
	}
}

/* dx = y (dy - sum(y dy)) */
static void softmax_dx_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	int64_t n = row_length(c);

	(void)arg;
	for (int64_t r = begin; r < end; r++) {
		const float *y = (const float *)c->in[0] + r * n;
		const float *dy = (const float *)c->in[1] + r * n;
		float *dx = (float *)c->out[0] + r * n;
		float sum = (float)sl_cpu_dot(y, dy, n);
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			dx[i] = y[i] * (dy[i] - sum);
	}
}

/* dx = dy - e^y sum(dy) */
static void log_softmax_dx_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	int64_t n = row_length(c);

	(void)arg;
	for (int64_t r = begin; r < end; r++) {
		const float *y = (const float *)c->in[0] + r * n;
		const float *dy = (const float *)c->in[1] + r * n;
		float *dx = (float *)c->out[0] + r * n;
		float sum = (float)sl_cpu_sum(dy, n);
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			dx[i] = dy[i] - sl_expf(y[i]) * sum;
	}
}

#define KERNEL(op_name) \
	static sl_status op_name##_run(const struct sl_call *c) \
	{ \
		int64_t count = sl_cpu_count_out(c, 0); \
		int64_t n = row_length(c); \
		sl_cpu_for( \
			c, NULL, n ? count / n : 0, sl_cpu_grain(n), op_name##_range); \
		return SL_OK; \
	} \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = accepts, \
		.run = op_name##_run, \
	};

KERNEL(softmax)
KERNEL(softmax_dx)
KERNEL(log_softmax)
KERNEL(log_softmax_dx)
