/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a shared device, and what events do to it. */
#include "share/state_int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/units.h"

#define MAX_JOBS ((size_t)1 << 24)

void sl_share_init(struct sl_share *s, const struct sl_job_policy *policy,
	const struct sl_share_rules *rules)
{
	*s = (struct sl_share){.rules = *rules, .asked_lanes = rules->lanes};
	sl_share_set_policy(s, policy, rules->lanes > 0 ? rules->lanes : policy->lanes);
	s->lanes.capacity_bytes = s->ledger.capacity_bytes = rules->capacity_bytes;
}

void sl_share_finish(struct sl_share *s)
{
	for (size_t i = 0; i < s->n; i++)
		sl_free(s->jobs[i]);
	sl_free(s->jobs);
	sl_free(s->order);
	sl_free(s->victims);
	sl_free(s->trial);
	sl_free(s->second);
	sl_free(s->lanes.items);
	sl_free(s->limits);
	sl_ledger_finish(&s->ledger);
	*s = (struct sl_share){0};
}

/* Where the job is or would be. */
static size_t place_of(const struct sl_share *s, uint32_t id)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->jobs[mid]->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct sl_job *sl_share_find(const struct sl_share *s, uint32_t id)
{
	size_t i = place_of(s, id);

	return i < s->n && s->jobs[i]->id == id ? s->jobs[i] : NULL;
}

bool sl_share_is_fluid(const struct sl_share *s)
{
	return s->rules.shares && s->policy->turns;
}

void sl_share_set(struct sl_share *s, struct sl_job *j, bool running, bool held)
{
	if (sl_job_waits(j))
		j->waited_ns += s->now_ns - j->wait_from_ns;
	if (running && !j->running && !s->rules.total_waits)
		j->waited_ns = 0;
	j->running = running;
	j->held = held;
	j->wait_from_ns = s->now_ns;
}

void sl_share_age(struct sl_share *s)
{
	for (size_t i = 0; s->rules.max_wait_ns > 0 && i < s->n; i++) {
		struct sl_job *j = s->jobs[i];
		sl_ns due = j->wait_from_ns + s->rules.max_wait_ns - j->waited_ns;

		if (!sl_job_waits(j) || j->aged_ns >= 0 || due > s->now_ns)
			continue;
		j->aged_ns = due;
		j->aged_attained_ns = j->attained_ns;
	}
}

sl_ns sl_share_next_age(const struct sl_share *s)
{
	sl_ns next = -1;

	for (size_t i = 0; s->rules.max_wait_ns > 0 && i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];
		sl_ns due = j->wait_from_ns + s->rules.max_wait_ns - j->waited_ns;

		if (sl_job_waits(j) && j->aged_ns < 0 && (next < 0 || due < next))
			next = due;
	}
	return next;
}

uint64_t sl_share_limit(const struct sl_share *s, uint32_t user)
{
	for (size_t i = 0; i < s->n_limits; i++)
		if (s->limits[i].user == user && s->limits[i].bytes > 0)
			return s->limits[i].bytes;
	return UINT64_MAX;
}

bool sl_share_in_limit(const struct sl_share *s, const struct sl_job *j,
	uint64_t persistent, uint64_t ephemeral)
{
	uint64_t limit = sl_share_limit(s, j->user), sum = persistent + ephemeral;

	for (size_t i = 0; limit < UINT64_MAX && i < s->n; i++) {
		const struct sl_job *o = s->jobs[i];

		if (o != j && o->resident && o->user == j->user &&
			!sl_add_u64(sum, o->persistent_bytes + o->ephemeral_bytes, &sum))
			return false;
	}
	return sum <= limit;
}

