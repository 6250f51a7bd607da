/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and maxima over any set of axes.
 *
 * Where the innermost axis is summed a warp reads along it; where it is kept the lanes of
 * a warp take neighbouring results, so that reads lie side by side either way. Long sums
 * are cut into chunks, whose number follows from the shape, and the chunks' sums are
 * added by the second form of the same kernel: one order for all runs.
 */
#include "kernel/cuda/walk.cuh"

#define REDUCE_ROWS 8 /* warps of a block */

__device__ inline i64 gone_at(const sl_cuda_reduce &r, i64 i)
{
	i64 at[1];

	walk_to<1>(r.gone, i, at);
	return at[0];
}

__device__ inline i64 kept_at(const sl_cuda_reduce &r, i64 i)
{
	i64 at[1];

	walk_to<1>(r.kept, i, at);
	return at[0];
}

/* Result k, elements [chunk * size, ...), by one warp. */
template <class T, class F>
__device__ void reduce_rows(const T *x, float *y, const sl_cuda_reduce &r, i64 size,
	float scale, float none, F f)
{
	i64 k = (i64)blockIdx.x * REDUCE_ROWS + threadIdx.y;
	i64 begin = (i64)blockIdx.y * size;
	i64 end = begin + size < r.n_gone ? begin + size : r.n_gone;
	float sum = none;

	if (k >= r.n_kept)
		return; /* with its whole warp */
	x += kept_at(r, k);
	for (i64 i = begin + threadIdx.x; i < end; i += WARP)
		sum = f(sum, get(x[gone_at(r, i)]));
	sum = warp_all(sum, f);
	if (threadIdx.x == 0)
		y[blockIdx.y * r.n_kept + k] = sum * scale;
}

/* Results [32 blockIdx.x, ...) by the lanes, elements of a chunk by the warps. */
template <class T, class F>
__device__ void reduce_columns(const T *x, float *y, const sl_cuda_reduce &r, i64 size,
	float scale, float none, F f)
{
	SL_SHARED(float, part, REDUCE_ROWS *WARP);
	i64 k = (i64)blockIdx.x * WARP + threadIdx.x;
	i64 begin = (i64)blockIdx.y * size;
	i64 end = begin + size < r.n_gone ? begin + size : r.n_gone;
	float sum = none;

	if (k < r.n_kept) {
		i64 at = kept_at(r, k);
		for (i64 i = begin + threadIdx.y; i < end; i += REDUCE_ROWS)
			sum = f(sum, get(x[at + gone_at(r, i)]));
	}
	part[threadIdx.y * WARP + threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.y > 0 || k >= r.n_kept)
		return;
	for (int i = 1; i < REDUCE_ROWS; i++)
		sum = f(sum, part[i * WARP + threadIdx.x]);
	y[blockIdx.y * r.n_kept + k] = sum * scale;
}

#define REDUCE(name, T, none, f) \
	SL_ENTRY sl_cu_##name##_rows_##T( \
		const T *x, float *y, sl_cuda_reduce r, i64 size, float scale) \
	{ \
		reduce_rows(x, y, r, size, scale, none, f); \
	} \
	SL_ENTRY sl_cu_##name##_columns_##T( \
		const T *x, float *y, sl_cuda_reduce r, i64 size, float scale) \
	{ \
		reduce_columns(x, y, r, size, scale, none, f); \
	}

using f32 = float;
REDUCE(sum, f32, 0.0f, plus())
REDUCE(sum, bf16, 0.0f, plus())
REDUCE(max, f32, -INF_F, larger())

/* dy shared equally among the elements that are the largest; none is where it is NaN. */
SL_ENTRY sl_cu_max_dx(
	const float *x, const float *y, const float *dy, float *dx, sl_cuda_reduce r)
{
	i64 k = (i64)blockIdx.x * REDUCE_ROWS + threadIdx.y;
	float ties = 0;

	if (k >= r.n_kept)
		return;
	i64 at = kept_at(r, k);
	for (i64 i = threadIdx.x; i < r.n_gone; i += WARP)
		ties += x[at + gone_at(r, i)] == y[k];
	ties = warp_all(ties, plus());
	for (i64 i = threadIdx.x; i < r.n_gone; i += WARP) {
		i64 e = at + gone_at(r, i);
		dx[e] = (x[e] == y[k] ? dy[k] : 0) / ties;
	}
}

/* Squares in f64, one chunk a block (a norm of 1e9 gradients has to be right). */
template <class T>
__device__ void squares(const T *x, double *part, i64 n, i64 size, double *shared)
{
	i64 begin = (i64)blockIdx.x * size;
	i64 end = begin + size < n ? begin + size : n;
	double sum = 0;

	for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
		double v = get(x[i]);
		sum += v * v;
	}
	sum = block_all(sum, plus(), 0.0, shared);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
}

SL_ENTRY sl_cu_squares_f32(const float *x, double *part, i64 n, i64 size)
{
	SL_SHARED(double, shared, WARP);
	squares(x, part, n, size, shared);
}

SL_ENTRY sl_cu_squares_bf16(const bf16 *x, double *part, i64 n, i64 size)
{
	SL_SHARED(double, shared, WARP);
	squares(x, part, n, size, shared);
}

/* Squares of differences, for mse. */
SL_ENTRY sl_cu_square_errors(
	const float *x, const float *target, double *part, i64 n, i64 size)
{
	SL_SHARED(double, shared, WARP);
	i64 begin = (i64)blockIdx.x * size;
	i64 end = begin + size < n ? begin + size : n;
	double sum = 0;

	for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
		double v = (double)x[i] - (double)target[i];
		sum += v * v;
	}
	sum = block_all(sum, plus(), 0.0, shared);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
}

/* All parts over `by`, by one block. */
SL_ENTRY SL_BOUNDS(BLOCK_MAX)
	sl_cu_add_parts(const double *part, float *y, i64 n, double by)
{
	SL_SHARED(double, shared, WARP);
	double sum = 0;

	for (i64 i = threadIdx.x; i < n; i += blockDim.x)
		sum += part[i];
	sum = block_all(sum, plus(), 0.0, shared);
	if (threadIdx.x == 0)
		y[0] = (float)(sum / by);
}
