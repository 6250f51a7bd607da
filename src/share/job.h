/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_JOB_H
#define SL_SHARE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * A job as the job policies see it: bytes, times, turns; no graph. Plain data. A turn is
 * one iteration: nobody is interrupted within it.
 */
#define SL_JOB_NONE UINT32_MAX
#define SL_LANE_NONE UINT32_MAX
#define SL_JOB_PRIORITY 20 /* the usual one; a lower number is more important */
/* Taken for the length of a job that declares none, until a job has ended. */
#define SL_JOB_USUAL_NS ((sl_ns)600 * 1000000000)

struct sl_job {
	uint32_t id; /* in order of arrival */
	uint32_t user;
	int32_t priority;
	sl_ns arrive_ns;
	sl_ns deadline_ns; /* 0: none */
	sl_ns length_ns; /* declared service in all; 0: none declared */
	sl_ns turn_ns; /* declared length of a turn; 0: unknown */
	uint64_t persistent_bytes; /* P: charged while resident */
	uint64_t ephemeral_bytes; /* E: the lane holds at least as much */

	bool resident, held; /* held: paused by its user, or away; never picked then */
	bool stays; /* away: not parked though it is held */
	bool running; /* has its lane's turn; where residents share in virtual time: a
			 part of it */
	uint32_t lane; /* SL_LANE_NONE unless resident */
	/* Asked to give up residence, and has: its P is in a lower tier. */
	bool parking, parked;
	bool leaves; /* to be parked at the end of the turn that it has */
	bool chosen; /* scratch of the choice */
	bool begun; /* was resident once */
	sl_ns park_ns; /* when it was asked */
	sl_ns seat_attained_ns; /* what it had attained when it was admitted */
	uint64_t seat; /* how many were admitted before it */
	sl_ns attained_ns; /* service reported; never reset */
	sl_ns ahead_ns; /* service of the turn under way, not yet reported */
	uint64_t turns;
	int64_t level; /* what fair and rr compare; a newcomer begins level with the least
			*/
	/* Waiting: from wait_from_ns on unless it runs or is held, and waited_ns before.
	 */
	sl_ns wait_from_ns, waited_ns;
	sl_ns aged_ns; /* when it came of age; -1: it is not */
	sl_ns aged_attained_ns; /* what it had attained then */
};

/*
 * Service still owed: declared or, for want of that, usual_ns (what other jobs took),
 * less what it has had. A job that outlives this is expected to run as long again, so
 * neither silence nor a low number wins.
 */
sl_ns sl_job_remaining(const struct sl_job *j, sl_ns usual_ns);
/* It has outlived that: what is owed grows as it runs. */
bool sl_job_outlived(const struct sl_job *j, sl_ns usual_ns);

#endif
