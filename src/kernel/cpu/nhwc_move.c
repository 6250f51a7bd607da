/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving channels-last values: changes of layout in tiles of 16, and concat, slice, its
 * gradient and expand over channels, which copy a piece of each row (position). f32,
 * except that bits are kept whatever they are.
 */
#include "kernel/cpu/cpu.h"

#include <string.h>

#include "graph/op_attr.h"
#include "kernel/cpu/tile.h"

#define STRIP 64 /* positions that one piece of work moves */

static int64_t rows_of(const struct sl_shape *s)
{
	return s->dim[0] * s->dim[2] * s->dim[3];
}

struct strips {
	int64_t area, c, each; /* strips of an image */
	bool to_nhwc;
};

static void relayout_range(
	const struct sl_call *call, const void *arg, int64_t begin, int64_t end)
{
	const struct strips *s = arg;

	for (int64_t k = begin; k < end; k++) {
		int64_t image = k / s->each * s->area * s->c;
		int64_t first = k % s->each * STRIP;
		int64_t n = s->area - first < STRIP ? s->area - first : STRIP;
		const float *from = (const float *)call->in[0] + image;
		float *to = (float *)call->out[0] + image;
		if (s->to_nhwc)
			sl_tile_transpose(
				from + first, s->area, s->c, n, to + first * s->c, s->c);
		else
			sl_tile_transpose(
				from + first * s->c, s->c, n, s->c, to + first, s->area);
	}
}

static sl_status relayout_run(const struct sl_call *c)
{
	const struct sl_relayout_attr *a = c->node->attr;
	const struct sl_shape *x = &c->node->in[0].shape;
	struct strips s = {
		.area = x->dim[2] * x->dim[3], .c = x->dim[1], .to_nhwc = a->to_nhwc};

	s.each = (s.area + STRIP - 1) / STRIP;
	sl_cpu_for(c, &s, x->dim[0] * s.each, sl_cpu_grain(STRIP * s.c), relayout_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_relayout = {
	.name = "vec_relayout",
	.op = "relayout",
	.rank = 10,
	.accepts = sl_cpu_is_f32,
	.run = relayout_run,
};

static void copy(float *to, const float *from, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		to[i] = from[i];
}

static bool concat_accepts(const struct sl_node_info *n)
{
	const struct sl_axis_attr *a = n->attr;

	return sl_cpu_is_f32(n) && n->out[0].shape.rank == 4 && a->axis == 1;
}

static void concat_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	int64_t all = c->node->out[0].shape.dim[1];

	(void)arg;
	for (int64_t row = begin; row < end; row++) {
		float *to = (float *)c->out[0] + row * all;
		for (int k = 0; k < c->node->n_in; k++) {
			int64_t n = c->node->in[k].shape.dim[1];
			copy(to, (const float *)c->in[k] + row * n, n);
			to += n;
		}
	}
}

static sl_status concat_run(const struct sl_call *c)
{
	const struct sl_shape *y = &c->node->out[0].shape;

	sl_cpu_for(c, NULL, rows_of(y), sl_cpu_grain(y->dim[1]), concat_range);
	return SL_OK;
}

/* Channels [from, from + n) of rows of `all`. */
struct piece {
	int64_t from, n, all;
};

/* Whether a slice takes whole axes but for a run of channels. */
static bool find_piece(
	const struct sl_slice_attr *a, const struct sl_shape *x, struct piece *p)
{
	for (int i = 0; i < 4; i++) {
		int64_t end = a->end[i] < 0 ? a->end[i] + x->dim[i] : a->end[i];
		bool whole = a->begin[i] == 0 && end >= x->dim[i];
		if (a->step[i] > 1 || (i != 1 && !whole))
			return false;
	}
	p->all = x->dim[1];
	p->from = a->begin[1] < 0 ? a->begin[1] + p->all : a->begin[1];
	int64_t end = a->end[1] < 0 ? a->end[1] + p->all : a->end[1];
	p->n = (end < p->all ? end : p->all) - p->from;
	return p->from >= 0 && p->n > 0;
}

static bool slice_accepts(const struct sl_node_info *n)
{
	struct piece p;

	return sl_cpu_is_f32(n) && n->in[0].shape.rank == 4 &&
	       find_piece(n->attr, &n->in[0].shape, &p);
}

static bool slice_dx_accepts(const struct sl_node_info *n)
{
	const struct sl_slice_dx_attr *a = n->attr;
	struct piece p;

	return sl_cpu_is_f32(n) && n->out[0].shape.rank == 4 &&
	       find_piece(&a->slice, &n->out[0].shape, &p);
}

static void slice_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct piece *p = arg;

	for (int64_t row = begin; row < end; row++)
		copy((float *)c->out[0] + row * p->n,
			(const float *)c->in[0] + row * p->all + p->from, p->n);
}

static void slice_dx_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct piece *p = arg;

	for (int64_t row = begin; row < end; row++) {
		float *to = (float *)c->out[0] + row * p->all;
		memset(to, 0, (size_t)p->from * sizeof(*to));
		copy(to + p->from, (const float *)c->in[0] + row * p->n, p->n);
		memset(to + p->from + p->n, 0,
			(size_t)(p->all - p->from - p->n) * sizeof(*to));
	}
}

static sl_status slice_run(const struct sl_call *c)
{
	const struct sl_shape *x = &c->node->in[0].shape;
	struct piece p;

	if (find_piece(c->node->attr, x, &p))
		sl_cpu_for(c, &p, rows_of(x), sl_cpu_grain(p.n), slice_range);
	return SL_OK;
}

static sl_status slice_dx_run(const struct sl_call *c)
{
	const struct sl_slice_dx_attr *a = c->node->attr;
	const struct sl_shape *x = &c->node->out[0].shape;
	struct piece p;

	if (find_piece(&a->slice, x, &p))
		sl_cpu_for(c, &p, rows_of(x), sl_cpu_grain(p.all), slice_dx_range);
	return SL_OK;
}

/* From a number a channel and image. */
static bool expand_accepts(const struct sl_node_info *n)
{
	const struct sl_shape *x = &n->in[0].shape;
	const struct sl_shape *y = &n->out[0].shape;

	return sl_cpu_is_f32(n) && x->rank == 4 && x->dim[0] == y->dim[0] &&
	       x->dim[1] == y->dim[1] && x->dim[2] == 1 && x->dim[3] == 1;
}

static void expand_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_shape *y = &c->node->out[0].shape;
	int64_t area = y->dim[2] * y->dim[3];
	int64_t n = y->dim[1];

	(void)arg;
	for (int64_t row = begin; row < end; row++)
		copy((float *)c->out[0] + row * n,
			(const float *)c->in[0] + row / area * n, n);
}

static sl_status expand_run(const struct sl_call *c)
{
	const struct sl_shape *y = &c->node->out[0].shape;

	sl_cpu_for(c, NULL, rows_of(y), sl_cpu_grain(y->dim[1]), expand_range);
	return SL_OK;
}

#define KERNEL(op_name) \
	const struct sl_kernel sl_kernel_nhwc_##op_name = { \
		.name = "nhwc_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.layouts = SL_KERNEL_NHWC, \
		.accepts = op_name##_accepts, \
		.run = op_name##_run, \
	};
KERNEL(concat)
KERNEL(expand)
KERNEL(slice)
KERNEL(slice_dx)
