/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch norm of [n, c, inner], with the ReLU and the sum that follow it in most nets.
 *
 * A channel's values are cut into chunks, a block each: mean first, then the squares
 * about it from the cache, so that nothing cancels; chunks are merged in order by Chan's
 * rule. Channels lie along x, where a grid has room for any number. What is stored of
 * mean and variance is what the rest computes with.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/cuda.cuh"

struct planes {
	i64 n, c, inner;
};

/* Value i of a channel. */
__device__ inline i64 plane_at(const planes &p, i64 channel, i64 i)
{
	i64 j;
	i64 sample = divide(i, p.inner, &j);

	return (sample * p.c + channel) * p.inner + j;
}

__device__ inline i64 plane_channel(const planes &p, i64 i)
{
	i64 j, channel;

	divide(divide(i, p.inner, &j), p.c, &channel);
	return channel;
}

/* part: [c][chunks][2], mean and sum of squares about it. */
template <class T>
__device__ void moments(const T *x, float *part, const planes &p, i64 size)
{
	SL_SHARED(float, shared, WARP);
	i64 count = p.n * p.inner;
	i64 begin = (i64)blockIdx.y * size;
	i64 end = begin + size < count ? begin + size : count;
	float mean = 0, squares = 0;

	for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x)
		mean += get(x[plane_at(p, blockIdx.x, i)]);
	mean = block_sum(mean, shared) / (float)(end - begin);
	for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
		float d = get(x[plane_at(p, blockIdx.x, i)]) - mean;
		squares = fmaf(d, d, squares);
	}
	squares = block_sum(squares, shared);
	if (threadIdx.x > 0)
		return;
	part += ((i64)blockIdx.x * gridDim.y + blockIdx.y) * 2;
	part[0] = mean;
	part[1] = squares;
}

/* Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
 * variances", 1979. */
SL_ENTRY sl_cu_moments_merge(const float *part, float *mean, float *var, i64 c, i64 count,
	i64 size, i64 chunks)
{
	for (i64 k = thread_at(); k < c; k += thread_step()) {
		double m = 0, squares = 0, have = 0;
		for (i64 i = 0; i < chunks; i++) {
			double more = (double)((i + 1) * size < count ? size
								      : count - i * size);
			double d = part[(k * chunks + i) * 2] - m;
			have += more;
			m += d * more / have;
			squares += part[(k * chunks + i) * 2 + 1] +
				   d * d * more * (have - more) / have;
		}
		mean[k] = (float)m;
		var[k] = (float)(squares / (double)count);
	}
}

/* y = gamma (x - mean) / sqrt(var + eps) + beta (+ z), and ReLU of it. */
template <class T>
__device__ void bn_apply(const T *x, const float *gamma, const float *beta,
	const float *mean, const float *var, const T *z, T *y, const planes &p, float eps,
	int relu)
{
	for (i64 i = thread_at(); i < p.n * p.c * p.inner; i += thread_step()) {
		i64 k = plane_channel(p, i);
		float scale = gamma[k] / sqrtf(var[k] + eps);
		float v = fmaf(get(x[i]) - mean[k], scale, beta[k]);
		v += z ? get(z[i]) : 0;
		put(&y[i], relu && v <= 0 ? 0 : v);
	}
}

/* What flows back through the ReLU, if there is one (beta says so). */
__device__ inline float bn_passed(
	float dy, float xhat, float gamma, const float *beta, i64 k)
{
	return beta && xhat * gamma + beta[k] <= 0 ? 0 : dy;
}

