/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_WIRE_H
#define SL_SESSION_WIRE_H

#include "device/device.h"
#include "exec/exec.h"
#include "memory/tier/tier.h"
#include "memory/wire.h"

/*
 * Steps on a device whose memory the host cannot touch: the engine's wire (memory/wire.h)
 * with one stream a channel beside the compute stream, kernels launched on the latter,
 * and samples and results that pass through pinned memory in its order. Used by the
 * session's thread.
 *
 *   stream       does                                            waits for
 *   compute      kernels, moves, samples in, results out         copies that the engine
 * names a channel's  the channel's copies, in order                  compute as of the
 * issue; other channels' copies
 *
 * 1. The host waits nowhere between begin and end of a step, unless kernels that only
 * enqueue are to be timed.
 * 2. What a stream still needs - calls, pieces, samples - lives until all streams were
 * found empty.
 * 3. After a failure the streams are not used again.
 */
struct sl_wire_opts {
	struct sl_device *device; /* borrowed, as all below */
	uint8_t *arena; /* its base */
	struct sl_tier *const
		*tiers; /* what has memory has pinned memory of the device */
	uint32_t n_tiers;
	bool launches; /* kernels are host functions: launching submits them */
};

struct sl_wire;
SL_NODISCARD sl_status sl_wire_create(
	const struct sl_wire_opts *opts, struct sl_wire **out);
/* Waits for what is under way; nothing of a step is needed afterwards. NULL is fine. */
void sl_wire_destroy(struct sl_wire *w);

/* For the engine; lives as long as w. */
const struct sl_engine_wire *sl_wire_engine(const struct sl_wire *w);
struct sl_stream *sl_wire_compute(const struct sl_wire *w);

/*
 * Before a step of p: run's feed and fetch are called through the wire, at the place of
 * their nodes and after the step, both with host memory. Gives what the executor needs.
 */
SL_NODISCARD sl_status sl_wire_begin(
	struct sl_wire *w, const struct sl_program *p, struct sl_exec *x);
/* After a step, good or not: waits for the streams and hands results out. */
SL_NODISCARD sl_status sl_wire_end(struct sl_wire *w, sl_status st);

#endif
