/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max and average pooling and their gradients, own loops on the plain layout: the
 * library's kernels treat NaN and ties in a way of their own, need the index workspace
 * kept, and want blocked channels.
 *
 * A plane (n, c) is one item of work. For each output row and each place of the window
 * the loop runs along the row, so it vectorises where the stride is 1 or 2. f32; reads x
 * once a window row that covers it, writes y once.
 *
 * 1. Max: the first NaN, else the first largest element in row-major order, as in the
 * reference.
 * 2. Gradients of one plane are added in row-major order of the windows: bits never
 * depend on threads.
 * 3. Where windows do not overlap, the gradient of max may take the bytes of x: each
 * window owns the rectangle up to the next one, which is cleared once its winner is
 * known.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "sluice/attrs.h"

/* Outputs of one row that are worked on together (what a gradient keeps on the stack). */
#define BLOCK 256

struct pool {
	int64_t h, w, oh, ow;
	int64_t kernel[2], stride[2], pad[4];
	bool count_pad;
	bool max;
};

/* x is the larger side. The attributes of the gradient of avg begin with those of the
 * pool. */
static struct pool pool_of(const struct sl_pool_attr *a, const struct sl_shape *x,
	const struct sl_shape *y, bool max)
{
	return (struct pool){
		.h = x->dim[2],
		.w = x->dim[3],
		.oh = y->dim[2],
		.ow = y->dim[3],
		.kernel = {a->kernel[0], a->kernel[1]},
		.stride = {a->stride[0], a->stride[1]},
		.pad = {a->pad[0], a->pad[1], a->pad[2], a->pad[3]},
		.count_pad = a->count_include_pad,
		.max = max,
	};
}

/* Outputs [from, to) of a row for which place k of the window lies in the input. */
struct span {
	int64_t from, to;
};

static struct span span_of(const struct pool *p, int64_t k, struct span block)
{
	int64_t stride = p->stride[1];
	int64_t shift = p->pad[1] - k; /* input column = output * stride - shift */
	int64_t from = shift > 0 ? (shift + stride - 1) / stride : 0;
	int64_t last = p->w - 1 + shift;
	int64_t to = last < 0 ? 0 : last / stride + 1;

	return (struct span){
		.from = from > block.from ? from : block.from,
		.to = to < block.to ? to : block.to,
	};
}

/* Input rows of the windows of output row oh. */
static struct span rows_of(const struct pool *p, int64_t oh)
{
	int64_t from = oh * p->stride[0] - p->pad[0];
	int64_t to = from + p->kernel[0];

	return (struct span){.from = from > 0 ? from : 0, .to = to < p->h ? to : p->h};
}

/* Larger, or NaN where the best so far is not. Written without short cuts, to vectorise.
 */
static inline bool wins(float v, float best)
{
	return (v > best) | ((v != v) & (best == best));
}

static inline void max_along(float *y, const float *x, int64_t n, int64_t stride)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		float v = x[i * stride];
		y[i] = wins(v, y[i]) ? v : y[i];
	}
}

static inline void sum_along(float *y, const float *x, int64_t n, int64_t stride)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] += x[i * stride];
}

static inline void spread_along(float *x, const float *dy, int64_t n, int64_t stride)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		x[i * stride] += dy[i];
}

static inline void winner_along(float *best, int32_t *where, const float *x, int64_t n,
	int64_t stride, int32_t first)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		float v = x[i * stride];
		bool take = wins(v, best[i]);
		best[i] = take ? v : best[i];
		where[i] = take ? first + (int32_t)(i * stride) : where[i];
	}
}

/* Constant strides for the two that occur, so that the compiler can vectorise the access.
 */
#define BY_STRIDE(call, stride) \
	do { \
		if ((stride) == 1) \
			call(1); \
		else if ((stride) == 2) \
			call(2); \
		else \
			call(stride); \
	} while (0)

