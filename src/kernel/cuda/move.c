/* SPDX-License-Identifier: Apache-2.0 */
/* Elements moved (move.cu): each operator is one copy between two walks. */
#include "kernel/cuda/launch.h"

#include <string.h>

#include "base/bf16.h"

/* Of four entries for elements of 1, 2, 4 and 8 bytes. */
static enum sl_cuda_code by_size(enum sl_cuda_code first, enum sl_dtype t)
{
	size_t bytes = sl_dtype_bytes(t);

	return (enum sl_cuda_code)(first + (bytes > 1) + (bytes > 2) + (bytes > 4));
}

/* A copy's shape, steps and first elements; [0] of what is written, [1] of what is read.
 */
struct copy {
	struct sl_shape over;
	int64_t stride[2][SL_MAX_RANK];
	int64_t start[2];
};

static sl_status run_copy(
	const struct sl_call *c, const struct copy *job, void *const xy[2])
{
	int64_t n = sl_shape_count(&job->over);
	int64_t stride[2][SL_MAX_RANK];
	void *x = xy[0], *y = xy[1];

	memcpy(stride, job->stride, sizeof(stride));
	struct sl_cuda_walk w = sl_cuda_walk_over(&job->over, 2, stride);
	w.start[0] = job->start[0];
	w.start[1] = job->start[1];
	return sl_cuda_each(c, by_size(SL_IN_sl_cu_move_1, c->node->out[0].dtype), n,
		SL_PARAMS(&x, &y, &n, &w));
}

static sl_status fill(const struct sl_call *c, double value)
{
	const struct sl_type *t = &c->node->out[0];
	int64_t n = sl_shape_count(&t->shape);
	void *y = c->out[0];
	float narrow = (float)value;
	uint64_t bits = 0;

	if (t->dtype == SL_F32)
		memcpy(&bits, &narrow, sizeof(narrow));
	else if (t->dtype == SL_F64)
		memcpy(&bits, &value, sizeof(value));
	else if (t->dtype == SL_BF16)
		bits = sl_bf16_from_f32(narrow);
	else
		bits = (uint64_t)(int64_t)value;
	return sl_cuda_each(
		c, by_size(SL_IN_sl_cu_fill_1, t->dtype), n, SL_PARAMS(&y, &n, &bits));
}

/*
 * The last two axes exchanged, all others kept: [outer, rows, columns], which goes by
 * tiles. Axes of 1 have been joined to their neighbours by the walk.
 */
static bool is_plain_transpose(const struct sl_cuda_walk *w)
{
	if (w->rank < 2 || w->rank > 3 || w->stride[1][1] != 1 ||
		w->stride[1][0] != w->dim[1])
		return false;
	return w->rank == 2 || w->stride[1][2] == w->dim[0] * w->dim[1];
}

static sl_status transpose_run(const struct sl_call *c)
{
	const struct sl_perm_attr *a = c->node->attr;
	const struct sl_shape *x_shape = &c->node->in[0].shape;
	enum sl_dtype t = c->node->out[0].dtype;
	struct copy job = {.over = c->node->out[0].shape};
	int64_t own[SL_MAX_RANK] = {0};
	void *x = c->in[0], *y = c->out[0];

	sl_cuda_dense(x_shape, own);
	sl_cuda_dense(&job.over, job.stride[0]);
	for (int i = 0; i < x_shape->rank; i++)
		job.stride[1][i] = own[a->perm[i]];
	struct sl_cuda_walk w = sl_cuda_walk_over(&job.over, 2, job.stride);
	int64_t outer = w.rank == 3 ? w.dim[2] : 1, rows = w.dim[0], columns = w.dim[1];
	struct sl_cuda_size grid = {
		sl_cuda_blocks(columns, 32), sl_cuda_blocks(rows, 32), (unsigned)outer};
	bool has_tile = sl_dtype_bytes(t) == 2 || sl_dtype_bytes(t) == 4;
	if (!has_tile || !is_plain_transpose(&w) || grid.y > 65535 || outer > 65535)
		return run_copy(c, &job, (void *[]){x, y});
	return sl_cuda_go(c,
		sl_dtype_bytes(t) == 2 ? SL_IN_sl_cu_transpose_2
				       : SL_IN_sl_cu_transpose_4,
		grid, (struct sl_cuda_size){32, 8, 1},
		SL_PARAMS(&x, &y, &rows, &columns));
}

