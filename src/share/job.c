/* SPDX-License-Identifier: Apache-2.0 */
/* What is still owed to a job, declared or estimated. */
#include "share/job.h"

sl_ns sl_job_remaining(const struct sl_job *j, sl_ns usual_ns)
{
	sl_ns total = j->length_ns > 0 ? j->length_ns : usual_ns;
	sl_ns had = j->attained_ns + j->ahead_ns;

	if (total > had)
		return total - had;
	return had > 0 ? had : 1;
}