static void forward_row(const struct pool *p, const float *x, float *y, int64_t oh)
{
	struct span rows = rows_of(p, oh);
	const struct span all = {0, p->ow};

	for (int64_t i = 0; i < p->ow; i++)
		y[i] = p->max ? -INFINITY : 0.0f;
	for (int64_t i = 0; i < (rows.to - rows.from) * p->kernel[1]; i++) {
		int64_t k = i % p->kernel[1];
		struct span s = span_of(p, k, all);
		if (s.from >= s.to)
			continue;
		const float *from = x + (rows.from + i / p->kernel[1]) * p->w +
				    s.from * p->stride[1] - p->pad[1] + k;
#define MAX(st) max_along(y + s.from, from, s.to - s.from, st)
#define SUM(st) sum_along(y + s.from, from, s.to - s.from, st)
		if (p->max)
			BY_STRIDE(MAX, p->stride[1]);
		else
			BY_STRIDE(SUM, p->stride[1]);
#undef MAX
#undef SUM
	}
}

/* Elements that window `at` counts along one axis. */
static int64_t counted(const struct pool *p, int axis, int64_t at)
{
	int64_t size = axis ? p->w : p->h;
	int64_t from = at * p->stride[axis] - p->pad[axis];
	int64_t to = from + p->kernel[axis];

	if (p->count_pad) {
		int64_t end = size + p->pad[axis + 2];
		return (to < end ? to : end) - from;
	}
	return (to < size ? to : size) - (from > 0 ? from : 0);
}

static void divide_row(
	const struct pool *p, const float *in, float *out, int64_t oh, struct span block)
{
	int64_t rows = counted(p, 0, oh);

	for (int64_t i = block.from; i < block.to; i++)
		out[i - block.from] = in[i] / (float)(rows * counted(p, 1, i));
}

static void forward(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct pool *p = arg;

	for (int64_t plane = begin; plane < end; plane++) {
		const float *x = (const float *)c->in[0] + plane * p->h * p->w;
		float *y = (float *)c->out[0] + plane * p->oh * p->ow;
		for (int64_t oh = 0; oh < p->oh; oh++, y += p->ow) {
			forward_row(p, x, y, oh);
			if (!p->max)
				divide_row(p, y, y, oh, (struct span){0, p->ow});
		}
	}
}

static bool is_apart(const struct pool *p)
{
	return p->stride[0] >= p->kernel[0] && p->stride[1] >= p->kernel[1];
}

/* What windows [block) of an axis own of it: all up to the first window of the next
 * block. */
static struct span owned(const struct pool *p, int axis, struct span block)
{
	int64_t count = axis ? p->ow : p->oh;
	int64_t size = axis ? p->w : p->h;

	return (struct span){
		.from = block.from ? block.from * p->stride[axis] - p->pad[axis] : 0,
		.to = block.to < count ? block.to * p->stride[axis] - p->pad[axis] : size,
	};
}

static void clear_owned(const struct pool *p, float *dx, int64_t oh, struct span block)
{
	struct span rows = owned(p, 0, (struct span){oh, oh + 1});
	struct span cols = owned(p, 1, block);

	for (int64_t h = rows.from; h < rows.to; h++)
		memset(dx + h * p->w + cols.from, 0,
			(size_t)(cols.to - cols.from) * sizeof(*dx));
}

/* Adds dy of outputs [block) of row oh to the winners. */
static void max_dx_block(const struct pool *p, const float *x, const float *dy, float *dx,
	int64_t oh, struct span block)
{
	float best[BLOCK];
	int32_t where[BLOCK];
	struct span rows = rows_of(p, oh);

	for (int64_t i = 0; i < block.to - block.from; i++) {
		int64_t left = (block.from + i) * p->stride[1] - p->pad[1];
		best[i] = -INFINITY;
		/* All -inf: nothing wins, so the first element must hold already. */
		where[i] = (int32_t)(rows.from * p->w + (left > 0 ? left : 0));
	}
	for (int64_t i = 0; i < (rows.to - rows.from) * p->kernel[1]; i++) {
		int64_t k = i % p->kernel[1];
		struct span s = span_of(p, k, block);
		if (s.from >= s.to)
			continue;
		int64_t at = (rows.from + i / p->kernel[1]) * p->w +
			     s.from * p->stride[1] - p->pad[1] + k;
		int64_t to = s.from - block.from;
#define WINNER(st) \
	winner_along(best + to, where + to, x + at, s.to - s.from, st, (int32_t)at)
		BY_STRIDE(WINNER, p->stride[1]);
#undef WINNER
	}
	if (is_apart(p))
		clear_owned(p, dx, oh, block);
	for (int64_t i = 0; i < block.to - block.from; i++)
		dx[where[i]] += dy[block.from + i];
}

