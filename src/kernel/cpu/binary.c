/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise kernels of two inputs with any broadcasting: after collapsing, the
 * innermost axis of each input is either dense or repeated, which gives three loops an
 * operator. f32, 12 bytes an element without broadcasting, or bf16. The first input may
 * be the output when it has its size.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "kernel/cpu/collapse.h"
#include "kernel/cpu/low.h"

typedef void (*row_fn)(const float *a, const float *b, float *y, int64_t n);

/* By whether the inner axis of a, of b is dense: both, only a, only b. */
struct rows {
	row_fn both, first, second;
};

struct job {
	struct sl_collapsed walk;
	row_fn row;
};

/* n elements of bf16 from y's element `to` on. */
static void low_row(const struct sl_call *c, const struct job *job, const int64_t at[2],
	int64_t to, int64_t n)
{
	const uint16_t *x[2] = {
		(const uint16_t *)c->in[0] + at[0], (const uint16_t *)c->in[1] + at[1]};
	uint16_t *y = (uint16_t *)c->out[0] + to;
	float buf[3][SL_LOW_BLOCK];

	for (int64_t m, i = 0; i < n; i += m) {
		m = sl_low_block(i, n);
		for (int k = 0; k < 2; k++) {
			int64_t step = job->walk.stride[k][0];
			sl_low_widen(x[k] + i * step, buf[k], step ? m : 1);
		}
		job->row(buf[0], buf[1], buf[2], m);
		sl_low_narrow(buf[2], y + i, m);
	}
}

static void job_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const struct sl_collapsed *w = &job->walk;

	for (int64_t i = begin; i < end;) {
		int64_t skip = i % w->dim[0];
		int64_t n = w->dim[0] - skip < end - i ? w->dim[0] - skip : end - i;
		int64_t at[2];
		sl_collapsed_at(w, i / w->dim[0], at);
		at[0] += skip * w->stride[0][0];
		at[1] += skip * w->stride[1][0];
		if (c->node->out[0].dtype == SL_F32)
			job->row((const float *)c->in[0] + at[0],
				(const float *)c->in[1] + at[1], (float *)c->out[0] + i,
				n);
		else
			low_row(c, job, at, i, n);
		i += n;
	}
}

/* Channels last only without broadcasting, where layouts do not show. */
static bool accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_or_low(n) &&
	       (!n->nhwc || (sl_shape_equal(&n->in[0].shape, &n->out[0].shape) &&
				    sl_shape_equal(&n->in[1].shape, &n->out[0].shape)));
}

static sl_status run(const struct sl_call *c, const struct rows *rows)
{
	const struct sl_shape *over = &c->node->out[0].shape;
	int64_t stride[2][SL_MAX_RANK];
	struct job job;

	for (int i = 0; i < 2; i++)
		sl_broadcast_strides(&c->node->in[i].shape, over, stride[i]);
	sl_collapse(over, stride[0], stride[1], &job.walk);
	job.row = !job.walk.stride[1][0]   ? rows->first
		  : !job.walk.stride[0][0] ? rows->second
					   : rows->both;
	sl_cpu_for(c, &job, sl_shape_count(over), SL_CPU_GRAIN, job_range);
	return SL_OK;
}

#define ROWS(op, expr) \
	static void op##_both(const float *a, const float *b, float *y, int64_t n) \
	{ \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) \
		{ \
			float u = a[i]; \
			float v = b[i]; \
			y[i] = (expr); \
		} \
	} \
	static void op##_first(const float *a, const float *b, float *y, int64_t n) \
	{ \
		const float v = b[0]; \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) \
		{ \
			float u = a[i]; \
			y[i] = (expr); \
		} \
	} \
	static void op##_second(const float *a, const float *b, float *y, int64_t n) \
	{ \
		const float u = a[0]; \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) \
		{ \
			float v = b[i]; \
			y[i] = (expr); \
		} \
	}

#define KERNEL(op_name, first_fn) \
	static sl_status op_name##_run(const struct sl_call *c) \
	{ \
		static const struct rows rows = {.both = op_name##_both, \
			.first = first_fn, \
			.second = op_name##_second}; \
		return run(c, &rows); \
	} \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.layouts = SL_KERNEL_ANY, \
		.accepts = accepts, \
		.run = op_name##_run, \
	};

ROWS(add, u + v)
ROWS(sub, u - v)
ROWS(mul, u *v)
ROWS(div, u / v)
ROWS(pow, powf(u, v))

static void cube(const float *a, float *y, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = a[i] * a[i] * a[i];
}

KERNEL(add, add_first)
KERNEL(sub, sub_first)
KERNEL(mul, mul_first)
KERNEL(div, div_first)

/* Squares and cubes, the exponents that models use, need no logarithm. */
static void pow_const(const float *a, const float *b, float *y, int64_t n)
{
	if (b[0] == 2)
		mul_both(a, a, y, n);
	else if (b[0] == 3)
		cube(a, y, n);
	else
		pow_first(a, b, y, n);
}

KERNEL(pow, pow_const)
