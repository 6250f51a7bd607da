/* SPDX-License-Identifier: Apache-2.0 */
/* The table of CUDA kernels. */
#include "kernel/cuda/kernels.h"

#include "base/compiler.h"

#define SL_KERNEL(variable) extern const struct sl_kernel sl_kernel_##variable;
#include "kernel/cuda/kernels.def"
#undef SL_KERNEL

static const struct sl_kernel *const kernels[] = {
#define SL_KERNEL(variable) &sl_kernel_##variable,
#include "kernel/cuda/kernels.def"
#undef SL_KERNEL
	NULL,
};

static const struct sl_kernel *kernel_at(size_t i)
{
	return i < SL_COUNT(kernels) - 1 ? kernels[i] : NULL;
}

const struct sl_kernel_set sl_cuda_kernels = {.device = "cuda", .at = kernel_at};
