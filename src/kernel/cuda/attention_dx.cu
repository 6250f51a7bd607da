/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient of attention, by two kernels, each of which owns what it adds up: a block of
 * queries goes over keys for dq, a block of keys goes over queries for dk and dv. Scores
 * are made again in both, which costs two products of seven more than adding dq
 * atomically would, and gives the same bits each time. Source: FlashAttention, Alg. 4.
 *
 * With p the probabilities and dp = keep (dy v) their gradients, ds = p (dp - dy . y):
 * the rows' dy . y come first.
 */
#include "kernel/cuda/attention.cuh"

/* dy . y of each row, a warp each. */
template <class T>
__device__ void row_deltas(
	const T *y, const T *dy, float *delta, const sl_cuda_attention &a)
{
	i64 rows = (i64)a.b * a.h * a.t;

	for (i64 r = (i64)blockIdx.x * blockDim.y + threadIdx.y; r < rows;
		r += (i64)gridDim.x * blockDim.y) {
		int head = (int)(r / a.t), t = (int)(r % a.t);
		head_rows<const T> of_y = head_of(y, a.y, a, head);
		head_rows<const T> of_dy = head_of(dy, a.y, a, head);
		float sum = 0;
		for (int i = threadIdx.x; i < a.d; i += WARP)
			sum = fmaf(get(of_y.data[t * of_y.step + i]),
				get(of_dy.data[t * of_dy.step + i]), sum);
		sum = warp_all(sum, plus());
		if (threadIdx.x == 0)
			delta[r] = sum;
	}
}

/* Shared memory of both kernels. */
struct att_tiles {
	float *q, *dy, *k, *v, *ds, *p;
};

template <class T> struct att_flow {
	const T *q, *k, *v, *dy;
	const float *mask, *lse, *delta;
};

/* Of one pair: ds is the gradient of its dot product, p its probability after dropout. */
struct att_pair {
	float ds, p;
};

/* qk, dy_v: products of the rows. */
template <class T>
__device__ inline att_pair pair_of(const att_flow<T> &f, const sl_cuda_attention &a,
	int head, int t, int s, float qk, float dy_v, keeper *keep)
{
	i64 row = (i64)head * a.t + t;

	if (!sees(a, t, s) || f.lse[row] == -INF_F)
		return {0, 0};
	float score = a.scale * qk;
	if (a.has_mask)
		score += mask_at(f.mask, a, head, t, s);
	float p = expf(score - f.lse[row]);
	float kept = keep->at(a, head, t, s);
	return {a.scale * p * (kept * dy_v - f.delta[row]), p * kept};
}

template <class T, int D, int EACH> struct backward {
	static constexpr int SIDE = ATT_SIDE * EACH;

	att_flow<T> f;

	__device__ void load_keys(
		const sl_cuda_attention &a, int head, int k0, const att_tiles &m) const
	{
		rows_load<SIDE, D>(head_of(f.k, a.k, a, head), k0, a.s, a.d, m.k);
		rows_load<SIDE, D>(head_of(f.v, a.v, a, head), k0, a.s, a.d, m.v);
	}

	__device__ void load_queries(
		const sl_cuda_attention &a, int head, int q0, const att_tiles &m) const
	{
		rows_load<SIDE, D>(head_of(f.q, a.q, a, head), q0, a.t, a.d, m.q);
		rows_load<SIDE, D>(head_of(f.dy, a.y, a, head), q0, a.t, a.d, m.dy);
	}

	/* The pairs of a tile; rows of ds and p are keys with by_key, else queries. */
	__device__ void pairs(const sl_cuda_attention &a, int head, int q0, int k0,
		const att_tiles &m, bool by_key) const
	{
		int ty = threadIdx.x / ATT_SIDE, tx = threadIdx.x % ATT_SIDE;
		int q1 = (by_key ? tx : ty) * EACH, k1 = (by_key ? ty : tx) * EACH;
		float qk[EACH][EACH] = {}, dy_v[EACH][EACH] = {};
		keeper keep;

		rows_dots<EACH, EACH, D>(m.q + q1 * (D + 1), m.k + k1 * (D + 1), qk);
		rows_dots<EACH, EACH, D>(m.dy + q1 * (D + 1), m.v + k1 * (D + 1), dy_v);
		SL_UNROLL
		for (int i = 0; i < EACH; i++) {
			SL_UNROLL
			for (int j = 0; j < EACH; j++) {
				/* Inside, keys: two of them may share random numbers. */
				int qi = q1 + i, ki = k1 + j;
				att_pair pair = pair_of(f, a, head, q0 + qi, k0 + ki,
					qk[i][j], dy_v[i][j], &keep);
				int at = by_key ? ki * (SIDE + 1) + qi
						: qi * (SIDE + 1) + ki;
				m.ds[at] = pair.ds;
				if (by_key)
					m.p[at] = pair.p;
			}
		}
	}

	__device__ void queries(
		const sl_cuda_attention &a, int head, const att_tiles &m, T *dq) const
	{
		int ty = threadIdx.x / ATT_SIDE, tx = threadIdx.x % ATT_SIDE;
		int q0 = (int)(gridDim.x - 1 - blockIdx.x) * SIDE;
		int last = (q0 + SIDE < a.t ? q0 + SIDE : a.t) + a.s - a.t;
		int keys = a.causal && last < a.s ? last : a.s;
		float acc[EACH][D / ATT_SIDE] = {};

		__syncthreads();
		load_queries(a, head, q0, m);
		for (int k0 = 0; k0 < keys; k0 += SIDE) {
			load_keys(a, head, k0, m);
			__syncthreads();
			pairs(a, head, q0, k0, m, false);
			__syncthreads();
			rows_add<EACH, SIDE, D>(acc, m.ds, m.k, ty, tx);
			__syncthreads();
		}
		rows_put<EACH, D>(head_of(dq, a.q, a, head), q0, a.t, a.d, acc, ty, tx);
	}

	__device__ void keys(const sl_cuda_attention &a, int head, const att_tiles &m,
		T *dk, T *dv) const
	{
		int ty = threadIdx.x / ATT_SIDE, tx = threadIdx.x % ATT_SIDE;
		int k0 = (int)blockIdx.x * SIDE;
		/* The first query that sees a key of the tile. */
		int first = a.causal ? k0 - (a.s - a.t) : 0;
		float acc_k[EACH][D / ATT_SIDE] = {};
		float acc_v[EACH][D / ATT_SIDE] = {};

		__syncthreads();
		load_keys(a, head, k0, m);
		for (int q0 = first > 0 ? first / SIDE * SIDE : 0; q0 < a.t; q0 += SIDE) {
			load_queries(a, head, q0, m);
			__syncthreads();
			pairs(a, head, q0, k0, m, true);
			__syncthreads();
			rows_add<EACH, SIDE, D>(acc_k, m.ds, m.q, ty, tx);
			rows_add<EACH, SIDE, D>(acc_v, m.p, m.dy, ty, tx);
			__syncthreads();
		}
		rows_put<EACH, D>(head_of(dk, a.k, a, head), k0, a.s, a.d, acc_k, ty, tx);
		rows_put<EACH, D>(head_of(dv, a.v, a, head), k0, a.s, a.d, acc_v, ty, tx);
	}
};

