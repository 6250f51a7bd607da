/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that only move elements: transpose, slice, slice_dx, pad, expand, concat, full,
 * assign. Any element type. All are one walk over a shape with strides of source and
 * destination:
 *
 * 1. inner axis dense on both sides: rows by memcpy;
 * 2. inner axis repeated in the source: rows are filled;
 * 3. another axis dense in the source (a transposition): tiles of 16 along it, so that
 * each cache line is read once;
 * 4. else element by element.
 */
#include "kernel/cpu/cpu.h"

#include <string.h>

#include "base/bf16.h"
#include "graph/op_attr.h"
#include "kernel/cpu/collapse.h"
#include "kernel/cpu/tile.h"

#define TILE 16

/* Elements are moved as integers of their size, whatever they are. */
typedef uint8_t __attribute__((may_alias)) elem1;
typedef uint16_t __attribute__((may_alias)) elem2;
typedef uint32_t __attribute__((may_alias)) elem4;
typedef uint64_t __attribute__((may_alias)) elem8;

/* n elements; steps in elements. */
typedef void (*move_fn)(
	void *to, int64_t to_step, const void *from, int64_t from_step, int64_t n);

#define MOVE(type) \
	static void move_##type(void *to, int64_t to_step, const void *from, \
		int64_t from_step, int64_t n) \
	{ \
		type *d = to; \
		const type *s = from; \
		for (int64_t i = 0; i < n; i++) \
			d[i * to_step] = s[i * from_step]; \
	} \
	static void fill_##type(void *to, int64_t to_step, const void *from, \
		int64_t from_step, int64_t n) \
	{ \
		type *d = to; \
		const type v = *(const type *)from; \
		(void)to_step; \
		(void)from_step; \
		for (int64_t i = 0; i < n; i++) \
			d[i] = v; \
	}
MOVE(elem1)
MOVE(elem2)
MOVE(elem4)
MOVE(elem8)

struct job {
	struct sl_collapsed walk; /* operand 0: source, 1: destination */
	const char *from;
	char *to;
	size_t bytes; /* of an element */
	move_fn move, fill;
};

static bool begin_job(struct job *job, enum sl_dtype t)
{
	static const move_fn moves[9] = {
		[1] = move_elem1, [2] = move_elem2, [4] = move_elem4, [8] = move_elem8};
	static const move_fn fills[9] = {
		[1] = fill_elem1, [2] = fill_elem2, [4] = fill_elem4, [8] = fill_elem8};

	*job = (struct job){.bytes = sl_dtype_bytes(t)};
	job->move = moves[job->bytes];
	job->fill = fills[job->bytes];
	return job->move != NULL;
}

static void move_row(const struct job *job, int64_t from, int64_t to, int64_t n)
{
	int64_t from_step = job->walk.stride[0][0];
	int64_t to_step = job->walk.stride[1][0];
	const char *s = job->from + (size_t)from * job->bytes;
	char *d = job->to + (size_t)to * job->bytes;

	if (from_step == 1 && to_step == 1)
		memcpy(d, s, (size_t)n * job->bytes);
	else if (from_step == 0 && to_step == 1)
		job->fill(d, 1, s, 0, n);
	else
		job->move(d, to_step, s, from_step, n);
}

/* Elements [begin, end) of the walk. */
static void walk_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const struct sl_collapsed *w = &job->walk;

	(void)c;
	for (int64_t i = begin; i < end;) {
		int64_t skip = i % w->dim[0];
		int64_t n = w->dim[0] - skip < end - i ? w->dim[0] - skip : end - i;
		int64_t at[2];
		sl_collapsed_at(w, i / w->dim[0], at);
		move_row(job, at[0] + skip * w->stride[0][0],
			at[1] + skip * w->stride[1][0], n);
		i += n;
	}
}

/* Makes the axis that is dense in the source axis 1; false if there is none but axis 0.
 */
static bool find_tiles(struct sl_collapsed *w)
{
	int k = 1;

	while (k < w->rank && (w->stride[0][k] != 1 || w->dim[k] < TILE / 2))
		k++;
	if (w->stride[0][0] == 1 || k >= w->rank)
		return false;
	for (; k > 1; k--) {
		int64_t dim = w->dim[k];
		w->dim[k] = w->dim[k - 1];
		w->dim[k - 1] = dim;
		for (int s = 0; s < 2; s++) {
			int64_t stride = w->stride[s][k];
			w->stride[s][k] = w->stride[s][k - 1];
			w->stride[s][k - 1] = stride;
		}
	}
	return true;
}

