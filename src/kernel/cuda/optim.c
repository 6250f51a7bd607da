/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers and the scalars around them (optim.cu). */
#include "kernel/cuda/launch.h"

static struct sl_cuda_optim rule_of(const struct sl_node_info *n, bool decoupled)
{
	const struct sl_optim_attr *a = n->attr;
	int64_t all = sl_shape_count(&n->in[0].shape);

	return (struct sl_cuda_optim){.momentum = a->momentum,
		.beta1 = a->beta1,
		.beta2 = a->beta2,
		.eps = a->eps,
		.decay = a->weight_decay,
		.begin = a->begin,
		.count = a->count ? a->count : all - a->begin,
		.nesterov = a->nesterov,
		.decoupled = decoupled};
}

/* The clipping factor is the last input, where there is one. */
static void *coef_of(const struct sl_call *c, int i)
{
	return sl_node_has(c->node, i) ? c->in[i] : NULL;
}

static sl_status sgd_run(const struct sl_call *c)
{
	struct sl_cuda_optim o = rule_of(c->node, false);
	void *p = c->in[0], *grad = c->in[1], *lr = c->in[2], *coef = coef_of(c, 3);

	return sl_cuda_each(
		c, SL_IN_sl_cu_sgd, o.count, SL_PARAMS(&p, &grad, &lr, &coef, &o));
}

static sl_status momentum_run(const struct sl_call *c)
{
	struct sl_cuda_optim o = rule_of(c->node, false);
	void *p = c->in[0], *grad = c->in[1], *buf = c->in[2], *lr = c->in[3];
	void *coef = coef_of(c, 4);

	return sl_cuda_each(c, SL_IN_sl_cu_momentum, o.count,
		SL_PARAMS(&p, &grad, &buf, &lr, &coef, &o));
}

static sl_status adam(const struct sl_call *c, bool decoupled)
{
	struct sl_cuda_optim o = rule_of(c->node, decoupled);
	void *p = c->in[0], *grad = c->in[1], *m = c->in[2], *v = c->in[3];
	void *lr = c->in[4], *step = c->in[5], *coef = coef_of(c, 6);

	return sl_cuda_each(c, SL_IN_sl_cu_adam, o.count,
		SL_PARAMS(&p, &grad, &m, &v, &lr, &step, &coef, &o));
}

static sl_status adam_run(const struct sl_call *c)
{
	return adam(c, false);
}

static sl_status adamw_run(const struct sl_call *c)
{
	return adam(c, true);
}

static sl_status step_next_run(const struct sl_call *c)
{
	void *step = c->in[0];

	return sl_cuda_once(c, SL_IN_sl_cu_step_next, 1, SL_PARAMS(&step));
}

static sl_status learning_rate_run(const struct sl_call *c)
{
	struct sl_schedule_attr a = *(const struct sl_schedule_attr *)c->node->attr;
	void *step = c->in[0], *y = c->out[0];
	int kind = (int)a.kind;

	return sl_cuda_once(c, SL_IN_sl_cu_learning_rate, 1,
		SL_PARAMS(&step, &y, &kind, &a.base, &a.floor, &a.gamma, &a.warmup,
			&a.period, &a.total));
}

static sl_status clip_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	(void)n;
	(void)env;
	*out = (struct sl_prepared){.workspace_bytes = sizeof(double)};
	return SL_OK;
}

static sl_status clip_coef_run(const struct sl_call *c)
{
	const struct sl_clip_attr *a = c->node->attr;
	double largest = a->max_norm;
	void *sum = c->workspace, *coef = c->out[0];

	for (int first = 0; first < c->node->n_in; first += SL_CUDA_POINTERS) {
		int left = c->node->n_in - first;
		struct sl_cuda_pointers square = {
			.n = left < SL_CUDA_POINTERS ? left : SL_CUDA_POINTERS};
		int is_first = first == 0, is_last = left <= SL_CUDA_POINTERS;
		for (int i = 0; i < square.n; i++)
			square.at[i] = c->in[first + i];
		SL_TRY(sl_cuda_once(c, SL_IN_sl_cu_clip_coef, 1,
			SL_PARAMS(&square, &sum, &is_first, &is_last, &largest, &coef)));
	}
	return SL_OK;
}

/* All but the step count. */
static bool is_f32_rule(const struct sl_node_info *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (sl_node_has(n, i) && n->in[i].dtype != SL_F32 &&
			n->in[i].dtype != SL_I64)
			return false;
	return true;
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

KERNEL(adam, is_f32_rule, NULL)
KERNEL(adamw, is_f32_rule, NULL)
KERNEL(clip_coef, sl_cuda_is_f32, clip_prepare)
KERNEL(learning_rate, NULL, NULL)
KERNEL(momentum, is_f32_rule, NULL)
KERNEL(sgd, is_f32_rule, NULL)
KERNEL(step_next, NULL, NULL)
