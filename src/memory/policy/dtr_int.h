/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_DTR_INT_H
#define SL_MEMORY_POLICY_DTR_INT_H

#include "memory/policy/dtr.h"

/* What dtr_sim.c (the run time), dtr_begin.c (its tables) and dtr_score.c (who leaves)
 * share. */
/* Steps from value to value; more, and it failed. */
#define SL_DTR_MOST_WORK ((uint64_t)1 << 29)

/* An op that runs, or waits for what it reads to be rebuilt. */
struct sl_dtr_frame {
	uint32_t op, target; /* target: the value that it is run for */
	uint32_t next; /* input to look at */
	uint32_t held; /* first of its marks: inputs that it locked */
};

struct sl_dtr {
	const struct sl_lineage *l;
	const struct sl_trace *t;
	struct sl_dtr_rules rules;
	struct sl_runs *runs;
	struct sl_dtr_result result;
	uint64_t clock, used, work;
	uint32_t at; /* the op in its turn */
	bool failed;
	/* [n_values] of roots that do not persist. */
	uint8_t *there, *pinned, *dirty;
	uint32_t *locks;
	uint64_t *last; /* clock of the last use */
	uint64_t *ns; /* of all that wrote it so far */
	double *around; /* time of what is gone around it, unless dirty */
	uint32_t *wanted; /* and the next op that wants it */
	uint32_t *cursor; /* into uses: the next one */
	uint32_t *early_first,
		*early; /* [n_ops + 2]; ops by when they want their inputs */
	uint64_t *start_ns; /* [n_ops + 1] in the trace's time */
	uint32_t *after, *before; /* the pool, in order of joining; n_values: its ends */
	uint32_t *stamp, *stack, now;
	uint32_t *expiring_first, *expiring; /* [n_ops + 2]; values by expiry */
	uint32_t *node; /* [n_values] its class, or SL_NO_ID */
	uint32_t *class_up; /* classes: union-find */
	double *class_ns;
	size_t n_classes, cap_class_up, cap_class_ns;
	struct sl_dtr_frame *frames;
	uint8_t *marks;
	size_t n_frames, cap_frames, n_marks, cap_marks;
};

static inline uint32_t sl_dtr_root(const struct sl_dtr *d, uint32_t v)
{
	return sl_trace_root(d->t, v);
}

/* Inputs of an op: what it reads, then what it changes. */
static inline uint32_t sl_dtr_inputs(const struct sl_trace_op *o)
{
	return o->n_in + o->n_mutates;
}
static inline uint32_t sl_dtr_input(const struct sl_dtr *d, uint32_t op, uint32_t k)
{
	const struct sl_trace_op *o = &d->t->ops[op];

	return sl_dtr_root(d, k < o->n_in ? o->in[k] : o->mutates[k - o->n_in]);
}
/* Results: what it bears, then what it changes. */
static inline uint32_t sl_dtr_results(const struct sl_trace_op *o)
{
	return o->n_out + o->n_mutates;
}
static inline uint32_t sl_dtr_made(const struct sl_dtr *d, uint32_t op, uint32_t k)
{
	const struct sl_trace_op *o = &d->t->ops[op];

	return sl_dtr_root(d, k < o->n_out ? o->out[k] : o->mutates[k - o->n_out]);
}

SL_NODISCARD sl_status sl_dtr_begin(struct sl_dtr *d);
void sl_dtr_finish(struct sl_dtr *d);
uint64_t sl_dtr_room(const struct sl_dtr *d, uint32_t v);
/* The value of the pool with the lowest score, the last one of equals; SL_NO_ID: none. */
uint32_t sl_dtr_choose(struct sl_dtr *d, uint64_t missing);
/* v was there and is gone, or the other way round. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_dtr_score_gone(struct sl_dtr *d, uint32_t v);
void sl_dtr_score_back(struct sl_dtr *d, uint32_t v);
/* v is about to be born. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_dtr_score_new(struct sl_dtr *d, uint32_t v);

#endif
