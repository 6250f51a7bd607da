/* SPDX-License-Identifier: Apache-2.0 */
/* fifo: in order of arrival, each to its end; nobody passes the first. */
#include "share/policy/policy.h"

const struct sl_job_policy sl_job_policy_fifo = {
	.name = "fifo",
	.source = "salus",
	.summary = "in order of arrival, one at a time",
	.lanes = 1,
};
