/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_DEMAND_NET_H
#define SL_MEMORY_POLICY_DEMAND_NET_H

#include "memory/place.h"
#include "memory/policy/demand.h"
#include "memory/policy/gaps.h"

/*
 * demand_layers.c: the layers of an inference trace. A layer is the weights that an op
 * reads, and of the ops after it as long as they share some with it; its kernels are the
 * ops up to the next layer. A weight that a later layer reads as well is read again.
 * Arena: what stays, what is between layers, the buffers.
 */
struct sl_demand_span {
	uint32_t first_op, end_op; /* end_op: after the last op that reads its weights */
	uint32_t first_weight, n_weights;
};

struct sl_demand_net {
	const struct sl_trace *t;
	struct sl_reach tiers[SL_REACH_MAX];
	uint32_t n_tiers;
	struct sl_trace_index x;
	struct sl_demand_layer *layers; /* may begin with one without weights */
	struct sl_demand_span *spans; /* alike */
	size_t n;
	uint32_t *weights; /* of the layers, one after the other */
	size_t n_weights, cap_weights;
	uint8_t *streams; /* [values] 1 + index into tiers, 0: it stays */
	uint64_t *slot; /* [values] where it lies there */
	uint64_t *home; /* [values] of what stays, else SL_NO_OFFSET */
	uint64_t fixed_bytes; /* of what stays */
	/* What is born and dies within the iteration, and workspaces, in order of ids. */
	struct sl_place_item *items;
	uint64_t base; /* of the buffers, in whole pages */
};

/* SL_E_INFEASIBLE where there is nothing to stream. */
SL_NODISCARD sl_status sl_demand_open(
	const struct sl_trace *t, struct sl_demand_net *out);
void sl_demand_close(struct sl_demand_net *d); /* zeroed: fine */
uint64_t sl_demand_weight_bytes(const struct sl_demand_net *d, uint32_t v);

#endif
