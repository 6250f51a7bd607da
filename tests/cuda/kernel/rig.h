/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_KERNEL_RIG_H
#define SL_TESTS_CUDA_KERNEL_RIG_H

#include "kernel/kernel.h"

/*
 * CUDA kernels on host memory: each launch runs the kernel's own source on the emulator
 * before it returns; a race within a block, a misaligned access and the like fail the
 * launch. A kernel made by rig_kernel runs one of the table and then reads its note, so
 * that it can be held against the reference as any other.
 */
/* The table's kernel, ready for sl_node_run_do. Valid until the next call. */
const struct sl_kernel *rig_kernel(const struct sl_kernel *k);

#endif
