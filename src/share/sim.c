/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs under a policy in virtual time, from event to event. */
#include "share/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "share/decision_check.h"
#include "share/state_int.h"

#define MAX_SPANS ((size_t)1 << 22)
#define ROUNDING 1e-6 /* of a nanosecond of service */
/* A turn of a job whose turns have no known length, where one has just begun. */
#define UNKNOWN_TURN_NS 1000000

struct run {
	struct sl_jobsim *m;
	struct sl_jobsim_table *t;
	struct sl_share s;
	struct sl_decision_check *check;
	double *weights; /* of lanes */
	size_t cap_weights;
	size_t arrived;
	bool reported; /* since the last decision */
	double jain, jain_ns; /* sum over time with two residents and more */
};

static struct sl_jobsim_job *of(const struct run *r, const struct sl_job *j)
{
	return &r->t->jobs[j->id];
}

static sl_ns served(const struct sl_job *j)
{
	return j->attained_ns + j->ahead_ns;
}

/* The service at which a running job is to report; its length or earlier. */
static sl_ns goal_of(const struct run *r, const struct sl_job *j)
{
	const struct sl_jobsim_job *x = of(r, j);
	sl_ns goal = x->length_ns, aged, stay;

	if (x->yield_ns >= 0 && x->yield_ns < goal)
		goal = x->yield_ns;
	if (!sl_share_is_fluid(&r->s))
		return goal;
	stay = j->seat_attained_ns + sl_share_stay(&r->s, j);
	if (sl_share_parks(&r->s) && stay > j->attained_ns && stay < goal)
		goal = stay;
	if (j->aged_ns < 0)
		return goal;
	aged = j->aged_attained_ns + r->s.rules.max_wait_ns / 4;
	return aged < goal ? aged : goal;
}

static sl_ns next_time(const struct run *r)
{
	sl_ns next = r->arrived < r->t->n ? r->t->jobs[r->arrived].submit_ns : INT64_MAX;
	sl_ns aged = sl_share_next_age(&r->s);

	if (aged >= 0 && aged < next)
		next = aged;
	for (size_t i = 0; i < r->s.n; i++) {
		const struct sl_job *j = r->s.jobs[i];
		const struct sl_jobsim_job *x = of(r, j);
		double left, wait;

		if (j->parking && x->gone_ns < next)
			next = x->gone_ns;
		if (x->share <= 0)
			continue;
		left = (double)(goal_of(r, j) - served(j)) - x->carry;
		wait = left > ROUNDING ? ceil((left - ROUNDING) / x->share) : 0;
		if (wait < (double)(next - r->s.now_ns))
			next = r->s.now_ns + (sl_ns)wait;
	}
	return next;
}

/* Jain's index of the residents' parts of this interval, weighted by its length. */
static void add_jain(struct run *r, sl_ns dt)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->s.n; i++) {
		double share = of(r, r->s.jobs[i])->share;

		n += r->s.jobs[i]->resident;
		sum += share;
		squares += share * share;
	}
	if (n < 2 || dt == 0 || squares <= 0)
		return;
	r->jain += (double)dt * sum * sum / ((double)n * squares);
	r->jain_ns += (double)dt;
}

static void advance(struct run *r, sl_ns to)
{
	sl_ns dt = to - r->s.now_ns;

	add_jain(r, dt);
	for (size_t i = 0; i < r->s.n; i++) {
		struct sl_job *j = r->s.jobs[i];
		struct sl_jobsim_job *x = of(r, j);
		double service, whole;

		if (x->share <= 0)
			continue;
		service = x->share * (double)dt + x->carry;
		whole = floor(service + ROUNDING);
		j->ahead_ns += (sl_ns)whole;
		x->carry = service > whole ? service - whole : 0;
		if (served(j) > x->length_ns)
			j->ahead_ns = x->length_ns - j->attained_ns;
	}
}

