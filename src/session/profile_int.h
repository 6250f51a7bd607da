/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_PROFILE_INT_H
#define SL_SESSION_PROFILE_INT_H

#include "base/arena.h"
#include "base/event.h"
#include "kernel/peak.h"
#include "sluice/profile.h"

/*
 * The parts of a profile, for profile*.c only.
 *
 *   profile.c         runs the steps
 *   profile_steps.c   from the events of a step to times: pure
 *   profile_table.c   from times to rows and the summary: pure
 *   profile_trace.c   the timeline
 */
struct sl_profile_op {
	const char *op, *kernel, *scope, *shapes; /* in the arena */
	double flops, bytes;
};

/* Of a step, a channel. */
struct sl_profile_copies {
	double copies, bytes, ns, wait_ns;
};

struct sl_profile_step {
	sl_ns begin, end;
	float *op_ns, *again_ns; /* [n_ops] */
	uint32_t again; /* runs */
	double ops_ns, agains_ns, wait_ns, moved_bytes; /* sums */
	struct sl_profile_copies channels[SL_PROFILE_CHANNELS];
	size_t first_event, n_events; /* of sl_profile.events */
};

struct sl_profile {
	struct sl_arena arena;
	struct sl_profile_op *ops; /* [n_ops] */
	uint32_t n_ops;
	const char **values; /* names by id, for the timeline; NULL: not kept */
	uint32_t n_values;
	struct sl_profile_step *steps; /* [cap_steps] */
	size_t n_steps, cap_steps;
	struct sl_event *events; /* of all steps; NULL: not kept */
	size_t n_events, cap_events;
	struct sl_peak peak;
	struct sl_profile_summary summary;
};

/* Room for so many ops and steps. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_profile_init(
	struct sl_profile *p, uint32_t n_ops, size_t n_steps);
void sl_profile_finish(struct sl_profile *p);
/*
 * Adds a step that took from begin to end, with its events, oldest first: op-begin and
 * op-end pairs, copies, waits, moves. Events before begin do not count, nor pairs without
 * a beginning. SL_E_LIMIT past cap_steps.
 */
SL_NODISCARD sl_status sl_profile_add_step(struct sl_profile *p, sl_ns begin, sl_ns end,
	const struct sl_event *events, size_t n);
/* Fills in what follows from steps, ops and peak; the rest of the summary stays. */
SL_NODISCARD sl_status sl_profile_sum_up(struct sl_profile *p);
/* Nanoseconds that the peaks allow at least. */
double sl_profile_least_ns(const struct sl_peak *peak, double flops, double bytes);

#endif
