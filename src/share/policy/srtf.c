/* SPDX-License-Identifier: Apache-2.0 */
/* srtf: shortest remaining time first; P is charged from the first turn. */
#include "share/policy/policy.h"

static int compare(const struct sl_job *a, const struct sl_job *b, sl_ns usual_ns)
{
	sl_ns x = sl_job_remaining(a, usual_ns), y = sl_job_remaining(b, usual_ns);

	return x < y ? -1 : x > y;
}

const struct sl_job_policy sl_job_policy_srtf = {
	.name = "srtf",
	.source = "salus",
	.summary = "least remaining time first, decided at each boundary",
	.passes = true,
	.lanes = 1,
	.by_remaining = true,
	.compare = compare,
};
