/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_EMULATE_H
#define SL_TESTS_CUDA_EMULATE_H

/*
 * What a .cu source sees instead of the CUDA compiler's built-ins when g++ compiles it
 * for the host. Included by kernel/cuda/cuda.cuh under SL_CUDA_EMULATE.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cuda/emulate/builtins.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#define SL_SHARED(type, name, count) \
	static const char name##_site = 0; \
	type(&name)[count] = \
		*(type(*)[count])emu_shared(&name##_site, sizeof(type) * (count))
#define SL_DYNAMIC_SHARED(type, name) type *const name = (type *)emu_dynamic_shared()

#define threadIdx emu_thread_index()
#define blockIdx emu_block_index()
#define blockDim emu_block_dim()
#define gridDim emu_grid_dim()
#define warpSize 32
/* The C library has these names for itself. */
#define __expf expf
#define __logf logf
#define __syncthreads() emu_syncthreads()

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
	emu_syncwarp(mask);
}

template <class T> static inline T emu_shuffle_as(unsigned mask, T value, int source)
{
	static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
	uint64_t bits = 0;
	__builtin_memcpy(&bits, &value, sizeof value);
	bits = emu_shuffle(mask, bits, source);
	__builtin_memcpy(&value, &bits, sizeof value);
	return value;
}

template <class T>
static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32)
{
	int lane = (int)emu_lane();
	return emu_shuffle_as(mask, value, (lane & -width) + (source & (width - 1)));
}

template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32)
{
	int lane = (int)emu_lane();
	int from = lane ^ bits;
	return emu_shuffle_as(mask, value, from >= (lane & -width) + width ? lane : from);
}

template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
	int lane = (int)emu_lane();
	int from = lane + (int)by;
	return emu_shuffle_as(mask, value, from >= (lane & -width) + width ? lane : from);
}

template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
	int lane = (int)emu_lane();
	int from = lane - (int)by;
	return emu_shuffle_as(mask, value, from < (lane & -width) ? lane : from);
}

static inline unsigned __ballot_sync(unsigned mask, int vote)
{
	return emu_ballot(mask, vote);
}

static inline int __any_sync(unsigned mask, int vote)
{
	return emu_ballot(mask, vote) != 0;
}

static inline int __all_sync(unsigned mask, int vote)
{
	return emu_ballot(mask, vote) == mask;
}

struct __align__(8) float2
{
	float x, y;
};
struct __align__(16) float4
{
	float x, y, z, w;
};
struct __align__(8) int2
{
	int x, y;
};
struct __align__(16) int4
{
	int x, y, z, w;
};
struct __align__(8) uint2
{
	unsigned x, y;
};
struct __align__(16) uint4
{
	unsigned x, y, z, w;
};
static inline float2 make_float2(float x, float y)
{
	return {x, y};
}
static inline float4 make_float4(float x, float y, float z, float w)
{
	return {x, y, z, w};
}
static inline int2 make_int2(int x, int y)
{
	return {x, y};
}
static inline int4 make_int4(int x, int y, int z, int w)
{
	return {x, y, z, w};
}
static inline uint2 make_uint2(unsigned x, unsigned y)
{
	return {x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
	return {x, y, z, w};
}

template <class A, class B> static inline auto min(A a, B b) -> decltype(a + b)
{
	return b < a ? b : a;
}
template <class A, class B> static inline auto max(A a, B b) -> decltype(a + b)
{
	return a < b ? b : a;
}
static inline float rsqrtf(float x)
{
	return 1.0f / sqrtf(x);
}
static inline float __fdividef(float a, float b)
{
	return a / b;
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
	return (unsigned)((uint64_t)a * b >> 32);
}
static inline unsigned __float_as_uint(float x)
{
	unsigned u;
	__builtin_memcpy(&u, &x, sizeof u);
	return u;
}
static inline float __uint_as_float(unsigned u)
{
	float x;
	__builtin_memcpy(&x, &u, sizeof x);
	return x;
}
static inline int __float_as_int(float x)
{
	return (int)__float_as_uint(x);
}
static inline float __int_as_float(int i)
{
	return __uint_as_float((unsigned)i);
}
static inline int __popc(unsigned x)
{
	return __builtin_popcount(x);
}
static inline int __clz(int x)
{
	return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
template <class T> static inline T __ldg(const T *p)
{
	return *p;
}

#endif
