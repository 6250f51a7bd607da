/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_LANE_H
#define SL_SHARE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/job.h"

/* A lane: scratch that its jobs use one at a time; lanes run side by side. */
struct sl_lane {
	bool open;
	bool dirty; /* may be larger than its jobs need */
	uint64_t size_bytes; /* at least the largest E of its jobs */
	uint32_t members;
	uint32_t holder; /* the job whose turn it is; SL_JOB_NONE: at a boundary */
};

struct sl_lanes {
	struct sl_lane *items;
	size_t n, cap; /* items below n were open once */
	uint32_t open, most; /* most open at a time; 0: as many as fit */
	uint64_t granted_bytes, capacity_bytes; /* sum of P and of lanes; of the device */
};

struct sl_lane_fit {
	bool fits;
	uint32_t lane; /* where; an item that is not open, or n: a new one */
	uint64_t size_bytes; /* of the lane then */
};

/*
 * The rule of the paper (Salus, MLSys 2020) for a job (P, E), with C the capacity:
 * 1. sum P + P + sum L + E <= C: open a lane of size E;
 * 2. else the smallest lane with L >= E, if sum P + P + sum L <= C: join it;
 * 3. else, in ascending order of L, grow lane r to E if sum P + P + sum L - L_r + E <= C;
 * 4. else it waits.
 * at_boundary: only lanes that nobody holds are joined or grown.
 */
struct sl_lane_fit sl_lane_find(const struct sl_lanes *v, uint64_t persistent,
	uint64_t ephemeral, bool at_boundary);

#endif
