/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_OPTIMAL_INT_H
#define SL_MEMORY_POLICY_OPTIMAL_INT_H

#include "memory/plan.h"

/*
 * What the solvers of `optimal` share. A schedule that recomputes is a list of runs:
 * every op of the trace in its turn and, in between, earlier ones again. It says all: a
 * value stays from the run that bears it to its last touch before the next run that does,
 * which is the least memory that these runs can do with.
 */
struct sl_order {
	uint32_t *ops;
	size_t n, cap;
	uint64_t again_ns; /* of runs that are not the first */
};

SL_NODISCARD sl_status sl_order_add(struct sl_order *r, uint32_t op);
void sl_order_finish(struct sl_order *r); /* zeroed: fine */

/* Of each op whether it may run again at all, and of each root who bears it. */
struct sl_optimal {
	const struct sl_trace *t;
	uint64_t base; /* the end of what persists, which stays */
	bool *rerun; /* [n_ops] pure, changes nothing that persists, all it bears may go
		      */
	uint32_t *birth; /* [n_values] the op that bears a root; SL_NO_ID: none */
};

SL_NODISCARD sl_status sl_optimal_begin(struct sl_optimal *o, const struct sl_trace *t);
void sl_optimal_finish(struct sl_optimal *o); /* zeroed: fine */

static inline bool sl_optimal_persists(const struct sl_trace *t, uint32_t root)
{
	return sl_class_persistent(t->values[root].cls);
}

/*
 * optimal_lower.c: the plan of these runs. *out_load: the most bytes at a time, whatever
 * the addresses. *out is empty where they need more than the budget.
 */
SL_NODISCARD sl_status sl_order_lower(const struct sl_optimal *o,
	const struct sl_order *r, uint64_t budget, const char *policy,
	struct sl_plan *out, uint64_t *out_load);

/* All that an op touches: what it reads, then what it writes. */
static inline uint32_t sl_op_touches(const struct sl_trace_op *o)
{
	return o->n_in + o->n_mutates + o->n_out;
}

/* The root of the i-th of these. */
static inline uint32_t sl_op_touch(const struct sl_trace *t, uint32_t op, uint32_t i)
{
	const struct sl_trace_op *o = &t->ops[op];

	if (i < o->n_in)
		return sl_trace_root(t, o->in[i]);
	i -= o->n_in;
	return sl_trace_root(
		t, i < o->n_mutates ? o->mutates[i] : o->out[i - o->n_mutates]);
}

/* Whether op touches v, from the first-th touch on (n_in: writes it). */
static inline bool sl_op_has(
	const struct sl_trace *t, uint32_t op, uint32_t v, uint32_t first)
{
	for (uint32_t i = first; i < sl_op_touches(&t->ops[op]); i++) {
		if (sl_op_touch(t, op, i) == v)
			return true;
	}
	return false;
}

/*
 * The solvers: the least time of runs again within `bytes`, addresses aside. *out stays
 * empty (n = 0) where there is no such schedule or the solver does not apply; *exact:
 * whether that is proved.
 */

/* optimal_search.c: over the sets of values on the device, for tiny traces. */
struct sl_optimal_limits {
	uint32_t ops, states; /* larger traces are left alone; more states end it */
	uint32_t seconds; /* of an integer program */
	uint64_t below_ns; /* others' runs again take this long */
	uint32_t draw; /* not 0: of this number, other runs that take little longer */
};
SL_NODISCARD sl_status sl_optimal_search(const struct sl_optimal *o, uint64_t bytes,
	const struct sl_optimal_limits *limits, struct sl_order *out, bool *exact);

/* The last op before which op may run again, as far as what persists goes. */
uint32_t sl_optimal_until(const struct sl_trace *t, uint32_t op);

/* optimal_ilp.c: an integer program that CBC solves. SL_E_UNSUPPORTED without it. */
SL_NODISCARD sl_status sl_optimal_ilp(const struct sl_optimal *o, uint64_t bytes,
	const struct sl_optimal_limits *limits, struct sl_order *out);

/* optimal_chain.c: dynamic programming over the stages of a chain, exact unless a front
 * has more points than these over the number of stages. */
SL_NODISCARD sl_status sl_optimal_chain(const struct sl_optimal *o, uint64_t bytes,
	uint32_t points, struct sl_order *out);

#endif
