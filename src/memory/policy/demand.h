/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_DEMAND_H
#define SL_MEMORY_POLICY_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/trace.h"

/*
 * Demand Layering [demand]: inference whose weights come from a lower tier, layer by
 * layer, while older layers run. Three engines work beside one another: one reads into a
 * buffer, one copies from there to the device, one runs kernels. In two stages (a device
 * that shares memory with the processor, or a tier with a link of its own) there is no
 * copy.
 *
 * - seq: read, copy and run a layer, then the next one; a buffer of the largest layer
 * - sync: in each cycle read layer t, copy t - 1 and run t - 2; a cycle ends when all
 *   three have; two buffers
 * - async: a stage goes on as soon as its input is there and its ring has room
 *
 * Where there are two stages each of these has one buffer or ring, else one on each side.
 */
enum sl_demand_mode { SL_DEMAND_SEQ, SL_DEMAND_SYNC, SL_DEMAND_ASYNC };

struct sl_demand_layer {
	uint64_t bytes; /* 0: it has no weights, and is neither read nor copied */
	uint64_t read_ns, copy_ns, kernel_ns;
};

struct sl_demand_how {
	enum sl_demand_mode mode;
	bool two_stages;
	uint64_t ring_bytes; /* of async, of each ring */
};

/* All kernels: every weight was there before. */
uint64_t sl_demand_preload_ns(const struct sl_demand_layer *layers, size_t n);
/* From the start of the first read to the end of the last kernel. SL_E_INFEASIBLE if a
 * layer is larger than the ring; SL_E_NOMEM. */
SL_NODISCARD sl_status sl_demand_ns(const struct sl_demand_layer *layers, size_t n,
	const struct sl_demand_how *how, uint64_t *out_ns);
/* What the buffers or rings take together; of async the least ones if ring_bytes is 0. */
uint64_t sl_demand_bytes(
	const struct sl_demand_layer *layers, size_t n, const struct sl_demand_how *how);
struct sl_demand_knee {
	uint64_t ring_bytes, ns;
};
/*
 * The trade-off: the smallest ring of those from the largest layer to `most`, a step (at
 * least 1) apart, that none of them beats. SL_E_INFEASIBLE if most is less than
 * a layer.
 */
SL_NODISCARD sl_status sl_demand_knee(const struct sl_demand_layer *layers, size_t n,
	const struct sl_demand_how *how, uint64_t step, uint64_t most,
	struct sl_demand_knee *out);

/*
 * A ring that holds whole layers, each contiguous: they come and go in one order. Head
 * and tail have a generation, which goes up as they wrap. An empty ring begins anew at 0,
 * else a layer as large as the ring might wait for ever.
 */
struct sl_ring {
	uint64_t bytes;
	uint64_t head, tail;
	uint64_t head_turn, tail_turn;
	size_t live;
};
/* False: no room now. */
bool sl_ring_place(struct sl_ring *r, uint64_t bytes, uint64_t *offset);
/* The oldest layer goes; next: where the one after it lies (any, if there is none). */
void sl_ring_free(struct sl_ring *r, uint64_t next);
/*
 * Where each layer lies, and how many layers from the first on have to be gone before it
 * comes, as early as may be. offset and gone are [n]. SL_E_INFEASIBLE if one is larger
 * than the ring.
 */
SL_NODISCARD sl_status sl_ring_plan(const struct sl_demand_layer *layers, size_t n,
	uint64_t bytes, uint64_t *offset, size_t *gone);

/* The least budget of a mode for an inference trace in two stages: what stays, what is
 * between layers, and the buffers. SL_E_INFEASIBLE where no weights can be streamed: the
 * trace trains, no tier holds them, or no op reads any. */
SL_NODISCARD sl_status sl_demand_least(
	const struct sl_trace *t, enum sl_demand_mode mode, uint64_t *out_bytes);

#endif
