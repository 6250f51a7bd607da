/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max and average pooling of planes [h, w]. Forward a thread makes one result. Backward a
 * thread gathers what flows to one input, so that overlapping windows need no atomics;
 * where windows are apart, a thread serves one window and all that lies up to the next,
 * and may then write over the input it has read.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/cuda.cuh"

struct window {
	i64 top, left, bottom, right; /* within the input */
	float count;
};

__device__ inline i64 least_of(i64 a, i64 b)
{
	return a < b ? a : b;
}

__device__ inline i64 most_of(i64 a, i64 b)
{
	return a > b ? a : b;
}

__device__ inline window window_at(const sl_cuda_pool &p, i64 oh, i64 ow)
{
	i64 top = oh * p.stride[0] - p.pad[0], left = ow * p.stride[1] - p.pad[1];
	i64 bottom = top + p.kernel[0], right = left + p.kernel[1];
	window w = {most_of(top, 0), most_of(left, 0), least_of(bottom, p.h),
		least_of(right, p.w), 0};

	/* What ceil_mode adds beyond the padding counts in neither. */
	i64 rows = least_of(bottom, p.h + p.pad[2]) - top;
	i64 columns = least_of(right, p.w + p.pad[3]) - left;
	w.count = (float)(p.count_pad ? rows * columns
				      : (w.bottom - w.top) * (w.right - w.left));
	return w;
}

/* Offset in the plane of the first largest element, or of the first NaN. */
template <class T>
__device__ inline i64 winner(const T *x, const sl_cuda_pool &p, const window &w)
{
	i64 best = w.top * p.w + w.left;
	float most = get(x[best]);

	for (i64 i = w.top; i < w.bottom; i++) {
		for (i64 j = w.left; j < w.right; j++) {
			float v = get(x[i * p.w + j]);
			if (v > most || (v != v && most == most)) {
				most = v;
				best = i * p.w + j;
			}
		}
	}
	return best;
}

template <class T>
__device__ void max_pool(const T *x, T *y, i64 n, const sl_cuda_pool &p)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		i64 oh, ow;
		const T *plane = x + divide(divide(i, p.ow, &ow), p.oh, &oh) * p.h * p.w;
		y[i] = plane[winner(plane, p, window_at(p, oh, ow))];
	}
}

template <class T>
__device__ void avg_pool(const T *x, T *y, i64 n, const sl_cuda_pool &p)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		i64 oh, ow;
		const T *plane = x + divide(divide(i, p.ow, &ow), p.oh, &oh) * p.h * p.w;
		window w = window_at(p, oh, ow);
		float sum = 0;
		for (i64 r = w.top; r < w.bottom; r++)
			for (i64 c = w.left; c < w.right; c++)
				sum += get(plane[r * p.w + c]);
		put(&y[i], sum / w.count);
	}
}

/* Windows [first, last) that hold row or column i. */
struct reach {
	i64 first, last;
};

__device__ inline reach reach_of(const sl_cuda_pool &p, int axis, i64 i)
{
	i64 size = axis ? p.ow : p.oh;
	i64 at = i + p.pad[axis];
	i64 before = at - p.kernel[axis] + 1;

	return {before > 0 ? (before + p.stride[axis] - 1) / p.stride[axis] : 0,
		least_of(at / p.stride[axis] + 1, size)};
}

template <class T, class F>
__device__ void pool_dx(T *dx, i64 n, const sl_cuda_pool &p, F flow)
{
	for (i64 e = thread_at(); e < n; e += thread_step()) {
		i64 i, j;
		i64 plane = divide(divide(e, p.w, &j), p.h, &i);
		reach rows = reach_of(p, 0, i), columns = reach_of(p, 1, j);
		float sum = 0;
		for (i64 oh = rows.first; oh < rows.last; oh++)
			for (i64 ow = columns.first; ow < columns.last; ow++)
				sum += flow(plane, window_at(p, oh, ow),
					(plane * p.oh + oh) * p.ow + ow, i * p.w + j);
		put(&dx[e], sum);
	}
}

template <class T>
__device__ void max_pool_dx(const T *x, const T *dy, T *dx, i64 n, const sl_cuda_pool &p)
{
	pool_dx(dx, n, p, [=](i64 plane, const window &w, i64 o, i64 at) {
		return winner(x + plane * p.h * p.w, p, w) == at ? get(dy[o]) : 0.0f;
	});
}

template <class T>
__device__ void avg_pool_dx(const T *dy, T *dx, i64 n, const sl_cuda_pool &p)
{
	pool_dx(dx, n, p,
		[=](i64, const window &w, i64 o, i64) { return get(dy[o]) / w.count; });
}

/* One thread a window: everything from its start to the next one's is its own. */
template <class T>
__device__ void max_pool_dx_apart(
	const T *x, const T *dy, T *dx, i64 n, const sl_cuda_pool &p)
{
	for (i64 o = thread_at(); o < n; o += thread_step()) {
		i64 oh, ow;
		i64 first = divide(divide(o, p.ow, &ow), p.oh, &oh) * p.h * p.w;
		window w = window_at(p, oh, ow);
		i64 best = winner(x + first, p, w);
		i64 top = oh ? w.top : 0, left = ow ? w.left : 0;
		i64 bottom = oh + 1 < p.oh ? (oh + 1) * p.stride[0] - p.pad[0] : p.h;
		i64 right = ow + 1 < p.ow ? (ow + 1) * p.stride[1] - p.pad[1] : p.w;
		for (i64 i = top; i < least_of(bottom, p.h); i++)
			for (i64 j = left; j < least_of(right, p.w); j++)
				put(&dx[first + i * p.w + j],
					i * p.w + j == best ? get(dy[o]) : 0);
	}
}

#define POOL(T, kind) \
	SL_ENTRY sl_cu_max_pool_##kind(const T *x, T *y, i64 n, sl_cuda_pool p) \
	{ \
		max_pool(x, y, n, p); \
	} \
	SL_ENTRY sl_cu_avg_pool_##kind(const T *x, T *y, i64 n, sl_cuda_pool p) \
	{ \
		avg_pool(x, y, n, p); \
	} \
	SL_ENTRY sl_cu_max_pool_dx_##kind( \
		const T *x, const T *dy, T *dx, i64 n, sl_cuda_pool p) \
	{ \
		max_pool_dx(x, dy, dx, n, p); \
	} \
	SL_ENTRY sl_cu_max_pool_dx_apart_##kind( \
		const T *x, const T *dy, T *dx, i64 n, sl_cuda_pool p) \
	{ \
		max_pool_dx_apart(x, dy, dx, n, p); \
	} \
	SL_ENTRY sl_cu_avg_pool_dx_##kind(const T *dy, T *dx, i64 n, sl_cuda_pool p) \
	{ \
		avg_pool_dx(dy, dx, n, p); \
	}

POOL(float, f32)
POOL(bf16, bf16)
