/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_POOL_H
#define SL_KERNEL_CPU_POOL_H

#include "kernel/cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "sluice/attrs.h"

/* What the kernels of pooling share: vectors of 16, and where windows lie. */

/* gcc 12 does not align vectors on the address sanitizer's stack (gcc bug 110027). */
#define SL_PLAIN __attribute__((no_sanitize("address")))
#define SL_INLINE inline __attribute__((always_inline)) SL_PLAIN
#define SL_LANES 16

typedef float sl_lanes
	__attribute__((vector_size(SL_LANES * sizeof(float)), aligned(4), may_alias));
typedef int32_t sl_mask __attribute__((vector_size(SL_LANES * sizeof(int32_t))));
typedef int32_t sl_places
	__attribute__((vector_size(SL_LANES * sizeof(int32_t)), aligned(4), may_alias));

#define SL_EVEN(a, b) \
	__builtin_shufflevector( \
		a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)

/* Takes v where it is larger than the best so far, or NaN where the best is not; *won
 * says where. Vectors go by address: by value they differ between machines. */
static SL_INLINE void challenge(const sl_lanes *v, sl_lanes *best, sl_mask *won)
{
	*won = ~(*v <= *best) & (*best <= (sl_lanes){0} + INFINITY);
	*best = (sl_lanes)((*won & (sl_mask)*v) | (~*won & (sl_mask)*best));
}

#define SL_POOL_RING 8 /* pooled rows kept; taller windows pool theirs anew */
#define SL_POOL_BLOCK 256 /* outputs of one row that are worked on together */
#define SL_POOL_LINE 2048 /* inputs that they read, padding included */
#define SL_POOL_LINE_ROOM (SL_POOL_LINE + 2 * SL_LANES) /* vectors are loaded whole */
#define SL_POOL_KERNEL_MOST 128
#define SL_POOL_STRIDE_MOST 64

struct sl_pool2d {
	int64_t h, w, oh, ow;
	int64_t kernel[2], stride[2], pad[4];
	bool count_pad;
	bool max;
};

struct sl_pool_span {
	int64_t from, to;
};

/* x is the larger side. The attributes of the gradient of avg begin with those of the
 * pool. */
static inline struct sl_pool2d pool_of(const struct sl_pool_attr *a,
	const struct sl_shape *x, const struct sl_shape *y, bool max)
{
	return (struct sl_pool2d){
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

/* Input rows of the windows of output row oh. */
static inline struct sl_pool_span rows_of(const struct sl_pool2d *p, int64_t oh)
{
	int64_t from = oh * p->stride[0] - p->pad[0];
	int64_t to = from + p->kernel[0];

	return (struct sl_pool_span){
		.from = from > 0 ? from : 0, .to = to < p->h ? to : p->h};
}

/* The padded part of a row that a block of outputs reads. */
struct sl_pool_block {
	int64_t from, n; /* outputs */
	int64_t lanes; /* n in whole vectors */
	int64_t used; /* elements of the line */
	int64_t column; /* of x, where the line begins; may be in the padding */
	struct sl_pool_span inside; /* of the line: not padding */
};

static inline int64_t block_size(const struct sl_pool2d *p)
{
	int64_t most = (SL_POOL_LINE - p->kernel[1]) / p->stride[1] / SL_LANES * SL_LANES;

	return most < SL_POOL_BLOCK ? most : SL_POOL_BLOCK;
}

static inline struct sl_pool_block block_at(
	const struct sl_pool2d *p, int64_t from, int64_t n)
{
	struct sl_pool_block b = {.from = from, .n = n};

	b.lanes = (n + SL_LANES - 1) / SL_LANES * SL_LANES;
	b.used = (b.lanes - 1) * p->stride[1] + p->kernel[1];
	b.column = from * p->stride[1] - p->pad[1];
	b.inside.from = b.column < 0 ? -b.column : 0;
	b.inside.to = p->w - b.column < b.used ? p->w - b.column : b.used;
	return b;
}

/* The next block of a row; false past the end. */
static inline bool next_block(const struct sl_pool2d *p, struct sl_pool_block *b)
{
	int64_t from = b->from + b->n;
	int64_t most = block_size(p);

	if (from >= p->ow)
		return false;
	*b = block_at(p, from, p->ow - from < most ? p->ow - from : most);
	return true;
}

static inline void fill(float *x, int64_t n, float value)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = value;
}

static inline void copy_inside(
	float *line, const float *row, const struct sl_pool_block *b)
{
	memcpy(line + b->inside.from, row + b->column + b->inside.from,
		(size_t)(b->inside.to - b->inside.from) * sizeof(*line));
}

/* Elements that window `at` counts along one axis. */
static inline int64_t counted(const struct sl_pool2d *p, int axis, int64_t at)
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

/* Elements along the row that each output's average counts. */
static inline void count_columns(
	const struct sl_pool2d *p, const struct sl_pool_block *b, float *columns)
{
	for (int64_t i = 0; i < b->lanes; i++)
		columns[i] = i < b->n ? (float)counted(p, 1, b->from + i) : 1.0f;
}

static inline void divide(float *x, const float *columns, int64_t rows, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] /= (float)rows * columns[i];
}

/* Elements 0, stride, ... of x; n are wanted. */
static SL_INLINE void load_lanes(const float *x, int64_t stride, int64_t n, sl_lanes *v)
{
	*v = *(const sl_lanes *)x;
	if (stride == 2)
		*v = SL_EVEN(*v, *(const sl_lanes *)(x + SL_LANES));
	for (int64_t i = 1; stride > 2 && i < SL_LANES && i < n; i++)
		(*v)[i] = x[i * stride];
}

/* Pools the line along the row into whole vectors. */
static SL_INLINE void along_row_by(const struct sl_pool2d *p, const float *line,
	const struct sl_pool_block *b, int64_t stride, float *out)
{
	for (int64_t i = 0; i < b->lanes; i += SL_LANES) {
		sl_lanes all, v;
		sl_mask won;
		load_lanes(line + i * stride, stride, b->n - i, &all);
		for (int64_t k = 1; k < p->kernel[1]; k++) {
			load_lanes(line + i * stride + k, stride, b->n - i, &v);
			if (p->max)
				challenge(&v, &all, &won);
			else
				all += v;
		}
		*(sl_lanes *)(out + i) = all;
	}
}

bool sl_pool_accepts(const struct sl_node_info *n);
/* Over the planes of the result. */
void sl_pool_over_planes(
	const struct sl_call *c, const struct sl_pool2d *p, sl_cpu_range_fn fn);

/* The row of a pooling kernel. */
#define SL_POOL_KERNEL(op_name, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = sl_pool_accepts, \
		.run = run_fn, \
	};

#endif
