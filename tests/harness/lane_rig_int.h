/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_LANE_RIG_INT_H
#define SL_TESTS_LANE_RIG_INT_H

#include "harness/lane_rig.h"

/* What a job says. */
enum rig_what { RIG_REPORT, RIG_HOLD, RIG_RESIZE, RIG_END };
struct rig_note {
	uint32_t job;
	enum rig_what what;
};

/* What a job is sent; the descriptors are its own. */
struct rig_mail {
	sl_status st;
	int fd_p, fd_lane;
};

void *rig_job_main(void *job);

#endif
