/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_DECISION_CHECK_INT_H
#define SL_SHARE_DECISION_CHECK_INT_H

#include "share/decision_check.h"

struct sl_checked_job {
	uint32_t id, user, lane; /* SL_LANE_NONE: not admitted */
	bool held, turn, parking;
	bool stays; /* held, but not to be parked */
	bool settling; /* its bytes may wait for what is busy */
	uint64_t p, e;
	sl_ns had, from, waited, aged, had_at_age; /* waits from `from` on; aged -1: no */
};

struct sl_checked_lane {
	bool open, settling;
	uint64_t bytes;
	uint32_t jobs, holder;
};

struct sl_checked_limit {
	uint32_t user;
	uint64_t bytes;
};

struct sl_decision_check {
	struct sl_share_rules rules;
	sl_ns now;
	struct sl_checked_job *jobs; /* alive, by id */
	struct sl_checked_lane *lanes;
	struct sl_checked_limit *limits;
	size_t n, cap, n_lanes, cap_lanes, n_limits, cap_limits;
	uint64_t used; /* sum of P and of lanes */
	uint64_t next_id;
	uint32_t open, holders;
	bool dirty; /* something changed since lanes were looked at */
};

static inline bool sl_check_waits(
	const struct sl_decision_check *c, const struct sl_checked_job *j)
{
	return !j->held && !j->turn &&
	       !(c->rules.shares && !c->rules.total_waits && j->lane != SL_LANE_NONE);
}
/* With turns under way bytes that are granted may not be there yet. */
static inline bool sl_check_may_settle(const struct sl_decision_check *c)
{
	return c->holders > 0 && !c->rules.shares;
}
/* Stops the clock of its wait, lets a change be made, and starts it again. */
void sl_check_stop(struct sl_decision_check *c, struct sl_checked_job *j);
bool sl_check_in_limit(const struct sl_decision_check *c, const struct sl_checked_job *j);
/* The lane of a step, opened if it is not; NULL after a failure in *st. */
struct sl_checked_lane *sl_check_lane(
	struct sl_decision_check *c, const struct sl_step *s, sl_status *st);
/* j gets P and the lane's new size; within what there is. */
SL_NODISCARD sl_status sl_check_charge(
	struct sl_decision_check *c, struct sl_checked_job *j, const struct sl_step *s);

/* decision_check_park.c */
SL_NODISCARD sl_status sl_check_park(
	struct sl_decision_check *c, struct sl_checked_job *j);
SL_NODISCARD sl_status sl_check_parked(
	struct sl_decision_check *c, struct sl_checked_job *j);
SL_NODISCARD sl_status sl_check_past(
	struct sl_decision_check *c, struct sl_checked_job *j, const struct sl_step *s);
SL_NODISCARD sl_status sl_check_policy(
	struct sl_decision_check *c, const struct sl_step *s);

#endif
