/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_GEMM_PANEL_H
#define SL_KERNEL_CPU_GEMM_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/cpu/gemm_tile.h"

/*
 * Packing: an operand of a product is copied into panels, [k][width] each, in the order
 * the micro-kernel reads them (Goto and van de Geijn 2008; Van Zee and van de Geijn
 * 2015). Whatever the steps of the operand were, what is packed looks the same, so
 * transposed operands cost nothing more.
 */

/* Index i of an axis lies at (i / span) * jump + (i % span) * step elements. */
struct sl_axis {
	int64_t step, span, jump;
};

/* The rows of a left operand or the columns of a right one are its lanes. */
struct sl_panel_source {
	const void *data; /* f32, or bf16 which is widened */
	bool low;
	int64_t first; /* element where it begins */
	struct sl_axis lane, k;
};

/* Lanes [lane, lane + lanes) by [k, k + depth). */
struct sl_panel_box {
	int64_t lane, lanes, k, depth;
};

/* Panels of `width` lanes, SL_TILE_ROWS or SL_TILE_COLS; the last one is filled up with
 * zeros. `to` has room for the lanes rounded up to the width, times depth. */
void sl_panel_pack(const struct sl_panel_source *s, int width,
	const struct sl_panel_box *box, float *to);

#endif
