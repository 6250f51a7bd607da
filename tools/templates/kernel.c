/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel @NAME@: operator, bytes moved, flops, numerics against the reference.
 *
 * 1. Chunks are fixed by the shape: bits never depend on threads.
 */
#include "kernel/cpu/cpu.h"

static bool accepts(const struct sl_node_info *n)
{
	return n->in[0].dtype == SL_F32;
}

static sl_status run(const struct sl_call *c)
{
	(void)c;
	return SL_FAIL(SL_E_UNSUPPORTED, "kernel @NAME@ does not run yet");
}

const struct sl_kernel sl_kernel_@NAME@ = {
	.name = "@NAME@",
	.op = "relu",
	.rank = 1,
	.accepts = accepts,
	.run = run,
};
