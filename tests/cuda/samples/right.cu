/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels without a fault. */
#include "cuda/emulate/emulate.h"

extern "C" __global__ void sl_sample_add(const float *a, const float *b, float *y, long long n)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = a[i] + b[i];
}

extern "C" __global__ void sl_sample_scale_bytes(
	const unsigned char *x, unsigned char *y, int n, int by)
{
	for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
		i += (int)(gridDim.x * blockDim.x))
		y[i] = (unsigned char)(x[i] * by);
}

/* One block: y[0] is the sum of n numbers. */
extern "C" __global__ void sl_sample_sum(const float *x, float *y, int n)
{
	SL_SHARED(float, part, 128);
	float sum = 0;
	for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
		sum += x[i];
	part[threadIdx.x] = sum;
	__syncthreads();
	for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		y[0] = part[0];
}

/* A warp a row of 32: through shuffles, and once more through shared memory of the warp. */
extern "C" __global__ void sl_sample_warp_sum(const float *x, float *y)
{
	SL_SHARED(float, lanes, 128);
	unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	unsigned lane = threadIdx.x % 32;
	float v = x[row * 32 + lane];
	lanes[threadIdx.x] = v;
	__syncwarp();
	float other = lanes[threadIdx.x ^ 1];
	__syncwarp();
	lanes[threadIdx.x] = other;
	float sum = v;
	for (int d = 16; d > 0; d /= 2)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	float down = v;
	for (unsigned d = 16; d > 0; d /= 2)
		down += __shfl_down_sync(0xffffffffu, down, d);
	int all = __all_sync(0xffffffffu, 1) && __shfl_sync(0xffffffffu, (int)lane, 3) == 3;
	if (lane == 0)
		y[row] = all && sum == down ? sum : -1;
}

/* [n, n] by tiles of 16. */
extern "C" __global__ void sl_sample_transpose(const float *x, float *y, int n)
{
	SL_SHARED(float, tile, 16 * 17);
	int row = (int)(blockIdx.y * 16 + threadIdx.y);
	int col = (int)(blockIdx.x * 16 + threadIdx.x);
	if (row < n && col < n)
		tile[threadIdx.y * 17 + threadIdx.x] = x[row * n + col];
	__syncthreads();
	row = (int)(blockIdx.x * 16 + threadIdx.y);
	col = (int)(blockIdx.y * 16 + threadIdx.x);
	if (row < n && col < n)
		y[row * n + col] = tile[threadIdx.x * 17 + threadIdx.y];
}

extern "C" __global__ void sl_sample_dynamic(float *y)
{
	SL_DYNAMIC_SHARED(float, room);
	room[threadIdx.x] = (float)threadIdx.x;
	__syncthreads();
	y[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}

struct sample_args {
	long long by[6];
	int n;
};

extern "C" __global__ void sl_sample_struct(const sample_args args, long long *y, char c)
{
	int i = (int)threadIdx.x;
	if (i < args.n)
		y[i] = args.by[i] + c;
}

extern "C" __global__ void sl_sample_read(const float *x, int n)
{
	float sum = 0;
	for (int i = 0; i < n; i++)
		sum += x[i];
	if (sum == 12345.0f)
		__syncthreads();
}

/* Threads write two bytes each, and each reads its neighbour's behind a barrier. */
extern "C" __global__ void sl_sample_halves(unsigned short *y, float4 *wide)
{
	y[threadIdx.x] = (unsigned short)threadIdx.x;
	__syncthreads();
	unsigned short other = y[threadIdx.x ^ 1];
	wide[threadIdx.x] = make_float4(other, 1, 2, 3);
}
