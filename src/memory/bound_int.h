/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_BOUND_INT_H
#define SL_MEMORY_BOUND_INT_H

#include "memory/bound.h"

/* Bytes a second of all tiers' links, out of and into the device, and of both ways
 * together; 0: there are none. */
struct sl_bound_rates {
	double out, in, both;
};

double sl_bound_copy_ns(
	const struct sl_bound_rates *r, double out_bytes, double in_bytes);
/* Possible budgets alone. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_bound_windows(const struct sl_trace *t,
	const struct sl_trace_index *x, uint64_t budget,
	const struct sl_bound_rates *rates, double *out_ns);

#endif
