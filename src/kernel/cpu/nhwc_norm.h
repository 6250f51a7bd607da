/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_NHWC_NORM_H
#define SL_KERNEL_CPU_NHWC_NORM_H

#include "kernel/cpu/pool.h"

/*
 * What the kernels of batch norm share on channels-last values, seen as rows of C
 * channels: blocks of rows that a second look finds in the cache, and loops over a few
 * vectors of channels whose sums stay in registers while rows pass.
 */
#define SL_NORM_BLOCK 32768 /* floats */
#define SL_NORM_WIDE 4 /* vectors of channels at a time */
#define SL_NORM_STRIP 64 /* channels whose blocks are joined together */

struct sl_norm_rows {
	int64_t rows, c;
	int64_t block; /* rows of one */
	int64_t blocks;
};

/* Follows from the shape alone. */
static inline struct sl_norm_rows sl_norm_rows_of(const struct sl_shape *x)
{
	struct sl_norm_rows r = {
		.rows = x->dim[0] * x->dim[2] * x->dim[3], .c = x->dim[1]};

	r.block = SL_NORM_BLOCK / r.c > 0 ? SL_NORM_BLOCK / r.c : 1;
	r.blocks = (r.rows + r.block - 1) / r.block;
	return r;
}

static inline int64_t sl_norm_block_rows(const struct sl_norm_rows *r, int64_t block)
{
	int64_t from = block * r->block;

	return r->rows - from < r->block ? r->rows - from : r->block;
}

static inline int64_t sl_norm_strips(const struct sl_norm_rows *r)
{
	return (r->c + SL_NORM_STRIP - 1) / SL_NORM_STRIP;
}

/* Channels of a strip. */
static inline int64_t sl_norm_strip(const struct sl_norm_rows *r, int64_t strip)
{
	int64_t from = strip * SL_NORM_STRIP;

	return r->c - from < SL_NORM_STRIP ? r->c - from : SL_NORM_STRIP;
}

/* Up to 16 floats; the rest 0. */
static SL_INLINE void sl_norm_load(const float *x, int64_t n, sl_lanes *v)
{
	if (n >= SL_LANES) {
		*v = *(const sl_lanes *)x;
		return;
	}
	*v = (sl_lanes){0};
	memcpy(v, x, (size_t)n * sizeof(*x));
}

static SL_INLINE void sl_norm_store(float *x, int64_t n, const sl_lanes *v)
{
	if (n >= SL_LANES)
		*(sl_lanes *)x = *v;
	else
		memcpy(x, v, (size_t)n * sizeof(*x));
}

/* v where y > 0 or y is NaN, else 0. */
static SL_INLINE void sl_norm_pass(const sl_lanes *y, sl_lanes *v)
{
	*v = (sl_lanes)(~(*y <= 0) & (sl_mask)*v);
}

#endif
