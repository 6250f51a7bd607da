/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers, in place, and the scalars around them. Parameters and states are f32; what
 * depends on the step is computed in f64 once a block, so that a step needs nothing from
 * the host and can be replayed.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/cuda.cuh"

__device__ inline float clip_of(const float *coef)
{
	return coef ? *coef : 1;
}

SL_ENTRY sl_cu_sgd(
	float *p, const float *grad, const float *lr, const float *coef, sl_cuda_optim o)
{
	float rate = *lr, clip = clip_of(coef), decay = (float)o.decay;

	p += o.begin;
	grad += o.begin;
	for (i64 i = thread_at(); i < o.count; i += thread_step()) {
		float g = clip * grad[i];
		g = decay != 0 ? fmaf(decay, p[i], g) : g;
		p[i] = fmaf(-rate, g, p[i]);
	}
}

SL_ENTRY sl_cu_momentum(float *p, const float *grad, float *buf, const float *lr,
	const float *coef, sl_cuda_optim o)
{
	float rate = *lr, clip = clip_of(coef), decay = (float)o.decay;
	float mu = (float)o.momentum;

	p += o.begin;
	grad += o.begin;
	for (i64 i = thread_at(); i < o.count; i += thread_step()) {
		float g = clip * grad[i];
		g = decay != 0 ? fmaf(decay, p[i], g) : g;
		float b = fmaf(mu, buf[i], g);
		buf[i] = b;
		p[i] = fmaf(-rate, o.nesterov ? fmaf(mu, b, g) : b, p[i]);
	}
}

/* What a step of Adam multiplies by. */
struct adam_step {
	float size, root2, shrink;
};

__device__ inline adam_step adam_at(const sl_cuda_optim &o, double rate, i64 step)
{
	double t = (double)(step + 1);
	adam_step s;

	s.size = (float)(rate / (1 - pow(o.beta1, t)));
	s.root2 = (float)sqrt(1 - pow(o.beta2, t));
	s.shrink = (float)(o.decoupled ? 1 - rate * o.decay : 1);
	return s;
}

__device__ inline float adam_one(float p, float grad, float *m, float *v,
	const sl_cuda_optim &o, const adam_step &s, float clip)
{
	float g = clip * grad;

	if (!o.decoupled && o.decay != 0)
		g = fmaf((float)o.decay, p, g);
	*m = fmaf((float)o.beta1, *m, (float)(1 - o.beta1) * g);
	*v = fmaf((float)o.beta2, *v, (float)(1 - o.beta2) * g * g);
	return p * s.shrink - s.size * *m / (sqrtf(*v) / s.root2 + (float)o.eps);
}

/* adam and, where o.decoupled, adamw. */
SL_ENTRY sl_cu_adam(float *p, const float *grad, float *m, float *v, const float *lr,
	const i64 *step, const float *coef, sl_cuda_optim o)
{
	SL_SHARED(adam_step, shared, 1);

	if (threadIdx.x == 0)
		shared[0] = adam_at(o, *lr, *step);
	__syncthreads();
	adam_step s = shared[0];
	float clip = clip_of(coef);
	p += o.begin;
	grad += o.begin;
	i64 packs = is_wide(p, grad) && is_wide(m, v) ? o.count / 4 : 0;
	for (i64 i = thread_at(); i < packs; i += thread_step()) {
		pack<float> vp = ((pack<float> *)p)[i],
			    vg = ((const pack<float> *)grad)[i];
		pack<float> vm = ((pack<float> *)m)[i], vv = ((pack<float> *)v)[i];
		for (int k = 0; k < 4; k++)
			vp.v[k] = adam_one(
				vp.v[k], vg.v[k], &vm.v[k], &vv.v[k], o, s, clip);
		((pack<float> *)p)[i] = vp;
		((pack<float> *)m)[i] = vm;
		((pack<float> *)v)[i] = vv;
	}
	for (i64 i = packs * 4 + thread_at(); i < o.count; i += thread_step())
		p[i] = adam_one(p[i], grad[i], &m[i], &v[i], o, s, clip);
}

SL_ENTRY sl_cu_step_next(i64 *step)
{
	*step += 1;
}

/* kind: constant, step, cosine (enum sl_cu_schedule). */
SL_ENTRY sl_cu_learning_rate(const i64 *step, float *y, int kind, double base,
	double floor_, double gamma, i64 warmup, i64 period, i64 total)
{
	i64 t = *step;
	double v = base;

	if (t < warmup) {
		v = base * (double)(t + 1) / (double)warmup;
	} else if (kind == 1) {
		v = base * pow(gamma, floor((double)(t - warmup) / (double)period));
	} else if (kind == 2) {
		double done = fmin((double)(t - warmup) / (double)(total - warmup), 1.0);
		v = floor_ +
		    0.5 * (base - floor_) * (1 + cos(3.14159265358979323846 * done));
	}
	*y = (float)v;
}

/* coef = min(1, largest / (norm + 1e-6)), from as many squares as there are parameters,
 * SL_CUDA_POINTERS a launch. NaN passes. */
SL_ENTRY sl_cu_clip_coef(sl_cuda_pointers square, double *sum, int is_first, int is_last,
	double largest, float *coef)
{
	double all = is_first ? 0 : *sum;

	for (int i = 0; i < square.n; i++)
		all += *square.at[i];
	*sum = all;
	if (!is_last)
		return;
	double v = largest / (sqrt(all) + 1e-6);
	*coef = (float)(v > 1 ? 1 : v);
}