/* The steps from `from` on go through the check, and stay if the log is kept. */
static sl_status judge(struct run *r, size_t from)
{
	struct sl_log *l = &r->m->log;

	for (size_t i = from; i < l->n; i++)
		SL_TRY(sl_decision_check_step(r->check, &l->steps[i]));
	r->m->sum.steps += l->n - from;
	if (!r->m->keep_log)
		l->n = 0;
	return SL_OK;
}

static sl_status happen(struct run *r, const struct sl_step *e)
{
	size_t from = r->m->log.n;

	SL_TRY(sl_log_add(&r->m->log, e));
	SL_TRY(sl_share_apply(&r->s, e));
	return judge(r, from);
}

static sl_status add_span(
	struct run *r, struct sl_jobsim_job *x, sl_ns now, uint32_t lane, double share)
{
	struct sl_jobsim *m = r->m;

	if (x->share > 0 && m->keep_spans && now > x->from_ns) {
		if (m->n_spans == MAX_SPANS)
			return SL_FAIL(SL_E_LIMIT,
				"over %zu intervals; take fewer jobs, or no timeline and "
				"picture",
				MAX_SPANS);
		if (sl_grow((void **)&m->spans, &m->cap_spans, m->n_spans + 1,
			    sizeof(*m->spans), MAX_SPANS))
			return SL_FAIL(SL_E_NOMEM, "no host memory left for intervals");
		m->spans[m->n_spans++] = (struct sl_jobsim_span){
			(uint32_t)(x - r->t->jobs), x->lane, x->from_ns, now, x->share};
	}
	x->from_ns = now;
	x->share = share;
	x->lane = lane;
	return SL_OK;
}

/* Reports of one running job, if it has reached what it runs to. */
static sl_status report(struct run *r, const struct sl_job *j, sl_ns now)
{
	struct sl_jobsim_job *x = of(r, j);
	struct sl_step e = {
		.kind = SL_STEP_TURN, .at_ns = now, .job = j->id, .used_ns = j->ahead_ns};
	uint64_t turns = x->turn_ns > 0 ? (uint64_t)(served(j) / x->turn_ns) : 1;

	e.turns = x->turn_ns <= 0 ? 1 : turns > j->turns ? turns - j->turns : 0;
	x->yield_ns = -1;
	if (served(j) < x->length_ns)
		return happen(r, &e);
	e.kind = SL_STEP_END;
	x->end_ns = now;
	SL_TRY(add_span(r, x, now, x->lane, 0));
	return happen(r, &e);
}

static sl_status arrive(struct run *r, sl_ns now)
{
	const struct sl_jobsim_job *x = &r->t->jobs[r->arrived];
	struct sl_step e = {.kind = SL_STEP_ARRIVE,
		.at_ns = now,
		.job = (uint32_t)r->arrived++,
		.user = x->user,
		.priority = x->priority,
		.deadline_ns = x->deadline_ns,
		.length_ns = x->declared_ns,
		.turn_ns = x->turn_ns,
		.persistent_bytes = x->persistent_bytes,
		.ephemeral_bytes = x->ephemeral_bytes};

	return happen(r, &e);
}

/* P is away; bringing it back is counted here as well. */
static sl_status park(struct run *r, const struct sl_job *j, sl_ns now)
{
	const struct sl_step e = {.kind = SL_STEP_PARKED, .at_ns = now, .job = j->id};

	r->m->sum.parks++;
	return happen(r, &e);
}

static sl_status events_at(struct run *r, sl_ns now)
{
	uint64_t before = r->m->sum.steps;

	for (size_t i = 0; i < r->s.n;) {
		const struct sl_job *j = r->s.jobs[i];
		uint32_t id = j->id;

		if (of(r, j)->share > 0 && served(j) >= goal_of(r, j))
			SL_TRY(report(r, j, now));
		else if (j->parking && of(r, j)->gone_ns <= now)
			SL_TRY(park(r, j, now));
		i += i < r->s.n && r->s.jobs[i]->id == id;
	}
	while (r->arrived < r->t->n && r->t->jobs[r->arrived].submit_ns <= now)
		SL_TRY(arrive(r, now));
	if (r->m->sum.steps == before)
		return happen(r, &(struct sl_step){.kind = SL_STEP_TICK, .at_ns = now});
	return SL_OK;
}

