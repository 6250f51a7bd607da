/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_LATE_H
#define SL_MEMORY_POLICY_LATE_H

#include "memory/policy/gaps.h"

/*
 * For fates and moments as booked: by how much the copies of each gap are late, or stand
 * directly in front of some that are; 0: nobody waits because of it. A copy in is late if
 * it ends after `due`, a copy out after `hold` or, where that is the end, after the
 * iteration. out_ns and in_ns are [g->n], of the copies out and in; they may be one
 * array, of the larger of both. SL_E_NOMEM.
 */
SL_NODISCARD sl_status sl_gaps_late(
	const struct sl_gaps *g, uint64_t *out_ns, uint64_t *in_ns);

#endif