static int64_t tiles_along(const struct sl_collapsed *w)
{
	return (w->dim[1] + TILE - 1) / TILE;
}

/* Tiles [begin, end): all of axis 0, 16 of axis 1. */
static void tiles_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const struct sl_collapsed *w = &job->walk;
	int64_t along = tiles_along(w);

	(void)c;
	for (int64_t t = begin; t < end; t++) {
		int64_t first = t % along * TILE;
		int64_t n = w->dim[1] - first < TILE ? w->dim[1] - first : TILE;
		int64_t at[2];
		sl_collapsed_at(w, t / along * w->dim[1] + first, at);
		if (job->bytes == sizeof(float) && w->stride[1][0] == 1) {
			sl_tile_transpose((const float *)(const void *)job->from + at[0],
				w->stride[0][0], w->dim[0], n,
				(float *)(void *)job->to + at[1], w->stride[1][1]);
			continue;
		}
		for (int64_t i = 0; i < w->dim[0]; i++) {
			int64_t from = at[0] + i * w->stride[0][0];
			int64_t to = at[1] + i * w->stride[1][0];
			job->move(job->to + (size_t)to * job->bytes, w->stride[1][1],
				job->from + (size_t)from * job->bytes, 1, n);
		}
	}
}

/* Copies over a shape; strides and starts in elements. */
static void copy(const struct sl_call *c, struct job *job, const struct sl_shape *over,
	const int64_t from[SL_MAX_RANK], const int64_t to[SL_MAX_RANK])
{
	int64_t count = sl_shape_count(over);

	sl_collapse(over, from, to, &job->walk);
	if (count && find_tiles(&job->walk)) {
		const struct sl_collapsed *w = &job->walk;
		int64_t tiles = count / w->dim[0] / w->dim[1] * tiles_along(w);
		sl_cpu_for(c, job, tiles, sl_cpu_grain(TILE * w->dim[0]), tiles_range);
		return;
	}
	sl_cpu_for(c, job, count, SL_CPU_GRAIN, walk_range);
}

static bool accepts(const struct sl_node_info *n)
{
	struct job job;
	return begin_job(&job, n->n_out ? n->out[0].dtype : n->in[0].dtype);
}

/* in[0] to out[0], of the node's one element type. */
static struct job job_of(const struct sl_call *c)
{
	struct job job;

	begin_job(&job, c->node->out[0].dtype);
	job.from = c->node->n_in ? c->in[0] : NULL;
	job.to = c->out[0];
	return job;
}

static sl_status transpose_run(const struct sl_call *c)
{
	const struct sl_perm_attr *a = c->node->attr;
	const struct sl_shape *y = &c->node->out[0].shape;
	struct job job = job_of(c);
	int64_t dense[SL_MAX_RANK];
	int64_t from[SL_MAX_RANK];
	int64_t to[SL_MAX_RANK];

	sl_dense_strides(&c->node->in[0].shape, dense);
	sl_dense_strides(y, to);
	for (int i = 0; i < y->rank; i++)
		from[i] = dense[a->perm[i]];
	copy(c, &job, y, from, to);
	return SL_OK;
}

static sl_status expand_run(const struct sl_call *c)
{
	const struct sl_shape *y = &c->node->out[0].shape;
	struct job job = job_of(c);
	int64_t from[SL_MAX_RANK];
	int64_t to[SL_MAX_RANK];

	sl_broadcast_strides(&c->node->in[0].shape, y, from);
	sl_dense_strides(y, to);
	copy(c, &job, y, from, to);
	return SL_OK;
}

/* Strides and start of the part of x that a slice takes. */
static int64_t part_of(const struct sl_slice_attr *a, const struct sl_shape *x,
	int64_t stride[SL_MAX_RANK])
{
	int64_t start = 0;

	sl_dense_strides(x, stride);
	for (int i = 0; i < x->rank; i++) {
		int64_t begin = a->begin[i] < 0 ? a->begin[i] + x->dim[i] : a->begin[i];
		begin = begin < 0 ? 0 : begin > x->dim[i] ? x->dim[i] : begin;
		start += begin * stride[i];
		/* A step past the axis takes one element: its stride does not matter. */
		if (a->step[i] > 1 && a->step[i] < x->dim[i])
			stride[i] *= a->step[i];
	}
	return start;
}