static double weight_of(const struct run *r, const struct sl_job *j)
{
	return sl_share_is_fluid(&r->s) ? r->s.policy->weight(j) : 1;
}

/* The parts of the device: equal for busy lanes, in a lane by weight. */
static sl_status set_shares(struct run *r)
{
	const struct sl_lanes *v = &r->s.lanes;
	size_t busy = 0;

	if (sl_grow((void **)&r->weights, &r->cap_weights, v->n + 1, sizeof(double),
		    (size_t)1 << 24))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu lanes", v->n);
	memset(r->weights, 0, v->n * sizeof(double));
	for (size_t i = 0; i < r->s.n; i++) {
		const struct sl_job *j = r->s.jobs[i];

		if (!j->running)
			continue;
		busy += r->weights[j->lane] <= 0;
		r->weights[j->lane] += weight_of(r, j);
	}
	for (size_t i = 0; i < r->s.n; i++) {
		const struct sl_job *j = r->s.jobs[i];
		struct sl_jobsim_job *x = of(r, j);
		double share = 0;

		if (j->running)
			share = weight_of(r, j) / r->weights[j->lane] / (double)busy;
		if (share == x->share && (j->lane == x->lane || share <= 0))
			continue;
		if (share > 0 && x->first_ns < 0)
			x->first_ns = r->s.now_ns;
		r->m->sum.switches += x->share > 0 && share <= 0;
		SL_TRY(add_span(r, x, r->s.now_ns, j->lane, share));
		/* What it has had is on record before it waits. */
		if (share <= 0 && j->ahead_ns > 0) {
			SL_TRY(report(r, j, r->s.now_ns));
			r->reported = true;
		}
	}
	return SL_OK;
}

/* Asks jobs whose turn another should have to end it at their next boundary. */
static void ask_boundaries(struct run *r)
{
	for (uint32_t i = 0; i < r->s.lanes.n; i++) {
		const struct sl_lane *v = &r->s.lanes.items[i];
		const struct sl_job *j;
		struct sl_jobsim_job *x;
		sl_ns left;

		if (!v->open || v->holder == SL_JOB_NONE ||
			(v->members == 1 && r->s.policy->eager &&
				!sl_share_parks(&r->s)) ||
			!sl_share_wants_boundary(&r->s, i))
			continue;
		j = sl_share_find(&r->s, v->holder);
		x = of(r, j);
		if (x->yield_ns >= 0)
			continue;
		left = x->turn_ns > 0 ? x->turn_ns - served(j) % x->turn_ns : 0;
		if (x->turn_ns > 0 && left == x->turn_ns && j->ahead_ns > 0)
			left = 0;
		if (x->turn_ns == 0 && j->ahead_ns == 0)
			left = UNKNOWN_TURN_NS;
		x->yield_ns = served(j) + left;
	}
}

static void set_gone(struct run *r, const struct sl_step *s)
{
	struct sl_jobsim_job *x = &r->t->jobs[s->job];

	x->gone_ns = s->at_ns + sl_share_moving(&r->s, sl_share_find(&r->s, s->job));
}

static sl_status decide(struct run *r)
{
	size_t from = r->m->log.n;

	r->reported = false;
	SL_TRY(sl_share_decide(&r->s, &r->m->log));
	for (size_t i = from; i < r->m->log.n; i++)
		if (r->m->log.steps[i].kind == SL_STEP_PARK)
			set_gone(r, &r->m->log.steps[i]);
	if (r->m->log.n > from)
		SL_TRY(sl_share_check(&r->s));
	SL_TRY(judge(r, from));
	return set_shares(r);
}

