/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_REPLAY_H
#define SL_MEMORY_REPLAY_H

#include "memory/plan.h"

/*
 * Carries plans out in virtual time, event by event: one or several jobs, each a trace
 * with a plan, over wires that they share. Shares no code with sl_plan_price, which it
 * must agree with for one job.
 *
 * 1. Ops of a job run in order; an op waits until its inputs have arrived and no copy
 * uses the bytes it will write any more. Actions happen when the job comes to their
 * position.
 * 2. A job's copies on one direction of a link are first in first out; links of half
 * duplex between the same places have one such queue. A copy in holds its bytes from its
 * start, a copy out until its end.
 * 3. Jobs share a wire's direction equally while both copy. Wires are the same if their
 * ends have the same names in both traces.
 * 4. One device executes one op (or move, or op run again) at a time, in the order in
 * which jobs became ready; with own_compute each job has a device of its own.
 * 5. An iteration ends when the job's last copy does; the next begins then.
 */
enum sl_replay_kind {
	SL_REPLAY_OP,
	SL_REPLAY_AGAIN,
	SL_REPLAY_MOVE,
	SL_REPLAY_OUT,
	SL_REPLAY_IN
};

/* Something that is over. */
struct sl_replay_span {
	enum sl_replay_kind kind;
	uint32_t job, iteration;
	uint32_t id; /* op, or value of a move, out, in */
	uint32_t channel; /* of out and in */
	/* From asked to begin, what the device runs was ready and another job's turn it
	 * was; a copy begins when it is the first of its queue. */
	uint64_t asked_ns, begin_ns, end_ns;
	uint64_t bytes; /* moved */
	uint64_t held_bytes; /* by the job on the device, afterwards */
};

struct sl_replay_job {
	const struct sl_trace *trace;
	const struct sl_plan *plan; /* sound; checked */
	uint64_t phase_ns; /* when its first iteration begins */
	uint32_t iterations; /* 0 means 1 */
};

struct sl_replay_opts {
	const struct sl_replay_job *jobs;
	uint32_t n_jobs;
	bool own_compute;
	bool bare; /* no actions: everything stays on the device; the baseline */
	sl_status (*span)(void *ctx, const struct sl_replay_span *s); /* may be NULL */
	void *ctx;
};

/* Of one job; sums are over all its iterations. */
struct sl_replay_result {
	uint64_t base_iter_ns; /* sum of the durations of an iteration's ops */
	uint64_t first_iter_ns;
	uint64_t steady_iter_ns; /* mean of the others; of one alone, its own */
	uint64_t end_ns;
	uint64_t turn_ns; /* waited for the device while another job used it */
	uint64_t recompute_ns, recompute_ops;
	uint64_t stall_ns; /* what is left: waits for copies, and moves */
	uint64_t swap_out_bytes, swap_in_bytes, move_bytes;
	uint64_t swap_ins, passive_swap_ins; /* passive: something had to wait for it */
	uint64_t peak_bytes; /* highest device byte in use, by position */
	uint64_t held_peak_bytes; /* most bytes in use at any time */
};

#define SL_REPLAY_NAME 32
/* One direction of a wire that carried something. */
struct sl_replay_link {
	char from[SL_REPLAY_NAME], to[SL_REPLAY_NAME]; /* of half duplex, either way */
	bool half_duplex;
	uint64_t bytes, busy_ns;
};

struct sl_replay_total {
	uint64_t end_ns; /* of the last job */
	uint64_t held_peak_bytes; /* most bytes of all jobs together at any time */
	uint64_t compute_ns; /* the devices were busy, summed */
	struct sl_replay_link *links;
	uint32_t n_links;
};

/*
 * results: [n_jobs]; total is finished by the caller. SL_E_NO for a plan that is not
 * sound, SL_E_NOMEM, and what `span` returns.
 */
SL_NODISCARD sl_status sl_replay(const struct sl_replay_opts *opts,
	struct sl_replay_result *results, struct sl_replay_total *total);
void sl_replay_total_finish(struct sl_replay_total *t);

#endif
