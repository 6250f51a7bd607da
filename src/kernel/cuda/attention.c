/* SPDX-License-Identifier: Apache-2.0 */
/* Attention both ways, in all forms of the operator (attention.cu, attention_dx.cu). */
#include <math.h>

#include "graph/op_attention.h"
#include "kernel/cuda/launch.h"

#define HEADS_MAX 65535 /* of a grid; more go in steps */
#define WIDTH_MAX 128

static struct sl_cuda_rows rows_of(const struct sl_attention_steps *s, int64_t first)
{
	return (struct sl_cuda_rows){s->batch, s->head, s->row, first};
}

/* Steps of the mask's axes counted from the end: key, query, head, batch. */
static void find_mask(const struct sl_type *m, struct sl_cuda_attention *a)
{
	int64_t step = 1;

	a->has_mask = 1;
	for (int i = 0; i < 4 && i < m->shape.rank; i++) {
		int64_t dim = m->shape.dim[m->shape.rank - 1 - i];
		a->mask[3 - i] = dim == 1 ? 0 : step;
		step *= dim;
	}
}

static struct sl_cuda_attention attention_of(
	const struct sl_call *c, const struct sl_attention_layout *l)
{
	const struct sl_attention_attr *attr = c->node->attr;
	double scale = attr->scale != 0 ? attr->scale : 1 / sqrt((double)l->d);
	double kept = attr->dropout < 1 ? 1 / (1 - attr->dropout) : 0;
	struct sl_cuda_attention a = {.q = rows_of(&l->q, l->first[0]),
		.k = rows_of(&l->k, l->first[1]),
		.v = rows_of(&l->k, l->first[2]),
		.y = rows_of(&l->y, 0),
		.seed = c->run->seed,
		.base = attr->base,
		.stream = attr->stream,
		.step = (uint32_t)c->run->step,
		.scale = (float)scale,
		.keep_scale = (float)kept,
		.keep_from = (uint32_t)ceil(attr->dropout * 0x1p24),
		.b = (int)l->b,
		.h = (int)l->h,
		.t = (int)l->t,
		.s = (int)l->s,
		.d = (int)l->d,
		.causal = attr->causal};

	if (c->in[l->in[SL_ATT_MASK]])
		find_mask(&c->node->in[l->in[SL_ATT_MASK]], &a);
	return a;
}

/* Tiles of `rows` by blocks of `tile`, for each head. */
static sl_status launch(const struct sl_call *c, enum sl_cuda_code entry,
	const struct sl_cuda_attention *a, const int rows_tile[2], void **params)
{
	int64_t heads = (int64_t)a->b * a->h;
	struct sl_cuda_size grid = {sl_cuda_blocks(rows_tile[0], rows_tile[1]),
		(unsigned)(heads < HEADS_MAX ? heads : HEADS_MAX), 1};

	return sl_cuda_go(c, sl_cuda_of(entry, c->node->in[0].dtype), grid,
		(struct sl_cuda_size){SL_CUDA_THREADS, 1, 1}, params);
}

static sl_status attention_run(const struct sl_call *c)
{
	struct sl_attention_layout l = sl_attention_layout_of(c->node);
	struct sl_cuda_attention a = attention_of(c, &l);
	bool narrow = l.d <= 64;
	void *q = c->in[l.in[SL_ATT_Q]], *k = c->in[l.in[SL_ATT_K]];
	void *v = c->in[l.in[SL_ATT_V]], *mask = c->in[l.in[SL_ATT_MASK]];
	void *y = c->out[0], *lse = c->out[1];

	return launch(c,
		narrow ? SL_IN_sl_cu_attention_64_f32 : SL_IN_sl_cu_attention_128_f32, &a,
		(int[]){a.t, narrow ? 64 : 32},
		SL_PARAMS(&q, &k, &v, &mask, &y, &lse, &a));
}

static sl_status dx_prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct sl_attention_layout l = sl_attention_layout_of(n);

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(l.b * l.h * l.t) * sizeof(float)};
	return SL_OK;
}

static sl_status deltas(
	const struct sl_call *c, struct sl_cuda_attention *a, void *y, void *dy)
{
	int64_t rows = (int64_t)a->b * a->h * a->t;
	struct sl_cuda_size grid = {sl_cuda_blocks(rows, 8), 1, 1};
	void *delta = c->workspace;

	return sl_cuda_go(c,
		sl_cuda_of(SL_IN_sl_cu_attention_deltas_f32, c->node->in[0].dtype), grid,
		(struct sl_cuda_size){SL_CUDA_WARP, 8, 1}, SL_PARAMS(&y, &dy, &delta, a));
}

static sl_status attention_dx_run(const struct sl_call *c)
{
	struct sl_attention_layout l = sl_attention_layout_of(c->node);
	struct sl_cuda_attention a = attention_of(c, &l);
	bool narrow = l.d <= 64;
	int tile = narrow ? 32 : 16;
	void *q = c->in[l.in[SL_ATT_Q]], *k = c->in[l.in[SL_ATT_K]];
	void *v = c->in[l.in[SL_ATT_V]], *mask = c->in[l.in[SL_ATT_MASK]];
	void *lse = c->in[l.in[SL_ATT_LSE]], *dy = c->in[l.in[SL_ATT_DY]];
	void *delta = c->workspace, *dq = c->out[0];
	void *dk = l.packed ? dq : c->out[1], *dv = l.packed ? dq : c->out[2];

	SL_TRY(deltas(c, &a, c->in[l.in[SL_ATT_Y]], dy));
	SL_TRY(launch(c,
		narrow ? SL_IN_sl_cu_attention_dq_64_f32
		       : SL_IN_sl_cu_attention_dq_128_f32,
		&a, (int[]){a.t, tile},
		SL_PARAMS(&q, &k, &v, &mask, &dy, &lse, &delta, &dq, &a)));
	return launch(c,
		narrow ? SL_IN_sl_cu_attention_dkv_64_f32
		       : SL_IN_sl_cu_attention_dkv_128_f32,
		&a, (int[]){a.s, tile},
		SL_PARAMS(&q, &k, &v, &mask, &dy, &lse, &delta, &dk, &dv, &a));
}

static bool accepts(const struct sl_node_info *n)
{
	struct sl_attention_layout l = sl_attention_layout_of(n);
	int mask = l.in[SL_ATT_MASK];

	return sl_cuda_is_float(n) && l.d <= WIDTH_MAX &&
	       (!sl_node_has(n, mask) || n->in[mask].dtype == SL_F32) &&
	       l.b * l.h < INT32_MAX && l.t < INT32_MAX / 2 && l.s < INT32_MAX / 2;
}

#define KERNEL(name_, op_, prepare_, run_) \
	const struct sl_kernel sl_kernel_##name_ = { \
		.name = #name_, \
		.op = #op_, \
		.rank = 10, \
		.accepts = accepts, \
		.prepare = (prepare_), \
		.run = run_, \
	};

KERNEL(cuda_attention, attention, NULL, attention_run)
KERNEL(cuda_attention_dx, attention_dx, dx_prepare, attention_dx_run)
KERNEL(cuda_attention_packed, attention_packed, NULL, attention_run)
KERNEL(cuda_attention_packed_dx, attention_packed_dx, dx_prepare, attention_dx_run)
