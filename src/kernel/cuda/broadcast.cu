/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of two operands that broadcast, and pow with its gradients. Threads go over
 * the result, so that its writes and the reads of whatever is not repeated lie side by
 * side; repeated operands come from the caches.
 */
#include "kernel/cuda/walk.cuh"

template <class T, class F>
__device__ void spread2(const T *a, const T *b, T *y, i64 n, const sl_cuda_walk &w, F f)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		i64 at[2];
		walk_to<2>(w, i, at);
		put(&y[i], f(get(a[at[0]]), get(b[at[1]])));
	}
}

#define SPREAD(name, expression) \
	SL_ENTRY sl_cu_spread_##name##_f32( \
		const float *x, const float *z, float *y, i64 n, sl_cuda_walk w) \
	{ \
		spread2(x, z, y, n, w, [](float a, float b) { return expression; }); \
	} \
	SL_ENTRY sl_cu_spread_##name##_bf16( \
		const bf16 *x, const bf16 *z, bf16 *y, i64 n, sl_cuda_walk w) \
	{ \
		spread2(x, z, y, n, w, [](float a, float b) { return expression; }); \
	}

SPREAD(add, a + b)
SPREAD(sub, a - b)
SPREAD(mul, a *b)
SPREAD(div, a / b)
SPREAD(pow, powf(a, b))

/* fn(a, b) dy; a zero by rule wins over an infinite or NaN dy. */
template <class T, class F>
__device__ void spread3(
	const T *a, const T *b, const T *dy, T *y, i64 n, const sl_cuda_walk &w, F f)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		i64 at[2];
		walk_to<2>(w, i, at);
		float d = f(get(a[at[0]]), get(b[at[1]]));
		put(&y[i], d != d || d != 0 ? d * get(dy[i]) : 0);
	}
}

#define SPREAD_DX(name, expression) \
	SL_ENTRY sl_cu_spread_##name##_f32(const float *x, const float *z, \
		const float *dy, float *y, i64 n, sl_cuda_walk w) \
	{ \
		spread3(x, z, dy, y, n, w, [](float a, float b) { return expression; }); \
	} \
	SL_ENTRY sl_cu_spread_##name##_bf16(const bf16 *x, const bf16 *z, \
		const bf16 *dy, bf16 *y, i64 n, sl_cuda_walk w) \
	{ \
		spread3(x, z, dy, y, n, w, [](float a, float b) { return expression; }); \
	}

SPREAD_DX(pow_da, b == 0 ? 0 : b * powf(a, b - 1))
SPREAD_DX(pow_db, a == 0 && fabsf(b) <= 1 ? 0 : b * logf(a))
