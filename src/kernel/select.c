/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel runs a node: of the rows that name its operator and accept it, the one of
 * highest rank; among equals the name that sorts first, so that the order of the table
 * carries no meaning. Where there is none, bf16 goes through f32 (widened.c). Nothing but
 * the node decides: neither budget nor threads nor addresses.
 */
#include "kernel/kernel.h"

#include <string.h>

#include "graph/ir.h"

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

/* NULL: no row accepts it. */
static const struct sl_kernel *best_row(
	const struct sl_kernel_set *set, const struct sl_node_info *n)
{
	const struct sl_kernel *best = NULL, *k;

	for (size_t i = 0; (k = set->at(i)) != NULL; i++)
		if (strcmp(k->op, n->op->name) == 0 && (!best || is_better(k, best)) &&
			sl_kernel_accepts(k, n))
			best = k;
	return best;
}

/* What comes in and goes out is asked of the run, on any device. */
static bool is_edge(const struct sl_node_info *n)
{
	return n->op == &sl_op_feed || n->op == &sl_op_fetch;
}

static const struct sl_kernel *best_of(
	const struct sl_kernel_set *set, const struct sl_node_info *n)
{
	const struct sl_kernel *best = best_row(set, n);

	if (!best && is_edge(n))
		return &sl_kernel_ref;
	return best || !set->last ? best : set->last(n);
}

static const struct sl_kernel *cpu_last(const struct sl_node_info *n)
{
	return sl_kernel_widened.accepts(n) ? &sl_kernel_widened : &sl_kernel_ref;
}

const struct sl_kernel_set sl_kernel_cpu = {
	.device = "cpu", .at = sl_kernel_at, .last = cpu_last, .on_host = true};

sl_status sl_kernel_choose(const struct sl_kernel_set *set, const struct sl_node_info *n,
	const struct sl_kernel **out)
{
	*out = best_of(set, n);
	if (*out)
		return SL_OK;
	return SL_FAIL(SL_E_UNSUPPORTED,
		"the %s device has no kernel for %s (first operand %s); use --device cpu",
		set->device, n->op->name,
		n->n_in > 0 ? sl_dtype_name(n->in[0].dtype) : "none");
}

bool sl_kernel_is_fast(const struct sl_kernel_set *set, const struct sl_node_info *n)
{
	const struct sl_kernel *k = best_of(set, n);

	return k && k->rank > 0;
}

bool sl_kernel_has(const struct sl_kernel_set *set, const char *op)
{
	const struct sl_kernel *k;

	for (size_t i = 0; (k = set->at(i)) != NULL; i++)
		if (strcmp(k->op, op) == 0)
			return true;
	return false;
}

const struct sl_kernel *sl_kernel_select(const struct sl_node_info *n)
{
	return best_of(&sl_kernel_cpu, n);
}
