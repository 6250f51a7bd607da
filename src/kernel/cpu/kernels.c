/* SPDX-License-Identifier: Apache-2.0 */
/* The table of CPU kernels. */
#include "kernel/kernel.h"

#include "base/compiler.h"

#define SL_KERNEL(variable) extern const struct sl_kernel sl_kernel_##variable;
#include "kernel/cpu/kernels.def"
#undef SL_KERNEL

static const struct sl_kernel *const kernels[] = {
#define SL_KERNEL(variable) &sl_kernel_##variable,
#include "kernel/cpu/kernels.def"
#undef SL_KERNEL
	NULL,
};

const struct sl_kernel *sl_kernel_at(size_t i)
{
	return i < SL_COUNT(kernels) - 1 ? kernels[i] : NULL;
}
