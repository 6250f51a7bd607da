/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a log of decisions from what it says alone, policy-blind. */
#include "share/decision_check_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define MAX_ENTRIES ((size_t)1 << 24)
#define MAX_SEAT 65535u

static sl_status no(const char *fmt, ...) SL_PRINTF(1, 2);
static sl_status no(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return SL_FAIL(SL_E_NO, "%s", text);
}

static struct sl_checked_job *find(struct sl_decision_check *c, uint32_t id)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->jobs[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->n && c->jobs[low].id == id ? &c->jobs[low] : NULL;
}

void sl_check_stop(struct sl_decision_check *c, struct sl_checked_job *j)
{
	if (sl_check_waits(c, j))
		j->waited += c->now - j->from;
	j->from = c->now;
}

bool sl_check_in_limit(const struct sl_decision_check *c, const struct sl_checked_job *j)
{
	uint64_t most = UINT64_MAX, sum = j->p + j->e;

	for (size_t i = 0; i < c->n_limits; i++)
		if (c->limits[i].user == j->user && c->limits[i].bytes > 0)
			most = c->limits[i].bytes;
	for (size_t i = 0; most < UINT64_MAX && i < c->n; i++) {
		const struct sl_checked_job *o = &c->jobs[i];

		if (o != j && o->user == j->user && o->lane != SL_LANE_NONE &&
			!sl_add_u64(sum, o->p + o->e, &sum))
			return false;
	}
	return sum <= most;
}

/* The first of age that waits, in one lane or (SL_LANE_NONE) at all. */
static const struct sl_checked_job *eldest(
	const struct sl_decision_check *c, uint32_t lane)
{
	const struct sl_checked_job *first = NULL;

	for (size_t i = 0; c->rules.max_wait_ns > 0 && i < c->n; i++) {
		const struct sl_checked_job *j = &c->jobs[i];

		if (j->aged >= 0 && sl_check_waits(c, j) &&
			(lane == SL_LANE_NONE || !j->parking) &&
			(lane == SL_LANE_NONE || j->lane == lane) &&
			(!first || j->aged < first->aged) &&
			(j->lane != SL_LANE_NONE || sl_check_in_limit(c, j)))
			first = j;
	}
	return first;
}

/* With no turn under way nothing is busy, so everything has its bytes. */
static void settle(struct sl_decision_check *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->jobs[i].settling = false;
	for (size_t i = 0; i < c->n_lanes; i++)
		c->lanes[i].settling = false;
}

/* When time passes, no lane is free beside a job that could have its turn. */
static sl_status check_idle(struct sl_decision_check *c)
{
	bool fluid = c->rules.shares && !c->rules.total_waits;

	for (size_t i = 0; !fluid && c->dirty && i < c->n; i++) {
		const struct sl_checked_job *j = &c->jobs[i];
		const struct sl_checked_lane *v =
			j->lane != SL_LANE_NONE ? &c->lanes[j->lane] : NULL;

		if (v && !j->held && !j->parking && v->holder == SL_JOB_NONE &&
			!(v->settling || j->settling))
			return no("lane %u stands idle though job %u is in it", j->lane,
				j->id);
	}
	c->dirty = false;
	return SL_OK;
}

static sl_status pass_time(struct sl_decision_check *c, sl_ns at)
{
	if (at < c->now)
		return no("time goes back");
	if (at > c->now)
		SL_TRY(check_idle(c));
	c->now = at;
	for (size_t i = 0; c->rules.max_wait_ns > 0 && i < c->n; i++) {
		struct sl_checked_job *j = &c->jobs[i];
		sl_ns due = j->from + c->rules.max_wait_ns - j->waited;

		if (j->aged >= 0 || !sl_check_waits(c, j) || due > at)
			continue;
		j->aged = due;
		j->had_at_age = j->had;
	}
	return SL_OK;
}

