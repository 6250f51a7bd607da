/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_CHOOSE_INT_H
#define SL_MEMORY_POLICY_CHOOSE_INT_H

#include "memory/policy/choose.h"

/* choose_cost.c: what swaps cost, for choose.c. */

/* Negative: it cannot be. */
double sl_choice_swap_cost(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap);
/* The gap over the boundary of a dirty one's value, if a copy made there is still current
 * in it and cheaper than one of its own; NULL: there is none. */
struct sl_gap *sl_choice_ahead(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap);
/* Whether something leaves without a copy because of this gap over the boundary. */
bool sl_choice_is_ahead(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap);
/* Whether it is to be swapped although no op has too much because of it. */
bool sl_choice_is_forced(const struct sl_gaps *g, const struct sl_gap *gap);

#endif
