/* SPDX-License-Identifier: Apache-2.0 */
/* Which residents are to move away for a job that would fit without them. */
#include "share/state_int.h"

#include <stdlib.h>

#include "base/units.h"

#define UNKNOWN_TURN_NS 1000000
#define LOOK_NS \
	((sl_ns)2 * 1000000) /* looks are at most so far apart when one is due \
			      */
#define TRIES 16 /* waiting jobs that victims are sought for at a time */
#define MOVES 20 /* a stay is at least so long as so many times moving away and back */

static bool is_gone(const struct sl_job *j)
{
	return j->parking || j->leaves || j->chosen;
}

static bool holds(const struct sl_share *s, const struct sl_job *j)
{
	return j->resident && s->lanes.items[j->lane].holder == j->id;
}

/* Service of the turn under way, as far as one can know before it is reported: by what
 * the log says, so that it can be decided again. */
static sl_ns under_way(const struct sl_share *s, const struct sl_job *j)
{
	sl_ns since = s->now_ns - j->wait_from_ns;

	return j->running && !s->rules.shares ? since : 0;
}

sl_ns sl_share_moving(const struct sl_share *s, const struct sl_job *j)
{
	double rate = (double)s->rules.park_bytes_per_s;
	double per_byte = rate > 0 ? 1e9 / rate : s->park_ns_per_byte;
	double ns = 2 * per_byte * (double)j->persistent_bytes;

	return ns < 1e17 ? (sl_ns)ns : (sl_ns)1e17;
}

sl_ns sl_share_stay(const struct sl_share *s, const struct sl_job *j)
{
	sl_ns moves = MOVES * sl_share_moving(s, j);

	return moves > s->rules.quantum_ns ? moves : s->rules.quantum_ns;
}

static sl_ns stayed(const struct sl_share *s, const struct sl_job *j)
{
	return j->attained_ns - j->seat_attained_ns + under_way(s, j);
}

struct sl_job sl_share_then(const struct sl_share *s, const struct sl_job *j, bool a_turn)
{
	struct sl_job then = *j;
	struct sl_step report = {0};

	if (s->rules.shares)
		return then;
	then.ahead_ns = under_way(s, j);
	if (!s->policy->charge)
		return then;
	if (a_turn && then.ahead_ns < j->turn_ns)
		then.ahead_ns = j->turn_ns;
	if (a_turn && then.ahead_ns == 0)
		then.ahead_ns = 1;
	report.used_ns = then.ahead_ns;
	report.turns = j->turn_ns > 0 ? (uint64_t)(then.ahead_ns / j->turn_ns)
				      : then.ahead_ns > 0;
	then.level += s->policy->charge(&report);
	then.ahead_ns = 0;
	return then;
}

sl_ns sl_share_remaining(const struct sl_share *s, const struct sl_job *j)
{
	struct sl_job then = *j;

	then.ahead_ns = under_way(s, j);
	return sl_job_remaining(&then, sl_share_usual(s));
}

static bool may_go(const struct sl_job *v)
{
	return v->resident && !v->parking && !v->stays;
}

/* What is left of one of them is not what it declared, and grows as it runs. */
static bool is_guess(
	const struct sl_share *s, const struct sl_job *v, const struct sl_job *w)
{
	struct sl_job then = *v;

	then.ahead_ns = under_way(s, v);
	return sl_job_outlived(&then, sl_share_usual(s)) ||
	       sl_job_outlived(w, sl_share_usual(s));
}

/* Whether v, a resident, may be moved away for w. */
static bool yields_to(
	const struct sl_share *s, const struct sl_job *v, const struct sl_job *w)
{
	int by;

	if (!may_go(v))
		return false;
	if (v->held)
		return true;
	by = sl_share_rank_against(s, w, v);
	if (by != 0)
		return by < 0;
	if (s->policy->by_remaining && is_guess(s, v, w) &&
		stayed(s, v) < sl_share_stay(s, v))
		return false;
	if (s->policy->by_remaining)
		return sl_share_remaining(s, w) + sl_share_moving(s, v) <
		       sl_share_remaining(s, v);
	return s->policy->turns && s->policy->charge &&
	       stayed(s, v) >= sl_share_stay(s, v) &&
	       sl_share_level(s, w) <= sl_share_then(s, v, false).level;
}

struct sl_lanes sl_share_without(struct sl_share *s)
{
	struct sl_lanes v = {.items = s->trial,
		.n = s->lanes.n,
		.cap = s->lanes.n,
		.most = s->lanes.most,
		.capacity_bytes = s->lanes.capacity_bytes};

	for (size_t i = 0; i < v.n; i++) {
		s->trial[i] = (struct sl_lane){.holder = SL_JOB_NONE};
		s->second[i] = 0;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];
		struct sl_lane *lane;

		if (!j->resident || is_gone(j))
			continue;
		lane = &s->trial[j->lane];
		lane->open = true;
		lane->members++;
		v.granted_bytes += j->persistent_bytes;
		if (j->ephemeral_bytes > lane->size_bytes) {
			s->second[j->lane] = lane->size_bytes;
			lane->size_bytes = j->ephemeral_bytes;
		} else if (j->ephemeral_bytes > s->second[j->lane]) {
			s->second[j->lane] = j->ephemeral_bytes;
		}
	}
	for (size_t i = 0; i < v.n; i++) {
		v.open += s->trial[i].open;
		v.granted_bytes += s->trial[i].size_bytes;
	}
	return v;
}

