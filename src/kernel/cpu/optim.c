/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers, one pass over parameter, gradient and states, and what they need beside:
 * sums of squares and accumulation of gradients. f32 states; scalars (bias corrections,
 * step size) are computed in double once. AdamW moves 28 bytes an element. Rules as in
 * the operators' file.
 *
 * Every element is computed alone, so that slices of a parameter give the bits of the
 * whole.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "sluice/attrs.h"

#define CHUNK 65536 /* of sum_squares, as in the operator */

/* A running update of count elements. */
struct update {
	float *p;
	const float *g;
	float *state[2];
	float lr, coef, decay;
	float mu; /* momentum */
	bool nesterov;
	float beta1, beta2, eps, step_size, root2, shrink; /* adam, adamw */
};

static struct update update_of(const struct sl_call *c, int n_states)
{
	const struct sl_optim_attr *a = c->node->attr;
	int last = c->node->op->max_in - 1;
	struct update u = {.p = (float *)c->in[0] + a->begin,
		.g = (const float *)c->in[1] + a->begin,
		.lr = *(const float *)c->in[2 + n_states],
		.coef = sl_node_has(c->node, last) ? *(const float *)c->in[last] : 1,
		.decay = (float)a->weight_decay,
		.mu = (float)a->momentum,
		.nesterov = a->nesterov};

	for (int i = 0; i < n_states; i++)
		u.state[i] = c->in[2 + i];
	return u;
}

static int64_t slice_count(const struct sl_call *c)
{
	const struct sl_optim_attr *a = c->node->attr;
	return a->count ? a->count : sl_cpu_count_in(c, 0) - a->begin;
}

static void sgd_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct update u = *(const struct update *)arg;
	float *p = u.p;
	const float *g = u.g;
	bool decays = u.decay != 0; /* 0 times infinity is NaN */

	(void)c;
#pragma omp simd
	for (int64_t i = begin; i < end; i++)
		p[i] -= u.lr * (u.coef * g[i] + (decays ? u.decay * p[i] : 0));
}

static sl_status sgd_run(const struct sl_call *c)
{
	struct update u = update_of(c, 0);

	sl_cpu_for(c, &u, slice_count(c), SL_CPU_GRAIN, sgd_range);
	return SL_OK;
}

static void momentum_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct update u = *(const struct update *)arg;
	float *p = u.p;
	const float *g = u.g;
	float *buf = u.state[0];
	bool decays = u.decay != 0;

	(void)c;
#pragma omp simd
	for (int64_t i = begin; i < end; i++) {
		float d = u.coef * g[i] + (decays ? u.decay * p[i] : 0);
		float b = u.mu * buf[i] + d;
		buf[i] = b;
		p[i] -= u.lr * (u.nesterov ? d + u.mu * b : b);
	}
}

static sl_status momentum_run(const struct sl_call *c)
{
	struct update u = update_of(c, 1);

	sl_cpu_for(c, &u, slice_count(c), SL_CPU_GRAIN, momentum_range);
	return SL_OK;
}

static void adam_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct update u = *(const struct update *)arg;
	float *p = u.p;
	const float *grad = u.g;
	float *m = u.state[0];
	float *v = u.state[1];
	float rest1 = (float)(1 - (double)u.beta1);
	float rest2 = (float)(1 - (double)u.beta2);
	bool decays = u.decay != 0;

	(void)c;
#pragma omp simd
	for (int64_t i = begin; i < end; i++) {
		float g = u.coef * grad[i] + (decays ? u.decay * p[i] : 0);
		float mi = u.beta1 * m[i] + rest1 * g;
		float vi = u.beta2 * v[i] + rest2 * (g * g);
		m[i] = mi;
		v[i] = vi;
		p[i] = p[i] * u.shrink - u.step_size * mi / (sqrtf(vi) * u.root2 + u.eps);
	}
}

static void run_adam(const struct sl_call *c, bool decoupled)
{
	const struct sl_optim_attr *a = c->node->attr;
	double t = (double)(*(const int64_t *)c->in[5] + 1);
	struct update u = update_of(c, 2);

	u.beta1 = (float)a->beta1;
	u.beta2 = (float)a->beta2;
	u.eps = (float)a->eps;
	u.step_size = (float)((double)u.lr / (1 - pow(a->beta1, t)));
	u.root2 = (float)(1 / sqrt(1 - pow(a->beta2, t)));
	u.shrink = decoupled ? (float)(1 - (double)u.lr * a->weight_decay) : 1;
	u.decay = decoupled ? 0 : u.decay;
	sl_cpu_for(c, &u, slice_count(c), SL_CPU_GRAIN, adam_range);
}

static sl_status adam_run(const struct sl_call *c)
{
	run_adam(c, false);
	return SL_OK;
}

static sl_status adamw_run(const struct sl_call *c)
{
	run_adam(c, true);
	return SL_OK;
}

static void accumulate_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	float *to = c->in[0];
	const float *from = c->in[1];

	(void)arg;
#pragma omp simd
	for (int64_t i = begin; i < end; i++)
		to[i] += from[i];
}

static sl_status accumulate_run(const struct sl_call *c)
{
	sl_cpu_for(c, NULL, sl_cpu_count_in(c, 0), SL_CPU_GRAIN, accumulate_range);
	return SL_OK;
}

static sl_status squares_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	int64_t chunks = sl_cpu_chunks(sl_shape_count(&n->in[0].shape), CHUNK);

	(void)env;
	*out = (struct sl_prepared){.workspace_bytes = (size_t)chunks * sizeof(double)};
	return SL_OK;
}

static void squares_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	int64_t count = sl_cpu_count_in(c, 0);
	double *part = c->workspace;

	(void)arg;
	for (int64_t k = begin; k < end; k++) {
		int64_t at = k * CHUNK;
		int64_t n = count - at < CHUNK ? count - at : CHUNK;
		part[k] = sl_cpu_sum_squares((const float *)c->in[0] + at, n);
	}
}

static sl_status squares_run(const struct sl_call *c)
{
	int64_t chunks = sl_cpu_chunks(sl_cpu_count_in(c, 0), CHUNK);
	const double *part = c->workspace;
	double sum = 0;

	sl_cpu_for(c, NULL, chunks, 1, squares_range);
	for (int64_t k = 0; k < chunks; k++)
		sum += part[k];
	*(float *)c->out[0] = (float)sum;
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_sum_squares = {
	.name = "vec_sum_squares",
	.op = "sum_squares",
	.rank = 10,
	.accepts = sl_cpu_is_f32,
	.prepare = squares_prepare,
	.run = squares_run,
};

/* Input 5 of adam and adamw is the step count. */
static bool accepts_adam(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_but(n, 5);
}

#define KERNEL(op_name, accepts_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = accepts_fn, \
		.run = op_name##_run, \
	};

KERNEL(accumulate, sl_cpu_is_f32)
KERNEL(adam, accepts_adam)
KERNEL(adamw, accepts_adam)
KERNEL(momentum, sl_cpu_is_f32)
KERNEL(sgd, sl_cpu_is_f32)
