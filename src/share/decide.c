/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided: who is admitted to which lane, and whose turn it is. */
#include "share/state_int.h"

#include <stdlib.h>

#include "base/alloc.h"

#define MAX_LANES ((size_t)1 << 24)

static sl_ns deadline_of(const struct sl_job *j)
{
	return j->deadline_ns > 0 ? j->deadline_ns : INT64_MAX;
}

/* What comes before any policy's key: age, priority, deadline. */
static int compare_rank(const struct sl_job *a, const struct sl_job *b)
{
	sl_ns x = a->aged_ns >= 0 ? a->aged_ns : INT64_MAX;
	sl_ns y = b->aged_ns >= 0 ? b->aged_ns : INT64_MAX;

	if (x != y)
		return x < y ? -1 : 1;
	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	x = deadline_of(a);
	y = deadline_of(b);
	return x < y ? -1 : x > y;
}

static sl_ns usual_length(const struct sl_share *s)
{
	return s->ended > 0 ? (sl_ns)(s->ended_ns / (double)s->ended) : SL_JOB_USUAL_NS;
}

/* keyed: by the policy too; else by arrival, as admission goes. */
static int compare(const struct sl_share *s, bool keyed, const struct sl_job *a,
	const struct sl_job *b)
{
	int by = compare_rank(a, b);

	if (by == 0 && keyed && s->policy->compare)
		by = s->policy->compare(a, b, usual_length(s));
	return by != 0 ? by : a->id < b->id ? -1 : a->id > b->id;
}

static int by_arrival(const void *a, const void *b, void *s)
{
	return compare(s, false, *(struct sl_job *const *)a, *(struct sl_job *const *)b);
}

/* The job of age that has waited longest, but for those whose own user's limit keeps
 * them out; NULL: none. */
static const struct sl_job *first_aged(const struct sl_share *s)
{
	const struct sl_job *first = NULL;

	for (size_t i = 0; s->rules.max_wait_ns > 0 && i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];

		if (sl_job_waits(j) && j->aged_ns >= 0 &&
			(!first || j->aged_ns < first->aged_ns) &&
			(j->resident || sl_share_in_limit(s, j, j->persistent_bytes,
						j->ephemeral_bytes)))
			first = j;
	}
	return first;
}

static struct sl_step step_of(const struct sl_share *s, enum sl_step_kind kind)
{
	return (struct sl_step){.kind = kind, .at_ns = s->now_ns};
}

/* Room in the log and in the table of lanes is there before anything is changed. */
static sl_status admit(struct sl_share *s, struct sl_job *j,
	const struct sl_lane_fit *fit, struct sl_log *out)
{
	struct sl_step step = step_of(s, SL_STEP_ADMIT);
	struct sl_lanes *v = &s->lanes;
	bool opens = fit->lane == v->n || !v->items[fit->lane].open;
	struct sl_lane *lane;
	sl_status st;

	SL_TRY(sl_log_reserve(out, 1));
	if (sl_grow((void **)&v->items, &v->cap, (size_t)fit->lane + 1, sizeof(*v->items),
		    MAX_LANES))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu lanes", v->n);
	SL_TRY(sl_ledger_add(&s->ledger, SL_LEDGER_JOB, j->id, j->persistent_bytes));
	st = opens ? sl_ledger_add(&s->ledger, SL_LEDGER_LANE, fit->lane, fit->size_bytes)
		   : sl_ledger_resize(
			     &s->ledger, SL_LEDGER_LANE, fit->lane, fit->size_bytes);
	if (st != SL_OK) {
		sl_ledger_remove(&s->ledger, SL_LEDGER_JOB, j->id);
		return st;
	}
	v->n += fit->lane == v->n;
	v->open += opens;
	lane = &v->items[fit->lane];
	if (opens)
		*lane = (struct sl_lane){.open = true, .holder = SL_JOB_NONE};
	for (size_t i = 0, seen = 0; s->policy->charge && i < s->n; i++) {
		const struct sl_job *o = s->jobs[i];

		if (o->lane == fit->lane && (seen++ == 0 || o->level < j->level))
			j->level = o->level;
	}
	v->granted_bytes += j->persistent_bytes + fit->size_bytes - lane->size_bytes;
	lane->size_bytes = fit->size_bytes;
	lane->members++;
	j->resident = true;
	j->seat = s->admitted++;
	j->lane = step.lane = fit->lane;
	step.job = j->id;
	step.bytes = fit->size_bytes;
	out->steps[out->n++] = step;
	return SL_OK;
}

