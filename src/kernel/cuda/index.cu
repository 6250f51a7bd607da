/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows picked by an index, and their gradients. Duplicates are added up in the order of
 * the index by one thread an element, so that no sum depends on which block came first.
 *
 * An index out of range is reported by the check that goes before; here it reads nothing
 * and writes zeros.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/cuda.cuh"

struct earlier {
	__device__ i64 operator()(i64 a, i64 b) const
	{
		return a < b ? a : b;
	}
};

__device__ inline i64 index_of(const void *index, int is_i64, i64 i)
{
	return is_i64 ? ((const i64 *)index)[i] : ((const int *)index)[i];
}

/* The row that an index means, or -1. */
__device__ inline i64 row_of(i64 v, i64 bound, int wraps)
{
	v = wraps && v < 0 ? v + bound : v;
	return v >= 0 && v < bound ? v : -1;
}

/* By one block: the first index that is out of range goes into the report. */
SL_ENTRY SL_BOUNDS(BLOCK_MAX) sl_cu_index_check(const void *index, int is_i64, i64 n,
	i64 bound, int wraps, sl_cuda_report *report)
{
	SL_SHARED(i64, part, WARP);
	i64 bad = n;

	for (i64 i = threadIdx.x; i < n && bad == n; i += blockDim.x)
		if (row_of(index_of(index, is_i64, i), bound, wraps) < 0)
			bad = i;
	bad = block_all(bad, earlier(), n, part);
	if (threadIdx.x > 0 || bad == n || report->fault)
		return;
	report->wraps = wraps;
	report->value = index_of(index, is_i64, bad);
	report->at = bad;
	report->bound = bound;
	report->fault = SL_CUDA_FAULT_INDEX;
}

/* x [outer, bound, inner] to y [outer, picks, inner], in units of T. */
template <class T>
__device__ void gather(const T *x, const void *index, int is_i64, T *y, i64 n, i64 picks,
	i64 bound, i64 inner, int wraps)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		i64 j, p;
		i64 o = divide(divide(i, inner, &j), picks, &p);
		i64 row = row_of(index_of(index, is_i64, p), bound, wraps);
		y[i] = row < 0 ? T() : x[(o * bound + row) * inner + j];
	}
}

#define GATHER(size, T) \
	SL_ENTRY sl_cu_gather_##size(const T *x, const void *index, int is_i64, T *y, \
		i64 n, i64 picks, i64 bound, i64 inner, int wraps) \
	{ \
		gather(x, index, is_i64, y, n, picks, bound, inner, wraps); \
	}

struct alignas(16) sixteen {
	u64 v[2];
};
GATHER(1, unsigned char)
GATHER(2, u16)
GATHER(4, u32)
GATHER(8, u64)
GATHER(16, sixteen) /* rows of whole packs */

/* dx [outer, bound, inner]: each element looks through the index for itself. */
template <class T>
__device__ void gather_dx(const void *index, int is_i64, const T *dy, T *dx, i64 n,
	i64 picks, i64 bound, i64 inner)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		i64 j, row;
		i64 o = divide(divide(i, inner, &j), bound, &row);
		float sum = 0;
		for (i64 p = 0; p < picks; p++)
			if (row_of(index_of(index, is_i64, p), bound, 1) == row)
				sum += get(dy[(o * picks + p) * inner + j]);
		put(&dx[i], sum);
	}
}

SL_ENTRY sl_cu_gather_dx_f32(const void *index, int is_i64, const float *dy, float *dx,
	i64 n, i64 picks, i64 bound, i64 inner)
{
	gather_dx(index, is_i64, dy, dx, n, picks, bound, inner);
}

SL_ENTRY sl_cu_gather_dx_bf16(const void *index, int is_i64, const bf16 *dy, bf16 *dx,
	i64 n, i64 picks, i64 bound, i64 inner)
{
	gather_dx(index, is_i64, dy, dx, n, picks, bound, inner);
}

/*
 * Gradient of an embedding's table: block (b, c) owns rows [64 b, 64 b + 64) and columns
 * [128 c, 128 c + 128) and keeps their sums in shared memory, thread t column t. It reads
 * the whole index, 1024 at a time, keeps in order the positions that fall into its rows,
 * and adds their gradients one after the other.
 */
