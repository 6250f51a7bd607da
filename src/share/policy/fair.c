/* SPDX-License-Identifier: Apache-2.0 */
/* fair: at each boundary the least attained service; equal shares in virtual time. A
 * newcomer begins level with the least served, so history is neither reset nor repaid. */
#include "share/policy/policy.h"

static int compare(const struct sl_job *a, const struct sl_job *b, sl_ns usual_ns)
{
	int64_t x = a->level + a->ahead_ns, y = b->level + b->ahead_ns;

	(void)usual_ns;
	return x < y ? -1 : x > y;
}

static int64_t charge(const struct sl_step *report)
{
	return report->used_ns;
}

static double weight(const struct sl_job *j)
{
	(void)j;
	return 1;
}

const struct sl_job_policy sl_job_policy_fair = {
	.name = "fair",
	.source = "salus",
	.summary = "least attained service first: equal time for all",
	.eager = true,
	.passes = true,
	.turns = true,
	.lanes = 1,
	.compare = compare,
	.charge = charge,
	.weight = weight,
};
