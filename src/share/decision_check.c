/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a log of decisions from what it says alone, policy-blind. */
#include "share/decision_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define MAX_ENTRIES ((size_t)1 << 24)

struct seen {
	uint32_t id, user, lane; /* SL_LANE_NONE: not admitted */
	bool held, turn, settling; /* its bytes may wait for what is busy */
	uint64_t p, e;
	sl_ns had, from, waited, aged, had_at_age; /* waits from `from` on; aged -1: no */
};

struct lane {
	bool open, settling;
	uint64_t bytes;
	uint32_t jobs, holder;
};

struct limit {
	uint32_t user;
	uint64_t bytes;
};

struct sl_decision_check {
	struct sl_share_rules rules;
	sl_ns now;
	struct seen *jobs; /* alive, by id */
	struct lane *lanes;
	struct limit *limits;
	size_t n, cap, n_lanes, cap_lanes, n_limits, cap_limits;
	uint64_t used; /* sum of P and of lanes */
	uint64_t next_id;
	uint32_t open, holders;
	bool dirty; /* something changed since lanes were looked at */
};

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

static struct seen *find(struct sl_decision_check *c, uint32_t id)
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

static bool waits(const struct sl_decision_check *c, const struct seen *j)
{
	return !j->held && !j->turn &&
	       !(c->rules.shares && !c->rules.total_waits && j->lane != SL_LANE_NONE);
}

/* Stops the clock of its wait, lets `change` be made, and starts it again. */
static void stop(struct sl_decision_check *c, struct seen *j)
{
	if (waits(c, j))
		j->waited += c->now - j->from;
	j->from = c->now;
}

static bool in_limit(const struct sl_decision_check *c, const struct seen *j)
{
	uint64_t most = UINT64_MAX, sum = j->p + j->e;

	for (size_t i = 0; i < c->n_limits; i++)
		if (c->limits[i].user == j->user && c->limits[i].bytes > 0)
			most = c->limits[i].bytes;
	for (size_t i = 0; most < UINT64_MAX && i < c->n; i++) {
		const struct seen *o = &c->jobs[i];

		if (o != j && o->user == j->user && o->lane != SL_LANE_NONE &&
			!sl_add_u64(sum, o->p + o->e, &sum))
			return false;
	}
	return sum <= most;
}

