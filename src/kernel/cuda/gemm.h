/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_GEMM_H
#define SL_KERNEL_CUDA_GEMM_H

#include "kernel/cuda/launch.h"

/* A matmul node as products of matrices: sizes, steps, and which matrices of a and b each
 * of the `batches` results is made of. Batches that share one b are one tall product. */
struct sl_cuda_matmul {
	struct sl_cuda_gemm g;
	int64_t batches;
	bool trans_a, trans_b;
};

struct sl_cuda_matmul sl_cuda_matmul_of(const struct sl_node_info *n);

#endif
