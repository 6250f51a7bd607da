/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_PAIR_RIG_H
#define SL_TESTS_PAIR_RIG_H

#include "harness/engine_rig.h"

/* A random trace with two random plans, which an engine carries out one after the other.
 */
#define PAIR_TIER_BYTES ((uint64_t)4 << 20)
#define PAIR_BUDGET ((uint64_t)36 * 4096)

struct pair_rig {
	struct sl_trace t;
	struct sl_plan a, b;
};

void pair_rig_find(struct pair_rig *c, uint64_t seed);
void pair_rig_finish(struct pair_rig *c);
/* Two steps of the first plan, a change over, a step of the second: SL_E_NO where a byte
 * is wrong. o has budget and tiers set by this. */
SL_NODISCARD sl_status pair_rig_run(
	const struct pair_rig *c, const struct sl_rig_opts *o);

#endif