/* Sums of dy xhat and dy; part: [c][chunks][2]. */
template <class T>
__device__ void bn_sums(const T *x, const float *gamma, const float *beta,
	const float *mean, const float *var, const T *dy, float *part, const planes &p,
	i64 size, float eps)
{
	SL_SHARED(float, shared, WARP);
	i64 k = blockIdx.x, count = p.n * p.inner;
	i64 begin = (i64)blockIdx.y * size;
	i64 end = begin + size < count ? begin + size : count;
	float r = 1 / sqrtf(var[k] + eps), a = 0, b = 0;

	for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
		i64 at = plane_at(p, k, i);
		float xhat = (get(x[at]) - mean[k]) * r;
		float d = bn_passed(get(dy[at]), xhat, gamma[k], beta, k);
		a = fmaf(d, xhat, a);
		b += d;
	}
	a = block_sum(a, shared);
	b = block_sum(b, shared);
	if (threadIdx.x > 0)
		return;
	part += (k * gridDim.y + blockIdx.y) * 2;
	part[0] = a;
	part[1] = b;
}

SL_ENTRY sl_cu_bn_sums_merge(
	const float *part, float *dgamma, float *dbeta, i64 c, i64 chunks)
{
	for (i64 k = thread_at(); k < c; k += thread_step()) {
		float a = 0, b = 0;
		for (i64 i = 0; i < chunks; i++) {
			a += part[(k * chunks + i) * 2];
			b += part[(k * chunks + i) * 2 + 1];
		}
		dgamma[k] = a;
		dbeta[k] = b;
	}
}

/* dx = gamma r (dy - mean(dy) - xhat mean(dy xhat)); dx may lie where dy lies. */
template <class T>
__device__ void bn_dx(const T *x, const float *gamma, const float *beta,
	const float *mean, const float *var, const T *dy, const float *dgamma,
	const float *dbeta, T *dx, const planes &p, float eps)
{
	float by = 1 / (float)(p.n * p.inner);

	for (i64 i = thread_at(); i < p.n * p.c * p.inner; i += thread_step()) {
		i64 k = plane_channel(p, i);
		float r = 1 / sqrtf(var[k] + eps);
		float xhat = (get(x[i]) - mean[k]) * r;
		float d = bn_passed(get(dy[i]), xhat, gamma[k], beta, k);
		float rest = fmaf(xhat, dgamma[k], dbeta[k]) * by;
		put(&dx[i], gamma[k] * r * (d - rest));
	}
}

#define BATCH_NORM(T, kind) \
	SL_ENTRY sl_cu_moments_##kind( \
		const T *x, float *part, i64 n, i64 c, i64 inner, i64 size) \
	{ \
		moments(x, part, planes{n, c, inner}, size); \
	} \
	SL_ENTRY sl_cu_bn_apply_##kind(const T *x, const float *gamma, \
		const float *beta, const float *mean, const float *var, const T *z, \
		T *y, i64 n, i64 c, i64 inner, float eps, int relu) \
	{ \
		bn_apply(x, gamma, beta, mean, var, z, y, planes{n, c, inner}, eps, \
			relu); \
	} \
	SL_ENTRY sl_cu_bn_sums_##kind(const T *x, const float *gamma, const float *beta, \
		const float *mean, const float *var, const T *dy, float *part, i64 n, \
		i64 c, i64 inner, i64 size, float eps) \
	{ \
		bn_sums(x, gamma, beta, mean, var, dy, part, planes{n, c, inner}, size, \
			eps); \
	} \
	SL_ENTRY sl_cu_bn_dx_##kind(const T *x, const float *gamma, const float *beta, \
		const float *mean, const float *var, const T *dy, const float *dgamma, \
		const float *dbeta, T *dx, i64 n, i64 c, i64 inner, float eps) \
	{ \
		bn_dx(x, gamma, beta, mean, var, dy, dgamma, dbeta, dx, \
			planes{n, c, inner}, eps); \
	}

BATCH_NORM(float, f32)
BATCH_NORM(bf16, bf16)

/* running = (1 - momentum) running + momentum batch, the variance made unbiased. */
SL_ENTRY sl_cu_stats_update(float *mean, float *var, const float *batch_mean,
	const float *batch_var, i64 c, double momentum, double unbias)
{
	for (i64 k = thread_at(); k < c; k += thread_step()) {
		mean[k] = (float)((1 - momentum) * mean[k] + momentum * batch_mean[k]);
		var[k] = (float)((1 - momentum) * var[k] +
				 momentum * (batch_var[k] * unbias));
	}
}
