/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with one fault each, that must be told. */
#include "cuda/emulate/emulate.h"

extern "C" __global__ void sl_fault_no_barrier(float *y)
{
	SL_SHARED(float, part, 128);
	part[threadIdx.x] = 1;
	y[threadIdx.x] = part[(threadIdx.x + 1) % blockDim.x];
}

/* Lanes of one warp, whose order nothing promises. */
extern "C" __global__ void sl_fault_no_warp_barrier(float *y)
{
	SL_SHARED(float, part, 32);
	part[threadIdx.x] = 1;
	float v = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
	y[threadIdx.x] = v + part[threadIdx.x ^ 1];
}

/* The second round writes while the first is still read. */
extern "C" __global__ void sl_fault_reuse(float *y)
{
	SL_SHARED(float, part, 64);
	float sum = 0;
	for (int round = 0; round < 2; round++) {
		part[threadIdx.x] = (float)round;
		__syncthreads();
		sum += part[63 - threadIdx.x];
	}
	y[threadIdx.x] = sum;
}

extern "C" __global__ void sl_fault_blocks(float *y)
{
	if (threadIdx.x == 0)
		y[0] += 1;
}

extern "C" __global__ void sl_fault_read_blocks(float *y)
{
	float v = y[blockDim.x * gridDim.x - 1];
	y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

extern "C" __global__ void sl_fault_threads(unsigned char *y)
{
	y[threadIdx.x / 2] = 1;
}

extern "C" __global__ void sl_fault_past_end(float *y, int n)
{
	y[n] = 1;
}

extern "C" __global__ void sl_fault_past_shared(float *y, int at)
{
	SL_SHARED(float, part, 32);
	SL_SHARED(float, next, 32);
	part[threadIdx.x] = next[threadIdx.x] = 0;
	part[at] = 1;
	y[threadIdx.x] = part[threadIdx.x];
}

extern "C" __global__ void sl_fault_misaligned(float *y)
{
	*(float4 *)(y + 1) = make_float4(0, 0, 0, 0);
}

extern "C" __global__ void sl_fault_left_barrier(float *y)
{
	if (threadIdx.x == 5)
		return;
	__syncthreads();
	y[threadIdx.x] = 1;
}

extern "C" __global__ void sl_fault_split_barrier(float *y)
{
	if (threadIdx.x < 32)
		__syncthreads();
	else
		__syncwarp();
	if (threadIdx.x >= 32)
		y[threadIdx.x] = __shfl_sync(0x1u << (threadIdx.x % 32), 1.0f, (int)threadIdx.x % 32);
}

extern "C" __global__ void sl_fault_lane_left(float *y)
{
	if (threadIdx.x % 32 != 7)
		y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}

extern "C" __global__ void sl_fault_unwritten(float *y)
{
	SL_SHARED(float, part, 64);
	if (threadIdx.x < 63)
		part[threadIdx.x] = 1;
	__syncthreads();
	y[threadIdx.x] = part[threadIdx.x];
}

extern "C" __global__ void sl_fault_too_much_shared(float *y)
{
	SL_SHARED(float, part, 12289);
	part[threadIdx.x] = 1;
	y[threadIdx.x] = part[threadIdx.x];
}
