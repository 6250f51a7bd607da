/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_TENSILE_PUBLISHED_INT_H
#define SL_MEMORY_POLICY_TENSILE_PUBLISHED_INT_H

#include "memory/policy/tensile_published.h"

/*
 * SWAPPED: its copy out is before the use that the first copy in serves. CROSSED: after
 * the last use, and the copy in before the first one of the next iteration. GIVEN_UP: to
 * swap it was found worthless. SOURCE: what runs again reads it, so that it stays.
 */
enum sl_tp_state {
	SL_TP_PLAIN,
	SL_TP_SWAPPED,
	SL_TP_CROSSED,
	SL_TP_REDONE,
	SL_TP_GIVEN_UP,
	SL_TP_SOURCE
};

struct sl_tp_event {
	uint64_t at_ns;
	int64_t bytes;
	uint32_t value; /* SL_NO_ID: a workspace */
};

struct sl_tp_pick {
	uint32_t job, value;
	uint64_t bytes;
};

static inline bool sl_tp_persists(const struct sl_tp_job *j, uint32_t v)
{
	return sl_class_persistent(j->t->values[v].cls);
}
static inline uint64_t sl_tp_start(const struct sl_tp_job *j, uint32_t use)
{
	return j->op_end[j->x.uses[use].op];
}
static inline uint64_t sl_tp_end(const struct sl_tp_job *j, uint32_t use)
{
	return j->op_end[j->x.uses[use].op + 1];
}
uint64_t sl_tp_out_ns(const struct sl_tp_job *j, uint32_t v);
uint64_t sl_tp_in_ns(const struct sl_tp_job *j, uint32_t v);

/* tensile_seq.c: a job's accesses on the time line, and its bytes over time. */
SL_NODISCARD sl_status sl_tp_job_init(
	struct sl_tp_job *j, const struct sl_trace *t, const struct sl_tp_wire *wire);
void sl_tp_job_finish(struct sl_tp_job *j);
/* Books v's bytes anew after its tasks changed, and sweeps the job. */
SL_NODISCARD sl_status sl_tp_rebook(struct sl_tp_job *j, uint32_t v);
/* The first use of v that has a copy in; x.first[v + 1] if none has. */
uint32_t sl_tp_first_in(const struct sl_tp_job *j, uint32_t v);
/* Fills in the tasks from the tables. */
SL_NODISCARD sl_status sl_tp_list_tasks(struct sl_tp_job *j);

/* tensile_swap.c: copies of one value on a channel. False: nothing was placed. */
SL_NODISCARD sl_status sl_tp_swap_normal(
	struct sl_tp *p, uint32_t job, uint32_t v, uint64_t close_ns, bool *out_done);
SL_NODISCARD sl_status sl_tp_cross_iteration(
	struct sl_tp *p, uint32_t job, uint32_t v, bool *out_done);
/* Takes all copies of v off the channel again. */
void sl_tp_undo(struct sl_tp *p, uint32_t job, uint32_t v);

#endif
