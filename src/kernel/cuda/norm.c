/* SPDX-License-Identifier: Apache-2.0 */
/* Layer, RMS and group norm (norm.cu). */
#include "kernel/cuda/launch.h"

#define WARPS 8 /* of a block that sums columns, as NORM_WARPS */
#define CHUNK_ROWS 256
#define CHUNKS_MAX 128

static struct sl_cuda_norm rows_of(const struct sl_node_info *n)
{
	struct sl_rows r = sl_rows_of(&n->in[0].shape);

	return (struct sl_cuda_norm){
		.rows = r.n, .length = r.c, .groups = 1, .inner = 1, .c = r.c};
}

static struct sl_cuda_norm groups_of(const struct sl_node_info *n)
{
	const struct sl_group_norm_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	int64_t inner = sl_shape_span(x, 2, x->rank), c = x->dim[1];

	return (struct sl_cuda_norm){.rows = x->dim[0] * a->groups,
		.length = c / a->groups * inner,
		.groups = a->groups,
		.inner = inner,
		.c = c,
		.eps = (float)a->eps};
}

/* in: x, gamma, beta or none; out: y, mean or none, rstd. */
static sl_status norm(const struct sl_call *c, struct sl_cuda_norm p, void *const in[3],
	void *const out[3])
{
	void *x = in[0], *gamma = in[1], *beta = in[2];
	void *y = out[0], *mean = out[1], *rstd = out[2];

	return sl_cuda_rows(c, sl_cuda_of(SL_IN_sl_cu_norm_f32, c->node->in[0].dtype),
		p.rows, p.length, SL_PARAMS(&x, &gamma, &beta, &y, &mean, &rstd, &p));
}

static sl_status layer_norm_run(const struct sl_call *c)
{
	struct sl_cuda_norm p = rows_of(c->node);

	p.eps = (float)((const struct sl_eps_attr *)c->node->attr)->eps;
	return norm(c, p, c->in, c->out);
}

static sl_status rms_norm_run(const struct sl_call *c)
{
	struct sl_cuda_norm p = rows_of(c->node);

	p.eps = (float)((const struct sl_eps_attr *)c->node->attr)->eps;
	return norm(c, p, (void *[]){c->in[0], c->in[1], NULL},
		(void *[]){c->out[0], NULL, c->out[1]});
}

static sl_status group_norm_run(const struct sl_call *c)
{
	return norm(c, groups_of(c->node), c->in, c->out);
}

/* What a gradient reads: x, gamma, mean or none, rstd, dy. */
static sl_status norm_dx(
	const struct sl_call *c, struct sl_cuda_norm p, void *const in[5])
{
	void *x = in[0], *gamma = in[1], *mean = in[2], *rstd = in[3], *dy = in[4];
	void *dx = c->out[0];

	return sl_cuda_rows(c, sl_cuda_of(SL_IN_sl_cu_norm_dx_f32, c->node->in[0].dtype),
		p.rows, p.length, SL_PARAMS(&x, &gamma, &mean, &rstd, &dy, &dx, &p));
}

static int64_t chunks_of(int64_t rows)
{
	int64_t chunks = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;

	return chunks < 1 ? 1 : chunks < CHUNKS_MAX ? chunks : CHUNKS_MAX;
}

static sl_status dx_prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct sl_cuda_norm p = rows_of(n);

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(chunks_of(p.rows) * 2 * p.c) * sizeof(float)};
	return SL_OK;
}

/* Gradients of gamma and beta (or none), before dx may overwrite dy. */
static sl_status norm_dw(const struct sl_call *c, const struct sl_cuda_norm *p,
	void *const in[5], void *dgamma, void *dbeta)
{
	int64_t rows = p->rows, width = p->c, chunks = chunks_of(rows);
	int64_t size = (rows + chunks - 1) / chunks;
	void *x = in[0], *mean = in[2], *rstd = in[3], *dy = in[4], *part = c->workspace;
	struct sl_cuda_size grid = {
		sl_cuda_blocks(width, SL_CUDA_WARP), (unsigned)chunks, 1};

	SL_TRY(sl_cuda_go(c, sl_cuda_of(SL_IN_sl_cu_norm_dw_f32, c->node->in[0].dtype),
		grid, (struct sl_cuda_size){SL_CUDA_WARP, WARPS, 1},
		SL_PARAMS(&x, &mean, &rstd, &dy, &part, &rows, &width, &size)));
	return sl_cuda_long(c, SL_IN_sl_cu_norm_dw_sum, width,
		SL_PARAMS(&part, &dgamma, &dbeta, &width, &chunks));
}

static sl_status layer_norm_dx_run(const struct sl_call *c)
{
	struct sl_cuda_norm p = rows_of(c->node);

	SL_TRY(norm_dw(c, &p, c->in, c->out[1], c->out[2]));
	return norm_dx(c, p, c->in);
}

static sl_status rms_norm_dx_run(const struct sl_call *c)
{
	struct sl_cuda_norm p = rows_of(c->node);
	void *const in[5] = {c->in[0], c->in[1], NULL, c->in[2], c->in[3]};

	SL_TRY(norm_dw(c, &p, in, c->out[1], NULL));
	return norm_dx(c, p, in);
}

static sl_status group_norm_dx_run(const struct sl_call *c)
{
	struct sl_cuda_norm p = groups_of(c->node);
	void *x = c->in[0], *mean = c->in[2], *rstd = c->in[3], *dy = c->in[4];
	void *dgamma = c->out[1], *dbeta = c->out[2];
	struct sl_cuda_size grid = {sl_cuda_blocks(p.c, 1), 1, 1};

	SL_TRY(sl_cuda_go(c, SL_IN_sl_cu_group_norm_dw, grid,
		(struct sl_cuda_size){SL_CUDA_THREADS, 1, 1},
		SL_PARAMS(&x, &mean, &rstd, &dy, &dgamma, &dbeta, &p)));
	return norm_dx(c, p, c->in);
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

KERNEL(layer_norm, sl_cuda_is_float, NULL)
KERNEL(layer_norm_dx, sl_cuda_is_float, dx_prepare)
KERNEL(rms_norm, sl_cuda_is_f32, NULL)
KERNEL(rms_norm_dx, sl_cuda_is_f32, dx_prepare)
KERNEL(group_norm, sl_cuda_is_f32, NULL)
KERNEL(group_norm_dx, sl_cuda_is_f32, NULL)
