/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_DNNL_GEMM_H
#define SL_KERNEL_CPU_DNNL_GEMM_H

#include "kernel/cpu/dnnl.h"
#include "kernel/cpu/gemm_shape.h"

/* Slots of the plan of a product. */
enum sl_gemm_slot {
	SL_GEMM_A,
	SL_GEMM_B,
	SL_GEMM_BIAS,
	SL_GEMM_Y,
	SL_GEMM_SCRATCH,
};

/*
 * Whether the library may split the sums along k over threads. Batched products of this
 * kind are wrong in oneDNN 2.6.3 (the partial sums of all batches go to one buffer), so
 * they are made and run one batch at a time.
 */
bool sl_dnnl_gemm_splits(const struct sl_gemm *g);

/*
 * Appends y = a b (+ bias), or y += a b, for plan->threads threads; raises *scratch to
 * the bytes it needs.
 */
SL_NODISCARD sl_status sl_dnnl_gemm_add(struct sl_dnnl_plan *plan,
	const struct sl_gemm *g, bool accumulate, size_t *scratch);

#endif
