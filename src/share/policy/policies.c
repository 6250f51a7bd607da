/* SPDX-License-Identifier: Apache-2.0 */
/* The table of job policies. */
#include "share/policy/policy.h"

#include <string.h>

static const struct sl_job_policy *const policies[] = {
#define SL_JOB_POLICY(name) &sl_job_policy_##name,
#include "share/policy/policies.def"
#undef SL_JOB_POLICY
};

const struct sl_job_policy *sl_job_policy_at(size_t i)
{
	return i < sizeof(policies) / sizeof(policies[0]) ? policies[i] : NULL;
}

const struct sl_job_policy *sl_job_policy_find(const char *name)
{
	for (size_t i = 0; sl_job_policy_at(i); i++)
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	return NULL;
}
