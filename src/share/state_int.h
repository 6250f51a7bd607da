/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_STATE_INT_H
#define SL_SHARE_STATE_INT_H

#include "share/state.h"

/* Marks the jobs that have come of age by now. */
void sl_share_age(struct sl_share *s);
/* Sets who runs and who is held, and keeps the account of its waits. */
void sl_share_set(struct sl_share *s, struct sl_job *j, bool running, bool held);
static inline bool sl_job_waits(const struct sl_job *j)
{
	return !j->running && !j->held;
}
/* Whether P + E keeps within the limit of the job's user, beside the user's residents. */
bool sl_share_in_limit(const struct sl_share *s, const struct sl_job *j,
	uint64_t persistent, uint64_t ephemeral);
uint64_t sl_share_limit(const struct sl_share *s, uint32_t user);

#endif
