/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_BATCH_H
#define SL_SHARE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "sluice/status.h"

/*
 * When a service starts its next batch. While turns come at once it starts with what is
 * there; where others want the device, it gathers as long as the objectives of its
 * requests allow, so that batches are full and others have the device meanwhile. Pure:
 * time is what the caller says.
 *
 * A request that came at `at` with objective `within` is due at at + within; nine tenths
 * of that are aimed at. A batch takes about `run`, waiting for its turn included; this
 * follows what was measured, upwards at once and downwards by an eighth.
 */
struct sl_batch_request {
	uint64_t id;
	sl_ns at_ns, due_ns;
};

struct sl_batcher {
	struct sl_batch_request
		*queue; /* by due, earliest first; equal: in order of arrival
			 */
	size_t n, cap;
	uint32_t most; /* samples of a batch */
	sl_ns run_ns;
	bool contended; /* the last turn had to be waited for */
};

#define SL_BATCH_QUEUE 4096u /* requests that wait at a time */

void sl_batcher_init(struct sl_batcher *b, uint32_t most, sl_ns run_ns);
void sl_batcher_finish(struct sl_batcher *b);
/* SL_E_BUSY when SL_BATCH_QUEUE requests wait, SL_E_NOMEM. */
SL_NODISCARD sl_status sl_batcher_add(
	struct sl_batcher *b, const struct sl_batch_request *r);
/* When to ask for the turn: now or earlier if a batch is full or an objective would be
 * missed; -1: nothing waits. */
sl_ns sl_batcher_start(const struct sl_batcher *b, sl_ns now_ns);
/* Takes the most urgent requests, at most b->most; returns how many. */
size_t sl_batcher_take(struct sl_batcher *b, struct sl_batch_request *out);
/* What the last batch took, from asking for the turn to its end, and how much of that was
 * waiting for the turn. */
void sl_batcher_measured(struct sl_batcher *b, sl_ns run_ns, sl_ns wait_ns);

#endif
