/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_REPRO_INT_H
#define SL_SESSION_REPRO_INT_H

#include "memory/policy/policy.h"
#include "session/planner_int.h"

/*
 * A model's step at one batch size, planned at budgets in SL_REPRO_LEVELS equal steps
 * from the least one (level 0) to the unbudgeted peak (the last level). Plans are kept.
 */
#define SL_REPRO_LEVELS 64
#define SL_REPRO_MAX_COPIES 3

enum sl_repro_kind { SL_REPRO_WARM, SL_REPRO_COLD, SL_REPRO_KINDS };

struct sl_repro_job {
	struct sl_planner *planner;
	uint64_t *true_ns; /* [n_ops]; the trace has these, but while a cold plan is made
			    */
	uint64_t base_ns; /* their sum */
	struct sl_plan *plans[SL_REPRO_KINDS][SL_REPRO_LEVELS + 1]; /* NULL: not made */
};

struct sl_repro_point {
	double msr, eor;
};

SL_NODISCARD sl_status sl_repro_open(
	const char *model, int64_t batch, struct sl_repro_job *out);
void sl_repro_close(struct sl_repro_job *j); /* zeroed: fine */
/* n copies, each planned for an equal part of the budget. */
SL_NODISCARD sl_status sl_repro_measure(struct sl_repro_job *j, enum sl_repro_kind kind,
	uint32_t copies, uint32_t level, struct sl_repro_point *out);
/* The least level whose EOR is within the limit, by bisection; steps: at most. */
SL_NODISCARD sl_status sl_repro_search(struct sl_repro_job *j, enum sl_repro_kind kind,
	uint32_t copies, double eor_limit, uint32_t *level, struct sl_repro_point *out);
/* The most that can be saved, whatever it costs: everything leaves whenever it is not in
 * use, or all but what would be away over the boundary. */
SL_NODISCARD sl_status sl_repro_most(struct sl_repro_job *j, bool cross, double *msr);
/* The published rules for that many copies, by their own booking. */
SL_NODISCARD sl_status sl_repro_greedy(
	struct sl_repro_job *j, uint32_t copies, struct sl_repro_point *out);

#endif
