/* SPDX-License-Identifier: Apache-2.0 */
/* pack: as many lanes as fit, each running the job that came to it first; who does not
 * fit is passed. */
#include "share/policy/policy.h"

static int compare(const struct sl_job *a, const struct sl_job *b, sl_ns usual_ns)
{
	(void)usual_ns;
	return a->seat < b->seat ? -1 : a->seat > b->seat;
}

const struct sl_job_policy sl_job_policy_pack = {
	.name = "pack",
	.source = "salus",
	.summary = "as many lanes side by side as fit, each in order of arrival",
	.eager = true,
	.passes = true,
	.compare = compare,
};
