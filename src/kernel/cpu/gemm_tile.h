/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_GEMM_TILE_H
#define SL_KERNEL_CPU_GEMM_TILE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The micro-kernel of the packed product: a tile of y, SL_TILE_ROWS x SL_TILE_COLS, held
 * in registers while k runs. 28 sums, two vectors of b and one broadcast of a fill the 32
 * registers of AVX-512; a step of k reads 46 floats for 448 multiply-adds.
 */
#define SL_TILE_ROWS 14
#define SL_TILE_COLS 32

/* Whether this build has the micro-kernel. */
bool sl_tile_is_here(void);

struct sl_tile {
	const float *a; /* [depth][SL_TILE_ROWS] */
	const float *b; /* [depth][SL_TILE_COLS] */
	int64_t depth;
	float *y; /* [rows][cols], rows y_step apart */
	int64_t y_step;
	int rows, cols; /* of the tile that exist, at least 1 */
	bool accumulate; /* y is added to */
	const float *row_bias; /* [rows] or NULL */
	const float *col_bias; /* [cols] or NULL */
};

void sl_tile_run(const struct sl_tile *t);

#endif
