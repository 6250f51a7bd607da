/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SERVE_JOINT_INT_H
#define SL_SHARE_SERVE_JOINT_INT_H

#include "share/serve/serve_int.h"

/* Planning for several jobs at once, in a child process (worker.c). */
#define SL_JOINT_JOBS 32

struct sl_srv_joint {
	struct sl_srv_source child; /* pidfd; fd -1: none */
	int result_fd;
	uint32_t jobs[SL_JOINT_JOBS];
	int plan_fds[SL_JOINT_JOBS];
	size_t n;
	bool wanted; /* who takes part has changed, or the times of one */
	bool together; /* the latest plans were for several */
	sl_ns begin_ns; /* when to begin */
	sl_ns until_ns; /* when the child is killed */
};

#endif
