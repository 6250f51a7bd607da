/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm, alone and with what follows it (batch_norm.cu). */
#include "kernel/cuda/launch.h"

#define CHUNK 4096 /* values of a channel that a block sums */
#define CHUNKS_MAX 256

/* x seen as [n, c, inner], a channel's `count` values in chunks. */
struct form {
	int64_t n, c, inner, count, size, chunks;
	float eps;
};

static struct form form_of(const struct sl_node_info *n)
{
	const struct sl_eps_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	struct form f = {.n = x->dim[0],
		.c = x->dim[1],
		.inner = sl_shape_span(x, 2, x->rank),
		.eps = (float)a->eps};

	f.count = f.n * f.inner;
	int64_t chunks = (f.count + CHUNK - 1) / CHUNK;
	chunks = chunks < 1 ? 1 : chunks < CHUNKS_MAX ? chunks : CHUNKS_MAX;
	f.size = (f.count + chunks - 1) / chunks;
	f.chunks = f.size > 0 ? (f.count + f.size - 1) / f.size : 1;
	return f;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct form f = form_of(n);

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(f.c * f.chunks * 2) * sizeof(float)};
	return SL_OK;
}

/* A block for each chunk of each channel. */
static sl_status launch_chunks(const struct sl_call *c, enum sl_cuda_code pair,
	const struct form *f, void **params)
{
	struct sl_cuda_size grid = {(unsigned)f->c, (unsigned)f->chunks, 1};

	return sl_cuda_go(c, sl_cuda_of(pair, c->node->in[0].dtype), grid,
		(struct sl_cuda_size){SL_CUDA_THREADS, 1, 1}, params);
}

/* y from x with the given statistics; z is added before the ReLU, if there is one. */
static sl_status apply(
	const struct sl_call *c, struct form f, void *const stats[2], void *z, int relu)
{
	void *x = c->in[0], *gamma = c->in[1], *beta = c->in[2], *y = c->out[0];
	void *mean = stats[0], *var = stats[1];

	return sl_cuda_each(c, sl_cuda_of(SL_IN_sl_cu_bn_apply_f32, c->node->in[0].dtype),
		f.count * f.c,
		SL_PARAMS(&x, &gamma, &beta, &mean, &var, &z, &y, &f.n, &f.c, &f.inner,
			&f.eps, &relu));
}

static sl_status forward(const struct sl_call *c, void *z, int relu)
{
	struct form f = form_of(c->node);
	void *x = c->in[0], *part = c->workspace, *mean = c->out[1], *var = c->out[2];

	SL_TRY(launch_chunks(c, SL_IN_sl_cu_moments_f32, &f,
		SL_PARAMS(&x, &part, &f.n, &f.c, &f.inner, &f.size)));
	SL_TRY(sl_cuda_long(c, SL_IN_sl_cu_moments_merge, f.c,
		SL_PARAMS(&part, &mean, &var, &f.c, &f.count, &f.size, &f.chunks)));
	return apply(c, f, c->out + 1, z, relu);
}

static sl_status batch_norm_run(const struct sl_call *c)
{
	return forward(c, NULL, 0);
}

static sl_status copy(const struct sl_call *c, void *x, void *y, size_t size)
{
	int64_t bytes = (int64_t)size;

	return sl_cuda_each(
		c, SL_IN_sl_cu_copy, (bytes + 15) / 16, SL_PARAMS(&x, &y, &bytes));
}

/* Made again beside gradients it is given the statistics, and hands them on. */
static sl_status batch_norm_relu_run(const struct sl_call *c)
{
	if (c->node->n_in == 3)
		return forward(c, NULL, 1);
	for (int i = 0; i < 2; i++)
		SL_TRY(copy(c, c->in[3 + i], c->out[1 + i],
			sl_type_bytes(&c->node->in[3 + i])));
	return apply(c, form_of(c->node), c->in + 3, NULL, 1);
}

static sl_status batch_norm_add_relu_run(const struct sl_call *c)
{
	return forward(c, c->in[3], 1);
}

static sl_status batch_norm_infer_run(const struct sl_call *c)
{
	return apply(c, form_of(c->node), c->in + 3, NULL, 0);
}

/* in: x, gamma, beta or none, mean, var, dy. */
static sl_status backward(const struct sl_call *c, void *const in[6])
{
	struct form f = form_of(c->node);
	void *x = in[0], *gamma = in[1], *beta = in[2], *mean = in[3], *var = in[4];
	void *dy = in[5], *part = c->workspace;
	void *dx = c->out[0], *dgamma = c->out[1], *dbeta = c->out[2];

	SL_TRY(launch_chunks(c, SL_IN_sl_cu_bn_sums_f32, &f,
		SL_PARAMS(&x, &gamma, &beta, &mean, &var, &dy, &part, &f.n, &f.c,
			&f.inner, &f.size, &f.eps)));
	SL_TRY(sl_cuda_long(c, SL_IN_sl_cu_bn_sums_merge, f.c,
		SL_PARAMS(&part, &dgamma, &dbeta, &f.c, &f.chunks)));
	return sl_cuda_each(c, sl_cuda_of(SL_IN_sl_cu_bn_dx_f32, c->node->in[0].dtype),
		f.count * f.c,
		SL_PARAMS(&x, &gamma, &beta, &mean, &var, &dy, &dgamma, &dbeta, &dx, &f.n,
			&f.c, &f.inner, &f.eps));
}

static sl_status batch_norm_dx_run(const struct sl_call *c)
{
	return backward(
		c, (void *[]){c->in[0], c->in[1], NULL, c->in[2], c->in[3], c->in[4]});
}

static sl_status batch_norm_relu_dx_run(const struct sl_call *c)
{
	return backward(c, c->in);
}

static sl_status stats_update_run(const struct sl_call *c)
{
	const struct sl_stats_attr *a = c->node->attr;
	void *mean = c->in[0], *var = c->in[1], *batch_mean = c->in[2];
	void *batch_var = c->in[3];
	int64_t n = sl_shape_count(&c->node->in[0].shape), count = a->count;
	double momentum = a->momentum;

	if (sl_node_has(c->node, 4)) {
		const struct sl_shape *x = &c->node->in[4].shape;
		count = x->dim[0] * sl_shape_span(x, 2, x->rank);
	}
	double unbias = (double)count / (double)(count - 1);
	return sl_cuda_each(c, SL_IN_sl_cu_stats_update, n,
		SL_PARAMS(&mean, &var, &batch_mean, &batch_var, &n, &momentum, &unbias));
}

static bool is_f32_stats(const struct sl_node_info *n)
{
	return n->in[0].dtype == SL_F32;
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

KERNEL(batch_norm, sl_cuda_is_float, prepare)
KERNEL(batch_norm_add_relu, sl_cuda_is_float, prepare)
KERNEL(batch_norm_dx, sl_cuda_is_float, prepare)
KERNEL(batch_norm_infer, sl_cuda_is_float, NULL)
KERNEL(batch_norm_relu, sl_cuda_is_float, prepare)
KERNEL(batch_norm_relu_dx, sl_cuda_is_float, prepare)
KERNEL(stats_update, is_f32_stats, NULL)