static sl_status arrive(struct sl_decision_check *c, const struct sl_step *s)
{
	if (s->job < c->next_id)
		return no("job %u arrives out of order", s->job);
	if (sl_grow((void **)&c->jobs, &c->cap, c->n + 1, sizeof(*c->jobs), MAX_ENTRIES))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu jobs", c->n);
	c->jobs[c->n++] = (struct sl_checked_job){.id = s->job,
		.user = s->user,
		.lane = SL_LANE_NONE,
		.p = s->persistent_bytes,
		.e = s->ephemeral_bytes,
		.from = s->at_ns,
		.aged = -1};
	c->next_id = (uint64_t)s->job + 1;
	return SL_OK;
}

static sl_status reported(
	struct sl_decision_check *c, struct sl_checked_job *j, const struct sl_step *s)
{
	bool fluid = c->rules.shares && !c->rules.total_waits;

	if (s->kind == SL_STEP_TURN && !j->turn && !(fluid && j->lane != SL_LANE_NONE))
		return no("job %u reports a turn that it does not have", j->id);
	sl_check_stop(c, j);
	if (j->turn) {
		c->lanes[j->lane].holder = SL_JOB_NONE;
		c->holders--;
		if (c->holders == 0 && !c->rules.shares)
			settle(c);
	}
	j->turn = false;
	j->had += s->used_ns < SL_SHARE_MOST - j->had ? s->used_ns : 0;
	if (!c->rules.total_waits && j->aged >= 0 &&
		j->had - j->had_at_age >= c->rules.max_wait_ns / 4) {
		j->aged = -1;
		j->waited = 0;
	}
	return SL_OK;
}

static void leave(struct sl_decision_check *c, struct sl_checked_job *j)
{
	size_t i = (size_t)(j - c->jobs);

	if (j->lane != SL_LANE_NONE) {
		c->used -= j->p;
		c->lanes[j->lane].jobs--;
	}
	memmove(j, j + 1, (c->n - i - 1) * sizeof(*j));
	c->n--;
}

static sl_status resized(
	struct sl_decision_check *c, struct sl_checked_job *j, const struct sl_step *s)
{
	struct sl_checked_lane *v = j->lane != SL_LANE_NONE ? &c->lanes[j->lane] : NULL;

	if (j->turn || j->parking)
		return no("job %u changes its size within its turn or its move", j->id);
	if (v) {
		c->used -= j->p;
		c->used += s->persistent_bytes;
		if (s->ephemeral_bytes > v->bytes) {
			c->used += s->ephemeral_bytes - v->bytes;
			v->bytes = s->ephemeral_bytes;
		}
		v->settling = j->settling = sl_check_may_settle(c);
	}
	j->p = s->persistent_bytes;
	j->e = s->ephemeral_bytes;
	return v && (c->used > c->rules.capacity_bytes || !sl_check_in_limit(c, j))
		       ? no("job %u grows beyond the device or its limit", j->id)
		       : SL_OK;
}

static sl_status limited(struct sl_decision_check *c, const struct sl_step *s)
{
	if (sl_grow((void **)&c->limits, &c->cap_limits, c->n_limits + 1,
		    sizeof(*c->limits), MAX_ENTRIES))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for limits");
	for (size_t i = 0; i < c->n_limits; i++)
		if (c->limits[i].user == s->user)
			c->limits[i].bytes = 0;
	c->limits[c->n_limits++] = (struct sl_checked_limit){s->user, s->bytes};
	return SL_OK;
}

struct sl_checked_lane *sl_check_lane(
	struct sl_decision_check *c, const struct sl_step *s, sl_status *st)
{
	struct sl_checked_lane *v;

