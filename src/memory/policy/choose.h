/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_CHOOSE_H
#define SL_MEMORY_POLICY_CHOOSE_H

#include "memory/policy/gaps.h"

struct sl_choice {
	uint64_t limit; /* most bytes on the device while an op runs */
	double link_price; /* ns that a ns of copying is taken to cost; at least 0 */
	uint64_t redo_cap_ns; /* longest chain of runs for one value; 0: no redoing */
	double copy_share; /* part of its copies' time in which a swap does not relieve */
	double cross_price; /* times link_price, over the boundary; negative: not at all
			     */
	const double *weight; /* [gaps] times a swap's cost; NULL: 1 for all */
	/* [n_ops] times the cost of a copy that leaves after the op, or comes for it:
	 * what the links cost by the hour. NULL: 1 for all. With them, what persists may
	 * be copied out after its last write and kept over the boundary, so that it can
	 * leave later at once. */
	const double *out_price, *in_price;
	const uint8_t *ahead; /* [n_values] it is, whatever the hours; NULL: none */
};

/* Sets the fates of all gaps. *enough: every op is within the limit. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_gaps_choose(
	struct sl_gaps *g, const struct sl_choice *how, bool *enough);

#endif