static void avg_dx_block(
	const struct pool *p, const float *dy, float *dx, int64_t oh, struct span block)
{
	float each[BLOCK];
	struct span rows = rows_of(p, oh);

	divide_row(p, dy, each, oh, block);
	for (int64_t i = 0; i < (rows.to - rows.from) * p->kernel[1]; i++) {
		int64_t k = i % p->kernel[1];
		struct span s = span_of(p, k, block);
		if (s.from >= s.to)
			continue;
		float *to = dx + (rows.from + i / p->kernel[1]) * p->w +
			    s.from * p->stride[1] - p->pad[1] + k;
		const float *from = each + s.from - block.from;
#define SPREAD(st) spread_along(to, from, s.to - s.from, st)
		BY_STRIDE(SPREAD, p->stride[1]);
#undef SPREAD
	}
}

static void backward(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct pool *p = arg;
	int64_t size = p->h * p->w;
	int64_t size_y = p->oh * p->ow;

	for (int64_t plane = begin; plane < end; plane++) {
		float *dx = (float *)c->out[0] + plane * size;
		const float *x = (const float *)c->in[0] + plane * size;
		const float *dy = (const float *)c->in[p->max ? 1 : 0] + plane * size_y;
		if (!p->max || !is_apart(p))
			memset(dx, 0, (size_t)size * sizeof(*dx));
		for (int64_t i = 0; i < p->oh * ((p->ow + BLOCK - 1) / BLOCK); i++) {
			int64_t oh = i % p->oh;
			int64_t from = i / p->oh * BLOCK;
			struct span block = {
				from, from + BLOCK < p->ow ? from + BLOCK : p->ow};
			if (p->max)
				max_dx_block(p, x, dy + oh * p->ow, dx, oh, block);
			else
				avg_dx_block(p, dy + oh * p->ow, dx, oh, block);
		}
	}
}

static bool accepts(const struct sl_node_info *n)
{
	const struct sl_shape *out = &n->out[0].shape;
	const struct sl_shape *in = &n->in[0].shape;

	return sl_cpu_is_f32(n) && sl_shape_span(in, 2, 4) <= INT32_MAX &&
	       sl_shape_span(out, 2, 4) <= INT32_MAX;
}

static void over_planes(const struct sl_call *c, const struct pool *p, sl_cpu_range_fn fn)
{
	int64_t planes = sl_shape_span(&c->node->out[0].shape, 0, 2);

	sl_cpu_for(c, p, planes, sl_cpu_grain(p->h * p->w), fn);
}

static sl_status run_forward(const struct sl_call *c, bool max)
{
	struct pool p = pool_of(
		c->node->attr, &c->node->in[0].shape, &c->node->out[0].shape, max);

	over_planes(c, &p, forward);
	return SL_OK;
}

static sl_status run_backward(const struct sl_call *c, bool max)
{
	struct pool p = pool_of(c->node->attr, &c->node->out[0].shape,
		&c->node->in[max ? 1 : 0].shape, max);

	over_planes(c, &p, backward);
	return SL_OK;
}

static sl_status max_run(const struct sl_call *c)
{
	return run_forward(c, true);
}

static sl_status avg_run(const struct sl_call *c)
{
	return run_forward(c, false);
}

static sl_status max_dx_run(const struct sl_call *c)
{
	return run_backward(c, true);
}

static sl_status avg_dx_run(const struct sl_call *c)
{
	return run_backward(c, false);
}

#define KERNEL(op_name, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = accepts, \
		.run = run_fn, \
	};
KERNEL(max_pool2d, max_run)
KERNEL(max_pool2d_dx, max_dx_run)
KERNEL(avg_pool2d, avg_run)
KERNEL(avg_pool2d_dx, avg_dx_run)
