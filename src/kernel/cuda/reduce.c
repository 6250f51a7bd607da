/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums, means and maxima over axes, and sums of squares (reduce.cu). A sum is cut into
 * chunks where there are too few results to fill a card; how many follows from the shape.
 */
#include "kernel/cuda/launch.h"

#include <math.h>

#define ROWS 8 /* warps of a block, as REDUCE_ROWS */
#define CHUNKS_MAX 1024
#define ROW_CHUNK 2048 /* elements that are worth a warp */
#define COLUMN_CHUNK 64
#define SQUARES_CHUNK 8192 /* elements that are worth a block */

/* A reduction as it is launched. */
struct form {
	struct sl_cuda_reduce r;
	bool rows; /* the innermost axis goes */
	int64_t chunks, size;
};

/* `kept`: x's shape with 1 in place of axes that go, aligned to the left. */
static struct form form_of(const struct sl_shape *x, const struct sl_shape *kept)
{
	struct sl_shape gone = *x;
	int64_t stride[1][SL_MAX_RANK];
	struct form f = {0};

	for (int i = 0; i < x->rank; i++)
		gone.dim[i] = kept->dim[i] == x->dim[i] && x->dim[i] != 1 ? 1 : x->dim[i];
	sl_cuda_dense(x, stride[0]);
	f.r.kept = sl_cuda_walk_over(kept, 1, stride);
	f.r.gone = sl_cuda_walk_over(&gone, 1, stride);
	f.r.n_kept = sl_shape_count(kept);
	f.r.n_gone = sl_shape_count(&gone);
	f.rows = f.r.gone.stride[0][0] == 1;
	int64_t least = f.rows ? ROW_CHUNK : COLUMN_CHUNK;
	int64_t side = (f.r.n_kept + SL_CUDA_WARP - 1) / SL_CUDA_WARP;
	int64_t most = side > 0 && side < CHUNKS_MAX ? CHUNKS_MAX / side : 1;
	int64_t chunks = (f.r.n_gone + least - 1) / least;
	chunks = chunks < most ? chunks : most;
	chunks = chunks > 0 ? chunks : 1;
	f.size = (f.r.n_gone + chunks - 1) / chunks;
	f.chunks = f.size > 0 ? (f.r.n_gone + f.size - 1) / f.size : 1;
	return f;
}

static size_t workspace_of(const struct form *f)
{
	return f->chunks > 1 ? (size_t)(f->chunks * f->r.n_kept) * sizeof(float) : 0;
}

/* Entries of one reduction: f32 and, where low, bf16. */
struct entries {
	enum sl_cuda_code rows, columns;
};
static const struct entries sums = {
	SL_IN_sl_cu_sum_rows_f32, SL_IN_sl_cu_sum_columns_f32};
static const struct entries maxima = {
	SL_IN_sl_cu_max_rows_f32, SL_IN_sl_cu_max_columns_f32};

static sl_status launch(const struct sl_call *c, enum sl_cuda_code entry,
	const struct form *f, void *const xy[2], float scale)
{
	struct sl_cuda_reduce r = f->r;
	int64_t size = f->size;
	void *x = xy[0], *y = xy[1];
	struct sl_cuda_size grid = {
		sl_cuda_blocks(r.n_kept, f->rows ? ROWS : SL_CUDA_WARP),
		(unsigned)f->chunks, 1};

	return sl_cuda_go(c, entry, grid, (struct sl_cuda_size){SL_CUDA_WARP, ROWS, 1},
		SL_PARAMS(&x, &y, &r, &size, &scale));
}

static sl_status reduce(const struct sl_call *c, const struct form *f,
	const struct entries *e, float scale)
{
	enum sl_dtype t = c->node->in[0].dtype;
	enum sl_cuda_code first = sl_cuda_of(f->rows ? e->rows : e->columns, t);
	void *x = c->in[0], *y = c->out[0];

	if (f->chunks == 1)
		return launch(c, first, f, (void *[]){x, y}, scale);
	SL_TRY(launch(c, first, f, (void *[]){x, c->workspace}, 1));
	/* The chunks' results as [chunks, kept]. */
	struct form rest =
		form_of(&SL_SHAPE(f->chunks, f->r.n_kept), &SL_SHAPE(1, f->r.n_kept));
	rest.chunks = 1;
	rest.size = f->chunks;
	/* A warp each where there are too few results for the lanes of one. */
	rest.rows = f->r.n_kept < SL_CUDA_WARP;
	return launch(c, rest.rows ? e->rows : e->columns, &rest,
		(void *[]){c->workspace, y}, scale);
}

static struct sl_shape kept_of(const struct sl_node_info *n)
{
	const struct sl_reduce_attr *a = n->attr;
	struct sl_shape s = n->in[0].shape;

