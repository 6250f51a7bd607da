/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_REPRO_INT_H
#define SL_SESSION_REPRO_INT_H

#include "memory/policy/policy.h"
#include "memory/replay.h"
#include "session/planner_int.h"

/*
 * A model's step at one batch size, planned at budgets in SL_REPRO_LEVELS equal steps
 * from the least one (level 0) to the unbudgeted peak (the last level). Plans are kept.
 */
#define SL_REPRO_LEVELS 64
#define SL_REPRO_MAX_COPIES 3

/*
 * COLD: the first plan of a training, made before anything ran: from predicted latencies,
 * which are the cost book's and as wrong as a fitted book is (repro_errors.def), as if
 * the job were alone, and quickly where it has many ops.
 * WARM, WARM_2, WARM_3: the second plan, made meanwhile and with all effort, from the
 * latencies measured while so many copies carried the cold plan of that budget out, and
 * the job's part of the links.
 * COLD_ALL: what the cold plan would be with all effort, to tell the two apart.
 * All are priced with true times, and none falls back on another.
 */
enum sl_repro_kind {
	SL_REPRO_COLD,
	SL_REPRO_WARM,
	SL_REPRO_WARM_2,
	SL_REPRO_WARM_3,
	SL_REPRO_COLD_ALL,
	SL_REPRO_KINDS
};

struct sl_repro_job {
	struct sl_planner *planner; /* its trace has the true times */
	uint64_t base_ns; /* their sum */
	struct sl_plan *plans[SL_REPRO_KINDS][SL_REPRO_LEVELS + 1]; /* NULL: not made */
};

struct sl_repro_point {
	double msr, eor;
	double next_msr; /* that the next lower budget would promise */
	uint32_t level;
};

struct sl_repro_ask {
	enum sl_repro_kind kind;
	uint32_t copies; /* that carry the plan out */
	double eor_limit;
	bool every;
};

SL_NODISCARD sl_status sl_repro_open(
	const char *model, int64_t batch, struct sl_repro_job *out);
void sl_repro_close(struct sl_repro_job *j); /* zeroed: fine */
/* n copies, each planned for an equal part of the budget. */
SL_NODISCARD sl_status sl_repro_measure(struct sl_repro_job *j, enum sl_repro_kind kind,
	uint32_t copies, uint32_t level, struct sl_repro_point *out);
/*
 * The least level whose EOR is within the limit. `every`: of those near the one where
 * bisection ends each is tried, and as many again below each that is within; else some.
 */
SL_NODISCARD sl_status sl_repro_search(struct sl_repro_job *j,
	const struct sl_repro_ask *ask, struct sl_repro_point *out);
/* The most that can be saved, whatever it costs: everything leaves whenever it is not in
 * use, or all but what would be away over the boundary. */
SL_NODISCARD sl_status sl_repro_most(struct sl_repro_job *j, bool cross, double *msr);
/* The published rules for that many copies, by their own booking. */
SL_NODISCARD sl_status sl_repro_greedy(
	struct sl_repro_job *j, uint32_t copies, struct sl_repro_point *out);

/* repro_times.c: the job's trace with times of its own, which are finished by the caller
 * (sl_repro_forget): predicted, and corrected as a training corrects its own, by what
 * so many copies of a plan made of the predicted ones measure. */
SL_NODISCARD sl_status sl_repro_predict(
	const struct sl_repro_job *j, struct sl_trace *view);
SL_NODISCARD sl_status sl_repro_correct(const struct sl_repro_job *j,
	const struct sl_plan *plan, uint32_t copies, struct sl_trace *view);
void sl_repro_forget(struct sl_trace *view); /* zeroed: fine */
/* Copies of the job that begin one after the other, a part of a step apart, with true
 * times; `opts` says how, but for its jobs. end_ns may be NULL. */
SL_NODISCARD sl_status sl_repro_replay(const struct sl_repro_job *j,
	const struct sl_plan *plan, uint32_t copies, const struct sl_replay_opts *opts,
	uint64_t *end_ns);

#endif