uint64_t sl_share_users_bytes(const struct sl_share *s, const struct sl_job *w)
{
	uint64_t sum = w->persistent_bytes + w->ephemeral_bytes;

	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *j = s->jobs[i];

		if (j->resident && j->user == w->user && !is_gone(j) &&
			!sl_add_u64(sum, j->persistent_bytes + j->ephemeral_bytes, &sum))
			return UINT64_MAX;
	}
	return sum;
}

static bool fits_in(const struct sl_lanes *v, const struct sl_job *w)
{
	return sl_lane_find(v, w->persistent_bytes, w->ephemeral_bytes, false).fits;
}

bool sl_share_fits_without(struct sl_share *s, const struct sl_job *w)
{
	struct sl_lanes v = sl_share_without(s);
	uint64_t limit = sl_share_limit(s, w->user);

	return fits_in(&v, w) &&
	       (limit == UINT64_MAX || sl_share_users_bytes(s, w) <= limit);
}

bool sl_share_fits_without_one(struct sl_share *s, const struct sl_lanes *v, uint64_t sum,
	const struct sl_job *w, const struct sl_job *out)
{
	struct sl_lanes then = *v;
	struct sl_lane *lane = &s->trial[out->lane], old = *lane;
	uint64_t peak = out->persistent_bytes + out->ephemeral_bytes;
	bool fits;

	if (out->user == w->user && sum < UINT64_MAX)
		sum -= peak;
	if (out->ephemeral_bytes == lane->size_bytes)
		lane->size_bytes = s->second[out->lane];
	lane->open = --lane->members > 0;
	then.open -= !lane->open;
	then.granted_bytes -= out->persistent_bytes + old.size_bytes - lane->size_bytes;
	fits = sum <= sl_share_limit(s, w->user) && fits_in(&then, w);
	*lane = old;
	return fits;
}

/* Those that lose least by it first: paused, of the last rank, of few bytes, last. */
static int by_loss(const void *a, const void *b, void *s)
{
	struct sl_job x = **(struct sl_job *const *)a, y = **(struct sl_job *const *)b;
	int by = x.held != y.held ? (x.held ? -1 : 1) : -sl_share_rank(&x, &y);

	if (by != 0)
		return by;
	if (x.persistent_bytes != y.persistent_bytes)
		return x.persistent_bytes < y.persistent_bytes ? -1 : 1;
	x.ahead_ns = y.ahead_ns = 0; /* not on record */
	return -sl_share_order(s, true, &x, &y);
}

/* Marks as chosen the fewest that w needs gone; false: there are none. *any: somebody
 * would go for it. */
static bool choose(struct sl_share *s, const struct sl_job *w, bool *any)
{
	struct sl_lanes v;
	uint64_t sum;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!s->jobs[i]->leaves && yields_to(s, s->jobs[i], w))
			s->victims[n++] = s->jobs[i];
	*any = n > 0;
	for (size_t i = 0; i < n; i++)
		s->victims[i]->chosen = true;
	if (n == 0 || !sl_share_fits_without(s, w)) {
		for (size_t i = 0; i < n; i++)
			s->victims[i]->chosen = false;
		return false;
	}
	qsort_r(s->victims, n, sizeof(struct sl_job *), by_loss, s);
	for (size_t i = 0; i < n; i++)
		s->victims[i]->chosen = false;
	v = sl_share_without(s);
	sum = sl_share_users_bytes(s, w);
	for (size_t i = 0; i < n; i++)
		if (sl_share_fits_without_one(s, &v, sum, w, s->victims[i])) {
			s->victims[i]->chosen = true;
			return true;
		}
	for (size_t i = 0; i < n; i++)
		s->victims[i]->chosen = true;
	for (size_t i = n; i-- > 0;) {
		s->victims[i]->chosen = false;
		s->victims[i]->chosen = !sl_share_fits_without(s, w);
	}
	return true;
}

static sl_status park(struct sl_share *s, struct sl_job *j, struct sl_log *out)
{
	struct sl_step step = {.kind = SL_STEP_PARK, .at_ns = s->now_ns, .job = j->id};

	if (holds(s, j)) {
		j->leaves = true;
		return SL_OK;
	}
	SL_TRY(sl_log_add(out, &step));
	j->parking = true;
	j->park_ns = s->now_ns;
	sl_share_set(s, j, false, j->held);
	return SL_OK;
}

static sl_status park_chosen(struct sl_share *s, struct sl_log *out)
{
	sl_status st = SL_OK;

	for (size_t i = 0; i < s->n; i++) {
		bool chosen = s->jobs[i]->chosen;

		s->jobs[i]->chosen = false;
		if (chosen && st == SL_OK)
			st = park(s, s->jobs[i], out);
	}
	return st;
}