#define DW_ROWS 64
#define DW_COLUMNS 128
#define DW_AT_ONCE 8 /* indices a thread looks at */

template <class T> struct embedding_dw_args {
	const void *index;
	int is_i64;
	const T *dy;
	const T *sum; /* to add to, or none */
	T *dw;
	i64 n, vocab, width;
};

/* Places of this thread's hits among those of the block; *total of them all. */
__device__ inline int place_of(int hits, int *warp_sum, int *total)
{
	int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
	int upto = hits;

	for (int d = 1; d < WARP; d *= 2) {
		int other = __shfl_sync(ALL_LANES, upto, lane >= d ? lane - d : lane);
		upto += lane >= d ? other : 0;
	}
	if (lane == WARP - 1)
		warp_sum[warp] = upto;
	__syncthreads();
	int before = 0;
	*total = 0;
	for (int w = 0; w < DW_COLUMNS / WARP; w++) {
		before += w < warp ? warp_sum[w] : 0;
		*total += warp_sum[w];
	}
	return before + upto - hits;
}

/* The block's hits among indices [from, ...), in order; how many. */
template <class T>
__device__ int collect(
	const embedding_dw_args<T> &a, i64 from, i64 first, i64 *hit, int *warp_sum)
{
	i64 mine = from + threadIdx.x * DW_AT_ONCE;
	int hits = 0, total;

	for (int k = 0; k < DW_AT_ONCE && mine + k < a.n; k++) {
		i64 row = index_of(a.index, a.is_i64, mine + k) - first;
		hits += row >= 0 && row < DW_ROWS;
	}
	int at = place_of(hits, warp_sum, &total);
	for (int k = 0; k < DW_AT_ONCE && mine + k < a.n; k++) {
		i64 row = index_of(a.index, a.is_i64, mine + k) - first;
		if (row >= 0 && row < DW_ROWS)
			hit[at++] = (mine + k) * DW_ROWS + row;
	}
	__syncthreads();
	return total;
}

template <class T>
__device__ void embedding_dw(
	const embedding_dw_args<T> &a, float *acc, i64 *hit, int *warp_sum)
{
	i64 first = (i64)blockIdx.x * DW_ROWS;
	i64 column = (i64)blockIdx.y * DW_COLUMNS + threadIdx.x;
	bool is_mine = column < a.width;

	for (int r = 0; r < DW_ROWS; r++) {
		bool has = is_mine && a.sum && first + r < a.vocab;
		acc[r * DW_COLUMNS + threadIdx.x] =
			has ? get(a.sum[(first + r) * a.width + column]) : 0;
	}
	for (i64 from = 0; from < a.n; from += DW_COLUMNS * DW_AT_ONCE) {
		int hits = collect(a, from, first, hit, warp_sum);
		for (int h = 0; is_mine && h < hits; h++) {
			i64 i = hit[h] / DW_ROWS;
			int r = (int)(hit[h] % DW_ROWS);
			acc[r * DW_COLUMNS + threadIdx.x] +=
				get(a.dy[i * a.width + column]);
		}
		__syncthreads(); /* before hit is filled anew */
	}
	for (int r = 0; is_mine && r < DW_ROWS && first + r < a.vocab; r++)
		put(&a.dw[(first + r) * a.width + column],
			acc[r * DW_COLUMNS + threadIdx.x]);
}

#define EMBEDDING_DW(T, kind) \
	SL_ENTRY sl_cu_embedding_dw_##kind(const void *index, int is_i64, const T *dy, \
		const T *sum, T *dw, i64 n, i64 vocab, i64 width) \
	{ \
		SL_SHARED(float, acc, DW_ROWS *DW_COLUMNS); \
		SL_SHARED(i64, hit, DW_COLUMNS *DW_AT_ONCE); \
		SL_SHARED(int, warp_sum, DW_COLUMNS / WARP); \
		embedding_dw_args<T> a = {index, is_i64, dy, sum, dw, n, vocab, width}; \
		embedding_dw(a, acc, hit, warp_sum); \
	}

EMBEDDING_DW(float, f32)
EMBEDDING_DW(bf16, bf16)
