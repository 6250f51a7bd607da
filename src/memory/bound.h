/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_BOUND_H
#define SL_MEMORY_BOUND_H

#include "memory/trace.h"

/*
 * What no schedule that only swaps can do better, whatever it knows: bytes that it moves
 * and the time of an iteration within a budget.
 *
 * While op t runs at least L(t) - budget bytes are elsewhere, L(t) being the live bytes
 * and the workspace; a value can be elsewhere in the gaps between its uses alone (of one
 * that persists a gap goes round the boundary). Letting any fraction of a value leave
 * makes that a linear program, which is solved exactly. Each byte that was away costs its
 * way in. Its way out is paid once for all gaps between two writes of the value (it is
 * charged to the widest of them; any share gives a bound), and never if nothing writes
 * it.
 */
struct sl_traffic_bound {
	bool possible; /* false: no swapping fits the budget; the rest is then as without
			  one */
	/* Each the least by itself; both_bytes is that of their sum. */
	uint64_t out_bytes, in_bytes, both_bytes;
	/* The longest of: all ops once; the bytes at the rates of all tiers' links
	 * together (of half duplex, links carry both); and the sum of windows, each of
	 * which copies what cannot be on the device at its begin or end. */
	uint64_t iter_ns;
};

/* Also sound without a tier: then only times are left out. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_traffic_bound(
	const struct sl_trace *t, uint64_t budget, struct sl_traffic_bound *out);

/*
 * The time of an iteration that no schedule can do better which swaps and runs ops again:
 * for any share p, it takes at least p times the copies' time and 1 - p times that of all
 * ops and those run again (bound_both.c). A value comes back by a copy, or at least by
 * its op; several values that one op bears share its time. The best p is searched for.
 * At least all ops once. SL_E_NOMEM.
 */
SL_NODISCARD sl_status sl_joint_bound(
	const struct sl_trace *t, uint64_t budget, uint64_t *out_ns);

/*
 * The linear program (bound_flow.c): rows 0 to n_rows - 1 in a circle; each interval
 * covers `rows` of them from `first` on. Least sum of cost * x with 0 <= x <= bytes and,
 * in each row, the x of the intervals over it adding up to at least its need.
 */
struct sl_cover {
	uint32_t first, rows; /* 1 to n_rows */
	uint64_t bytes;
	double cost; /* at least 0 */
};
/* need is [n_rows]; *possible: all of everything is enough. What takes long, as with many
 * thousands of ops, ends early: *out_least is then what is known by then, maybe 0, and
 * *possible is true. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_cover_solve(const uint64_t *need, uint32_t n_rows,
	const struct sl_cover *covers, uint32_t n, double *out_least, bool *possible);

#endif
