/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_GEMM_SHAPE_H
#define SL_KERNEL_CPU_GEMM_SHAPE_H

#include "graph/op.h"

/*
 * A matmul node as the kernels see it: one product of [m, k] and [k, n] for each index of
 * n_batch batch axes. Steps are in elements; a step of 0 says that the axis is broadcast
 * for that operand. Axes that go together are merged, axes of size 1 are gone, and where
 * one right matrix serves all batches of an a that isn't transposed, the batches are rows
 * of one product.
 */
struct sl_gemm {
	int64_t m, n, k;
	bool trans_a, trans_b, bias;
	int n_batch;
	int64_t batch[SL_MAX_RANK];
	int64_t a_step[SL_MAX_RANK];
	int64_t b_step[SL_MAX_RANK];
};

/* All inputs present are f32, none is empty, k > 0, and no operand has more than 2^31 - 1
 * elements. */
bool sl_gemm_fits(const struct sl_node_info *n);
/* The same, but operands may be bf16. */
bool sl_gemm_fits_low(const struct sl_node_info *n);
/* Of a node that fits. */
struct sl_gemm sl_gemm_of(const struct sl_node_info *n);
int64_t sl_gemm_batches(const struct sl_gemm *g);
/* Element offsets of batch i in a and b. */
void sl_gemm_offsets(const struct sl_gemm *g, int64_t i, int64_t *a, int64_t *b);

#endif
