/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_ATTENTION_CUH
#define SL_KERNEL_CUDA_ATTENTION_CUH

#include "kernel/cuda/args.h"
#include "kernel/cuda/cuda.cuh"

/*
 * What attention and its gradient share: tiles of rows in shared memory, 16 by 16
 * threads, each with a few rows (ty) and a few columns (tx) of a tile of scores. A row's
 * 16 threads lie in one half of a warp, so that its sums need shuffles alone. Rows in
 * shared memory are one element longer than D: neighbouring rows begin in neighbouring
 * banks.
 */
#define ATT_SIDE 16
#define ATT_THREADS 256 /* ATT_SIDE squared */
#define ATT_TILE(rows, d) ((rows) * ((d) + 1))

/* One head's rows: where they begin, and elements from one to the next. */
template <class T> struct head_rows {
	T *data;
	i64 step;
};

template <class T>
__device__ inline head_rows<T> head_of(
	T *data, const sl_cuda_rows &r, const sl_cuda_attention &a, int head)
{
	return {data + r.first + head / a.h * r.batch + head % a.h * r.head, r.row};
}

/* Rows [first, first + ROWS) into a tile; zeros past `rows` and past d. */
template <int ROWS, int D, class T>
__device__ inline void rows_load(
	head_rows<const T> from, int first, int rows, int d, float *tile)
{
	for (int i = threadIdx.x; i < ROWS * D; i += ATT_THREADS) {
		int row = i / D, column = i % D;
		bool is_in = first + row < rows && column < d;
		tile[row * (D + 1) + column] =
			is_in ? get(from.data[(first + row) * from.step + column]) : 0;
	}
}

/* Products of A rows of one tile with B rows of another, neighbours each. */
template <int A, int B, int D>
__device__ inline void rows_dots(const float *a, const float *b, float dot[A][B])
{
	for (int c = 0; c < D; c++) {
		float va[A], vb[B];
		SL_UNROLL
		for (int i = 0; i < A; i++)
			va[i] = a[i * (D + 1) + c];
		SL_UNROLL
		for (int j = 0; j < B; j++)
			vb[j] = b[j * (D + 1) + c];
		SL_UNROLL
		for (int i = 0; i < A; i++)
			SL_UNROLL
		for (int j = 0; j < B; j++)
			dot[i][j] = fmaf(va[i], vb[j], dot[i][j]);
	}
}

/* Whether query t sees key s: both are there, and the last query sees all keys. */
__device__ inline bool sees(const sl_cuda_attention &a, int t, int s)
{
	return t < a.t && s < a.s && (!a.causal || s <= t + a.s - a.t);
}

__device__ inline float mask_at(
	const float *mask, const sl_cuda_attention &a, int head, int t, int s)
{
	return mask[head / a.h * a.mask[0] + head % a.h * a.mask[1] + t * a.mask[2] +
		    s * a.mask[3]];
}

/* Dropout's numbers, with the last block of four kept for the neighbour. */
struct keeper {
	u64 block;
	four_words word;

	__device__ keeper() : block(~0ull), word()
	{
	}
	/* What the probability of a pair is multiplied by. */
	__device__ float at(const sl_cuda_attention &a, int head, int t, int s)
	{
		u64 e = a.base + ((u64)head * a.t + t) * a.s + s;

		if (a.keep_from == 0)
			return 1;
		if (e / 4 != block) {
			block = e / 4;
			word = philox(philox_key{a.seed, a.stream, a.step}, block);
		}
		u32 w = e % 4 == 0   ? word.v[0]
			: e % 4 == 1 ? word.v[1]
			: e % 4 == 2 ? word.v[2]
				     : word.v[3];
		return w >> 8 >= a.keep_from ? a.keep_scale : 0;
	}
};

/* acc[i][c] += sum over k of weight[row i][k] tile[k][column c]. */
template <int ROWS, int INNER, int D>
__device__ inline void rows_add(float acc[ROWS][D / ATT_SIDE], const float *weight,
	const float *tile, int ty, int tx)
{
	for (int k = 0; k < INNER; k++) {
		float v[D / ATT_SIDE];
		SL_UNROLL
		for (int c = 0; c < D / ATT_SIDE; c++)
			v[c] = tile[k * (D + 1) + tx + ATT_SIDE * c];
		SL_UNROLL
		for (int i = 0; i < ROWS; i++) {
			float w = weight[(ty * ROWS + i) * (INNER + 1) + k];
			SL_UNROLL
			for (int c = 0; c < D / ATT_SIDE; c++)
				acc[i][c] = fmaf(w, v[c], acc[i][c]);
		}
	}
}

template <int ROWS, int D, class T>
__device__ inline void rows_put(head_rows<T> to, int first, int rows, int d,
	const float acc[ROWS][D / ATT_SIDE], int ty, int tx)
{
	SL_UNROLL
	for (int i = 0; i < ROWS; i++) {
		int row = first + ty * ROWS + i;
		SL_UNROLL
		for (int c = 0; c < D / ATT_SIDE; c++) {
			int column = tx + ATT_SIDE * c;
			if (row < rows && column < d)
				put(&to.data[row * to.step + column], acc[i][c]);
		}
	}
}

#endif
