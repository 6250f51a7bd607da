/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_SOFTMAX_CUH
#define SL_KERNEL_CUDA_SOFTMAX_CUH

#include "kernel/cuda/cuda.cuh"

/*
 * A sum of exponentials beside the largest exponent, kept while reading once: when a
 * larger one comes up the sum so far is scaled down (Milakov, Gimelshein, "Online
 * normalizer calculation for softmax", arXiv 1805.02867). Equal exponents give 1 even
 * where both are infinite; sums of NaN stay NaN.
 */
struct exp_sum {
	float top, sum;
};

__device__ inline exp_sum exp_none()
{
	return {-INF_F, 0};
}

__device__ inline void exp_add(exp_sum *s, float v)
{
	if (v <= s->top) {
		s->sum += v == s->top ? 1 : expf(v - s->top);
	} else {
		s->sum = s->sum * expf(s->top - v) + 1;
		s->top = v;
	}
}

__device__ inline float exp_factor(float from, float to)
{
	return from == to ? 1 : expf(from - to);
}

struct exp_merge {
	__device__ exp_sum operator()(exp_sum a, exp_sum b) const
	{
		float top = fmaxf(a.top, b.top);

		return {top,
			a.sum * exp_factor(a.top, top) + b.sum * exp_factor(b.top, top)};
	}
};

template <> __device__ inline exp_sum from_lane(exp_sum v, int mask)
{
	return {__shfl_xor_sync(ALL_LANES, v.top, mask),
		__shfl_xor_sync(ALL_LANES, v.sum, mask)};
}

/* NaN where the largest is infinite, since there is 0/0 in such a row. */
__device__ inline exp_sum exp_done(exp_sum s)
{
	return {s.top, s.top - s.top == 0 ? s.sum : nan_of()};
}

/* Of a row of n elements, by one block. */
template <class T> __device__ inline exp_sum row_exp_sum(const T *x, i64 n, exp_sum *part)
{
	exp_sum s = exp_none();

	for (i64 i = threadIdx.x; i < n; i += blockDim.x)
		exp_add(&s, get(x[i]));
	return exp_done(block_all(s, exp_merge(), exp_none(), part));
}

#endif
