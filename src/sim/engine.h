/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SIM_ENGINE_H
#define SL_SIM_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

/*
 * Virtual time: a clock in nanoseconds and a queue of what happens when. One thread; no
 * state outside the object. Events of one instant happen in the order in which they were
 * asked for, so that a run is a function of its inputs.
 */
typedef sl_status (*sl_sim_fn)(void *ctx, uint64_t arg);

struct sl_sim_event {
	uint64_t at_ns;
	uint64_t order;
	sl_sim_fn fn;
	void *ctx;
	uint64_t arg;
};

struct sl_sim {
	uint64_t now_ns;
	struct sl_sim_event *heap;
	size_t n, cap;
	uint64_t asked;
};

/* Zeroed is at time 0 without events. */
void sl_sim_finish(struct sl_sim *s);
/* Calls fn(ctx, arg) at that time; now, if it is over. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_sim_at(
	struct sl_sim *s, uint64_t at_ns, sl_sim_fn fn, void *ctx, uint64_t arg);
/* Runs until no event is left; the first failure of one ends it. SL_E_LIMIT where time
 * ends, at UINT64_MAX. */
SL_NODISCARD sl_status sl_sim_run(struct sl_sim *s);

#endif
