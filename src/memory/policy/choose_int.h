/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_CHOOSE_INT_H
#define SL_MEMORY_POLICY_CHOOSE_INT_H

#include "memory/policy/choose.h"

/* choose_cost.c: what swaps cost, for choose.c. */

/* Negative: it cannot be. */
double sl_choice_swap_cost(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap);
/* The op after which the value of a gap, if it is swapped, is best copied out: as of
 * struct sl_gap. */
uint32_t sl_choice_save(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap);

#endif
