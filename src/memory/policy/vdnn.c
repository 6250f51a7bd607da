/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vdnn: what convolutions read leaves in the forward pass after its last use there, and
 * comes back one such layer ahead in the backward pass [vdnn].
 *
 * Departures:
 * 1. A graph without convolutions has what its matmuls read offloaded.
 * 2. Granularity is the value: one that several layers read leaves after the last of
 * them.
 * 3. No choice between algorithms of a convolution: selection is frozen at seal.
 * 4. It knows no budget; where its plan does not fit, belady's is used (baseline.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/policy/baseline.h"
#include "memory/policy/policy.h"

/* A value that is offloaded, once for all layers that read it. */
struct offloaded {
	struct sl_gap *gap;
};

/* The first op that bears a gradient; n_ops in a trace without a backward pass. */
static uint32_t backward_begins(const struct sl_trace *t)
{
	for (uint32_t i = 0; i < t->n_ops; i++) {
		for (uint32_t k = 0; k < t->ops[i].n_out; k++) {
			uint32_t v = sl_trace_root(t, t->ops[i].out[k]);

			if (t->values[v].cls == SL_CLASS_GRAD)
				return i;
		}
	}
	return t->n_ops;
}

/* The gap of v that reaches from one pass into the other. */
static struct sl_gap *gap_between(const struct sl_gaps *g, uint32_t v, uint32_t backward)
{
	for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++) {
		struct sl_gap *gap = &g->gaps[i];

		if (!gap->wraps && gap->from_op < backward && gap->to_op >= backward)
			return gap;
	}
	return NULL;
}

/* Gives fate SWAP to what forward ops of a kind read; how many there are. */
static size_t offload(struct sl_gaps *g, const char *kind, struct offloaded *out)
{
	uint32_t backward = backward_begins(g->t);
	size_t n = 0;

	for (uint32_t i = 0; i < backward && backward < g->t->n_ops; i++) {
		const struct sl_trace_op *op = &g->t->ops[i];

		for (uint32_t k = 0; k < op->n_in; k++) {
			uint32_t v = sl_trace_root(g->t, op->in[k]);
			struct sl_gap *gap = gap_between(g, v, backward);

			if (strncmp(op->kind, kind, strlen(kind)) != 0 || gap == NULL ||
				gap->fate != SL_FATE_KEEP || !sl_gap_movable(g, gap) ||
				sl_class_persistent(g->t->values[v].cls))
				continue;
			sl_gap_set(gap, SL_FATE_SWAP);
			out[n++].gap = gap;
		}
	}
	return n;
}

static int by_return(const void *a, const void *b)
{
	const struct sl_gap *x = ((const struct offloaded *)a)->gap;
	const struct sl_gap *y = ((const struct offloaded *)b)->gap;

	if (x->to_op != y->to_op)
		return x->to_op < y->to_op ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Each layer's values come when the layer before it in the backward pass begins. */
static void prefetch(struct offloaded *list, size_t n)
{
	uint32_t ahead = SL_NO_ID; /* to_op of the layer before */

	qsort(list, n, sizeof(*list), by_return);
	for (size_t i = 0; i < n; i++) {
		struct sl_gap *gap = list[i].gap;

		if (i > 0 && list[i - 1].gap->to_op != gap->to_op)
			ahead = list[i - 1].gap->to_op;
		if (ahead != SL_NO_ID && ahead >= gap->hold)
			gap->arrive = ahead;
	}
}

static sl_status fates(struct sl_gaps *g, uint64_t budget, const char *name,
	const void *ctx, struct sl_plan *out)
{
	struct offloaded *list = sl_calloc((size_t)g->n + 1, sizeof(*list));
	uint64_t height;
	size_t n;
	sl_status st;
	(void)ctx;

	if (!list)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	n = offload(g, "conv", list);
	if (n == 0)
		n = offload(g, "matmul", list);
	prefetch(list, n);
	st = sl_baseline_lower(g, budget, name, out, &height);
	sl_free(list);
	return st;
}

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	(void)option;
	return sl_baseline_own(t, budget, "vdnn", fates, NULL, out);
}

const struct sl_mem_policy sl_mem_policy_vdnn = {
	.name = "vdnn",
	.source = "vdnn",
	.summary = "what convolutions read leaves after the forward pass (a baseline)",
	.own = own,
	.least = sl_baseline_least,
};