static sl_status step(struct run *r)
{
	sl_ns now = next_time(r);

	if (now == INT64_MAX)
		return SL_FAIL(
			SL_E_NO, "nothing runs though %zu jobs wait (a bug)", r->s.n);
	advance(r, now);
	SL_TRY(events_at(r, now));
	/* What a job has had by then may let another park it. */
	do
		SL_TRY(decide(r));
	while (r->reported && sl_share_parks(&r->s));
	ask_boundaries(r);
	if (r->s.lanes.granted_bytes > r->m->sum.peak_bytes)
		r->m->sum.peak_bytes = r->s.lanes.granted_bytes;
	if (r->s.lanes.open > r->m->sum.lanes)
		r->m->sum.lanes = r->s.lanes.open;
	return SL_OK;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static sl_status sum_up(struct run *r)
{
	struct sl_jobsim_sum *sum = &r->m->sum;
	size_t n = r->t->n;
	double *jct = sl_alloc((n + 1) * sizeof(*jct));
	sl_ns last = 0;

	if (!jct)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu jobs", n);
	for (size_t i = 0; i < n; i++) {
		const struct sl_jobsim_job *x = &r->t->jobs[i];
		double queue = (double)(x->first_ns - x->submit_ns) * 1e-9;

		jct[i] = (double)(x->end_ns - x->submit_ns) * 1e-9;
		sum->queue_s += queue / (double)n;
		sum->jct_s += jct[i] / (double)n;
		sum->longest_queue_s = fmax(sum->longest_queue_s, queue);
		last = x->end_ns > last ? x->end_ns : last;
	}
	if (n > 0) {
		qsort(jct, n, sizeof(*jct), by_value);
		sum->makespan_s = (double)(last - r->t->jobs[0].submit_ns) * 1e-9;
		sum->p95_s = jct[(95 * n + 99) / 100 - 1];
		sum->max_s = jct[n - 1];
	}
	sum->jain = r->jain_ns > 0 ? r->jain / r->jain_ns : (double)NAN;
	sl_free(jct);
	return SL_OK;
}

static sl_status check_fit(const struct sl_jobsim *m, const struct sl_jobsim_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct sl_jobsim_job *x = &t->jobs[i];
		uint64_t peak = x->persistent_bytes + x->ephemeral_bytes;
		char need[SL_SIZE_TEXT], have[SL_SIZE_TEXT];

		if (peak > m->rules.capacity_bytes)
			return SL_FAIL(SL_E_INFEASIBLE,
				"job '%s' (line %u) needs %s (%llu bytes), the device "
				"has %s; give --capacity at least that",
				x->name, x->line, sl_size_print(peak, need),
				(unsigned long long)peak,
				sl_size_print(m->rules.capacity_bytes, have));
	}
	return SL_OK;
}

sl_status sl_jobsim_run(struct sl_jobsim *m, struct sl_jobsim_table *t)
{
	sl_status st;
	struct run r = {.m = m, .t = t};

	SL_TRY(check_fit(m, t));
	for (size_t i = 0; i < t->n; i++) {
		struct sl_jobsim_job *x = &t->jobs[i];

		x->first_ns = x->yield_ns = -1;
		x->end_ns = x->from_ns = 0;
		x->lane = 0;
		x->share = x->carry = 0;
	}
	m->rules.shares = true;
	sl_share_init(&r.s, m->policy, &m->rules);
	m->log.rules = r.s.rules;
	m->sum = (struct sl_jobsim_sum){0};
	SL_TRY_OUT(sl_decision_check_open(&r.s.rules, &r.check));
	while (r.arrived < t->n || r.s.n > 0)
		SL_TRY_OUT(step(&r));
	SL_TRY_OUT(sum_up(&r));
out:
	sl_decision_check_close(r.check);
	sl_share_finish(&r.s);
	sl_free(r.weights);
	return st;
}

void sl_jobsim_finish(struct sl_jobsim *m)
{
	sl_free(m->spans);
	sl_log_finish(&m->log);
	*m = (struct sl_jobsim){0};
}
