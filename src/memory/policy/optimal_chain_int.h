/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_OPTIMAL_CHAIN_INT_H
#define SL_MEMORY_POLICY_OPTIMAL_CHAIN_INT_H

#include "memory/policy/optimal_int.h"

/*
 * A trace as a chain: stages of forward ops, between which one value at most goes on (the
 * stage's output), and for each stage the backward ops that read of the forward pass only
 * what this stage bears and its input. Stage i has the input of stage i - 1's output.
 *
 * Values of the chain are borne by forward ops that may run again. All others are there
 * from birth to last use; `load` has their bytes.
 */
#define SL_CHAIN_MAX 72

struct sl_stage {
	uint32_t from, to; /* forward ops */
	uint32_t back_from, back_to; /* backward ops */
	uint32_t output; /* SL_NO_ID: nothing goes on */
	uint64_t output_bytes;
	uint64_t saved_bytes; /* what its backward ops read of what it bears */
	bool output_saved; /* the output is among that */
	bool again; /* it can be run again */
	uint64_t ns[2]; /* of a run again: for the output; for all that is saved, too */
	/* Bytes of a run beside its input, if that stays, or with it: [in its turn or
	 * again][with what is saved][input goes]; in its turn `load` is counted. */
	uint64_t peak[2][2][2];
	uint64_t back_peak; /* beside its input, with `load` */
	uint64_t back_load; /* `load` just before */
};

struct sl_chain {
	const struct sl_optimal *o;
	uint32_t turn; /* the first op that is not forward */
	uint32_t n; /* stages; 0: no chain */
	struct sl_stage stages[SL_CHAIN_MAX];
	uint32_t *stage; /* [n_values] of values of the chain; SL_NO_ID: another */
	uint32_t *last; /* [n_values] last use */
	uint32_t *last_forward; /* [n_values] */
	uint64_t
		*load; /* [n_ops + 1] bytes of other values during an op, and workspace */
	uint64_t *gap_load; /* [n_ops + 1] of those just before it */
	uint8_t *mark; /* [n_values] bits */
	uint32_t *position; /* [n_values] work space */
};

#define SL_CHAIN_SAVED 1u /* mark: read by its own stage's backward ops */

/* optimal_shape.c. *out has n = 0 if the trace is no chain. */
SL_NODISCARD sl_status sl_chain_find(const struct sl_optimal *o, struct sl_chain *out);
void sl_chain_finish(struct sl_chain *c); /* zeroed: fine */

/* optimal_measure.c. Fills in what the stage takes; order is work space. */
SL_NODISCARD sl_status sl_chain_measure(
	struct sl_chain *c, uint32_t stage, struct sl_order *order);
/* The runs again of a stage for its output, or for all that is saved as well. */
SL_NODISCARD sl_status sl_chain_rerun(
	struct sl_chain *c, uint32_t stage, bool saved, struct sl_order *out);

#endif
