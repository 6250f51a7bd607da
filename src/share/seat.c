/* SPDX-License-Identifier: Apache-2.0 */
/* What was there before the log began, what parks, and another policy. */
#include "share/state_int.h"

#include <string.h>

#include "base/alloc.h"

#define MAX_LANES ((size_t)1 << 24)
#define MAX_SEAT 65535u

sl_status sl_share_lane_room(struct sl_share *s, uint32_t lane)
{
	size_t n = (size_t)lane + 1;

	if (sl_grow((void **)&s->trial, &s->cap_trial, n, sizeof(*s->trial), MAX_LANES) ||
		sl_grow((void **)&s->second, &s->cap_second, n, sizeof(*s->second),
			MAX_LANES) ||
		sl_grow((void **)&s->lanes.items, &s->lanes.cap, n,
			sizeof(*s->lanes.items), MAX_LANES))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu lanes", n);
	return SL_OK;
}

sl_status sl_share_sit(
	struct sl_share *s, struct sl_job *j, uint32_t lane, uint64_t bytes)
{
	struct sl_lanes *v = &s->lanes;
	bool opens = lane >= v->n || !v->items[lane].open;
	sl_status st;

	SL_TRY(sl_share_lane_room(s, lane));
	SL_TRY(sl_ledger_add(&s->ledger, SL_LEDGER_JOB, j->id, j->persistent_bytes));
	st = opens ? sl_ledger_add(&s->ledger, SL_LEDGER_LANE, lane, bytes)
		   : sl_ledger_resize(&s->ledger, SL_LEDGER_LANE, lane, bytes);
	if (st != SL_OK) {
		sl_ledger_remove(&s->ledger, SL_LEDGER_JOB, j->id);
		return st;
	}
	for (; v->n <= lane; v->n++)
		v->items[v->n] = (struct sl_lane){.holder = SL_JOB_NONE};
	v->open += opens;
	if (opens)
		v->items[lane] = (struct sl_lane){.open = true, .holder = SL_JOB_NONE};
	v->granted_bytes += j->persistent_bytes + bytes - v->items[lane].size_bytes;
	v->items[lane].size_bytes = bytes;
	v->items[lane].members++;
	j->resident = j->begun = true;
	j->parked = false;
	j->seat = s->admitted++;
	j->seat_attained_ns = j->attained_ns;
	j->lane = lane;
	return SL_OK;
}

void sl_share_stand_up(struct sl_share *s, struct sl_job *j)
{
	if (!j->resident)
		return;
	s->lanes.items[j->lane].members--;
	s->lanes.items[j->lane].dirty = true;
	s->lanes.granted_bytes -= j->persistent_bytes;
	sl_ledger_remove(&s->ledger, SL_LEDGER_JOB, j->id);
	j->resident = j->parking = j->leaves = false;
	j->lane = SL_LANE_NONE;
}

void sl_share_take_turn(struct sl_share *s, struct sl_job *j)
{
	s->lanes.items[j->lane].holder = j->id;
	sl_share_set(s, j, true, j->held);
	if (!s->rules.shares) {
		sl_ledger_set_busy(&s->ledger, SL_LEDGER_LANE, j->lane, true);
		sl_ledger_set_busy(&s->ledger, SL_LEDGER_JOB, j->id, true);
	}
}

static sl_status set_past(struct sl_share *s, struct sl_job *j, const struct sl_step *e)
{
	if (j->resident || j->begun || j->attained_ns > 0 || j->turns > 0)
		return SL_FAIL(SL_E_INVALID, "job %u has begun already", j->id);
	j->attained_ns = e->used_ns;
	j->turns = e->turns;
	j->level = s->policy->charge ? s->policy->charge(e) : 0;
	return SL_OK;
}

static sl_status sit_with_past(
	struct sl_share *s, struct sl_job *j, const struct sl_step *e, uint64_t bytes)
{
	sl_status st;

	SL_TRY(sl_share_lane_room(s, e->lane));
	SL_TRY(set_past(s, j, e));
	st = sl_share_sit(s, j, e->lane, bytes);
	if (st != SL_OK) {
		j->attained_ns = 0;
		j->turns = 0;
		j->level = 0;
	}
	return st;
}

