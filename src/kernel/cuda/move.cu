/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements moved and nothing computed: transpose, slice, concat, pad, expand, and the
 * gradient of slice, all as one copy between two walks; elements by their size alone.
 */
#include "kernel/cuda/walk.cuh"

/* y[operand 0] = x[operand 1], for n elements of the walked shape. */
template <class T> __device__ void move(const T *x, T *y, i64 n, const sl_cuda_walk &w)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		i64 at[2];
		walk_to<2>(w, i, at);
		y[at[0]] = x[at[1]];
	}
}

template <class T> __device__ void fill(T *y, i64 n, T v)
{
	for (i64 i = thread_at(); i < n; i += thread_step())
		y[i] = v;
}

SL_ENTRY sl_cu_copy(const unsigned char *x, unsigned char *y, i64 n)
{
	i64 packs = is_wide(x, y) ? n / 16 : 0;

	for (i64 i = thread_at(); i < packs; i += thread_step())
		((pack<unsigned char> *)y)[i] = ((const pack<unsigned char> *)x)[i];
	for (i64 i = packs * 16 + thread_at(); i < n; i += thread_step())
		y[i] = x[i];
}

#define MOVE(size, T) \
	SL_ENTRY sl_cu_move_##size(const T *x, T *y, i64 n, sl_cuda_walk w) \
	{ \
		move(x, y, n, w); \
	} \
	SL_ENTRY sl_cu_fill_##size(T *y, i64 n, u64 v) \
	{ \
		fill(y, n, (T)v); \
	}

MOVE(1, unsigned char)
MOVE(2, u16)
MOVE(4, u32)
MOVE(8, u64)

/*
 * [outer, rows, columns] to [outer, columns, rows] through a tile in shared memory, so
 * that reads and writes both lie side by side; the odd width of the tile puts a column's
 * elements into different banks.
 */
#define TILE 32
#define TILE_ROWS 8

template <class T>
__device__ void transpose(const T *x, T *y, i64 rows, i64 columns, T *tile)
{
	i64 c0 = (i64)blockIdx.x * TILE;
	i64 r0 = (i64)blockIdx.y * TILE;

	x += (i64)blockIdx.z * rows * columns;
	y += (i64)blockIdx.z * rows * columns;
	for (int i = threadIdx.y; i < TILE; i += TILE_ROWS)
		if (r0 + i < rows && c0 + threadIdx.x < columns)
			tile[i * (TILE + 1) + threadIdx.x] =
				x[(r0 + i) * columns + c0 + threadIdx.x];
	__syncthreads();
	for (int i = threadIdx.y; i < TILE; i += TILE_ROWS)
		if (c0 + i < columns && r0 + threadIdx.x < rows)
			y[(c0 + i) * rows + r0 + threadIdx.x] =
				tile[threadIdx.x * (TILE + 1) + i];
}

SL_ENTRY sl_cu_transpose_4(const u32 *x, u32 *y, i64 rows, i64 columns)
{
	SL_SHARED(u32, tile, TILE * (TILE + 1));
	transpose(x, y, rows, columns, tile);
}

SL_ENTRY sl_cu_transpose_2(const u16 *x, u16 *y, i64 rows, i64 columns)
{
	SL_SHARED(u16, tile, TILE * (TILE + 1));
	transpose(x, y, rows, columns, tile);
}
