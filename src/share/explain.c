/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job has no turn now, in words. */
#include "share/state_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define TIME_TEXT 24
#define SHOWN 4 /* jobs listed by name */
#define PARKED "parked; " /* begins the reason of such a job */

struct text {
	struct sl_share *s;
	const struct sl_job *j;
	const struct sl_share_names *names;
	struct sl_buf *out;
};

static const char *time_text(sl_ns ns, char text[TIME_TEXT])
{
	double s = (double)ns * 1e-9;

	if (s < 1)
		snprintf(text, TIME_TEXT, "%.0f ms", s * 1e3);
	else if (s < 120)
		snprintf(text, TIME_TEXT, "%.1f s", s);
	else if (s < 7200)
		snprintf(text, TIME_TEXT, "%.1f min", s / 60);
	else
		snprintf(text, TIME_TEXT, "%.1f h", s / 3600);
	return text;
}

static uint64_t peak_of(const struct sl_job *j)
{
	return j->persistent_bytes + j->ephemeral_bytes;
}

/* "job 3 (train resnet18, 1.20 GiB)". */
static sl_status put_job(const struct text *t, const struct sl_job *j)
{
	const char *name =
		t->names && t->names->name ? t->names->name(t->names->ctx, j->id) : NULL;
	char size[SL_SIZE_TEXT];

	return sl_buf_printf(t->out, "job %u (%s%s%s)", j->id, name ? name : "",
		name ? ", " : "", sl_size_print(peak_of(j), size));
}

static size_t before(const struct sl_share *s, const struct sl_job *j, size_t *waiting,
	const struct sl_job **last)
{
	size_t n = 0;

	*waiting = 0;
	*last = NULL;
	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *o = s->jobs[i];

		if (o->resident || o->held)
			continue;
		++*waiting;
		if (o == j || sl_share_wait_order(s, o, j) > 0)
			continue;
		n++;
		if (!*last || sl_share_wait_order(s, o, *last) > 0)
			*last = o;
	}
	return n;
}