static sl_status seat(struct sl_share *s, struct sl_job *j, const struct sl_step *e)
{
	struct sl_lane lane = {.holder = SL_JOB_NONE};
	uint64_t bytes = e->bytes;

	if (e->lane < s->lanes.n && s->lanes.items[e->lane].open)
		lane = s->lanes.items[e->lane];
	if (lane.size_bytes > bytes)
		bytes = lane.size_bytes;
	if (j->held || e->lane > MAX_SEAT || bytes < j->ephemeral_bytes ||
		!sl_share_in_limit(s, j, j->persistent_bytes, j->ephemeral_bytes) ||
		(e->flag && (s->rules.shares || lane.holder != SL_JOB_NONE)))
		return SL_FAIL(
			SL_E_INVALID, "job %u cannot sit in lane %u", j->id, e->lane);
	SL_TRY(sit_with_past(s, j, e, bytes));
	sl_ledger_settle(&s->ledger);
	if (e->flag)
		sl_share_take_turn(s, j);
	return SL_OK;
}

/* The mean of what a byte took before and now. */
static void learn_rate(struct sl_share *s, const struct sl_job *j)
{
	double took = (double)(s->now_ns - j->park_ns), was = s->park_ns_per_byte;

	if (took <= 0 || j->persistent_bytes == 0)
		return;
	took /= (double)j->persistent_bytes;
	s->park_ns_per_byte = was > 0 ? (was + took) / 2 : took;
}

sl_status sl_share_apply_past(
	struct sl_share *s, struct sl_job *j, const struct sl_step *e)
{
	if (e->kind == SL_STEP_SEAT)
		return seat(s, j, e);
	if (e->kind == SL_STEP_PAST) {
		SL_TRY(set_past(s, j, e));
		j->parked = e->flag != 0;
		j->begun = j->parked || j->attained_ns > 0;
		return SL_OK;
	}
	if (!j->parking)
		return SL_FAIL(SL_E_INVALID, "job %u was not asked to park", j->id);
	sl_share_stand_up(s, j);
	j->parked = true;
	learn_rate(s, j);
	/* A resident's own wait is not on record there (decision_check.h). */
	if (sl_share_is_fluid(s)) {
		j->waited_ns = 0;
		j->wait_from_ns = s->now_ns;
		j->aged_ns = -1;
	}
	return SL_OK;
}

void sl_share_set_policy(
	struct sl_share *s, const struct sl_job_policy *policy, uint32_t lanes)
{
	size_t len = strlen(policy->name);

	s->policy = policy;
	len = len < sizeof(s->rules.policy) ? len : sizeof(s->rules.policy) - 1;
	memset(s->rules.policy, 0, sizeof(s->rules.policy));
	memcpy(s->rules.policy, policy->name, len);
	s->rules.total_waits = !policy->turns;
	s->rules.lanes = s->lanes.most = lanes;
	for (size_t i = 0; i < s->n; i++)
		s->jobs[i]->level = 0;
}

struct sl_step sl_share_policy_event(
	const struct sl_share *s, const struct sl_job_policy *policy, sl_ns at_ns)
{
	struct sl_step e = {.kind = SL_STEP_POLICY,
		.at_ns = at_ns,
		.lane = s->asked_lanes > 0 ? s->asked_lanes : policy->lanes,
		.flag = !policy->turns};
	size_t len = strlen(policy->name);

	memcpy(e.policy, policy->name,
		len < sizeof(e.policy) ? len : sizeof(e.policy) - 1);
	return e;
}

sl_status sl_share_apply_policy(struct sl_share *s, const struct sl_step *e)
{
	const struct sl_job_policy *policy = s->find ? s->find(e->policy) : NULL;

	if (!policy || s->rules.shares || e->flag != !policy->turns)
		return SL_FAIL(
			SL_E_INVALID, "the policy cannot become %s here", e->policy);
	sl_share_set_policy(s, policy, e->lane);
	return SL_OK;
}
