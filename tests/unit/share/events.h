/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SHARE_EVENTS_H
#define SL_TESTS_SHARE_EVENTS_H

#include "harness/harness.h"
#include "share/decision_check.h"
#include "share/policy/policy.h"

/* A shared device with its log; every event is decided on, checked and logged. */
struct desk {
	struct sl_share s;
	struct sl_log log;
};

static inline void desk_open(struct desk *d, const char *policy, uint64_t capacity,
	uint32_t lanes, sl_ns max_wait)
{
	struct sl_share_rules rules = {
		.capacity_bytes = capacity, .lanes = lanes, .max_wait_ns = max_wait};

	*d = (struct desk){0};
	sl_share_init(&d->s, sl_job_policy_find(policy), &rules);
	d->s.find = sl_job_policy_find;
	d->log.rules = d->s.rules;
}

/* One where jobs are parked; `rate` of moving P, 0: unknown. */
static inline void desk_open_parking(struct desk *d, const char *policy,
	uint64_t capacity, sl_ns quantum, uint64_t rate)
{
	desk_open(d, policy, capacity, 0, 0);
	d->s.rules.quantum_ns = d->log.rules.quantum_ns = quantum;
	d->s.rules.park_bytes_per_s = d->log.rules.park_bytes_per_s = rate;
}

static inline sl_status desk_try(struct desk *d, struct sl_step e)
{
	SL_TRY(sl_share_apply(&d->s, &e));
	SL_TRY(sl_log_add(&d->log, &e));
	SL_TRY(sl_share_decide(&d->s, &d->log));
	return sl_share_check(&d->s);
}

static inline void desk_event(struct desk *d, struct sl_step e)
{
	sl_assert_ok(desk_try(d, e));
}

static inline void desk_close(struct desk *d)
{
	sl_assert_ok(sl_decision_check_log(&d->log));
	sl_log_finish(&d->log);
	sl_share_finish(&d->s);
}

static inline struct sl_step arrives(
	sl_ns at, uint32_t job, uint64_t p, uint64_t e, sl_ns length)
{
	return (struct sl_step){.kind = SL_STEP_ARRIVE,
		.at_ns = at,
		.job = job,
		.priority = SL_JOB_PRIORITY,
		.persistent_bytes = p,
		.ephemeral_bytes = e,
		.length_ns = length,
		.turn_ns = 1};
}

static inline struct sl_step reports(
	enum sl_step_kind kind, sl_ns at, uint32_t job, sl_ns used)
{
	return (struct sl_step){.kind = kind,
		.at_ns = at,
		.job = job,
		.used_ns = used,
		.turns = (uint64_t)used};
}

/* An event of a job without more to say. */
static inline struct sl_step says(enum sl_step_kind kind, sl_ns at, uint32_t job)
{
	return (struct sl_step){.kind = kind, .at_ns = at, .job = job};
}

#endif
