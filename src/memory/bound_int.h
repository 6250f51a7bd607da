/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_BOUND_INT_H
#define SL_MEMORY_BOUND_INT_H

#include "memory/bound.h"

/* Bytes a second of all tiers' links, out of and into the device, and of both ways
 * together; 0: there are none. */
struct sl_bound_rates {
	double out, in, both;
};

struct sl_bound_rates sl_bound_rates(const struct sl_trace *t);

/* A gap that covers rows: ops that are over the budget. */
struct sl_bound_gap {
	uint32_t version; /* of its value's content; SL_NO_ID: its way out is free */
	uint32_t value;
	double out; /* 1: the version's copy out is charged here */
};

/* The covering problem of a budget, without costs. */
struct sl_bounder {
	const struct sl_trace *t;
	struct sl_trace_index x;
	uint64_t *need; /* [n_rows] */
	uint32_t *row; /* [n_ops + 1] rows before each op */
	uint32_t n_rows;
	struct sl_cover *covers;
	struct sl_bound_gap *gaps; /* in step with covers */
	uint32_t n, n_versions;
	uint32_t *widest; /* [n_versions] index into covers */
};
/* To be finished in any case. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_bounder_begin(
	struct sl_bounder *b, const struct sl_trace *t, uint64_t budget);
void sl_bounder_finish(struct sl_bounder *b); /* zeroed: fine */

double sl_bound_copy_ns(
	const struct sl_bound_rates *r, double out_bytes, double in_bytes);
/* Possible budgets alone. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_bound_windows(const struct sl_trace *t,
	const struct sl_trace_index *x, uint64_t budget,
	const struct sl_bound_rates *rates, double *out_ns);

#endif
