/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_CUDA_CUH
#define SL_KERNEL_CUDA_CUDA_CUH

/*
 * What all device code shares: element types, wide loads, reductions in a fixed order,
 * random numbers. Compiled by nvcc, by NVRTC (hence no standard header) and by the host's
 * compiler for tests (SL_CUDA_EMULATE).
 *
 * Sums go by trees whose form follows from the launch alone, and nothing adds floats
 * atomically: the same shapes give the same bits in each run.
 */
#ifdef SL_CUDA_EMULATE
#include "cuda/emulate/emulate.h"
#define SL_BOUNDS(...)
#define INF_F (__builtin_huge_valf())
#define SL_UNROLL
#define SL_UNROLL_BY(n)
#else
#define SL_SHARED(type, name, count) __shared__ type name[count]
#define SL_DYNAMIC_SHARED(type, name) \
	extern __shared__ __align__(16) unsigned char name##_bytes[]; \
	type *name = (type *)name##_bytes
/* NVRTC has no built-in of that name. */
#define INF_F (__int_as_float(0x7f800000))
/* Most threads of a block, and blocks that a multiprocessor is to hold. Without it the
 * compiler may take more registers than a large block has, which only a launch tells. */
#define SL_BOUNDS(...) __launch_bounds__(__VA_ARGS__)
#define SL_PRAGMA(text) _Pragma(#text)
#define SL_UNROLL SL_PRAGMA(unroll)
#define SL_UNROLL_BY(n) SL_PRAGMA(unroll n)
#endif

#define SL_ENTRY extern "C" __global__ void

using i64 = long long;
using u64 = unsigned long long;
using u32 = unsigned;
using u16 = unsigned short;

#define WARP 32
#define BLOCK_MAX 1024 /* threads, of sl_cuda_rows and sl_cuda_once */
#define ALL_LANES 0xffffffffu

struct bf16 {
	u16 bits;
};

union word {
	float f;
	u32 u;
};

__device__ inline float nan_of()
{
	word w;

	w.u = 0x7fc00000u;
	return w.f;
}

/* bf16 is the upper half of an f32; narrowing rounds to nearest, ties to even, and keeps
 * NaN (as base/bf16.h). */
__device__ inline float get(float v)
{
	return v;
}

__device__ inline float get(bf16 v)
{
	word w;

	w.u = (u32)v.bits << 16;
	return w.f;
}

__device__ inline void put(float *to, float v)
{
	*to = v;
}

__device__ inline void put(bf16 *to, float v)
{
	word w;

	w.f = v;
	u32 near = (w.u + 0x7fff + (w.u >> 16 & 1)) >> 16;
	u32 quiet = w.u >> 16 | 0x40;
	to->bits = (u16)((w.u & 0x7fffffff) > 0x7f800000 ? quiet : near);
}

/* As many elements as one 16-byte load brings. */
template <class T> struct alignas(16) pack {
	static constexpr int n = 16 / sizeof(T);
	T v[n];
};

/* Whether packs may be read here; values of the arena are, views within them may not. */
__device__ inline bool is_wide(
	const void *a, const void *b = nullptr, const void *c = nullptr)
{
	return (((size_t)a | (size_t)b | (size_t)c) & 15) == 0;
}

__device__ inline i64 thread_at()
{
	return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline i64 thread_step()
{
	return (i64)gridDim.x * blockDim.x;
}

/* Quotient and rest; most values have fewer than 2^31 elements, where it is a few
 * instructions instead of some seventy. */
__device__ inline i64 divide(i64 a, i64 b, i64 *rest)
{
	i64 q = ((u64)a | (u64)b) >> 31 ? a / b : (i64)((u32)a / (u32)b);

	*rest = a - q * b;
	return q;
}

struct plus {
	template <class T> __device__ T operator()(T a, T b) const
	{
		return a + b;
	}
};

/* The larger; NaN is larger than all. */
struct larger {
	__device__ float operator()(float a, float b) const
	{
		return a > b || a != a ? a : b;
	}
};

template <class T> __device__ inline T from_lane(T v, int mask)
{
	return __shfl_xor_sync(ALL_LANES, v, mask);
}

/* Over the lanes of a warp; every lane gets it. */
template <class T, class F> __device__ inline T warp_all(T v, F f)
{
	for (int mask = WARP / 2; mask; mask >>= 1)
		v = f(v, from_lane(v, mask));
	return v;
}

/* Over a block of one dimension, whole warps; every thread gets it. part: shared, WARP
 * elements. */
template <class T, class F> __device__ inline T block_all(T v, F f, T none, T *part)
{
	int lane = threadIdx.x % WARP;
	int warp = threadIdx.x / WARP;

	v = warp_all(v, f);
	__syncthreads(); /* part may still be read from the last time */
	if (lane == 0)
		part[warp] = v;
	__syncthreads();
	if (warp == 0) {
		v = warp_all(lane < (int)blockDim.x / WARP ? part[lane] : none, f);
		if (lane == 0)
			part[0] = v;
	}
	__syncthreads();
	return part[0];
}

__device__ inline float block_sum(float v, float *part)
{
	return block_all(v, plus(), 0.0f, part);
}

/* Philox-4x32-10 as in base/rng.c: word e % 4 of block e / 4 belongs to element e. */
struct philox_key {
	u64 seed;
	u32 stream, step;
};

struct four_words {
	u32 v[4];
};

__device__ inline four_words philox(philox_key key, u64 block)
{
	u32 k0 = (u32)key.seed, k1 = (u32)(key.seed >> 32);
	u32 c0 = (u32)block, c1 = (u32)(block >> 32), c2 = key.stream, c3 = key.step;

	for (int i = 0; i < 10; i++) {
		u64 p0 = (u64)0xD2511F53u * c0;
		u64 p1 = (u64)0xCD9E8D57u * c2;
		c0 = (u32)(p1 >> 32) ^ c1 ^ k0;
		c2 = (u32)(p0 >> 32) ^ c3 ^ k1;
		c1 = (u32)p1;
		c3 = (u32)p0;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return {{c0, c1, c2, c3}};
}

#endif