static sl_status arrive(struct sl_share *s, const struct sl_step *e)
{
	struct sl_job *j;

	if (e->job < s->next_id)
		return SL_FAIL(SL_E_INVALID, "job %u arrives after job %llu", e->job,
			(unsigned long long)s->next_id - 1);
	if (sl_grow((void **)&s->jobs, &s->cap, s->n + 1, sizeof(void *), MAX_JOBS) ||
		sl_grow((void **)&s->order, &s->order_cap, s->n + 1, sizeof(void *),
			MAX_JOBS) ||
		sl_grow((void **)&s->victims, &s->victims_cap, s->n + 1, sizeof(void *),
			MAX_JOBS) ||
		!(j = sl_alloc(sizeof(*j))))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu jobs", s->n + 1);
	*j = (struct sl_job){.id = e->job,
		.user = e->user,
		.priority = e->priority,
		.arrive_ns = e->at_ns,
		.deadline_ns = e->deadline_ns,
		.length_ns = e->length_ns,
		.turn_ns = e->turn_ns,
		.persistent_bytes = e->persistent_bytes,
		.ephemeral_bytes = e->ephemeral_bytes,
		.lane = SL_LANE_NONE,
		.wait_from_ns = e->at_ns,
		.aged_ns = -1};
	s->jobs[s->n++] = j;
	s->next_id = (uint64_t)e->job + 1;
	return SL_OK;
}

static bool holds(const struct sl_share *s, const struct sl_job *j)
{
	return j->resident && s->lanes.items[j->lane].holder == j->id;
}

/* The lane is at a boundary. */
static void leave_turn(struct sl_share *s, struct sl_job *j)
{
	if (!holds(s, j))
		return;
	s->lanes.items[j->lane].holder = SL_JOB_NONE;
	if (!s->rules.shares) {
		sl_ledger_set_busy(&s->ledger, SL_LEDGER_LANE, j->lane, false);
		sl_ledger_set_busy(&s->ledger, SL_LEDGER_JOB, j->id, false);
	}
	sl_share_set(s, j, false, j->held);
}

static sl_status report(struct sl_share *s, struct sl_job *j, const struct sl_step *e)
{
	int64_t level = s->policy->charge ? s->policy->charge(e) : 0;

	if (e->used_ns > SL_SHARE_MOST - j->attained_ns ||
		e->turns > (uint64_t)SL_SHARE_MOST - j->turns ||
		level > SL_SHARE_MOST - j->level)
		return SL_FAIL(
			SL_E_INVALID, "job %u reports more service than time has", j->id);
	if (e->kind == SL_STEP_TURN && !holds(s, j) &&
		!(sl_share_is_fluid(s) && j->resident))
		return SL_FAIL(
			SL_E_INVALID, "job %u reports a turn it does not have", j->id);
	j->attained_ns += e->used_ns;
	j->turns += e->turns;
	j->level += level;
	j->ahead_ns = 0;
	leave_turn(s, j);
	if (!s->rules.total_waits && j->aged_ns >= 0 &&
		j->attained_ns - j->aged_attained_ns >= s->rules.max_wait_ns / 4) {
		j->aged_ns = -1;
		j->waited_ns = 0;
		j->wait_from_ns = s->now_ns;
	}
	return SL_OK;
}

static sl_status end(struct sl_share *s, struct sl_job *j, const struct sl_step *e)
{
	size_t i = place_of(s, j->id);

	SL_TRY(report(s, j, e));
	if (j->attained_ns > 0) {
		s->ended_ns += (double)j->attained_ns;
		s->ended++;
	}
	sl_share_stand_up(s, j);
	memmove(&s->jobs[i], &s->jobs[i + 1], (s->n - i - 1) * sizeof(void *));
	s->n--;
	sl_free(j);
	return SL_OK;
}

static sl_status resize(struct sl_share *s, struct sl_job *j, const struct sl_step *e)
{
	struct sl_lane *lane = j->resident ? &s->lanes.items[j->lane] : NULL;
	uint64_t size = 0, others;

	if (holds(s, j) || j->parking)
		return SL_FAIL(SL_E_INVALID,
			"job %u changes its size within a turn or a move", j->id);
	if (lane) {
		size = lane->size_bytes > e->ephemeral_bytes ? lane->size_bytes
							     : e->ephemeral_bytes;
		others = s->lanes.granted_bytes - j->persistent_bytes - lane->size_bytes;
		if (e->persistent_bytes + size > s->rules.capacity_bytes - others ||
			!sl_share_in_limit(s, j, e->persistent_bytes, e->ephemeral_bytes))
			return SL_FAIL(SL_E_NOMEM_DEVICE,
				"job %u cannot grow to %llu + %llu bytes: the device or "
				"its user's limit is full",
				j->id, (unsigned long long)e->persistent_bytes,
				(unsigned long long)e->ephemeral_bytes);
		/* What shrinks goes first, so that the rule holds in between. */
		if (e->persistent_bytes < j->persistent_bytes)
			SL_TRY(sl_ledger_resize(
				&s->ledger, SL_LEDGER_JOB, j->id, e->persistent_bytes));
		SL_TRY(sl_ledger_resize(&s->ledger, SL_LEDGER_LANE, j->lane, size));
		SL_TRY(sl_ledger_resize(
			&s->ledger, SL_LEDGER_JOB, j->id, e->persistent_bytes));
		s->lanes.granted_bytes = others + e->persistent_bytes + size;
		lane->size_bytes = size;
		lane->dirty = true;
	}
	j->persistent_bytes = e->persistent_bytes;
	j->ephemeral_bytes = e->ephemeral_bytes;
	return SL_OK;
}