static sl_status slice_run(const struct sl_call *c)
{
	const struct sl_shape *y = &c->node->out[0].shape;
	struct job job = job_of(c);
	int64_t from[SL_MAX_RANK];
	int64_t to[SL_MAX_RANK];
	int64_t start = part_of(c->node->attr, &c->node->in[0].shape, from);

	if (sl_shape_count(y) == 0)
		return SL_OK;
	job.from += (size_t)start * job.bytes;
	sl_dense_strides(y, to);
	copy(c, &job, y, from, to);
	return SL_OK;
}

/* All of out[0] set to one element. */
static void fill_out(const struct sl_call *c, const void *element)
{
	struct job job = job_of(c);
	static const int64_t none[SL_MAX_RANK];
	int64_t to[SL_MAX_RANK];

	job.from = element;
	sl_dense_strides(&c->node->out[0].shape, to);
	copy(c, &job, &c->node->out[0].shape, none, to);
}

static sl_status slice_dx_run(const struct sl_call *c)
{
	const struct sl_slice_dx_attr *a = c->node->attr;
	const struct sl_shape *dy = &c->node->in[0].shape;
	struct job job = job_of(c);
	uint64_t zero = 0;
	int64_t from[SL_MAX_RANK];
	int64_t to[SL_MAX_RANK];
	int64_t start = part_of(&a->slice, &c->node->out[0].shape, to);

	fill_out(c, &zero);
	if (sl_shape_count(dy) == 0)
		return SL_OK;
	job.to += (size_t)start * job.bytes;
	sl_dense_strides(dy, from);
	copy(c, &job, dy, from, to);
	return SL_OK;
}

/* A number as an element. */
static void put_element(void *element, enum sl_dtype t, double v)
{
	if (t == SL_F32)
		*(float *)element = (float)v;
	else if (t == SL_F64)
		*(double *)element = v;
	else if (t == SL_I32)
		*(int32_t *)element = (int32_t)v;
	else if (t == SL_I64)
		*(int64_t *)element = (int64_t)v;
	else if (t == SL_BF16)
		*(uint16_t *)element = sl_bf16_from_f32((float)v);
	else
		*(uint8_t *)element = (uint8_t)v;
}

union element {
	float f32;
	double f64;
	int64_t i64;
};

static sl_status pad_run(const struct sl_call *c)
{
	const struct sl_pad_attr *a = c->node->attr;
	const struct sl_shape *x = &c->node->in[0].shape;
	struct job job = job_of(c);
	union element element;
	int64_t from[SL_MAX_RANK];
	int64_t to[SL_MAX_RANK];
	int64_t start = 0;

	put_element(&element, c->node->out[0].dtype, a->value);
	fill_out(c, &element);
	if (sl_shape_count(x) == 0)
		return SL_OK;
	sl_dense_strides(x, from);
	sl_dense_strides(&c->node->out[0].shape, to);
	for (int i = 0; i < x->rank; i++)
		start += a->before[i] * to[i];
	job.to += (size_t)start * job.bytes;
	copy(c, &job, x, from, to);
	return SL_OK;
}

static sl_status full_run(const struct sl_call *c)
{
	const struct sl_full_attr *a = c->node->attr;
	union element element;

	put_element(&element, c->node->out[0].dtype, a->value);
	fill_out(c, &element);
	return SL_OK;
}

static sl_status concat_run(const struct sl_call *c)
{
	const struct sl_axis_attr *a = c->node->attr;
	struct job job = job_of(c);
	int64_t from[SL_MAX_RANK];
	int64_t to[SL_MAX_RANK];

	sl_dense_strides(&c->node->out[0].shape, to);
	for (int k = 0; k < c->node->n_in; k++) {
		const struct sl_shape *x = &c->node->in[k].shape;
		if (sl_shape_count(x) == 0)
			continue;
		job.from = c->in[k];
		sl_dense_strides(x, from);
		copy(c, &job, x, from, to);
		job.to += (size_t)(x->dim[a->axis] * to[a->axis]) * job.bytes;
	}
	return SL_OK;
}

/* Source and destination may be views of one root: one thread. */
static sl_status assign_run(const struct sl_call *c)
{
	memmove(c->in[0], c->in[1], sl_type_bytes(&c->node->in[0]));
	return SL_OK;
}

#define KERNEL(op_name) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = accepts, \
		.run = op_name##_run, \
	};

KERNEL(assign)
KERNEL(concat)
KERNEL(expand)
KERNEL(full)
KERNEL(pad)
KERNEL(slice)
KERNEL(slice_dx)
KERNEL(transpose)
