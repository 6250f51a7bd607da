/* SPDX-License-Identifier: Apache-2.0 */
/* jobs: a table that is read runs to its end under every policy, soundly. */
#include <stdint.h>

#include "base/assert.h"
#include "share/policy/policy.h"
#include "share/sim.h"

#define MAX_BYTES 2000 /* some hundred jobs */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void simulate(struct sl_jobsim_table *t, const struct sl_job_policy *policy)
{
	struct sl_jobsim m = {.policy = policy,
		.rules = {.capacity_bytes = (uint64_t)16 << 30,
			.max_wait_ns = (sl_ns)3600 * 1000000000},
		.keep_log = true};
	sl_status st = sl_jobsim_run(&m, t);

	SL_BUG(st != SL_OK && st != SL_E_INFEASIBLE);
	for (size_t i = 0; st == SL_OK && i < t->n; i++)
		SL_BUG(t->jobs[i].end_ns - t->jobs[i].submit_ns < t->jobs[i].length_ns);
	if (st == SL_OK)
		SL_BUG(sl_log_replay(&m.log, policy) != SL_OK);
	sl_jobsim_finish(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_jobsim_table t = {0};
	sl_status st = sl_jobsim_table_parse(
		&t, "fuzz", (const char *)data, size < MAX_BYTES ? size : MAX_BYTES);

	SL_BUG(st != SL_OK && st != SL_E_FORMAT && st != SL_E_LIMIT);
	for (size_t i = 0; st == SL_OK && sl_job_policy_at(i); i++)
		simulate(&t, sl_job_policy_at(i));
	sl_jobsim_table_finish(&t);
	return 0;
}