	*st = SL_OK;
	if (s->lane > (s->kind == SL_STEP_SEAT ? MAX_SEAT : c->n_lanes))
		*st = no("lane %u is opened before lane %zu", s->lane, c->n_lanes);
	else if (sl_grow((void **)&c->lanes, &c->cap_lanes, (size_t)s->lane + 1,
			 sizeof(*v), MAX_ENTRIES))
		*st = SL_FAIL(SL_E_NOMEM, "no host memory left for %u lanes", s->lane);
	if (*st != SL_OK)
		return NULL;
	for (; c->n_lanes <= s->lane; c->n_lanes++)
		c->lanes[c->n_lanes] = (struct sl_checked_lane){.holder = SL_JOB_NONE};
	v = &c->lanes[s->lane];
	if (!v->open) {
		*v = (struct sl_checked_lane){.open = true, .holder = SL_JOB_NONE};
		c->open++;
		if (s->kind == SL_STEP_ADMIT && c->rules.lanes > 0 &&
			c->open > c->rules.lanes)
			*st = no(
				"%u lanes are open, at most %u", c->open, c->rules.lanes);
	}
	return v;
}

sl_status sl_check_charge(
	struct sl_decision_check *c, struct sl_checked_job *j, const struct sl_step *s)
{
	sl_status st;
	struct sl_checked_lane *v = sl_check_lane(c, s, &st);

	if (st != SL_OK)
		return st;
	if ((s->bytes < j->e && v->bytes < j->e) ||
		(s->bytes < v->bytes && s->kind == SL_STEP_ADMIT))
		return no("lane %u has %llu bytes, too few for job %u", s->lane,
			(unsigned long long)s->bytes, j->id);
	sl_check_stop(c, j);
	c->used += j->p;
	if (s->bytes > v->bytes) {
		c->used += s->bytes - v->bytes;
		v->bytes = s->bytes;
		v->settling |= sl_check_may_settle(c);
	}
	j->settling = sl_check_may_settle(c);
	v->jobs++;
	j->lane = s->lane;
	if (c->used > c->rules.capacity_bytes)
		return no("with job %u, sum of P and of lanes is %llu of %llu bytes",
			j->id, (unsigned long long)c->used,
			(unsigned long long)c->rules.capacity_bytes);
	return sl_check_in_limit(c, j) ? SL_OK
				       : no("job %u breaks its user's limit", j->id);
}

static sl_status admitted(
	struct sl_decision_check *c, struct sl_checked_job *j, const struct sl_step *s)
{
	const struct sl_checked_job *first = eldest(c, SL_LANE_NONE);

	if (j->lane != SL_LANE_NONE || j->held)
		return no("job %u is admitted but does not wait", j->id);
	if (first && first != j)
		return no("job %u is admitted before job %u, which is of age", j->id,
			first->id);
	return sl_check_charge(c, j, s);
}

static sl_status ran(
	struct sl_decision_check *c, struct sl_checked_job *j, const struct sl_step *s)
{
	const struct sl_checked_job *first;

	if (j->lane == SL_LANE_NONE || j->lane != s->lane || j->held || j->parking)
		return no("job %u gets the turn of lane %u, where it does not wait",
			j->id, s->lane);
	first = eldest(c, s->lane);
	if (c->lanes[s->lane].holder != SL_JOB_NONE)
		return no("lane %u is given to job %u within a turn of job %u", s->lane,
			j->id, c->lanes[s->lane].holder);
	/* Those that came of age together are equal. */
	if (first && (j->aged < 0 || first->aged < j->aged) && !first->settling &&
		!c->lanes[s->lane].settling)
		return no("job %u runs before job %u, which is of age", j->id, first->id);
	sl_check_stop(c, j);
	if (!c->rules.total_waits)
		j->waited = 0;
	j->turn = true;
	j->settling = false;
	c->lanes[s->lane].holder = j->id;
	c->holders++;
	return SL_OK;
}

