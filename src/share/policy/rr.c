/* SPDX-License-Identifier: Apache-2.0 */
/* rr: at each boundary the fewest turns; a newcomer begins level with the fewest. */
#include "share/policy/policy.h"

#define USUAL_TURN_NS 100000000 /* of a job whose turns have no known length */

static int compare(const struct sl_job *a, const struct sl_job *b, sl_ns usual_ns)
{
	int64_t x = a->level + (a->ahead_ns > 0), y = b->level + (b->ahead_ns > 0);

	(void)usual_ns;
	return x < y ? -1 : x > y;
}

static int64_t charge(const struct sl_step *report)
{
	return (int64_t)report->turns;
}

/* A turn each: time in proportion to the length of a turn. */
static double weight(const struct sl_job *j)
{
	return (double)(j->turn_ns > 0 ? j->turn_ns : USUAL_TURN_NS);
}

const struct sl_job_policy sl_job_policy_rr = {
	.name = "rr",
	.source = "salus",
	.summary = "a turn each, round and round: equal iterations for all",
	.eager = true,
	.passes = true,
	.turns = true,
	.lanes = 1,
	.compare = compare,
	.charge = charge,
	.weight = weight,
};
