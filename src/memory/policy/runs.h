/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_RUNS_H
#define SL_MEMORY_POLICY_RUNS_H

#include "memory/plan.h"

/*
 * An iteration without copies, written down as it goes: every op in its turn, ops that
 * run again in between, and what is given up meanwhile. For policies that decide by
 * simulation; those that decide fates use gaps.h. Persistent values never leave.
 *
 * A stay is what lies between a value's birth (first time or again) and its last touch;
 * giving a value up ends its stay at the last touch before, as nobody looks at it since.
 */
struct sl_runs_step {
	uint32_t op;
	uint32_t before; /* runs again before this op; op itself: in its turn */
};

struct sl_runs_stay {
	uint32_t value;
	uint32_t first, last; /* steps, both included */
};

struct sl_runs {
	const struct sl_trace *t;
	struct sl_runs_step *steps;
	struct sl_runs_stay *stays; /* by first step */
	uint32_t *open; /* [n_values] the stay under way, or SL_NO_ID */
	uint32_t n_steps, n_stays;
	size_t cap_steps, cap_stays;
	bool thorough; /* addresses are worth some 30 ms of search */
};

#define SL_RUNS_MAX_STEPS ((size_t)1 << 24)

/* SL_E_NOMEM; t is borrowed. */
SL_NODISCARD sl_status sl_runs_init(struct sl_runs *r, const struct sl_trace *t);
void sl_runs_finish(struct sl_runs *r); /* zeroed: fine */
/* Forgets all steps. */
void sl_runs_reset(struct sl_runs *r);
/* Op runs, again if it is another than `before`, and bears what is not there of its
 * outputs. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_runs_add(struct sl_runs *r, uint32_t op, uint32_t before);
/* v is given up since its last touch; nothing if it is not there. */
static inline void sl_runs_drop(struct sl_runs *r, uint32_t v)
{
	r->open[v] = SL_NO_ID;
}

/*
 * The plan of the steps. *out_height: the arena it needs; above `budget` out is left
 * empty and the status is SL_OK. Contents are the caller's care, the checker's business.
 */
SL_NODISCARD sl_status sl_runs_lower(const struct sl_runs *r, uint64_t budget,
	const char *policy, struct sl_plan *out, uint64_t *out_height);

#endif