static sl_status shrunk(struct sl_decision_check *c, const struct sl_step *s)
{
	struct sl_checked_lane *v = s->lane < c->n_lanes ? &c->lanes[s->lane] : NULL;

	if (!v || !v->open || s->bytes > v->bytes ||
		(v->holder != SL_JOB_NONE && !c->rules.shares))
		return no("lane %u does not shrink to %llu bytes now", s->lane,
			(unsigned long long)s->bytes);
	for (size_t i = 0; v->jobs > 0 && i < c->n; i++)
		if (c->jobs[i].lane == s->lane && c->jobs[i].e > s->bytes)
			return no("lane %u shrinks below job %u", s->lane, c->jobs[i].id);
	c->used -= v->bytes - s->bytes;
	v->bytes = s->bytes;
	if (v->jobs == 0) {
		c->used -= v->bytes;
		*v = (struct sl_checked_lane){.holder = SL_JOB_NONE};
		c->open--;
	}
	return SL_OK;
}

static sl_status step_of_job(struct sl_decision_check *c, const struct sl_step *s)
{
	struct sl_checked_job *j = find(c, s->job);

	if (!j)
		return no("job %u is not there", s->job);
	switch ((int)s->kind) {
	case SL_STEP_TURN:
		return reported(c, j, s);
	case SL_STEP_END:
		SL_TRY(reported(c, j, s));
		leave(c, j);
		return SL_OK;
	case SL_STEP_RESIZE:
		return resized(c, j, s);
	case SL_STEP_ADMIT:
		return admitted(c, j, s);
	case SL_STEP_RUN:
		return ran(c, j, s);
	case SL_STEP_REJECT:
		if (j->p + j->e <= c->rules.capacity_bytes || j->lane != SL_LANE_NONE)
			return no("job %u is refused though it fits", j->id);
		leave(c, j);
		return SL_OK;
	case SL_STEP_PARK:
		return sl_check_park(c, j);
	case SL_STEP_PARKED:
		return sl_check_parked(c, j);
	case SL_STEP_SEAT:
	case SL_STEP_PAST:
		return sl_check_past(c, j, s);
	case SL_STEP_PRIORITY:
		return SL_OK;
	default:
		sl_check_stop(c, j);
		j->held = s->kind != SL_STEP_RELEASE;
		j->stays = s->kind == SL_STEP_AWAY;
		return SL_OK;
	}
}

sl_status sl_decision_check_step(struct sl_decision_check *c, const struct sl_step *s)
{
	SL_TRY(pass_time(c, s->at_ns));
	if (s->kind == SL_STEP_TICK)
		return SL_OK;
	c->dirty = true;
	if (s->kind == SL_STEP_ARRIVE)
		return arrive(c, s);
	if (s->kind == SL_STEP_LIMIT)
		return limited(c, s);
	if (s->kind == SL_STEP_SHRINK)
		return shrunk(c, s);
	if (s->kind == SL_STEP_POLICY)
		return sl_check_policy(c, s);
	return step_of_job(c, s);
}

sl_status sl_decision_check_open(
	const struct sl_share_rules *rules, struct sl_decision_check **out)
{
	struct sl_decision_check *c = sl_calloc(1, sizeof(*c));

	if (!c)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a check");
	c->rules = *rules;
	*out = c;
	return SL_OK;
}

void sl_decision_check_close(struct sl_decision_check *c)
{
	if (!c)
		return;
	sl_free(c->jobs);
	sl_free(c->lanes);
	sl_free(c->limits);
	sl_free(c);
}

sl_status sl_decision_check_log(const struct sl_log *l)
{
	sl_status st;
	struct sl_decision_check *c = NULL;

	SL_TRY(sl_decision_check_open(&l->rules, &c));
	for (size_t i = 0; i < l->n; i++) {
		st = sl_decision_check_step(c, &l->steps[i]);
		if (st != SL_OK) {
			st = sl_fail_prefix(st, "step %zu", i + 1);
			goto out;
		}
	}
	st = SL_OK;
out:
	sl_decision_check_close(c);
	return st;
}
