/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of rank 0: any operator through its own reference, on one thread. */
#include "kernel/kernel.h"

static sl_status ref_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	(void)env;
	*out = (struct sl_prepared){0};
	if (n->op->ref_workspace)
		out->workspace_bytes = n->op->ref_workspace(n);
	return SL_OK;
}

static sl_status ref_run(const struct sl_call *c)
{
	if (!c->node->op->ref)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"%s has neither a kernel nor a reference", c->node->op->name);
	return c->node->op->ref(c);
}

const struct sl_kernel sl_kernel_ref = {
	.name = "ref",
	.op = "",
	.rank = 0,
	.prepare = ref_prepare,
	.run = ref_run,
};