#define ATT_SHARED(D, EACH) \
	SL_SHARED(float, q_tile, ATT_TILE(ATT_SIDE *EACH, D)); \
	SL_SHARED(float, dy_tile, ATT_TILE(ATT_SIDE *EACH, D)); \
	SL_SHARED(float, k_tile, ATT_TILE(ATT_SIDE *EACH, D)); \
	SL_SHARED(float, v_tile, ATT_TILE(ATT_SIDE *EACH, D)); \
	SL_SHARED(float, ds_tile, ATT_TILE(ATT_SIDE *EACH, ATT_SIDE *EACH)); \
	SL_SHARED(float, p_tile, ATT_TILE(ATT_SIDE *EACH, ATT_SIDE *EACH)); \
	att_tiles m = {q_tile, dy_tile, k_tile, v_tile, ds_tile, p_tile}

#define ATTENTION_DX(T, kind, D, EACH) \
	SL_ENTRY SL_BOUNDS(ATT_THREADS) sl_cu_attention_dq_##D##_##kind(const T *q, \
		const T *k, const T *v, const float *mask, const T *dy, \
		const float *lse, const float *delta, T *dq, sl_cuda_attention a) \
	{ \
		ATT_SHARED(D, EACH); \
		backward<T, D, EACH> b = {{q, k, v, dy, mask, lse, delta}}; \
		for (int head = blockIdx.y; head < a.b * a.h; head += gridDim.y) \
			b.queries(a, head, m, dq); \
	} \
	SL_ENTRY SL_BOUNDS(ATT_THREADS) sl_cu_attention_dkv_##D##_##kind(const T *q, \
		const T *k, const T *v, const float *mask, const T *dy, \
		const float *lse, const float *delta, T *dk, T *dv, sl_cuda_attention a) \
	{ \
		ATT_SHARED(D, EACH); \
		backward<T, D, EACH> b = {{q, k, v, dy, mask, lse, delta}}; \
		for (int head = blockIdx.y; head < a.b * a.h; head += gridDim.y) \
			b.keys(a, head, m, dk, dv); \
	}

ATTENTION_DX(float, f32, 64, 2)
ATTENTION_DX(bf16, bf16, 64, 2)
ATTENTION_DX(float, f32, 128, 1)
ATTENTION_DX(bf16, bf16, 128, 1)

SL_ENTRY sl_cu_attention_deltas_f32(
	const float *y, const float *dy, float *delta, sl_cuda_attention a)
{
	row_deltas(y, dy, delta, a);
}

SL_ENTRY sl_cu_attention_deltas_bf16(
	const bf16 *y, const bf16 *dy, float *delta, sl_cuda_attention a)
{
	row_deltas(y, dy, delta, a);
}