static int64_t cut(int64_t at, int64_t dim)
{
	at = at < 0 ? at + dim : at;
	return at < 0 ? 0 : at > dim ? dim : at;
}

/* Steps and start of a slice of x, into [k] of a copy. */
static void slice_of(const struct sl_slice_attr *a, const struct sl_shape *x,
	const struct sl_shape *part, struct copy *job, int k)
{
	int64_t own[SL_MAX_RANK];

	sl_cuda_dense(x, own);
	for (int i = 0; i < x->rank; i++) {
		int64_t step = a->step[i] && part->dim[i] > 1 ? a->step[i] : 1;
		job->stride[k][i] = own[i] * step;
		job->start[k] += cut(a->begin[i], x->dim[i]) * own[i];
	}
	job->over = *part;
	sl_cuda_dense(part, job->stride[1 - k]);
}

static sl_status slice_run(const struct sl_call *c)
{
	struct copy job = {0};

	slice_of(c->node->attr, &c->node->in[0].shape, &c->node->out[0].shape, &job, 1);
	return run_copy(c, &job, (void *[]){c->in[0], c->out[0]});
}

static sl_status slice_dx_run(const struct sl_call *c)
{
	const struct sl_slice_dx_attr *a = c->node->attr;
	struct copy job = {0};

	SL_TRY(fill(c, 0));
	slice_of(&a->slice, &c->node->out[0].shape, &c->node->in[0].shape, &job, 0);
	return run_copy(c, &job, (void *[]){c->in[0], c->out[0]});
}

static sl_status concat_run(const struct sl_call *c)
{
	const struct sl_axis_attr *a = c->node->attr;
	int64_t own[SL_MAX_RANK];
	int64_t begin = 0;

	sl_cuda_dense(&c->node->out[0].shape, own);
	for (int k = 0; k < c->node->n_in; k++) {
		struct copy job = {.over = c->node->in[k].shape};
		sl_cuda_dense(&job.over, job.stride[1]);
		memcpy(job.stride[0], own, sizeof(own));
		job.start[0] = begin * own[a->axis];
		begin += job.over.dim[a->axis];
		SL_TRY(run_copy(c, &job, (void *[]){c->in[k], c->out[0]}));
	}
	return SL_OK;
}

static sl_status pad_run(const struct sl_call *c)
{
	const struct sl_pad_attr *a = c->node->attr;
	struct copy job = {.over = c->node->in[0].shape};

	SL_TRY(fill(c, a->value));
	sl_cuda_dense(&c->node->out[0].shape, job.stride[0]);
	sl_cuda_dense(&job.over, job.stride[1]);
	for (int i = 0; i < job.over.rank; i++)
		job.start[0] += a->before[i] * job.stride[0][i];
	return run_copy(c, &job, (void *[]){c->in[0], c->out[0]});
}

static sl_status expand_run(const struct sl_call *c)
{
	struct copy job = {.over = c->node->out[0].shape};

	sl_cuda_dense(&job.over, job.stride[0]);
	sl_cuda_spread(&c->node->in[0].shape, &job.over, job.stride[1]);
	return run_copy(c, &job, (void *[]){c->in[0], c->out[0]});
}

static sl_status full_run(const struct sl_call *c)
{
	const struct sl_full_attr *a = c->node->attr;

	return fill(c, a->value);
}

static sl_status assign_run(const struct sl_call *c)
{
	int64_t bytes = (int64_t)sl_type_bytes(&c->node->in[0]);
	void *x = c->in[1], *y = c->in[0];

	return sl_cuda_each(
		c, SL_IN_sl_cu_copy, (bytes + 15) / 16, SL_PARAMS(&x, &y, &bytes));
}

#define KERNEL(op_) \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.run = op_##_run, \
	};

KERNEL(assign)
KERNEL(concat)
KERNEL(expand)
KERNEL(full)
KERNEL(pad)
KERNEL(slice)
KERNEL(slice_dx)
KERNEL(transpose)
