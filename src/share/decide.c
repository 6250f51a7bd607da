/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided: who is admitted to which lane, and whose turn it is. */
#include "share/state_int.h"

#include <stdlib.h>

#include "base/alloc.h"

static int by_wait(const void *a, const void *b, void *s)
{
	return sl_share_wait_order(
		s, *(struct sl_job *const *)a, *(struct sl_job *const *)b);
}

#define FEW 8 /* jobs picked one by one before the rest is sorted */

static struct sl_step step_of(const struct sl_share *s, enum sl_step_kind kind)
{
	return (struct sl_step){.kind = kind, .at_ns = s->now_ns};
}

/* Where a newcomer begins: level with the least served of the lane or, as jobs come and
 * go, of all that were resident. */
static void set_level(struct sl_share *s, struct sl_job *j, uint32_t lane)
{
	if (sl_share_parks(s)) {
		j->level = sl_share_level(s, j);
		return;
	}
	for (size_t i = 0, seen = 0; i < s->n; i++) {
		const struct sl_job *o = s->jobs[i];

		if (o->lane == lane && (seen++ == 0 || o->level < j->level))
			j->level = o->level;
	}
}

/* Room in the log is there before anything is changed. */
static sl_status admit(struct sl_share *s, struct sl_job *j,
	const struct sl_lane_fit *fit, struct sl_log *out)
{
	struct sl_step step = step_of(s, SL_STEP_ADMIT);
	int64_t level = j->level;
	sl_status st;

	SL_TRY(sl_log_reserve(out, 1));
	if (s->policy->charge)
		set_level(s, j, fit->lane);
	st = sl_share_sit(s, j, fit->lane, fit->size_bytes);
	if (st != SL_OK) {
		j->level = level;
		return st;
	}
	step.lane = fit->lane;
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
	sl_share_take_turn(s, j);
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

/* What did not fit; nothing as large in both does then either. */
struct memo {
	bool any;
	uint64_t persistent, ephemeral;
};

/* Who may come in as things stand: kept until somebody does. */
struct door {
	bool moves; /* bytes are on their way to somebody */
	struct sl_lanes then; /* the lanes when they have come */
	struct memo now_no, then_no;
};

static struct door door_of(struct sl_share *s)
{
	struct door d = {.moves = sl_share_moves(s)};

	if (d.moves)
		d.then = sl_share_without(s);
	return d;
}

static bool fits(const struct sl_lanes *v, bool at_boundary, struct memo *no,
	const struct sl_job *j)
{
	if (no->any && j->persistent_bytes >= no->persistent &&
		j->ephemeral_bytes >= no->ephemeral)
		return false;
	if (sl_lane_find(v, j->persistent_bytes, j->ephemeral_bytes, at_boundary).fits)
		return true;
	*no = (struct memo){true, j->persistent_bytes, j->ephemeral_bytes};
	return false;
}

/* Whether j need be asked at all: who neither fits nor has a claim changes nothing. */
static bool may_come(const struct sl_share *s, struct door *d, const struct sl_job *j)
{
	return !s->policy->passes || fits(&s->lanes, !s->policy->eager, &d->now_no, j) ||
	       (d->moves && fits(&d->then, false, &d->then_no, j));
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

/* The next of n in order to the front of `from`: the first few one by one. */
static void take_next(struct sl_share *s, struct sl_job **from, size_t n, size_t taken)
{
	struct sl_job *first;
	size_t best = 0;

	if (taken == FEW)
		qsort_r(from, n, sizeof(struct sl_job *), by_wait, s);
	for (size_t i = 1; taken < FEW && i < n; i++)
		if (sl_share_wait_order(s, from[i], from[best]) < 0)
			best = i;
	first = from[best];
	from[best] = from[0];
	from[0] = first;
}

/* Admission before the first turn, in order of arrival within each rank. */
static sl_status admit_all(struct sl_share *s, struct sl_log *out)
{
	const struct sl_job *aged = sl_share_first_aged(s);
	struct door d = door_of(s);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *j = s->jobs[i];

		if (!j->resident && !j->held && (!aged || aged == j) &&
			may_come(s, &d, j))
			s->order[n++] = j;
	}
	for (size_t i = 0; i < n; i++) {
		take_next(s, s->order + i, n - i, i);
		SL_TRY(try_admit(s, s->order[i], out));
		if (!s->order[i]->resident &&
			(!s->policy->passes || sl_share_claims(s, s->order[i])))
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

/* Whether j may take a turn now; d NULL: nobody more is admitted. */
static bool is_candidate(const struct sl_share *s, const struct sl_job *aged,
	struct door *d, const struct sl_job *j)
{
	if (!sl_job_waits(j) || j->parking)
		return false;
	if (j->resident)
		return s->lanes.items[j->lane].holder == SL_JOB_NONE;
	return !s->policy->eager && d && (!aged || aged == j) && may_come(s, d, j);
}

/* The next job in order, after `last`, that may take a turn now. */
static struct sl_job *next_for_turn(
	const struct sl_share *s, const struct sl_job *last, struct door *d)
{
	const struct sl_job *aged = sl_share_first_aged(s);
	struct sl_job *best = NULL;
	bool settled = s->rules.shares || sl_ledger_settled(&s->ledger);

	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *j = s->jobs[i];

		if (is_candidate(s, aged, d, j) &&
			(!last || sl_share_order(s, true, last, j) < 0) &&
			(!best || sl_share_order(s, true, j, best) < 0) &&
			(settled || !j->resident || is_ready(s, j)))
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
	struct door d = door_of(s);
	bool admits = true;

	while (has_free_lane(s)) {
		struct sl_job *j = next_for_turn(s, last, admits ? &d : NULL);

		if (!j)
			return SL_OK;
		last = j;
		if (!j->resident) {
			SL_TRY(try_admit(s, j, out));
			if (!j->resident) {
				admits = s->policy->passes && !sl_share_claims(s, j);
				continue;
			}
			sl_ledger_settle(&s->ledger);
			d = door_of(s);
		}
		if (is_ready(s, j))
			SL_TRY(run(s, j, out));
	}
	return SL_OK;
}

/* Who has a part of each lane in virtual time: those of the first rank. Whether that
 * changed. */
static bool share_lanes(struct sl_share *s)
{
	bool changed = false;

	for (uint32_t lane = 0; lane < s->lanes.n; lane++) {
		const struct sl_job *first = NULL;

		for (size_t i = 0; i < s->n; i++) {
			const struct sl_job *j = s->jobs[i];

			if (j->lane == lane && !j->held && !j->parking &&
				(!first || sl_share_rank(j, first) < 0))
				first = j;
		}
		for (size_t i = 0; i < s->n; i++) {
			struct sl_job *j = s->jobs[i];
			bool runs = first && !j->held && !j->parking &&
				    sl_share_rank(j, first) == 0;

			if (j->lane == lane && j->running != runs) {
				sl_share_set(s, j, runs, j->held);
				changed = true;
			}
		}
	}
	return changed;
}

sl_status sl_share_decide(struct sl_share *s, struct sl_log *out)
{
	bool again, turned;

	sl_share_age(s);
	SL_TRY(reject_all(s, out));
	SL_TRY(shrink_all(s, out));
	sl_ledger_settle(&s->ledger);
	/* Again where the first of age began, or one came in: others may follow then. */
	do {
		size_t before = out->n;

		again = sl_share_first_aged(s) != NULL;
		turned = false;
		sl_share_find_least(s);
		SL_TRY(sl_share_park(s, out));
		if (s->policy->eager) {
			SL_TRY(admit_all(s, out));
			sl_ledger_settle(&s->ledger);
		}
		if (sl_share_is_fluid(s))
			turned = share_lanes(s) && sl_share_parks(s);
		else
			SL_TRY(dispatch(s, out));
		for (size_t i = before; !again && i < out->n; i++)
			again = out->steps[i].kind != SL_STEP_RUN;
		again = turned || (again && out->n > before);
	} while (again);
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

/* Whether j takes the turn of the job that holds it, at its boundary. */
static bool goes_before(
	const struct sl_share *s, const struct sl_job *j, const struct sl_job *holder)
{
	int by = sl_share_rank_against(s, j, holder);

	if (by == 0 && s->policy->compare)
		by = s->policy->compare(j, holder, sl_share_usual(s));
	return by != 0 ? by < 0 : j->id < holder->id;
}

/* Whether anybody would have the lane at its boundary instead of its holder: a resident
 * of it, or the first that waits for admission and fits (where others may pass: any). */
static bool has_rival(
	const struct sl_share *s, uint32_t lane, const struct sl_job *holder)
{
	const struct sl_job *aged = sl_share_first_aged(s), *first = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];

		if ((j->resident ? j->lane != lane || j->parking
				 : s->policy->eager || (aged && aged != j)) ||
			!sl_job_waits(j) || !goes_before(s, j, holder))
			continue;
		if (j->resident || (s->policy->passes && would_fit(s, lane, j)))
			return true;
		if (!first || sl_share_order(s, true, j, first) < 0)
			first = j;
	}
	return first && would_fit(s, lane, first);
}

static bool waits_for_bytes(const struct sl_share *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->jobs[i]->resident && !s->jobs[i]->held)
			return true;
	return false;
}

bool sl_share_wants_boundary(const struct sl_share *s, uint32_t lane)
{
	const struct sl_lane *v = lane < s->lanes.n ? &s->lanes.items[lane] : NULL;
	const struct sl_job *holder;
	struct sl_job then;

	if (!v || !v->open || v->holder == SL_JOB_NONE)
		return false;
	holder = sl_share_find(s, v->holder);
	if (!holder || holder->held || holder->leaves)
		return true;
	then = sl_share_then(s, holder, true);
	if (v->dirty && need_of(s, lane) < v->size_bytes && waits_for_bytes(s))
		return true;
	if (!s->rules.shares && !sl_ledger_settled(&s->ledger))
		return true;
	if (s->policy->eager && v->members == 1)
		return false;
	return has_rival(s, lane, &then);
}
