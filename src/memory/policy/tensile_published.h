/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_TENSILE_PUBLISHED_H
#define SL_MEMORY_POLICY_TENSILE_PUBLISHED_H

#include "memory/plan.h"

/*
 * The scheduler of [tensile] as published, in nanoseconds, over one or several traces at
 * once. Deterministic; knows times and bytes, no addresses. Bytes are booked as they are
 * held: an output from its op's start, a copy in from its start, a copy out until its
 * end, a workspace during its op. Every iteration starts at 0; what is planned is the
 * steady one.
 */
#define SL_TP_NEVER UINT64_MAX

struct sl_tp_options {
	/* Bytes for all jobs: from there on nothing is recomputed. */
	uint64_t target_bytes;
	uint32_t max_rounds; /* 0: as many as the stop rule allows */
	double weight; /* of each job, for fairness; 0 is 1 */
	bool no_cross_iteration, no_recompute; /* ablations */
	bool early_close; /* the window out ends at the last input access before the peak,
			     as the code of the paper has it, instead of at the peak */
	bool skip_worthless; /* undo what lowers neither the peak nor the time spent there
			      */
	bool retry_swaps; /* swap again once something is recomputed */
	bool channel_per_job; /* jobs do not see each other's copies: a fault kept */
};

/* How fast copies are, per job: bytes over rate, plus latency. Rate 0: no swapping. */
struct sl_tp_wire {
	uint64_t out_bytes_per_s, in_bytes_per_s;
	uint64_t out_latency_ns, in_latency_ns;
};

/* What happens to a value, in order of start. OUT frees the device at its end. */
struct sl_tp_task {
	uint32_t value;
	enum sl_action_kind kind; /* OUT, IN, DROP_CLEAN, DROP or RECOMPUTE */
	uint32_t ref; /* op after which it is due; SL_NO_ID: the start */
	uint64_t delay_ns; /* after the end of ref */
	uint64_t start_ns, end_ns;
};

struct sl_tp_event; /* tensile_published_int.h */

/* What happens before a use of a value, since the use before it. */
struct sl_tp_use {
	uint64_t in_ns; /* a copy in starts; SL_TP_NEVER: none */
	bool redo; /* its producer runs again at the start of the use */
};

struct sl_tp_job {
	/* Results. */
	struct sl_tp_task *tasks;
	uint32_t n_tasks;
	uint64_t first_peak, peak; /* without and with the plan */
	uint64_t peak_ns; /* when it is first reached */
	uint64_t at_peak_ns; /* for how long it is held in all */
	uint64_t iter_ns; /* sum of op times */
	uint64_t end_ns; /* with copies that go on after the last op */
	uint64_t redo_ns; /* recomputation, in no iteration time above */
	uint32_t swaps, redos; /* values */
	/* Of the scheduler. Arrays by value, use or op of the trace. */
	const struct sl_trace *t;
	struct sl_trace_index x;
	struct sl_tp_wire wire;
	uint64_t *op_end; /* [n_ops + 1] end of op i is op_end[i + 1]; [0] is 0 */
	struct sl_tp_use *uses;
	uint64_t *out_ns; /* [n_values] its copy out starts; SL_TP_NEVER: none */
	uint8_t *state; /* [n_values] enum sl_tp_state */
	bool *held; /* [n_values] on the device at the peak */
	struct sl_tp_event *events, *spare;
	size_t n_events, cap_events, cap_spare;
	uint32_t n_tensors; /* roots */
};

struct sl_tp_busy {
	uint64_t start, end;
};
struct sl_tp_channel {
	struct sl_tp_busy *busy; /* ascending, apart */
	size_t n, cap;
};

struct sl_tp {
	struct sl_tp_options opt;
	struct sl_tp_job *jobs;
	struct sl_tp_channel *channels; /* one, or one a job */
	uint32_t n_jobs;
	uint32_t rounds;
	uint64_t peak; /* sum over jobs: they are not in phase */
	struct sl_tp_pick *order; /* every movable value, largest first */
	size_t n_order;
};

/*
 * Describes the jobs; nothing is planned yet. traces[i] goes over wires[i] and has to
 * outlive p. SL_E_NOMEM.
 */
SL_NODISCARD sl_status sl_tp_init(struct sl_tp *p, const struct sl_trace *const *traces,
	const struct sl_tp_wire *wires, uint32_t n_jobs, const struct sl_tp_options *opt);
/* The greedy, once. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_tp_run(struct sl_tp *p);
void sl_tp_finish(struct sl_tp *p); /* zeroed: fine */

/* Bytes of a job on the device from at_ns to at_ns + 1. */
uint64_t sl_tp_level(const struct sl_tp_job *job, uint64_t at_ns);
/* The wire of a trace: its fastest tier. */
struct sl_tp_wire sl_tp_wire_of(const struct sl_trace *t);

/*
 * The plan of the published schedule for one job, under the name `policy`; belady's where
 * the schedule does not fit the budget. opt may be NULL; its target is the budget.
 * Errors are those of belady.
 */
SL_NODISCARD sl_status sl_tensile_published_plan(const struct sl_trace *t,
	uint64_t budget, const char *policy, const struct sl_tp_options *opt,
	struct sl_plan *out);

#endif