	for (int i = 0; i < s.rank; i++)
		if (a->axes == 0 || (a->axes >> i & 1))
			s.dim[i] = 1;
	return s;
}

static struct form form_of_node(const struct sl_node_info *n)
{
	struct sl_shape kept = kept_of(n);

	return form_of(&n->in[0].shape, &kept);
}

/* sum_to's shape with the axes that x has more of. */
static struct form form_to(const struct sl_node_info *n)
{
	const struct sl_shape *to = &n->out[0].shape;
	struct sl_shape kept = n->in[0].shape;
	int lead = kept.rank - to->rank;

	for (int i = 0; i < kept.rank; i++)
		kept.dim[i] = i < lead ? 1 : to->dim[i - lead];
	return form_of(&n->in[0].shape, &kept);
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct form f = form_of_node(n);

	(void)env;
	*out = (struct sl_prepared){.workspace_bytes = workspace_of(&f)};
	return SL_OK;
}

static sl_status prepare_to(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct form f = form_to(n);

	(void)env;
	*out = (struct sl_prepared){.workspace_bytes = workspace_of(&f)};
	return SL_OK;
}

static sl_status sum_run(const struct sl_call *c)
{
	struct form f = form_of_node(c->node);

	return reduce(c, &f, &sums, 1);
}

static sl_status mean_run(const struct sl_call *c)
{
	struct form f = form_of_node(c->node);

	return reduce(c, &f, &sums, 1 / (float)f.r.n_gone);
}

static sl_status max_run(const struct sl_call *c)
{
	struct form f = form_of_node(c->node);

	return reduce(c, &f, &maxima, 1);
}

static sl_status sum_to_run(const struct sl_call *c)
{
	struct form f = form_to(c->node);

	return reduce(c, &f, &sums, 1);
}

static sl_status max_dx_run(const struct sl_call *c)
{
	struct form f = form_of_node(c->node);
	void *x = c->in[0], *y = c->in[1], *dy = c->in[2], *dx = c->out[0];
	struct sl_cuda_size grid = {sl_cuda_blocks(f.r.n_kept, ROWS), 1, 1};

	return sl_cuda_go(c, SL_IN_sl_cu_max_dx, grid,
		(struct sl_cuda_size){SL_CUDA_WARP, ROWS, 1},
		SL_PARAMS(&x, &y, &dy, &dx, &f.r));
}

#define KERNEL(op_, accepts_, prepare_) \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.accepts = (accepts_), \
		.prepare = (prepare_), \
		.run = op_##_run, \
	};

KERNEL(sum, sl_cuda_is_float, prepare)
KERNEL(mean, sl_cuda_is_float, prepare)
KERNEL(max, sl_cuda_is_f32, prepare)
KERNEL(sum_to, sl_cuda_is_float, prepare_to)
KERNEL(max_dx, sl_cuda_is_f32, NULL)

static int64_t square_parts(const struct sl_node_info *n)
{
	int64_t count = sl_shape_count(&n->in[0].shape);

	return (count + SQUARES_CHUNK - 1) / SQUARES_CHUNK;
}

static sl_status squares_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)square_parts(n) * sizeof(double)};
	return SL_OK;
}

static sl_status add_parts(const struct sl_call *c, double by)
{
	int64_t parts = square_parts(c->node);
	void *part = c->workspace, *y = c->out[0];

	return sl_cuda_once(
		c, SL_IN_sl_cu_add_parts, 1024, SL_PARAMS(&part, &y, &parts, &by));
}

static sl_status sum_squares_run(const struct sl_call *c)
{
	int64_t n = sl_shape_count(&c->node->in[0].shape), size = SQUARES_CHUNK;
	struct sl_cuda_size grid = {(unsigned)square_parts(c->node), 1, 1};
	void *x = c->in[0], *part = c->workspace;

	SL_TRY(sl_cuda_go(c, sl_cuda_of(SL_IN_sl_cu_squares_f32, c->node->in[0].dtype),
		grid, (struct sl_cuda_size){SL_CUDA_THREADS, 1, 1},
		SL_PARAMS(&x, &part, &n, &size)));
	return add_parts(c, 1);
}

static sl_status mse_run(const struct sl_call *c)
{
	int64_t n = sl_shape_count(&c->node->in[0].shape), size = SQUARES_CHUNK;
	struct sl_cuda_size grid = {(unsigned)square_parts(c->node), 1, 1};
	void *x = c->in[0], *target = c->in[1], *part = c->workspace;

	SL_TRY(sl_cuda_go(c, SL_IN_sl_cu_square_errors, grid,
		(struct sl_cuda_size){SL_CUDA_THREADS, 1, 1},
		SL_PARAMS(&x, &target, &part, &n, &size)));
	return add_parts(c, (double)n);
}

KERNEL(sum_squares, sl_cuda_is_float, squares_prepare)
KERNEL(mse, sl_cuda_is_f32, squares_prepare)
