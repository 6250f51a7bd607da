/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_WIRE_INT_H
#define SL_SESSION_WIRE_INT_H

#include "base/arena.h"
#include "session/wire.h"

/* The wire's parts, for wire*.c only. */
#define SL_WIRE_CHANNELS 16u

struct sl_wire_channel {
	struct sl_stream *stream; /* NULL: not used yet */
	uint8_t *stage; /* pinned, SL_TIER_CHUNK_BYTES: on the way to a tier that is no
			   memory */
	/* By number & (cap - 1): passed when the copy is done; the compute stream as of
	 * its issue. */
	struct sl_fence **done, **ready;
	uint64_t cap; /* a power of two */
};

/* A result on its way out. */
struct sl_wire_fetch {
	const char *name;
	uint32_t part;
	void *data;
	const struct sl_type *type;
};

struct sl_wire {
	struct sl_wire_opts opts;
	struct sl_engine_wire engine;
	struct sl_launcher launcher;
	struct sl_stream *compute;
	uint8_t *stage; /* pinned, SL_TIER_CHUNK_BYTES */
	struct sl_wire_channel channels[SL_WIRE_CHANNELS];
	sl_status failed;
	char why[512];
	struct sl_arena parts; /* of what is under way */

	/* Of the step. */
	const struct sl_program *program;
	struct sl_run run, given;
	uint8_t *io; /* pinned */
	uint64_t io_bytes, io_used;
	struct sl_wire_fetch *fetches;
	size_t n_fetches, cap_fetches;
};

/* Waits for all streams; a failure is kept. What was under way is forgotten. */
SL_NODISCARD sl_status sl_wire_settle(struct sl_wire *w);

/* wire_step.c */
void sl_wire_step_init(struct sl_wire *w);
void sl_wire_step_finish(struct sl_wire *w);

#endif
