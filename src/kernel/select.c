/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel runs a node: of the rows that name its operator and accept it, the one of
 * highest rank; among equals the name that sorts first, so that the order of the table
 * carries no meaning. Where there is none, bf16 goes through f32 (widened.c). Nothing but
 * the node decides: neither budget nor threads nor addresses.
 */
#include "kernel/kernel.h"

#include <string.h>

static bool is_better(const struct sl_kernel *k, const struct sl_kernel *than)
{
	if (k->rank != than->rank)
		return k->rank > than->rank;
	return strcmp(k->name, than->name) < 0;
}

bool sl_kernel_accepts(const struct sl_kernel *k, const struct sl_node_info *n)
{
	enum sl_kernel_layouts want = n->nhwc ? SL_KERNEL_NHWC : SL_KERNEL_PLAIN;

	return (k->layouts == SL_KERNEL_ANY || k->layouts == want) &&
	       (!k->accepts || k->accepts(n));
}

const struct sl_kernel *sl_kernel_select(const struct sl_node_info *n)
{
	const struct sl_kernel *best = &sl_kernel_ref;
	const struct sl_kernel *k;

	for (size_t i = 0; (k = sl_kernel_at(i)) != NULL; i++)
		if (strcmp(k->op, n->op->name) == 0 && is_better(k, best) &&
			sl_kernel_accepts(k, n))
			best = k;
	if (best == &sl_kernel_ref && sl_kernel_widened.accepts(n))
		return &sl_kernel_widened;
	return best;
}
