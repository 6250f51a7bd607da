/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns as the jobs see them: given by a page, asked back, revoked from who does not
 * answer. Whose turn it is, sl_share says.
 */
#include "share/serve/serve_int.h"

#include <stdio.h>

#include "base/compiler.h"

#define USUAL_TURNS 20
#define LONGEST 60 /* times the turn timeout, whatever is usual */
#define READY_TIMES 6 /* as long as a turn, for what is filled or moved away */
#define READY_NS_A_MIB ((sl_ns)20 * 1000000) /* filling P from a slow disk */

static sl_ns usual_turn(const struct sl_srv_job *j)
{
	if (j->turns > 0)
		return (sl_ns)(j->used_ns / j->turns);
	return j->asked.turn_ns > 0 ? j->asked.turn_ns
				    : (sl_ns)j->asked.menu.rows[j->row].turn_ns;
}

/* A job that says its turns are long, or makes them so, is not waited for for ever. */
static sl_ns patience(const struct sl_serve *s, const struct sl_srv_job *j)
{
	sl_ns usual = usual_turn(j);
	sl_ns limit = s->config->turn_timeout < SL_SHARE_MOST / LONGEST
			      ? s->config->turn_timeout * LONGEST
			      : SL_SHARE_MOST;
	sl_ns most = limit / USUAL_TURNS;

	usual = (usual < most ? usual : most) * USUAL_TURNS;
	return usual > s->config->turn_timeout ? usual : s->config->turn_timeout;
}

static sl_ns ready_patience(const struct sl_serve *s, const struct sl_srv_job *j)
{
	return READY_TIMES * s->config->turn_timeout +
	       (sl_ns)(j->p_bytes >> 20) * READY_NS_A_MIB;
}

static uint64_t since(sl_ns from, sl_ns now)
{
	return now > from ? (uint64_t)(now - from) : 0;
}

void sl_srv_book(const struct sl_serve *s, struct sl_srv_job *j, uint64_t turns,
	uint64_t used, struct sl_step *out)
{
	uint64_t had = used > j->used_ns ? used - j->used_ns : 0;
	uint64_t most = since(j->granted_ns, s->now_ns), least = 0;

	out->turns = sl_srv_said(turns, j->turns, most / SL_SRV_TURN_LEAST_NS + 1);
	if (out->turns > (uint64_t)SL_SHARE_MOST / 4 - j->turns % (SL_SHARE_MOST / 4))
		out->turns = 0;
	/* A job's word counts within what its turn can have been: no longer than since it
	 * was given, no shorter than others have waited for it. */
	if (j->granted && j->wanted)
		least = since(j->wanted_ns, s->now_ns);
	if (!j->granted && !j->overhang)
		most = 0;
	had = had < least ? least : had;
	out->used_ns = (sl_ns)(had < most ? had : most);
	j->turns += out->turns;
	j->used_ns += (uint64_t)out->used_ns;
}

void sl_srv_report(
	struct sl_serve *s, struct sl_srv_job *j, uint64_t turns, uint64_t used)
{
	struct sl_step e = sl_srv_step(s, SL_STEP_TURN, j->id);
	struct sl_turn_seen seen;

	sl_turn_look(j->page, &seen);
	/* Said before a restart, and heard after the next turn was given. */
	if (seen.has)
		return;
	if (!j->granted && !j->overhang) {
		sl_srv_log_say(&s->log, "report_ignored", j->id,
			"the job has no turn to give back");
		return;
	}
	sl_srv_book(s, j, turns, used, &e);
	s->counts.turns += e.turns;
	if (e.turns > 0)
		sl_srv_observe(&s->iterations, (double)e.used_ns * 1e-9 / (double)e.turns,
			e.turns);
	j->wanted = false;
	s->dirty = true;
	if (j->overhang) {
		j->overhang = false;
		return;
	}
	j->granted = false;
	if (sl_srv_event(s, &e) != SL_OK)
		sl_srv_log_say(&s->log, "fault", j->id, sl_last_error());
}

/* A turn that its job cannot use yet goes back unused, where others take turns; the job
 * is away first, so that it does not get it again. */
static bool give_back(struct sl_serve *s, struct sl_srv_job *j)
{
	struct sl_step e;

	if (!s->share.policy->turns)
		return false;
	sl_srv_job_hold(s, j, SL_SRV_HOLD_UNREADY, true);
	e = sl_srv_step(s, SL_STEP_TURN, j->id);
	return sl_srv_event(s, &e) == SL_OK;
}

static bool has_overhang(const struct sl_serve *s, uint32_t lane)
{
	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct sl_srv_job *j = s->jobs[i];

		if (j->lane == lane && j->resident &&
			(j->overhang ||
				(j->holds & SL_SRV_HOLD_ABSENT && s->grace_ns > 0)))
			return true;
	}
	return false;
}

static bool is_wanted(const struct sl_serve *s, const struct sl_srv_job *j)
{
	if (j->overhang || j->parking || j->tell != SL_SRV_TELL_NOTHING)
		return true;
	return sl_share_wants_boundary(&s->share, j->lane);
}