static int by_remaining(const void *a, const void *b, void *s)
{
	const struct sl_job *x = *(struct sl_job *const *)a,
			    *y = *(struct sl_job *const *)b;
	sl_ns left = sl_share_remaining(s, x), right = sl_share_remaining(s, y);

	if (left != right)
		return left < right ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static bool fits_without_first(struct sl_share *s, const struct sl_job *j, size_t n)
{
	bool fits;

	for (size_t i = 0; i < n; i++)
		s->victims[i]->chosen = true;
	fits = sl_share_fits_without(s, j);
	for (size_t i = 0; i < n; i++)
		s->victims[i]->chosen = false;
	return fits;
}

/* The residents whose end lets j in, in s->victims: one if one will do, the first to end;
 * else as many as end first. 0: nobody's. */
static size_t enablers(struct sl_share *s, const struct sl_job *j)
{
	struct sl_lanes v = sl_share_without(s);
	uint64_t sum = sl_share_users_bytes(s, j);
	struct sl_job *one = NULL;
	size_t n = 0, low = 1, high;

	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *r = s->jobs[i];

		if (!r->resident || r->parking)
			continue;
		s->victims[n++] = r;
		if ((!one || by_remaining(&r, &one, s) < 0) &&
			sl_share_fits_without_one(s, &v, sum, j, r))
			one = r;
	}
	if (one)
		s->victims[0] = one;
	if (one || n == 0 || !fits_without_first(s, j, n))
		return one ? 1 : 0;
	qsort_r(s->victims, n, sizeof(struct sl_job *), by_remaining, s);
	for (high = n; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (fits_without_first(s, j, mid))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static sl_status put_enablers(const struct text *t)
{
	size_t n = enablers(t->s, t->j);
	bool parks = sl_share_parks(t->s);

	if (n == 0)
		return SL_OK;
	SL_TRY(sl_buf_puts(t->out, "It fits when "));
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		SL_TRY(sl_buf_puts(t->out, i == 0 ? "" : i + 1 == n ? " and " : ", "));
		SL_TRY(put_job(t, t->s->victims[i]));
	}
	if (n > SHOWN)
		SL_TRY(sl_buf_printf(t->out, " and %zu more", n - SHOWN));
	return sl_buf_puts(
		t->out, n == 1 ? (parks ? " ends or is parked.\n" : " ends.\n")
			       : (parks ? " end or are parked.\n" : " end.\n"));
}

static sl_status put_device(const struct text *t)
{
	const struct sl_lanes *v = &t->s->lanes;
	uint64_t lanes = 0;
	size_t residents = 0;
	char a[SL_SIZE_TEXT], b[SL_SIZE_TEXT], c[SL_SIZE_TEXT], d[SL_SIZE_TEXT];

	for (size_t i = 0; i < v->n; i++)
		lanes += v->items[i].open ? v->items[i].size_bytes : 0;
	for (size_t i = 0; i < t->s->n; i++)
		residents += t->s->jobs[i]->resident;
	return sl_buf_printf(t->out,
		"The device has %s; granted are %s: P of %zu resident jobs %s, %u lane%s "
		"%s.\n",
		sl_size_print(v->capacity_bytes, a), sl_size_print(v->granted_bytes, b),
		residents, sl_size_print(v->granted_bytes - lanes, c), v->open,
		v->open == 1 ? "" : "s", sl_size_print(lanes, d));
}

static sl_status put_room(const struct text *t)
{
	const struct sl_job *j = t->j;
	uint64_t room = sl_share_room(t->s, j->id, j->persistent_bytes);
	char size[SL_SIZE_TEXT], limit[SL_SIZE_TEXT];

	if (!sl_share_in_limit(t->s, j, j->persistent_bytes, j->ephemeral_bytes))
		SL_TRY(sl_buf_printf(t->out,
			"User %u may have %s on the device, and would have more.\n",
			j->user, sl_size_print(sl_share_limit(t->s, j->user), limit)));
	SL_TRY(put_device(t));
	SL_TRY(put_enablers(t));
	if (room != UINT64_MAX && room < j->ephemeral_bytes && room > 0)
		return sl_buf_printf(t->out,
			"It would fit now with E of at most %s: --allow-slowdown lets it "
			"plan for less.\n",
			sl_size_print(room, size));
	return SL_OK;
}

static bool has_room(const struct sl_share *s, const struct sl_job *j)
{
	return sl_lane_find(&s->lanes, j->persistent_bytes, j->ephemeral_bytes, false)
		       .fits &&
	       sl_share_in_limit(s, j, j->persistent_bytes, j->ephemeral_bytes);
}

static sl_status put_order(const struct text *t)
{
	const struct sl_job *aged = sl_share_first_aged(t->s), *last;
	size_t waiting, n = before(t->s, t->j, &waiting, &last);

	SL_TRY(sl_buf_printf(
		t->out, "It is number %zu of %zu that wait", n + 1, waiting));
	if (last) {
		SL_TRY(sl_buf_puts(t->out, ", after "));
		SL_TRY(put_job(t, last));
	}
	SL_TRY(sl_buf_puts(t->out, ".\n"));
	if (!aged || aged == t->j)
		return SL_OK;
	SL_TRY(put_job(t, aged));
	return sl_buf_puts(t->out, " has waited so long that nobody goes before it.\n");
}

static sl_status put_age(const struct text *t)
{
	const struct sl_job *j = t->j;
	sl_ns now = t->names && t->names->now_ns > t->s->now_ns ? t->names->now_ns
								: t->s->now_ns;
	sl_ns had = j->waited_ns + now - j->wait_from_ns;
	char waited[TIME_TEXT], left[TIME_TEXT];

	if (!sl_job_waits(j))
		return SL_OK;
	SL_TRY(sl_buf_printf(t->out, "It has waited %s", time_text(had, waited)));
	if (j->aged_ns >= 0)
		return sl_buf_puts(t->out, " and is of age: before all that are not.\n");
	if (t->s->rules.max_wait_ns == 0)
		return sl_buf_puts(t->out, ".\n");
	had = had < t->s->rules.max_wait_ns ? had : t->s->rules.max_wait_ns;
	return sl_buf_printf(t->out, "; it comes of age in %s, and then goes first.\n",
		time_text(t->s->rules.max_wait_ns - had, left));
}

static sl_status put_resident(const struct text *t)
{
	const struct sl_job *j = t->j;
	const struct sl_lane *lane = &t->s->lanes.items[j->lane];
	const struct sl_job *holder = sl_share_find(t->s, lane->holder);

	if (j->parking)
		return sl_buf_puts(
			t->out, "It moves its P away so that another job fits.\n");
	if (j->running)
		return sl_buf_printf(t->out, "It has the turn of lane %u.\n%s", j->lane,
			j->leaves ? "Then it moves away so that another job fits.\n"
				  : "");
	SL_TRY(sl_buf_printf(t->out, "It is resident in lane %u, one of %u, ", j->lane,
		lane->members));
	if (!holder)
		return sl_buf_puts(t->out, "which nobody has the turn of.\n");
	SL_TRY(sl_buf_puts(t->out, "where the turn is with "));
	SL_TRY(put_job(t, holder));
	return sl_buf_puts(t->out, ".\n");
}

static const char *standing(const struct sl_job *j)
{
	if (j->stays)
		return "wants no turn now";
	if (j->resident)
		return j->held ? "is paused and keeps its P" : "is resident";
	if (j->held)
		return j->parked ? "is paused and parked" : "is paused";
	return j->parked ? "waits, and is parked" : "waits";
}

sl_status sl_share_explain(struct sl_share *s, uint32_t job,
	const struct sl_share_names *names, struct sl_buf *out)
{
	const struct sl_job *j = sl_share_find(s, job);
	struct text t = {s, j, names, out};
	char p[SL_SIZE_TEXT], e[SL_SIZE_TEXT], why[SL_SHARE_REASON];
	const char *text;

	if (!j)
		return SL_OK;
	SL_TRY(put_job(&t, j));
	sl_share_reason(s, job, why);
	text = why + (strncmp(why, PARKED, strlen(PARKED)) == 0 ? strlen(PARKED) : 0);
	SL_TRY(sl_buf_printf(out, " %s%s%s.\n", standing(j), j->held ? "" : ": ",
		j->held ? "" : text));
	SL_TRY(sl_buf_printf(out,
		"It takes P %s between turns and E %s more in a turn.\n",
		sl_size_print(j->persistent_bytes, p),
		sl_size_print(j->ephemeral_bytes, e)));
	if (j->resident)
		SL_TRY(put_resident(&t));
	else if (!j->held) {
		if (has_room(s, j))
			SL_TRY(sl_buf_puts(out, "There is room for it: it comes in when "
						"it is its turn.\n"));
		else
			SL_TRY(put_room(&t));
		SL_TRY(put_order(&t));
	}
	return put_age(&t);
}

/* Under policies that admit at a boundary: who is to come to it; none if others. */
static uint32_t turn_before(const struct sl_share *s)
{
	for (size_t i = 0; !s->policy->eager && i < s->lanes.n; i++)
		if (s->lanes.items[i].open && s->lanes.items[i].holder != SL_JOB_NONE)
			return s->lanes.items[i].holder;
	return SL_JOB_NONE;
}

static void reason_to_wait(struct sl_share *s, const struct sl_job *j, char *text)
{
	const struct sl_job *aged = sl_share_first_aged(s), *last;
	const char *parked = j->parked ? PARKED : "";
	size_t waiting, n = before(s, j, &waiting, &last), ends;
	uint64_t room = s->lanes.capacity_bytes - s->lanes.granted_bytes;
	char need[SL_SIZE_TEXT], have[SL_SIZE_TEXT], after[64] = "";
	uint32_t holder;

	if (aged && aged != j) {
		snprintf(text, SL_SHARE_REASON,
			"%sjob %u has waited longest and is first", parked, aged->id);
		return;
	}
	if (has_room(s, j)) {
		holder = turn_before(s);
		if (holder == SL_JOB_NONE)
			snprintf(text, SL_SHARE_REASON, "%sfits; number %zu of %zu",
				parked, n + 1, waiting);
		else
			snprintf(text, SL_SHARE_REASON,
				"%sfits, after job %u's turn; number %zu of %zu", parked,
				holder, n + 1, waiting);
		return;
	}
	if (!sl_share_in_limit(s, j, j->persistent_bytes, j->ephemeral_bytes)) {
		snprintf(text, SL_SHARE_REASON, "%suser %u is limited to %s", parked,
			j->user, sl_size_print(sl_share_limit(s, j->user), need));
		return;
	}
	ends = enablers(s, j);
	if (ends == 1)
		snprintf(after, sizeof(after), "; until job %u ends", s->victims[0]->id);
	else if (ends > 1)
		snprintf(after, sizeof(after), "; until %zu jobs end", ends);
	snprintf(text, SL_SHARE_REASON, "%sneeds %s, free %s%s; number %zu of %zu",
		parked, sl_size_print(peak_of(j), need), sl_size_print(room, have), after,
		n + 1, waiting);
}

void sl_share_reason(struct sl_share *s, uint32_t job, char text[SL_SHARE_REASON])
{
	const struct sl_job *j = sl_share_find(s, job);
	const struct sl_lane *lane;

	text[0] = '\0';
	if (!j)
		return;
	if (j->held || j->parking) {
		snprintf(text, SL_SHARE_REASON, "%s",
			j->parking  ? "moves away for another job"
			: j->stays  ? "wants no turn now"
			: j->parked ? "paused and parked"
				    : "paused");
		return;
	}
	if (!j->resident) {
		reason_to_wait(s, j, text);
		return;
	}
	lane = &s->lanes.items[j->lane];
	if (j->running)
		snprintf(text, SL_SHARE_REASON, "has the turn%s",
			j->leaves ? "; then moves away" : "");
	else if (lane->holder == SL_JOB_NONE)
		snprintf(text, SL_SHARE_REASON, "waits for its turn");
	else
		snprintf(text, SL_SHARE_REASON, "waits for its turn after job %u",
			lane->holder);
}
