/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_WALK_CUH
#define SL_KERNEL_CUDA_WALK_CUH

#include "kernel/cuda/args.h"
#include "kernel/cuda/cuda.cuh"

/* Offsets of n operands at element i of the walked shape. */
template <int N> __device__ inline void walk_to(const sl_cuda_walk &w, i64 i, i64 at[N])
{
	for (int k = 0; k < N; k++)
		at[k] = w.start[k];
	/* The bound is a constant, so that arguments stay where constants are read. */
	SL_UNROLL
	for (int axis = 0; axis < SL_CUDA_RANK; axis++) {
		if (axis >= w.rank)
			break;
		i64 index;
		i = divide(i, w.dim[axis], &index);
		for (int k = 0; k < N; k++)
			at[k] += index * w.stride[k][axis];
	}
}

#endif
