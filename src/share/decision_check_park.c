/* SPDX-License-Identifier: Apache-2.0 */
/* Judges who moves away, and what a log says of the time before it. */
#include "share/decision_check_int.h"

/* Nobody of age is sent away but for one that came of age no later. */
sl_status sl_check_park(struct sl_decision_check *c, struct sl_checked_job *j)
{
	bool elder = j->aged < 0 || j->held;

	if (c->rules.quantum_ns == 0)
		return SL_FAIL(SL_E_NO, "job %u is parked where nobody is", j->id);
	if (j->lane == SL_LANE_NONE || j->turn || j->parking || j->stays)
		return SL_FAIL(SL_E_NO,
			"job %u is parked but is no resident without a turn, or away",
			j->id);
	for (size_t i = 0; !elder && i < c->n; i++) {
		const struct sl_checked_job *w = &c->jobs[i];

		elder = w->lane == SL_LANE_NONE && !w->held && w->aged >= 0 &&
			w->aged <= j->aged;
	}
	if (!elder)
		return SL_FAIL(SL_E_NO, "job %u is parked though it is of age", j->id);
	j->parking = true;
	return SL_OK;
}

sl_status sl_check_parked(struct sl_decision_check *c, struct sl_checked_job *j)
{
	if (!j->parking)
		return SL_FAIL(SL_E_NO, "job %u was not asked to park", j->id);
	sl_check_stop(c, j);
	if (c->rules.shares && !c->rules.total_waits) {
		j->waited = 0;
		j->aged = -1;
	}
	c->used -= j->p;
	c->lanes[j->lane].jobs--;
	j->lane = SL_LANE_NONE;
	j->parking = false;
	return SL_OK;
}

sl_status sl_check_past(
	struct sl_decision_check *c, struct sl_checked_job *j, const struct sl_step *s)
{
	struct sl_checked_lane *v;

	if (j->lane != SL_LANE_NONE || j->had > 0)
		return SL_FAIL(SL_E_NO, "job %u has begun already", j->id);
	j->had = s->used_ns;
	if (s->kind == SL_STEP_PAST)
		return SL_OK;
	if (j->held)
		return SL_FAIL(SL_E_NO, "job %u is held", j->id);
	SL_TRY(sl_check_charge(c, j, s));
	v = &c->lanes[s->lane];
	if (!s->flag)
		return SL_OK;
	if (v->holder != SL_JOB_NONE || c->rules.shares)
		return SL_FAIL(SL_E_NO, "job %u has the turn of lane %u, which is taken",
			j->id, s->lane);
	sl_check_stop(c, j);
	if (!c->rules.total_waits)
		j->waited = 0;
	j->turn = true;
	j->settling = false;
	v->holder = j->id;
	c->holders++;
	return SL_OK;
}

sl_status sl_check_policy(struct sl_decision_check *c, const struct sl_step *s)
{
	if (c->rules.shares)
		return SL_FAIL(SL_E_NO, "the policy changes in virtual time");
	c->rules.total_waits = s->flag != 0;
	c->rules.lanes = s->lane;
	return SL_OK;
}
