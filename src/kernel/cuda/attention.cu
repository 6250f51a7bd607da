/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention without its matrix of scores: a block keeps a tile of queries and goes over
 * the keys, tile by tile, with a running maximum and sum a row; when the maximum grows,
 * what was added up so far is scaled down. Source: Dao et al., "FlashAttention", NeurIPS
 * 2022, Alg. 1; Dao, "FlashAttention-2", arXiv 2307.08691 (queries outside, keys inside).
 *
 * K and V take turns in one tile, so that all stays below 48 KiB. Heads of up to 128
 * elements; narrower ones are filled up with zeros.
 */
#include "kernel/cuda/attention.cuh"

struct score_row {
	float top, sum;
};

__device__ inline float row_max(float v)
{
	for (int mask = ATT_SIDE / 2; mask; mask >>= 1)
		v = fmaxf(v, __shfl_xor_sync(ALL_LANES, v, mask));
	return v;
}

__device__ inline float row_sum(float v)
{
	for (int mask = ATT_SIDE / 2; mask; mask >>= 1)
		v += __shfl_xor_sync(ALL_LANES, v, mask);
	return v;
}

/* Scores of one row become probabilities times exp(sum of logs so far); returns what the
 * row's old sums are multiplied by. Rows that have seen no key stay at 0. */
template <int KEYS> __device__ inline float row_step(score_row *r, float s[KEYS])
{
	float top = r->top, sum = 0;

	SL_UNROLL
	for (int j = 0; j < KEYS; j++)
		top = fmaxf(top, s[j]);
	top = row_max(top);
	float by = r->top == top ? 1 : expf(r->top - top);
	SL_UNROLL
	for (int j = 0; j < KEYS; j++) {
		s[j] = s[j] == -INF_F ? 0 : expf(s[j] - top);
		sum += s[j];
	}
	r->sum = r->sum * by + row_sum(sum);
	r->top = top;
	return by;
}

template <class T, int D, int ROWS, int KEYS> struct forward {
	static constexpr int BQ = ATT_SIDE * ROWS, BK = ATT_SIDE * KEYS;

	const T *q, *k, *v;
	const float *mask;
	T *y;
	float *lse;

	/* Scores of a tile of keys into probabilities after dropout; acc is scaled. */
	__device__ void scores(const sl_cuda_attention &a, int head, int q0, int k0,
		const float *q_tile, const float *kv_tile, float *p_tile, score_row *row,
		float acc[ROWS][D / ATT_SIDE]) const
	{
		int ty = threadIdx.x / ATT_SIDE, tx = threadIdx.x % ATT_SIDE;
		keeper keep;
		float s[ROWS][KEYS] = {};

		rows_dots<ROWS, KEYS, D>(
			q_tile + ty * ROWS * (D + 1), kv_tile + tx * KEYS * (D + 1), s);
		SL_UNROLL
		for (int i = 0; i < ROWS; i++) {
			int t = q0 + ty * ROWS + i;
			SL_UNROLL
			for (int j = 0; j < KEYS; j++) {
				int key = k0 + tx * KEYS + j;
				bool seen = sees(a, t, key);
				s[i][j] = seen ? a.scale * s[i][j] : -INF_F;
				if (seen && a.has_mask)
					s[i][j] += mask_at(mask, a, head, t, key);
			}
			float by = row_step<KEYS>(&row[i], s[i]);
			SL_UNROLL
			for (int c = 0; c < D / ATT_SIDE; c++)
				acc[i][c] *= by;
			SL_UNROLL
			for (int j = 0; j < KEYS; j++)
				p_tile[(ty * ROWS + i) * (BK + 1) + tx * KEYS + j] =
					s[i][j] * keep.at(a, head, t, k0 + tx * KEYS + j);
		}
	}

	__device__ void finish(const sl_cuda_attention &a, int head, int q0,
		const score_row *row, float acc[ROWS][D / ATT_SIDE]) const
	{
		int ty = threadIdx.x / ATT_SIDE, tx = threadIdx.x % ATT_SIDE;

		SL_UNROLL
		for (int i = 0; i < ROWS; i++) {
			int t = q0 + ty * ROWS + i;
			bool blind = row[i].top == -INF_F;
			SL_UNROLL
			for (int c = 0; c < D / ATT_SIDE; c++)
				acc[i][c] = blind ? 0 : acc[i][c] / row[i].sum;
			if (tx == 0 && t < a.t)
				lse[(i64)head * a.t + t] =
					blind ? -INF_F : row[i].top + logf(row[i].sum);
		}
		rows_put<ROWS, D>(head_of(y, a.y, a, head), q0, a.t, a.d, acc, ty, tx);
	}

	__device__ void run(const sl_cuda_attention &a, int head, float *q_tile,
		float *kv_tile, float *p_tile) const
	{
		int ty = threadIdx.x / ATT_SIDE, tx = threadIdx.x % ATT_SIDE;
		/* Tiles that see most keys begin first. */
		int q0 = (int)(gridDim.x - 1 - blockIdx.x) * BQ;
		int last = (q0 + BQ < a.t ? q0 + BQ : a.t) + a.s - a.t;
		int keys = a.causal && last < a.s ? last : a.s;
		score_row row[ROWS];
		float acc[ROWS][D / ATT_SIDE] = {};

		SL_UNROLL
		for (int i = 0; i < ROWS; i++)
			row[i] = {-INF_F, 0};
		__syncthreads(); /* the last head's tiles have been read */
		rows_load<BQ, D>(head_of(q, a.q, a, head), q0, a.t, a.d, q_tile);
		for (int k0 = 0; k0 < keys; k0 += BK) {
			rows_load<BK, D>(head_of(k, a.k, a, head), k0, a.s, a.d, kv_tile);
			__syncthreads();
			scores(a, head, q0, k0, q_tile, kv_tile, p_tile, row, acc);
			__syncthreads();
			rows_load<BK, D>(head_of(v, a.v, a, head), k0, a.s, a.d, kv_tile);
			__syncthreads();
			rows_add<ROWS, BK, D>(acc, p_tile, kv_tile, ty, tx);
			__syncthreads();
		}
		finish(a, head, q0, row, acc);
	}
};

#define ATTENTION(T, kind, D, ROWS, KEYS) \
	SL_ENTRY SL_BOUNDS(ATT_THREADS) \
		sl_cu_attention_##D##_##kind(const T *q, const T *k, const T *v, \
			const float *mask, T *y, float *lse, sl_cuda_attention a) \
	{ \
		SL_SHARED(float, q_tile, ATT_TILE(ATT_SIDE *ROWS, D)); \
		SL_SHARED(float, kv_tile, ATT_TILE(ATT_SIDE *KEYS, D)); \
		SL_SHARED(float, p_tile, ATT_TILE(ATT_SIDE *ROWS, ATT_SIDE *KEYS)); \
		forward<T, D, ROWS, KEYS> f = {q, k, v, mask, y, lse}; \
		for (int head = blockIdx.y; head < a.b * a.h; head += gridDim.y) \
			f.run(a, head, q_tile, kv_tile, p_tile); \
	}

ATTENTION(float, f32, 64, 4, 2)
ATTENTION(bf16, bf16, 64, 4, 2)
ATTENTION(float, f32, 128, 2, 2)
ATTENTION(bf16, bf16, 128, 2, 2)
