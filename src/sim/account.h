/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SIM_ACCOUNT_H
#define SL_SIM_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * Virtual time of a run that really happens: told call by call what the compute stream
 * does, it knows when everything would have begun and ended on the described links.
 * Copies of a channel are numbered 1, 2, ... as they are issued; links that are one wire
 * share a queue, which is first in first out.
 */
#define SL_ACCOUNT_LINKS 16u

struct sl_account_copy {
	uint32_t link;
	uint64_t number, bytes;
	uint64_t bytes_per_s, latency_ns, delay_ns;
	const uint64_t *after; /* [n_after] number of each link that must be over; 0: none
				*/
	uint32_t n_after;
};

struct sl_account {
	uint64_t now_ns; /* of the compute stream, since the step's begin */
	uint64_t work_ns; /* of that, ops */
	uint64_t free_ns[SL_ACCOUNT_LINKS]; /* of each queue */
	uint32_t queue_of[SL_ACCOUNT_LINKS];
	uint64_t *ends_ns[SL_ACCOUNT_LINKS]; /* of this step's copies */
	size_t cap[SL_ACCOUNT_LINKS];
	uint64_t issued[SL_ACCOUNT_LINKS],
		before[SL_ACCOUNT_LINKS]; /* before: the step */
	sl_status failed;
	uint64_t step_ns; /* of the last step */
	uint64_t stall_ns; /* waits and moves of all steps */
};

/* Zeroed has a queue for nobody: give each link its own or another's. */
void sl_account_finish(struct sl_account *a);
void sl_account_work(struct sl_account *a, uint64_t ns); /* an op */
void sl_account_move(struct sl_account *a, uint64_t ns);
void sl_account_issue(struct sl_account *a, const struct sl_account_copy *c);
void sl_account_wait(struct sl_account *a, uint32_t link, uint64_t number);
/* The step ends with its last copy; the next begins at 0. SL_E_NOMEM of an issue. */
SL_NODISCARD sl_status sl_account_end(struct sl_account *a);

#endif