static void grant(struct sl_serve *s, struct sl_srv_job *j)
{
	struct sl_srv_mem *m = sl_srv_mem_find(s, j->lane, j->user);

	if (m)
		m->dirty = true;
	j->granted = true;
	j->granted_ns = j->wanted_ns = s->now_ns;
	j->wanted = is_wanted(s, j);
	s->counts.switches++;
	/* Asked for afterwards, short iterations would run on for a while. */
	if (j->wanted)
		sl_turn_grant_one(j->page);
	else
		sl_turn_grant(j->page);
}

/* True: something changed that others may hang on. */
static bool try_grant(struct sl_serve *s, struct sl_srv_job *j)
{
	if (!j->ready || j->tell != SL_SRV_TELL_NOTHING)
		return give_back(s, j);
	if (has_overhang(s, j->lane) || !sl_srv_lane_clean(s, j->lane, j->user))
		return false;
	grant(s, j);
	return false;
}

static void ask(struct sl_serve *s, struct sl_srv_job *j)
{
	bool wanted = is_wanted(s, j);

	if (wanted == j->wanted)
		return;
	j->wanted = wanted;
	j->wanted_ns = s->now_ns;
	if (wanted)
		sl_turn_ask(j->page);
	else
		sl_turn_unask(j->page);
}

static bool somebody_waits(const struct sl_serve *s)
{
	for (size_t i = 0; i < s->share.n; i++)
		if (!s->share.jobs[i]->resident && !s->share.jobs[i]->held)
			return true;
	return false;
}

/* It has memory that it does not take into use, and stands in others' way: in the lane's
 * turn, or by its bytes alone. */
static bool owes_ready(const struct sl_serve *s, const struct sl_srv_job *j)
{
	if (!j->told || j->ready || j->tell != SL_SRV_TELL_NOTHING || !j->resident)
		return false;
	if (s->share.lanes.items[j->lane].holder == j->id)
		return true;
	/* Who is idle or paused is moved away instead, once it is ready. */
	return ((j->holds & SL_SRV_HOLD_UNREADY) ||
		       !(j->holds & (SL_SRV_HOLD_IDLE | SL_SRV_HOLD_USER))) &&
	       somebody_waits(s);
}

/* When a job is out of patience's reach; -1: it owes nothing. */
static sl_ns deadline_of(const struct sl_serve *s, const struct sl_srv_job *j)
{
	if (!j->peer)
		return -1;
	if ((j->granted || j->overhang) && j->wanted)
		return j->wanted_ns + patience(s, j);
	if (j->parking)
		return j->parking_ns + ready_patience(s, j);
	if (owes_ready(s, j))
		return j->unready_ns + ready_patience(s, j);
	return -1;
}

static void revoke_late(struct sl_serve *s)
{
	char why[160];

	for (size_t i = 0; i < s->n_jobs;) {
		struct sl_srv_job *j = s->jobs[i];
		sl_ns at = deadline_of(s, j);

		if (at < 0 || s->now_ns < at) {
			i++;
			continue;
		}
		(void)snprintf(why, sizeof(why),
			"the job did not answer within %.1f s; its turn and memory went "
			"to "
			"others (turn_timeout)",
			(double)(at - (j->wanted	   ? j->wanted_ns
					      : j->parking ? j->parking_ns
							   : j->unready_ns)) *
				1e-9);
		sl_srv_job_lose(s, j, SL_E_LOST, why);
		i = 0;
	}
}

void sl_srv_turns(struct sl_serve *s)
{
	bool again;

	revoke_late(s);
	do {
		again = false;
		for (uint32_t lane = 0; lane < s->share.lanes.n; lane++) {
			const struct sl_lane *v = &s->share.lanes.items[lane];
			struct sl_srv_job *j = NULL;

			if (v->open && v->holder != SL_JOB_NONE)
				j = sl_srv_job_find(s, v->holder);
			if (j && !j->granted && !j->overhang)
				again = try_grant(s, j) || again;
		}
	} while (again);
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->jobs[i]->granted || s->jobs[i]->overhang)
			ask(s, s->jobs[i]);
}

void sl_srv_excuse(struct sl_serve *s, sl_ns away)
{
	for (size_t i = 0; i < s->n_jobs; i++) {
		s->jobs[i]->wanted_ns += away;
		s->jobs[i]->parking_ns += away;
		s->jobs[i]->unready_ns += away;
	}
}

sl_ns sl_srv_turns_due(const struct sl_serve *s)
{
	sl_ns due = -1;

	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct sl_srv_job *j = s->jobs[i];
		sl_ns at = deadline_of(s, j);

		if (at >= 0 && (due < 0 || at < due))
			due = at;
	}
	return due;
}

sl_ns sl_srv_wake(const struct sl_serve *s)
{
	sl_ns at = sl_share_next_age(&s->share);

	/* Whoever was asked already is not to be looked at again. */
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->jobs[i]->granted && !s->jobs[i]->wanted) {
			at = sl_share_next_wake(&s->share);
			break;
		}
	return at < 0 ? -1 : at + s->boot_ns;
}
