/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_GEMM_PACK_H
#define SL_KERNEL_CPU_GEMM_PACK_H

#include "kernel/cpu/gemm_panel.h"
#include "kernel/cpu/gemm_shape.h"

/*
 * Our own matrix product of large f32 operands: blocks of both are packed, and a
 * micro-kernel keeps tiles of y in registers (Goto and van de Geijn 2008; Van Zee and van
 * de Geijn 2015). docs/adr/0035-own-matrix-product.md says why it stands beside oneDNN's.
 *
 * Every element of y is one sum along k, cut at multiples of a block's depth that follows
 * from k alone. Threads share rows and columns, never k: the bits do not depend on how
 * many there are.
 */

/* The product y [m, n] = a [m, k] b [k, n]: where the elements lie. */
struct sl_pack_form {
	int64_t m, n, k;
	struct sl_axis a_row, a_k, b_col, b_k;
	int64_t y_row; /* rows of y are this far apart */
	struct sl_axis y_col; /* its step is 1 */
};

/* Plain axes have no jumps. */
#define SL_PACK_PLAIN INT64_MAX
struct sl_pack_form sl_pack_form_of(const struct sl_gemm *g);

/* How the work is cut up; made once for a form. */
struct sl_pack {
	struct sl_pack_form form;
	struct sl_gemm batch; /* only its batch axes count */
	int64_t batches, depth, block_cols, task_rows, task_cols;
	bool low_a, low_b; /* they are bf16; set by whoever made it */
	bool whole_a, whole_b; /* packed by all before the product begins */
	int lanes; /* tasks that may run at a time */
	int64_t whole_floats, lane_floats, lane_a_floats;
};

/* g's batch axes are taken, or none where it is NULL. threads as in sl_kernel_env. */
struct sl_pack sl_pack_of(
	const struct sl_pack_form *form, const struct sl_gemm *g, int threads);
size_t sl_pack_workspace(const struct sl_pack *p);

struct sl_pack_io {
	const void *a, *b; /* f32, or bf16 where the pack says so */
	float *y;
	const float *row_bias, *col_bias; /* [m], [n], or NULL */
	bool accumulate; /* y += */
	float *workspace;
	struct sl_pool *pool;
	/* Runs tile t of y, at that row and column, in place of writing it; only where
	 * depth is k. NULL: tiles are written. */
	void (*tile)(void *ctx, const struct sl_tile *t, int64_t row, int64_t col);
	void *tile_ctx;
};

void sl_pack_run(const struct sl_pack *p, const struct sl_pack_io *io);

#endif
