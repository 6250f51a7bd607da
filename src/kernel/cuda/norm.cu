/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer, RMS and group norm: rows of one length, a block each, that read a row twice for
 * mean and variance (the second time from the cache) and once to write. A group's row
 * holds whole channels of `inner` elements; elsewhere inner is 1 and a row holds each
 * channel once. Without mean and beta it is RMS norm.
 *
 * The gradients of gamma and beta add up over rows in chunks that follow from the shape;
 * they come first, since dx may take the bytes of dy.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/cuda.cuh"

__device__ inline i64 channel_of(const sl_cuda_norm &p, i64 row, i64 i)
{
	i64 group = p.groups == 1 ? 0 : row % p.groups;

	return group * (p.c / p.groups) + (p.inner == 1 ? i : i / p.inner);
}

template <class T>
__device__ void norm(const T *x, const float *gamma, const float *beta, T *y, float *mean,
	float *rstd, const sl_cuda_norm &p)
{
	SL_SHARED(float, part, WARP);

	for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
		const T *from = x + row * p.length;
		float m = 0, var = 0;
		if (mean) {
			for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
				m += get(from[i]);
			m = block_sum(m, part) / (float)p.length;
		}
		for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
			float d = get(from[i]) - m;
			var = fmaf(d, d, var);
		}
		var = block_sum(var, part) / (float)p.length;
		float r = 1 / sqrtf(var + p.eps);
		for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
			i64 c = channel_of(p, row, i);
			float xhat = (get(from[i]) - m) * r;
			put(&y[row * p.length + i],
				fmaf(xhat, gamma[c], beta ? beta[c] : 0));
		}
		if (threadIdx.x > 0)
			continue;
		rstd[row] = r;
		if (mean)
			mean[row] = m;
	}
}

/* dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma; without mean the second
 * is gone. */
template <class T>
__device__ void norm_dx(const T *x, const float *gamma, const float *mean,
	const float *rstd, const T *dy, T *dx, const sl_cuda_norm &p)
{
	SL_SHARED(float, part, WARP);

	for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
		i64 first = row * p.length;
		float m = mean ? mean[row] : 0, r = rstd[row];
		float sum = 0, sum_xhat = 0;
		for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
			float g = get(dy[first + i]) * gamma[channel_of(p, row, i)];
			sum += g;
			sum_xhat = fmaf(g, (get(x[first + i]) - m) * r, sum_xhat);
		}
		sum = mean ? block_sum(sum, part) / (float)p.length : 0;
		sum_xhat = block_sum(sum_xhat, part) / (float)p.length;
		for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
			float g = get(dy[first + i]) * gamma[channel_of(p, row, i)];
			float xhat = (get(x[first + i]) - m) * r;
			put(&dx[first + i], r * (g - sum - xhat * sum_xhat));
		}
	}
}

/*
 * Sums over rows of dy xhat and dy for channel c, chunk blockIdx.y: lanes take
 * neighbouring channels, warps every eighth row. part: [chunks][2][c].
 */
#define NORM_WARPS 8

template <class T>
__device__ void norm_dw(const T *x, const float *mean, const float *rstd, const T *dy,
	float *part, i64 rows, i64 c, i64 size)
{
	SL_SHARED(float, sums, 2 * NORM_WARPS * WARP);
	i64 k = (i64)blockIdx.x * WARP + threadIdx.x;
	i64 begin = (i64)blockIdx.y * size;
	i64 end = begin + size < rows ? begin + size : rows;
	float dgamma = 0, dbeta = 0;
	int at = threadIdx.y * WARP + threadIdx.x;

	for (i64 row = begin + threadIdx.y; k < c && row < end; row += NORM_WARPS) {
		float d = get(dy[row * c + k]);
		float xhat = (get(x[row * c + k]) - (mean ? mean[row] : 0)) * rstd[row];
		dgamma = fmaf(d, xhat, dgamma);
		dbeta += d;
	}
	sums[at] = dgamma;
	sums[NORM_WARPS * WARP + at] = dbeta;
	__syncthreads();
	if (threadIdx.y > 0 || k >= c)
		return;
	for (int i = 1; i < NORM_WARPS; i++) {
		dgamma += sums[i * WARP + threadIdx.x];
		dbeta += sums[(NORM_WARPS + i) * WARP + threadIdx.x];
	}
	part[(2 * blockIdx.y) * c + k] = dgamma;
	part[(2 * blockIdx.y + 1) * c + k] = dbeta;
}

/* The chunks' sums, in order; dbeta may be none. */
SL_ENTRY sl_cu_norm_dw_sum(
	const float *part, float *dgamma, float *dbeta, i64 c, i64 chunks)
{
	for (i64 k = thread_at(); k < c; k += thread_step()) {
		float a = 0, b = 0;
		for (i64 i = 0; i < chunks; i++) {
			a += part[2 * i * c + k];
			b += part[(2 * i + 1) * c + k];
		}
		dgamma[k] = a;
		if (dbeta)
			dbeta[k] = b;
	}
}

/* Of group norm: one block a channel goes over all samples' planes. */
SL_ENTRY sl_cu_group_norm_dw(const float *x, const float *mean, const float *rstd,
	const float *dy, float *dgamma, float *dbeta, sl_cuda_norm p)
{
	SL_SHARED(float, part, WARP);
	i64 c = blockIdx.x, n = p.rows / p.groups;
	i64 group = c / (p.c / p.groups);
	float a = 0, b = 0;

	for (i64 i = threadIdx.x; i < n * p.inner; i += blockDim.x) {
		i64 j;
		i64 sample = divide(i, p.inner, &j);
		i64 at = (sample * p.c + c) * p.inner + j;
		i64 row = sample * p.groups + group;
		a = fmaf(dy[at], (x[at] - mean[row]) * rstd[row], a);
		b += dy[at];
	}
	a = block_sum(a, part);
	b = block_sum(b, part);
	if (threadIdx.x > 0)
		return;
	dgamma[c] = a;
	dbeta[c] = b;
}

#define NORM(T, kind) \
	SL_ENTRY SL_BOUNDS(BLOCK_MAX) sl_cu_norm_##kind(const T *x, const float *gamma, \
		const float *beta, T *y, float *mean, float *rstd, sl_cuda_norm p) \
	{ \
		norm(x, gamma, beta, y, mean, rstd, p); \
	} \
	SL_ENTRY SL_BOUNDS(BLOCK_MAX) \
		sl_cu_norm_dx_##kind(const T *x, const float *gamma, const float *mean, \
			const float *rstd, const T *dy, T *dx, sl_cuda_norm p) \
	{ \
		norm_dx(x, gamma, mean, rstd, dy, dx, p); \
	} \
	SL_ENTRY sl_cu_norm_dw_##kind(const T *x, const float *mean, const float *rstd, \
		const T *dy, float *part, i64 rows, i64 c, i64 size) \
	{ \
		norm_dw(x, mean, rstd, dy, part, rows, c, size); \
	}

NORM(float, f32)
NORM(bf16, bf16)
