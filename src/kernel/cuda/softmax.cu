/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and log-softmax along an axis of [outer, n, inner], and their gradients. With
 * inner 1, a block reads a row once for the sum and once more, from the cache, to write;
 * else neighbouring threads take neighbouring rows, so that reads lie side by side.
 */
#include "kernel/cuda/softmax.cuh"

/* y = f(x, largest, sum). */
template <class T, class F>
__device__ void softmax(const T *x, T *y, i64 rows, i64 n, F f)
{
	SL_SHARED(exp_sum, part, WARP);

	for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
		exp_sum s = row_exp_sum(x + row * n, n, part);
		for (i64 i = threadIdx.x; i < n; i += blockDim.x)
			put(&y[row * n + i], f(get(x[row * n + i]), s));
	}
}

template <class T, class F>
__device__ void softmax_across(const T *x, T *y, i64 rows, i64 n, i64 inner, F f)
{
	for (i64 row = thread_at(); row < rows; row += thread_step()) {
		i64 j;
		i64 at = divide(row, inner, &j) * n * inner;
		at += j;
		exp_sum s = exp_none();
		for (i64 i = 0; i < n; i++)
			exp_add(&s, get(x[at + i * inner]));
		s = exp_done(s);
		for (i64 i = 0; i < n; i++)
			put(&y[at + i * inner], f(get(x[at + i * inner]), s));
	}
}

/* dx = f(y, dy, sum of g(y, dy)). */
template <class T, class F, class G>
__device__ void softmax_dx(const T *y, const T *dy, T *dx, i64 rows, i64 n, F f, G g)
{
	SL_SHARED(float, part, WARP);

	for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
		float sum = 0;
		for (i64 i = row * n + threadIdx.x; i < (row + 1) * n; i += blockDim.x)
			sum += g(get(y[i]), get(dy[i]));
		sum = block_sum(sum, part);
		for (i64 i = row * n + threadIdx.x; i < (row + 1) * n; i += blockDim.x)
			put(&dx[i], f(get(y[i]), get(dy[i]), sum));
	}
}

template <class T, class F, class G>
__device__ void softmax_dx_across(
	const T *y, const T *dy, T *dx, i64 rows, i64 n, i64 inner, F f, G g)
{
	for (i64 row = thread_at(); row < rows; row += thread_step()) {
		i64 j;
		i64 at = divide(row, inner, &j) * n * inner;
		at += j;
		float sum = 0;
		for (i64 i = at; i < at + n * inner; i += inner)
			sum += g(get(y[i]), get(dy[i]));
		for (i64 i = at; i < at + n * inner; i += inner)
			put(&dx[i], f(get(y[i]), get(dy[i]), sum));
	}
}

struct soft {
	__device__ float operator()(float x, exp_sum s) const
	{
		return expf(x - s.top) / s.sum;
	}
};

struct log_soft {
	__device__ float operator()(float x, exp_sum s) const
	{
		return x - s.top - logf(s.sum);
	}
};

#define SOFTMAX(name, T, kind, f) \
	SL_ENTRY SL_BOUNDS(BLOCK_MAX) \
		sl_cu_##name##_##kind(const T *x, T *y, i64 rows, i64 n) \
	{ \
		softmax(x, y, rows, n, f()); \
	} \
	SL_ENTRY sl_cu_##name##_across_##kind( \
		const T *x, T *y, i64 rows, i64 n, i64 inner) \
	{ \
		softmax_across(x, y, rows, n, inner, f()); \
	}

SOFTMAX(softmax, float, f32, soft)
SOFTMAX(softmax, bf16, bf16, soft)
SOFTMAX(log_softmax, float, f32, log_soft)
SOFTMAX(log_softmax, bf16, bf16, log_soft)

struct soft_dx {
	__device__ float operator()(float y, float dy, float sum) const
	{
		return y * (dy - sum);
	}
};

struct log_soft_dx {
	__device__ float operator()(float y, float dy, float sum) const
	{
		return dy - expf(y) * sum;
	}
};

struct product {
	__device__ float operator()(float y, float dy) const
	{
		return y * dy;
	}
};

struct second {
	__device__ float operator()(float, float dy) const
	{
		return dy;
	}
};

#define SOFTMAX_DX(name, T, kind, f, g) \
	SL_ENTRY SL_BOUNDS(BLOCK_MAX) \
		sl_cu_##name##_##kind(const T *y, const T *dy, T *dx, i64 rows, i64 n) \
	{ \
		softmax_dx(y, dy, dx, rows, n, f(), g()); \
	} \
	SL_ENTRY sl_cu_##name##_across_##kind( \
		const T *y, const T *dy, T *dx, i64 rows, i64 n, i64 inner) \
	{ \
		softmax_dx_across(y, dy, dx, rows, n, inner, f(), g()); \
	}

SOFTMAX_DX(softmax_dx, float, f32, soft_dx, product)
SOFTMAX_DX(softmax_dx, bf16, bf16, soft_dx, product)
SOFTMAX_DX(log_softmax_dx, float, f32, log_soft_dx, second)
SOFTMAX_DX(log_softmax_dx, bf16, bf16, log_soft_dx, second)
