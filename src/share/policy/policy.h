/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_POLICY_POLICY_H
#define SL_SHARE_POLICY_POLICY_H

#include "share/state.h"

#define SL_JOB_POLICY(name) extern const struct sl_job_policy sl_job_policy_##name;
#include "share/policy/policies.def"
#undef SL_JOB_POLICY

/* NULL if absent / past the end. */
const struct sl_job_policy *sl_job_policy_find(const char *name);
const struct sl_job_policy *sl_job_policy_at(size_t i);

#endif