static sl_status run(struct sl_share *s, struct sl_job *j, struct sl_log *out)
{
	struct sl_step step = step_of(s, SL_STEP_RUN);

	step.job = j->id;
	step.lane = j->lane;
	SL_TRY(sl_log_add(out, &step));
	s->lanes.items[j->lane].holder = j->id;
	sl_share_set(s, j, true, j->held);
	if (!s->rules.shares) {
		sl_ledger_set_busy(&s->ledger, SL_LEDGER_LANE, j->lane, true);
		sl_ledger_set_busy(&s->ledger, SL_LEDGER_JOB, j->id, true);
	}
	return SL_OK;
}

static sl_status try_admit(struct sl_share *s, struct sl_job *j, struct sl_log *out)
{
	struct sl_lane_fit fit = sl_lane_find(
		&s->lanes, j->persistent_bytes, j->ephemeral_bytes, !s->policy->eager);

	if (!fit.fits ||
		!sl_share_in_limit(s, j, j->persistent_bytes, j->ephemeral_bytes))
		return SL_OK;
	return admit(s, j, &fit, out);
}

static sl_status reject_all(struct sl_share *s, struct sl_log *out)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *j = s->jobs[i];
		struct sl_step step = step_of(s, SL_STEP_REJECT);
		uint64_t peak = j->persistent_bytes + j->ephemeral_bytes;

		if (j->resident || peak <= s->rules.capacity_bytes)
			continue;
		step.job = j->id;
		SL_TRY(sl_log_add(out, &step));
		for (size_t k = i + 1; k < s->n; k++)
			s->jobs[k - 1] = s->jobs[k];
		s->n--;
		i--;
		sl_free(j);
	}
	return SL_OK;
}

static uint64_t need_of(const struct sl_share *s, uint32_t lane)
{
	uint64_t need = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->jobs[i]->lane == lane && s->jobs[i]->ephemeral_bytes > need)
			need = s->jobs[i]->ephemeral_bytes;
	return need;
}

/* Lanes at a boundary become as small as their jobs allow. */
static sl_status shrink_all(struct sl_share *s, struct sl_log *out)
{
	struct sl_lanes *v = &s->lanes;

	for (uint32_t i = 0; i < v->n; i++) {
		struct sl_lane *lane = &v->items[i];
		struct sl_step step = step_of(s, SL_STEP_SHRINK);

		if (!lane->open || !lane->dirty ||
			(lane->holder != SL_JOB_NONE && !s->rules.shares))
			continue;
		step.lane = i;
		step.bytes = lane->members > 0 ? need_of(s, i) : 0;
		if (lane->members == 0 || step.bytes != lane->size_bytes)
			SL_TRY(sl_log_add(out, &step));
		lane->dirty = false;
		v->granted_bytes -= lane->size_bytes - step.bytes;
		lane->size_bytes = step.bytes;
		if (lane->members > 0) {
			SL_TRY(sl_ledger_resize(
				&s->ledger, SL_LEDGER_LANE, i, step.bytes));
			continue;
		}
		sl_ledger_remove(&s->ledger, SL_LEDGER_LANE, i);
		lane->open = false;
		v->open--;
	}
	return SL_OK;
}

/* Admission before the first turn, in order of arrival within each rank. */
static sl_status admit_all(struct sl_share *s, struct sl_log *out)
{
	const struct sl_job *aged = first_aged(s);
	size_t n = 0;
	bool sorted = true;

	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *j = s->jobs[i];

		if (j->resident || j->held || (aged && aged != j))
			continue;
		s->order[n] = j;
		sorted = sorted && (n == 0 || compare(s, false, s->order[n - 1], j) < 0);
		n++;
	}
	if (!sorted)
		qsort_r(s->order, n, sizeof(struct sl_job *), by_arrival, s);
	for (size_t i = 0; i < n; i++) {
		SL_TRY(try_admit(s, s->order[i], out));
		if (!s->policy->passes && !s->order[i]->resident)
			break;
	}
	return SL_OK;
}

/* Its bytes are there: nothing that is busy stands in their way. */
static bool is_ready(const struct sl_share *s, const struct sl_job *j)
{
	const struct sl_region *p, *lane;

	if (s->rules.shares)
		return true;
	p = sl_ledger_find(&s->ledger, SL_LEDGER_JOB, j->id);
	lane = sl_ledger_find(&s->ledger, SL_LEDGER_LANE, j->lane);
	return p->size_bytes >= j->persistent_bytes &&
	       lane->size_bytes >= j->ephemeral_bytes;
}

/* The next job in order, after `last`, that may take a turn now. */
static struct sl_job *next_for_turn(
	const struct sl_share *s, const struct sl_job *last, bool admits)
{
	const struct sl_job *aged = first_aged(s);
	struct sl_job *best = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *j = s->jobs[i];

		if (!sl_job_waits(j))
			continue;
		if (j->resident ? s->lanes.items[j->lane].holder != SL_JOB_NONE ||
					  !is_ready(s, j)
				: s->policy->eager || !admits || (aged && aged != j))
			continue;
		if ((!last || compare(s, true, last, j) < 0) &&
			(!best || compare(s, true, j, best) < 0))
			best = j;
	}
	return best;
}