/* The first of age that waits, in one lane or (SL_LANE_NONE) at all. */
static const struct seen *eldest(const struct sl_decision_check *c, uint32_t lane)
{
	const struct seen *first = NULL;

	for (size_t i = 0; c->rules.max_wait_ns > 0 && i < c->n; i++) {
		const struct seen *j = &c->jobs[i];

		if (j->aged >= 0 && waits(c, j) &&
			(lane == SL_LANE_NONE || j->lane == lane) &&
			(!first || j->aged < first->aged) &&
			(j->lane != SL_LANE_NONE || in_limit(c, j)))
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

static bool may_settle(const struct sl_decision_check *c)
{
	return c->holders > 0 && !c->rules.shares;
}

/* When time passes, no lane is free beside a job that could have its turn. */
static sl_status check_idle(struct sl_decision_check *c)
{
	bool fluid = c->rules.shares && !c->rules.total_waits;

	for (size_t i = 0; !fluid && c->dirty && i < c->n; i++) {
		const struct seen *j = &c->jobs[i];
		const struct lane *v =
			j->lane != SL_LANE_NONE ? &c->lanes[j->lane] : NULL;

		if (v && !j->held && v->holder == SL_JOB_NONE &&
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
		struct seen *j = &c->jobs[i];
		sl_ns due = j->from + c->rules.max_wait_ns - j->waited;

		if (j->aged >= 0 || !waits(c, j) || due > at)
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
	c->jobs[c->n++] = (struct seen){.id = s->job,
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
	struct sl_decision_check *c, struct seen *j, const struct sl_step *s)
{
	bool fluid = c->rules.shares && !c->rules.total_waits;

	if (s->kind == SL_STEP_TURN && !j->turn && !(fluid && j->lane != SL_LANE_NONE))
		return no("job %u reports a turn that it does not have", j->id);
	stop(c, j);
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

static void leave(struct sl_decision_check *c, struct seen *j)
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
	struct sl_decision_check *c, struct seen *j, const struct sl_step *s)
{
	struct lane *v = j->lane != SL_LANE_NONE ? &c->lanes[j->lane] : NULL;

	if (j->turn)
		return no("job %u changes its size within its turn", j->id);
	if (v) {
		c->used -= j->p;
		c->used += s->persistent_bytes;
		if (s->ephemeral_bytes > v->bytes) {
			c->used += s->ephemeral_bytes - v->bytes;
			v->bytes = s->ephemeral_bytes;
		}
		v->settling = j->settling = may_settle(c);
	}
	j->p = s->persistent_bytes;
	j->e = s->ephemeral_bytes;
	return v && (c->used > c->rules.capacity_bytes || !in_limit(c, j))
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
	c->limits[c->n_limits++] = (struct limit){s->user, s->bytes};
	return SL_OK;
}

/* The lane of an admission, opened if it is not; NULL after a failure in *st. */
static struct lane *lane_of(
	struct sl_decision_check *c, const struct sl_step *s, sl_status *st)
{
	struct lane *v;

	*st = SL_OK;
	if (s->lane > c->n_lanes)
		*st = no("lane %u is opened before lane %zu", s->lane, c->n_lanes);
	else if (sl_grow((void **)&c->lanes, &c->cap_lanes, (size_t)s->lane + 1,
			 sizeof(*v), MAX_ENTRIES))
		*st = SL_FAIL(SL_E_NOMEM, "no host memory left for %u lanes", s->lane);
	if (*st != SL_OK)
		return NULL;
	v = &c->lanes[s->lane];
	if (s->lane == c->n_lanes || !v->open) {
		*v = (struct lane){.open = true, .holder = SL_JOB_NONE};
		c->n_lanes += s->lane == c->n_lanes;
		c->open++;
	}
	return v;
}

static sl_status admitted(
	struct sl_decision_check *c, struct seen *j, const struct sl_step *s)
{
	const struct seen *first = eldest(c, SL_LANE_NONE);
	struct lane *v;
	sl_status st;

	if (j->lane != SL_LANE_NONE || j->held)
		return no("job %u is admitted but does not wait", j->id);
	if (first && first != j)
		return no("job %u is admitted before job %u, which is of age", j->id,
			first->id);
	v = lane_of(c, s, &st);
	if (!v)
		return st;
	if (s->bytes < j->e || s->bytes < v->bytes)
		return no("lane %u has %llu bytes, too few for job %u", s->lane,
			(unsigned long long)s->bytes, j->id);
	if (c->rules.lanes > 0 && c->open > c->rules.lanes)
		return no("%u lanes are open, at most %u", c->open, c->rules.lanes);
	stop(c, j);
	c->used += j->p + s->bytes - v->bytes;
	v->settling |= s->bytes != v->bytes && may_settle(c);
	j->settling = may_settle(c);
	v->bytes = s->bytes;
	v->jobs++;
	j->lane = s->lane;
	if (c->used > c->rules.capacity_bytes)
		return no("with job %u, sum of P and of lanes is %llu of %llu bytes",
			j->id, (unsigned long long)c->used,
			(unsigned long long)c->rules.capacity_bytes);
	return in_limit(c, j) ? SL_OK : no("job %u breaks its user's limit", j->id);
}

static sl_status ran(struct sl_decision_check *c, struct seen *j, const struct sl_step *s)
{
	const struct seen *first;

	if (j->lane == SL_LANE_NONE || j->lane != s->lane || j->held)
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
	stop(c, j);
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
	struct lane *v = s->lane < c->n_lanes ? &c->lanes[s->lane] : NULL;

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
		*v = (struct lane){.holder = SL_JOB_NONE};
		c->open--;
	}
	return SL_OK;
}

static sl_status step_of_job(struct sl_decision_check *c, const struct sl_step *s)
{
	struct seen *j = find(c, s->job);

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
	default:
		stop(c, j);
		j->held = s->kind == SL_STEP_HOLD;
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