/* The next of those that wait for admission, after `last`. */
static struct sl_job *next_waiting(
	const struct sl_share *s, const struct sl_job *aged, const struct sl_job *last)
{
	struct sl_job *best = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *j = s->jobs[i];

		if (!j->resident && !j->held && (!aged || aged == j) &&
			(!last || sl_share_wait_order(s, last, j) < 0) &&
			(!best || sl_share_wait_order(s, j, best) < 0))
			best = j;
	}
	return best;
}

/* Whether anybody at all might have to go; cheap, and so for most decisions all. */
static bool may_park(struct sl_share *s)
{
	bool waits = false, may = false;
	const struct sl_job *best = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *j = s->jobs[i];

		j->leaves = false;
		if (j->resident || j->held)
			continue;
		waits = true;
		if (!best || sl_share_rank(j, best) < 0)
			best = j;
	}
	for (size_t i = 0; waits && !may && i < s->n; i++) {
		const struct sl_job *v = s->jobs[i];

		may = may_go(v) &&
		      (v->held || s->policy->by_remaining || sl_share_rank(best, v) < 0 ||
			      (s->policy->turns && stayed(s, v) >= sl_share_stay(s, v)));
	}
	return may;
}

bool sl_share_moves(const struct sl_share *s)
{
	for (size_t i = 0; sl_share_parks(s) && i < s->n; i++)
		if (s->jobs[i]->parking || s->jobs[i]->leaves)
			return true;
	for (size_t i = 0; sl_share_parks(s) && i < s->lanes.n; i++)
		if (s->lanes.items[i].open && s->lanes.items[i].dirty)
			return true;
	return false;
}

bool sl_share_claims(struct sl_share *s, const struct sl_job *j)
{
	return sl_share_moves(s) && sl_share_fits_without(s, j);
}

sl_status sl_share_park(struct sl_share *s, struct sl_log *out)
{
	const struct sl_job *aged = sl_share_first_aged(s), *w = NULL;
	bool any;

	if (!sl_share_parks(s) || !may_park(s))
		return SL_OK;
	for (int tries = 0; tries < TRIES; tries++) {
		w = next_waiting(s, aged, w);
		/* Nobody need go, or those who do are on their way. */
		if (!w ||
			(fits_in(&s->lanes, w) &&
				sl_share_in_limit(
					s, w, w->persistent_bytes, w->ephemeral_bytes)) ||
			sl_share_fits_without(s, w))
			return SL_OK;
		if (choose(s, w, &any))
			return park_chosen(s, out);
		/* Who comes after w moves nobody that w does not. */
		if (!s->policy->passes || !any)
			return SL_OK;
	}
	return SL_OK;
}

/* Service that v still has before its lane's turn is due to one of this level, under a
 * policy of turns. */
static sl_ns until_level(const struct sl_share *s, const struct sl_job *v, int64_t level)
{
	sl_ns turn = v->turn_ns > 0 ? v->turn_ns : UNKNOWN_TURN_NS;
	int64_t ahead = level - sl_share_then(s, v, false).level;

	if (ahead <= 0)
		return turn;
	if (s->policy->charge(&(struct sl_step){.used_ns = 1}) > 0)
		return ahead;
	return ahead < SL_SHARE_MOST / turn ? ahead * turn : SL_SHARE_MOST;
}

/* The lesser of two times; one that is not above 0 is none. */
static sl_ns sooner(sl_ns a, sl_ns b)
{
	if (a <= 0 || b <= 0)
		return a > 0 ? a : b > 0 ? b : -1;
	return a < b ? a : b;
}

/* Time until v, which has a turn, may have to end it though nothing is reported; -1:
 * there is no such time. */
static sl_ns until_due(const struct sl_share *s, const struct sl_job *v)
{
	bool waits = false;
	const struct sl_job *rival = NULL; /* the resident of the least level */
	sl_ns left = -1, stay = sl_share_stay(s, v) - stayed(s, v);

	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *o = s->jobs[i];

		if (!sl_job_waits(o) || o->parking)
			continue;
		waits |= !o->resident && sl_share_parks(s);
		if (o->lane == v->lane && (!rival || o->level < rival->level))
			rival = o;
	}
	if (s->policy->by_remaining)
		return waits || rival ? sl_share_remaining(s, v) : -1;
	if (rival)
		left = until_level(s, v, rival->level);
	return waits ? sooner(left, stay) : left;
}

sl_ns sl_share_next_wake(const struct sl_share *s)
{
	sl_ns next = sl_share_next_age(s), floor = s->rules.quantum_ns / 64 + 1;
	bool takes = s->policy->by_remaining || (s->policy->turns && s->policy->charge);

	floor = floor < LOOK_NS ? floor : LOOK_NS;
	for (size_t i = 0; takes && !s->rules.shares && i < s->lanes.n; i++) {
		const struct sl_lane *lane = &s->lanes.items[i];
		const struct sl_job *v = sl_share_find(s, lane->holder);
		sl_ns left = lane->open && v ? until_due(s, v) : -1;

		if (left < 0)
			continue;
		left = left > floor ? left : floor;
		if (next < 0 || s->now_ns + left < next)
			next = s->now_ns + left;
	}
	return next;
}
