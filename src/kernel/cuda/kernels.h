/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_KERNELS_H
#define SL_KERNEL_CUDA_KERNELS_H

#include "kernel/kernel.h"

/* What the plug-in brings: rows of kernels.def, and nothing for the rest. */
extern const struct sl_kernel_set sl_cuda_kernels;

#endif
