/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_ENGINE_RIG_H
#define SL_TESTS_ENGINE_RIG_H

#include "base/arena.h"
#include "base/rng.h"
#include "memory/engine.h"

/*
 * An engine with a made-up executor: an op's output bytes depend on all of its input
 * bytes, and a twin without any budget computes the same in a buffer for each value.
 * Every input is compared with the twin's at every op, so a byte that came too early, too
 * late or from the wrong place shows. An op that runs again finds what it found at first,
 * and gives the same. On a device whose arena the host does not see all of this goes
 * through its streams; then a difference shows at the end of the step.
 */
#define SL_RIG_TIERS 2

struct sl_device;
struct sl_wire;

struct sl_rig {
	const struct sl_trace *trace; /* borrowed, like the plans */
	struct sl_engine *engine;
	struct sl_tier *tiers[SL_RIG_TIERS]; /* host, disk */
	uint8_t *arena;
	uint64_t arena_bytes;
	uint64_t budget;
	uint8_t **twin; /* [n_values], NULL for aliases */
	uint64_t *seen; /* [n_ops] digest of what the op read in this step */
	uint32_t n_twin;
	uint32_t step;
	struct sl_device *device; /* borrowed; NULL: none */
	struct sl_wire *wire;
	void *host; /* pinned, as are the slots of an op's operands */
	uint8_t *slots;
	struct sl_arena calls; /* of the step */
};

struct sl_rig_opts {
	uint64_t budget;
	uint64_t tier_bytes;
	bool delays; /* copies are late by random amounts */
	struct sl_pool *pool; /* copies together, pages change places; without delays */
	struct sl_device *device; /* whose arena the host does not see; NULL: none */
	/* Gives the engine another wire than the device's; NULL: the device's. */
	const struct sl_engine_wire *(*wrap)(
		void *ctx, const struct sl_engine_wire *inner);
	void *wrap_ctx;
	long fail_at[SL_RIG_TIERS]; /* the n-th call of that tier fails; 0: never */
};

/* Creates tiers, arena and engine and adopts the first plan with random contents. */
SL_NODISCARD sl_status sl_rig_open(struct sl_rig *r, const struct sl_rig_opts *opts,
	const struct sl_trace *t, const struct sl_plan *p);
void sl_rig_close(struct sl_rig *r); /* a zeroed one is fine */
/* One iteration. SL_E_NO: contents differ; another status is the engine's. */
SL_NODISCARD sl_status sl_rig_step(struct sl_rig *r);
/* Every persistent value, read back through the engine, is the twin's. */
SL_NODISCARD sl_status sl_rig_compare(struct sl_rig *r);

/* A random trace of `ops` ops over the two tiers; values from 1 byte to 20 KB, some not
 * whole blocks. */
SL_NODISCARD sl_status sl_random_trace(
	struct sl_rng *rng, uint32_t ops, uint64_t tier_bytes, struct sl_trace *out);
/*
 * A random sound plan: evictions, prefetches, moves and runs again that nobody would
 * choose.
 * SL_E_INFEASIBLE if the dice ran into fragmentation.
 */
SL_NODISCARD sl_status sl_random_plan(struct sl_rng *rng, const struct sl_trace *t,
	uint64_t budget, struct sl_plan *out);

#endif
