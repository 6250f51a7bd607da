/* SPDX-License-Identifier: Apache-2.0 */
/* What is still owed to a job, declared or estimated. */
#include "share/job.h"

static sl_ns total_of(const struct sl_job *j, sl_ns usual_ns)
{
	return j->length_ns > 0 ? j->length_ns : usual_ns;
}

sl_ns sl_job_remaining(const struct sl_job *j, sl_ns usual_ns)
{
	sl_ns total = total_of(j, usual_ns), had = j->attained_ns + j->ahead_ns;

	if (total > had)
		return total - had;
	return had > 0 ? had : 1;
}

bool sl_job_outlived(const struct sl_job *j, sl_ns usual_ns)
{
	return j->attained_ns + j->ahead_ns >= total_of(j, usual_ns);
}
