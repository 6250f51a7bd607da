/* SPDX-License-Identifier: Apache-2.0 */
/* matmul by our own tiles: any strides, any mix of f32 and bf16, sums in f32. */
#include "kernel/cuda/gemm.cuh"
#include "kernel/cuda/walk.cuh"

/* An operand with steps of its rows (or columns) and of k. */
template <class T> struct strided {
	const T *data;
	i64 step, step_k;
	bool fast_k;
};

/* One address a thread and one step the launch, rather than an address an element. */
template <class T>
__device__ inline float tile_read(
	const strided<T> &f, i64 row, i64 k, const tile_walk &w, int i)
{
	const T *first = f.data + row * f.step + k * f.step_k;

	return get(first[i * (w.row_step * f.step + w.k_step * f.step_k)]);
}

template <class T> struct put_biased {
	T *y;
	const float *bias;
	i64 n;

	__device__ void operator()(i64 row, i64 column, float sum) const
	{
		put(&y[row * n + column], bias ? sum + bias[column] : sum);
	}
};

template <int SIZE_M, int EACH_M, class TA, class TB, class TY>
__device__ void gemm(const TA *a, const TB *b, const float *bias, TY *y,
	const sl_cuda_gemm &g, i64 batches)
{
	SL_SHARED(pack<float>, a_tile, GEMM_PACKS(SIZE_M));
	SL_SHARED(pack<float>, b_tile, GEMM_PACKS(64));

	for (i64 i = blockIdx.z; i < batches; i += gridDim.z) {
		i64 at[2];
		walk_to<2>(g.batch, i, at);
		strided<TA> fa = {a + at[0] * g.m * g.k, g.a_row, g.a_col, g.a_col == 1};
		strided<TB> fb = {b + at[1] * g.k * g.n, g.b_col, g.b_row, g.b_row == 1};
		put_biased<TY> store = {y + i * g.m * g.n, bias, g.n};
		/* A grid has few rows of blocks: more go in steps. */
		for (i64 m0 = (i64)blockIdx.y * SIZE_M; m0 < g.m;
			m0 += (i64)gridDim.y * SIZE_M)
			tile_gemm<SIZE_M, 64, EACH_M, 4>(
				fa, fb, store, m0, g.m, g.n, 0, g.k, a_tile, b_tile);
	}
}

#define GEMM(TA, TB, TY, types) \
	SL_ENTRY SL_BOUNDS(GEMM_THREADS, 2) sl_cu_gemm_64_##types(const TA *a, \
		const TB *b, const float *bias, TY *y, sl_cuda_gemm g, i64 batches) \
	{ \
		gemm<64, 4>(a, b, bias, y, g, batches); \
	} \
	SL_ENTRY SL_BOUNDS(GEMM_THREADS, 2) sl_cu_gemm_128_##types(const TA *a, \
		const TB *b, const float *bias, TY *y, sl_cuda_gemm g, i64 batches) \
	{ \
		gemm<128, 8>(a, b, bias, y, g, batches); \
	}

/* Types of a, b and y: s f32, h bf16. */
GEMM(float, float, float, sss)
GEMM(float, float, bf16, ssh)
GEMM(float, bf16, float, shs)
GEMM(float, bf16, bf16, shh)
GEMM(bf16, float, float, hss)
GEMM(bf16, float, bf16, hsh)
GEMM(bf16, bf16, float, hhs)
GEMM(bf16, bf16, bf16, hhh)
