/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_MIMOSE_H
#define SL_MEMORY_POLICY_MIMOSE_H

#include "memory/policy/gaps.h"

/*
 * Checkpointing by blocks, after Mimose [mimose]: a block that is picked gives up what
 * only it reads in the forward pass, and runs again for its backward pass.
 *
 * Blocks are stretches of forward ops of one layer: scopes that are the same up to their
 * first number (`encoder.layer.3.attention` is of `encoder.layer.3`), whole scopes where
 * there is none. Ops without a scope are cut into about as many stretches as each has
 * ops.
 */
struct sl_mimose_block {
	uint32_t first_op, end_op; /* [first, end) */
	uint64_t saving; /* bytes that picking it gives up, its outputs stay */
	bool picked;
};

struct sl_mimose {
	struct sl_gaps g;
	struct sl_mimose_block *blocks; /* in the order of the forward pass */
	uint32_t *block_of_gap; /* [gaps] of those that picking gives up, else SL_NO_ID */
	uint32_t n;
};

/* All blocks of the trace, none picked. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_mimose_open(struct sl_mimose *m, const struct sl_trace *t);
void sl_mimose_close(struct sl_mimose *m); /* zeroed: fine */

/*
 * The published scheduler: picks from none until what is saved covers `need` or all is
 * picked. Buckets hold blocks within 10 % of their largest, later layers first; the
 * smallest bucket with a block that is sufficient gives its last one that is, otherwise
 * the largest bucket its last one. SL_E_NOMEM.
 */
SL_NODISCARD sl_status sl_mimose_pick(
	struct sl_mimose_block *blocks, uint32_t n, uint64_t need);

/* The plan of the present picks, without any swapping. *out is empty, and *out_height
 * above the budget, where it does not fit. */
SL_NODISCARD sl_status sl_mimose_lower(struct sl_mimose *m, uint64_t budget,
	const char *name, struct sl_plan *out, uint64_t *out_height);
/* Picks and lowers; `need` is what is missing at first. *out is empty if nothing fits. */
SL_NODISCARD sl_status sl_mimose_choose(struct sl_mimose *m, uint64_t budget,
	uint64_t need, const char *name, struct sl_plan *out);

#endif
