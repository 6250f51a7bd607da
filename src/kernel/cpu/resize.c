/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bilinear resizing and its gradient, f32, a plane (n, c) at a time. Where an output lies
 * is worked out once at prepare, in whole numbers.
 *
 * Forward: two rows of x are blended a row of y, a vector of columns at a time. Gradient:
 * a row of dy is first gathered into a row of x's width, since the outputs that read a
 * column of x lie side by side; that row is then added to the two rows of x that it read.
 * Rows of y come in order, so bits do not depend on threads. Each side is read or written
 * about once.
 */
#include "kernel/cpu/cpu.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/op_attr.h"

/* Columns of x that are worked on together (what the gradient keeps on the stack). */
#define BLOCK 256

/* One axis: output i is between x[low[i]] and x[high[i]], weight of the second. */
struct axis {
	int64_t in, out;
	int32_t *low, *high;
	float *weight;
	int32_t *from; /* [in + 1] outputs before from[k] read only inputs before k */
};

struct resize {
	struct axis h, w;
};

static void fill_axis(struct axis *a, bool align_corners)
{
	int64_t unit = align_corners ? a->out - 1 : 2 * a->out;
	int64_t seen = 0;

	for (int64_t i = 0; i < a->out; i++) {
		int64_t at =
			align_corners ? i * (a->in - 1) : (2 * i + 1) * a->in - a->out;
		at = at > 0 && unit > 0 ? at : 0;
		int64_t low = unit > 0 ? at / unit : 0;
		a->low[i] = (int32_t)low;
		a->high[i] = (int32_t)(low + (low < a->in - 1));
		a->weight[i] = unit > 0 ? (float)(at % unit) / (float)unit : 0;
		while (seen <= a->high[i])
			a->from[seen++] = (int32_t)i;
	}
	while (seen <= a->in)
		a->from[seen++] = (int32_t)a->out;
}

static sl_status init_axis(struct axis *a, int64_t in, int64_t out, bool align_corners)
{
	*a = (struct axis){
		.in = in,
		.out = out,
		.low = sl_calloc((size_t)out, sizeof(*a->low)),
		.high = sl_calloc((size_t)out, sizeof(*a->high)),
		.weight = sl_calloc((size_t)out, sizeof(*a->weight)),
		.from = sl_calloc((size_t)in + 1, sizeof(*a->from)),
	};
	if (!a->low || !a->high || !a->weight || !a->from)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a resize");
	fill_axis(a, align_corners);
	return SL_OK;
}

static void finish_axis(struct axis *a)
{
	sl_free(a->low);
	sl_free(a->high);
	sl_free(a->weight);
	sl_free(a->from);
}

static void release(void *state)
{
	struct resize *r = state;

	if (!r)
		return;
	finish_axis(&r->h);
	finish_axis(&r->w);
	sl_free(r);
}

/* The attributes of the gradient begin with those of resize. */
static sl_status prepare_for(const struct sl_node_info *n, const struct sl_shape *x,
	const struct sl_shape *y, struct sl_prepared *out)
{
	const struct sl_resize_attr *a = n->attr;
	struct resize *r = sl_calloc(1, sizeof(*r));

	if (!r)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a resize");
	sl_status st = init_axis(&r->h, x->dim[2], y->dim[2], a->align_corners);
	if (st == SL_OK)
		st = init_axis(&r->w, x->dim[3], y->dim[3], a->align_corners);
	if (st != SL_OK) {
		release(r);
		return st;
	}
	*out = (struct sl_prepared){.state = r};
	return SL_OK;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	(void)env;
	return prepare_for(n, &n->in[0].shape, &n->out[0].shape, out);
}

static sl_status dx_prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	(void)env;
	return prepare_for(n, &n->out[0].shape, &n->in[0].shape, out);
}

static bool accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32(n) && sl_shape_span(&n->out[0].shape, 2, 4) < INT32_MAX &&
	       sl_shape_span(&n->in[0].shape, 2, 4) < INT32_MAX;
}

static void blend_row(const struct axis *a, const float *restrict top,
	const float *restrict bottom, float share, float *restrict y)
{
#pragma omp simd
	for (int64_t i = 0; i < a->out; i++) {
		int32_t low = a->low[i];
		int32_t high = a->high[i];
		float w = a->weight[i];
		float above = (1 - w) * top[low] + w * top[high];
		float below = (1 - w) * bottom[low] + w * bottom[high];
		y[i] = (1 - share) * above + share * below;
	}
}

static void forward(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct resize *r = arg;

	for (int64_t p = begin; p < end; p++) {
		const float *x = (const float *)c->in[0] + p * r->h.in * r->w.in;
		float *y = (float *)c->out[0] + p * r->h.out * r->w.out;
		for (int64_t i = 0; i < r->h.out; i++)
			blend_row(&r->w, x + r->h.low[i] * r->w.in,
				x + r->h.high[i] * r->w.in, r->h.weight[i],
				y + i * r->w.out);
	}
}

/* What outputs of a row send to input k, those as second neighbours included. */
static float gather(const struct axis *a, const float *dy, int64_t k)
{
	float sum = 0;
	int64_t i = a->from[k];

	for (; i < a->out && a->low[i] < k; i++)
		sum += a->weight[i] * dy[i];
	for (; i < a->out && a->low[i] == k; i++) {
		sum += (1 - a->weight[i]) * dy[i];
		if (a->high[i] == k) /* the last pixel is its own neighbour */
			sum += a->weight[i] * dy[i];
	}
	return sum;
}

static void add_row(float *restrict to, const float *restrict row, float share, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		to[i] += share * row[i];
}

static void plane_dx(
	const struct resize *r, const float *dy, float *dx, int64_t first, int64_t n)
{
	float row[BLOCK];

	for (int64_t i = 0; i < r->h.out; i++) {
		for (int64_t k = 0; k < n; k++)
			row[k] = gather(&r->w, dy + i * r->w.out, first + k);
		add_row(dx + r->h.low[i] * r->w.in + first, row, 1 - r->h.weight[i], n);
		add_row(dx + r->h.high[i] * r->w.in + first, row, r->h.weight[i], n);
	}
}

static void backward(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct resize *r = arg;
	int64_t size = r->h.in * r->w.in;

	for (int64_t p = begin; p < end; p++) {
		const float *dy = (const float *)c->in[0] + p * r->h.out * r->w.out;
		float *dx = (float *)c->out[0] + p * size;
		memset(dx, 0, (size_t)size * sizeof(*dx));
		for (int64_t first = 0; first < r->w.in; first += BLOCK)
			plane_dx(r, dy, dx, first,
				r->w.in - first < BLOCK ? r->w.in - first : BLOCK);
	}
}

static void over_planes(const struct sl_call *c, sl_cpu_range_fn fn)
{
	const struct resize *r = c->prepared;
	int64_t in = r->h.in * r->w.in;
	int64_t out = r->h.out * r->w.out;

	sl_cpu_for(c, r, sl_shape_span(&c->node->out[0].shape, 0, 2),
		sl_cpu_grain(in > out ? in : out), fn);
}

static sl_status run(const struct sl_call *c)
{
	over_planes(c, forward);
	return SL_OK;
}

static sl_status dx_run(const struct sl_call *c)
{
	over_planes(c, backward);
	return SL_OK;
}

#define KERNEL(op_name, prepare_fn, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = accepts, \
		.prepare = prepare_fn, \
		.run = run_fn, \
		.release = release, \
	};
KERNEL(resize, prepare, run)
KERNEL(resize_dx, dx_prepare, dx_run)