static sl_status set_limit(struct sl_share *s, const struct sl_step *e)
{
	size_t i = 0;

	while (i < s->n_limits && s->limits[i].user != e->user)
		i++;
	if (i == s->n_limits) {
		if (sl_grow((void **)&s->limits, &s->cap_limits, i + 1,
			    sizeof(*s->limits), MAX_JOBS))
			return SL_FAIL(
				SL_E_NOMEM, "no host memory left for %zu users", i + 1);
		s->n_limits++;
	}
	s->limits[i] = (struct sl_user_limit){e->user, e->bytes};
	return SL_OK;
}

static sl_status apply_to_job(struct sl_share *s, const struct sl_step *e)
{
	struct sl_job *j = sl_share_find(s, e->job);

	if (!j)
		return SL_FAIL(SL_E_INVALID, "job %u is not there", e->job);
	if (e->kind == SL_STEP_TURN)
		return report(s, j, e);
	if (e->kind == SL_STEP_END)
		return end(s, j, e);
	if (e->kind == SL_STEP_RESIZE)
		return resize(s, j, e);
	if (e->kind == SL_STEP_PARKED || e->kind == SL_STEP_SEAT ||
		e->kind == SL_STEP_PAST)
		return sl_share_apply_past(s, j, e);
	if (e->kind == SL_STEP_PRIORITY) {
		j->priority = e->priority;
		return SL_OK;
	}
	if (e->kind != SL_STEP_HOLD && e->kind != SL_STEP_RELEASE &&
		e->kind != SL_STEP_AWAY)
		return SL_FAIL(SL_E_INVALID, "a decision is no event");
	sl_share_set(s, j, j->running, e->kind != SL_STEP_RELEASE);
	j->stays = e->kind == SL_STEP_AWAY;
	return SL_OK;
}

sl_status sl_share_apply(struct sl_share *s, const struct sl_step *e)
{
	if (e->at_ns < s->now_ns)
		return SL_FAIL(SL_E_INVALID, "time goes back");
	s->now_ns = e->at_ns;
	sl_share_age(s);
	if (e->kind == SL_STEP_TICK)
		return SL_OK;
	if (e->kind == SL_STEP_ARRIVE)
		return arrive(s, e);
	if (e->kind == SL_STEP_LIMIT)
		return set_limit(s, e);
	if (e->kind == SL_STEP_POLICY)
		return sl_share_apply_policy(s, e);
	return apply_to_job(s, e);
}

sl_status sl_share_check(const struct sl_share *s)
{
	uint64_t granted = 0;

	SL_TRY(sl_ledger_check(&s->ledger));
	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];

		if (!j->resident)
			continue;
		granted += j->persistent_bytes;
		if (!s->lanes.items[j->lane].open ||
			s->lanes.items[j->lane].size_bytes < j->ephemeral_bytes)
			return SL_FAIL(SL_E_NO, "lane %u is too small for job %u",
				j->lane, j->id);
	}
	for (size_t i = 0; i < s->lanes.n; i++)
		granted += s->lanes.items[i].open ? s->lanes.items[i].size_bytes : 0;
	if (granted != s->lanes.granted_bytes || granted != s->ledger.granted_bytes ||
		granted > s->rules.capacity_bytes)
		return SL_FAIL(SL_E_NO,
			"sum of P and of lanes is %llu, the books say "
			"%llu and %llu",
			(unsigned long long)granted,
			(unsigned long long)s->lanes.granted_bytes,
			(unsigned long long)s->ledger.granted_bytes);
	return SL_OK;
}
