/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_GEMM_CUH
#define SL_KERNEL_CUDA_GEMM_CUH

#include "kernel/cuda/cuda.cuh"

/*
 * Our own matrix product, for cards without cuBLASLt and for convolutions: a block of 256
 * threads makes a tile of BM by BN results, 16 deep at a time through shared memory; a
 * thread keeps TM by TN sums in registers and brings the next tiles' elements into
 * registers while it computes. Operands come from functions a(m, k) and b(n, k) (a
 * convolution reads its images there), results go to store(m, n, sum). The tile's rows
 * begin at m0, its columns at blockIdx.x BN. Each sum is one chain over k, from first to
 * last.
 */
#define GEMM_DEPTH 16
#define GEMM_THREADS 256
#define GEMM_PAD 4 /* keeps packs aligned and columns out of one bank */
#define GEMM_PACKS(size) (GEMM_DEPTH * ((size) + GEMM_PAD) / 4)

/* A thread's first element of a tile of SIZE rows, and the steps to its others: along k
 * where k lies side by side in memory, so that a warp's reads do too. */
struct tile_walk {
	int row, k, row_step, k_step;
};

template <int SIZE> __device__ inline tile_walk tile_walk_of(bool fast_k)
{
	int t = threadIdx.x;

	if (fast_k)
		return {t / GEMM_DEPTH, t % GEMM_DEPTH, GEMM_THREADS / GEMM_DEPTH, 0};
	return {t % SIZE, t / SIZE, 0, GEMM_THREADS / SIZE};
}

/* A thread's element i; what steps evenly through memory has a form of its own. */
template <class F>
__device__ inline float tile_read(const F &f, i64 row, i64 k, const tile_walk &w, int i)
{
	return f(row + i * w.row_step, k + i * w.k_step);
}

template <int SIZE, class F>
__device__ inline void tile_load(
	const F &f, float *regs, i64 row0, i64 rows, i64 k0, i64 k_end)
{
	tile_walk w = tile_walk_of<SIZE>(f.fast_k);
	int rows_in = (int)(rows - row0 < SIZE ? rows - row0 : SIZE);
	int k_in = (int)(k_end - k0 < GEMM_DEPTH ? k_end - k0 : GEMM_DEPTH);

	SL_UNROLL
	for (int i = 0; i < SIZE * GEMM_DEPTH / GEMM_THREADS; i++) {
		bool is_in =
			w.row + i * w.row_step < rows_in && w.k + i * w.k_step < k_in;
		regs[i] = is_in ? tile_read(f, row0 + w.row, k0 + w.k, w, i) : 0;
	}
}

template <int SIZE>
__device__ inline void tile_store(const float *regs, bool fast_k, float *tile)
{
	tile_walk w = tile_walk_of<SIZE>(fast_k);

	SL_UNROLL
	for (int i = 0; i < SIZE * GEMM_DEPTH / GEMM_THREADS; i++)
		tile[(w.k + i * w.k_step) * (SIZE + GEMM_PAD) + w.row + i * w.row_step] =
			regs[i];
}

/* Part j of a thread's rows or columns: fours that lie apart, so that neighbouring
 * threads read neighbouring packs. */
template <int SIZE, int EACH> __device__ inline int own_place(int thread, int j)
{
	return j / 4 * (SIZE / EACH * 4) + thread * 4 + j % 4;
}

template <int BM, int BN, int TM, int TN, class A, class B, class S>
__device__ void tile_gemm(const A &a, const B &b, const S &store, i64 m0, i64 m, i64 n,
	i64 k_begin, i64 k_end, pack<float> *a_packs, pack<float> *b_packs)
{
	float *a_tile = a_packs[0].v, *b_tile = b_packs[0].v;
	i64 n0 = (i64)blockIdx.x * BN;
	int ty = threadIdx.x / (BN / TN), tx = threadIdx.x % (BN / TN);
	float next_a[BM * GEMM_DEPTH / GEMM_THREADS];
	float next_b[BN * GEMM_DEPTH / GEMM_THREADS];
	float sum[TM][TN] = {};

	tile_load<BM>(a, next_a, m0, m, k_begin, k_end);
	tile_load<BN>(b, next_b, n0, n, k_begin, k_end);
	for (i64 k0 = k_begin; k0 < k_end; k0 += GEMM_DEPTH) {
		__syncthreads(); /* the last tiles have been read */
		tile_store<BM>(next_a, a.fast_k, a_tile);
		tile_store<BN>(next_b, b.fast_k, b_tile);
		__syncthreads();
		tile_load<BM>(a, next_a, m0, m, k0 + GEMM_DEPTH, k_end);
		tile_load<BN>(b, next_b, n0, n, k0 + GEMM_DEPTH, k_end);
		SL_UNROLL_BY(8) /* more take registers from a second block */
		for (int k = 0; k < GEMM_DEPTH; k++) {
			pack<float> va[TM / 4], vb[TN / 4];
			for (int i = 0; i < TM / 4; i++)
				va[i] = *(const pack<float>
						*)&a_tile[k * (BM + GEMM_PAD) +
							  own_place<BM, TM>(ty, 4 * i)];
			for (int j = 0; j < TN / 4; j++)
				vb[j] = *(const pack<float>
						*)&b_tile[k * (BN + GEMM_PAD) +
							  own_place<BN, TN>(tx, 4 * j)];
			for (int i = 0; i < TM; i++)
				for (int j = 0; j < TN; j++)
					sum[i][j] = fmaf(va[i / 4].v[i % 4],
						vb[j / 4].v[j % 4], sum[i][j]);
		}
	}
	int rows_in = (int)(m - m0 < BM ? m - m0 : BM);
	int columns_in = (int)(n - n0 < BN ? n - n0 : BN);
	for (int i = 0; i < TM; i++) {
		int row = own_place<BM, TM>(ty, i);
		for (int j = 0; j < TN; j++) {
			int column = own_place<BN, TN>(tx, j);
			if (row < rows_in && column < columns_in)
				store(m0 + row, n0 + column, sum[i][j]);
		}
	}
}

#endif
