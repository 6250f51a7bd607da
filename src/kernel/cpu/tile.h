/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_TILE_H
#define SL_KERNEL_CPU_TILE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * c [m, n] += a [m, k] b [k, n], or = with fresh, on one thread, for operands that fit
 * the caches. a is read by any strides, so it may be transposed; rows of b and c are
 * contiguous. f32; sums run along k in order. 64 results of 4 rows each live in registers
 * while k runs.
 */
struct sl_tile {
	int64_t m, n, k;
	const float *a;
	int64_t a_row, a_col;
	const float *b;
	int64_t b_row;
	float *c;
	int64_t c_row;
	bool fresh; /* c is not read */
};

void sl_tile_mul(const struct sl_tile *t);

/*
 * to[j * to_row + i] = from[i * from_row + j] for i < rows, j < columns; any elements of
 * 4 bytes, whose bits are kept.
 */
void sl_tile_transpose(const float *from, int64_t from_row, int64_t rows, int64_t columns,
	float *to, int64_t to_row);

#endif