static bool has_free_lane(const struct sl_share *s)
{
	if (!s->policy->eager && (s->lanes.most == 0 || s->lanes.open < s->lanes.most))
		return true;
	for (size_t i = 0; i < s->lanes.n; i++)
		if (s->lanes.items[i].open && s->lanes.items[i].holder == SL_JOB_NONE)
			return true;
	return false;
}

static sl_status dispatch(struct sl_share *s, struct sl_log *out)
{
	const struct sl_job *last = NULL;
	bool admits = true;

	while (has_free_lane(s)) {
		struct sl_job *j = next_for_turn(s, last, admits);

		if (!j)
			return SL_OK;
		last = j;
		if (!j->resident) {
			SL_TRY(try_admit(s, j, out));
			if (!j->resident) {
				admits = s->policy->passes;
				continue;
			}
			sl_ledger_settle(&s->ledger);
		}
		if (is_ready(s, j))
			SL_TRY(run(s, j, out));
	}
	return SL_OK;
}

/* Who has a part of each lane in virtual time: those of the first rank. */
static void share_lanes(struct sl_share *s)
{
	for (uint32_t lane = 0; lane < s->lanes.n; lane++) {
		const struct sl_job *first = NULL;

		for (size_t i = 0; i < s->n; i++) {
			const struct sl_job *j = s->jobs[i];

			if (j->lane == lane && !j->held &&
				(!first || compare_rank(j, first) < 0))
				first = j;
		}
		for (size_t i = 0; i < s->n; i++) {
			struct sl_job *j = s->jobs[i];
			bool runs = first && !j->held && compare_rank(j, first) == 0;

			if (j->lane == lane && j->running != runs)
				sl_share_set(s, j, runs, j->held);
		}
	}
}

sl_status sl_share_decide(struct sl_share *s, struct sl_log *out)
{
	size_t before;

	sl_share_age(s);
	SL_TRY(reject_all(s, out));
	SL_TRY(shrink_all(s, out));
	sl_ledger_settle(&s->ledger);
	/* Again while there was something: once the first of age runs, others may follow.
	 */
	do {
		before = out->n;
		if (s->policy->eager) {
			SL_TRY(admit_all(s, out));
			sl_ledger_settle(&s->ledger);
		}
		if (sl_share_is_fluid(s))
			share_lanes(s);
		else
			SL_TRY(dispatch(s, out));
	} while (out->n > before);
	return SL_OK;
}

/* Would a waiting job be admitted to this lane at its boundary? */
static bool would_fit(const struct sl_share *s, uint32_t lane, const struct sl_job *j)
{
	struct sl_lanes alone = s->lanes;

	alone.items = &s->lanes.items[lane];
	alone.n = alone.open = alone.most = 1;
	return sl_lane_find(&alone, j->persistent_bytes, j->ephemeral_bytes, false)
		       .fits &&
	       sl_share_in_limit(s, j, j->persistent_bytes, j->ephemeral_bytes);
}

/* Whether j takes the turn of the job that holds it. Where turns are long, age alone does
 * not take it from a job that came earlier: that one ends soon enough (it is in R). */
static bool goes_before(
	const struct sl_share *s, const struct sl_job *j, const struct sl_job *holder)
{
	struct sl_job young = *j;

	if (!s->policy->turns && holder->id < j->id)
		young.aged_ns = -1;
	return compare(s, true, &young, holder) < 0;
}

/* Whether anybody would have the lane at its boundary instead of its holder: a resident
 * of it, or the first that waits for admission and fits (where others may pass: any). */
static bool has_rival(
	const struct sl_share *s, uint32_t lane, const struct sl_job *holder)
{
	const struct sl_job *aged = first_aged(s), *first = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];

		if (!sl_job_waits(j) || !goes_before(s, j, holder))
			continue;
		if (j->resident && j->lane == lane)
			return true;
		if (j->resident || s->policy->eager || (aged && aged != j))
			continue;
		if (s->policy->passes && would_fit(s, lane, j))
			return true;
		if (!first || compare(s, true, j, first) < 0)
			first = j;
	}
	return first && would_fit(s, lane, first);
}

bool sl_share_wants_boundary(const struct sl_share *s, uint32_t lane)
{
	const struct sl_lane *v = lane < s->lanes.n ? &s->lanes.items[lane] : NULL;
	const struct sl_job *holder;

	if (!v || !v->open || v->holder == SL_JOB_NONE)
		return false;
	holder = sl_share_find(s, v->holder);
	if (!holder || holder->held)
		return true;
	if (!s->rules.shares && !sl_ledger_settled(&s->ledger))
		return true;
	if (s->policy->eager && v->members == 1)
		return false;
	return has_rival(s, lane, holder);
}
