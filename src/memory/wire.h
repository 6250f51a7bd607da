/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_WIRE_H
#define SL_MEMORY_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * How an engine moves bytes of an arena that the host cannot touch: by handing copies to
 * queues, in an order that the engine's edges say, without waiting for them. There is one
 * queue a channel, whose copies end in order, and the compute queue, where the kernels
 * are. Arena places are offsets.
 *
 * 1. A copy starts after everything that is in the compute queue when it is handed over:
 * whoever wrote what it reads, and whoever read or wrote what it overwrites, is done.
 * 2. It starts after the copies of other channels that `after` names.
 * 3. What comes to the compute queue after a wait starts after the copy that it names.
 * 4. A failure inside a queue shows at the next settle, and at every one after it.
 *
 * All slots are called on the engine's thread and none may be NULL.
 */
struct sl_wire_copy {
	uint32_t channel;
	uint64_t number; /* 1, 2, ... of its channel */
	bool in; /* tier to arena; else arena to tier */
	bool poison; /* tests: the arena's bytes are rubbish afterwards */
	uint32_t tier; /* of the engine's */
	uint32_t value;
	const char *name; /* of the value; lives until the next settle */
	uint64_t arena_at, tier_at, bytes;
	const uint64_t *after; /* [n_channels] number it waits for; 0: none */
	uint32_t n_channels;
};

struct sl_engine_wire {
	void *ctx;
	/* At a boundary: steps have at most so many copies of this channel from now on.
	 */
	sl_status (*fit)(void *ctx, uint32_t channel, uint64_t copies);
	sl_status (*copy)(void *ctx, const struct sl_wire_copy *c);
	sl_status (*wait)(void *ctx, uint32_t channel, uint64_t number);
	/* In the compute queue; the ranges may overlap. */
	sl_status (*move)(void *ctx, uint64_t to, uint64_t from, uint64_t bytes);
	sl_status (*fill)(void *ctx, uint64_t at, int byte, uint64_t bytes);
	/* A copy in the compute queue, of no channel and after nothing else. */
	sl_status (*hop)(void *ctx, const struct sl_wire_copy *c);
	/* At a boundary, after a settle; done when they return. */
	sl_status (*read)(void *ctx, uint64_t at, void *data, size_t len);
	sl_status (*write)(void *ctx, uint64_t at, const void *data, size_t len);
	/* Waits until all queues are empty. */
	sl_status (*settle)(void *ctx);
};

#endif
