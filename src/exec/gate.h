/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_EXEC_GATE_H
#define SL_EXEC_GATE_H

#include <stdbool.h>

#include "base/clock.h"
#include "sluice/status.h"

/*
 * May a job use its lane now? Between iterations it asks, and it may have to wait until
 * others had their turn (Salus, MLSys 2020). A job that has the device to itself has no
 * gate. One thread calls; between leave and enter the lane's bytes are another's, what
 * stays over the boundary (P) is the job's own all the time.
 */
struct sl_gate {
	void *ctx;
	/* Returns when the turn is the caller's. SL_E_LOST: the memory was taken away;
	 * SL_E_INTERRUPTED: somebody asked for the end meanwhile. */
	sl_status (*enter)(void *ctx);
	/* Whether leave would give the turn away: copies under way must then have ended.
	 */
	bool (*wanted)(void *ctx);
	/* An iteration is over; used_ns of it. rests: other work than iterations comes
	 * next, and the turn is given away whoever wants it; copies have ended. */
	sl_status (*leave)(void *ctx, sl_ns used_ns, bool rests);
	/* The same outside of turns: none is wanted until the next enter. */
	sl_status (*idle)(void *ctx);
	/* While idle: does what is asked of it meanwhile. Memory may be gone until the
	 * next enter. */
	sl_status (*tend)(void *ctx);
	/* Whether the memory was taken away meanwhile: asked before each op. */
	bool (*lost)(void *ctx);
	/* SL_E_LOST with the reason, once it was; NULL: nobody knows one. */
	sl_status (*reason)(void *ctx);
};

#endif
