/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of a former daemon: what the journal says is held for them for a time of grace,
 * and who comes back in it goes on with what it has.
 *
 * 1. Who comes back proves itself: token, user, process, and the identity of each
 *    descriptor. Who cannot, changes nothing for the job.
 * 2. Until its members are back or the grace is over, nobody gets a turn in a lane: one
 * of them may have it. Who has it says so by its page, and runs on until it reports.
 * 3. Who lives and does not come back keeps its P charged, for its pages are there; its
 *    place in the lane is gone.
 */
#include "share/serve/serve_int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/memfd.h"
#include "device/shared.h"
#include "share/policy/policy.h"

#define PAGE_SEALS (SL_MEMFD_SHRINK | SL_MEMFD_GROW | SL_MEMFD_SEAL)

static struct sl_srv_job *absent_of(struct sl_serve *s, const struct sl_journal_job *o)
{
	struct sl_srv_job *j;

	if (sl_srv_job_room(s) != SL_OK || !(j = sl_calloc(1, sizeof(*j))))
		return NULL;
	j->page_fd = j->p_fd = j->trace_fd = j->exit.fd = -1;
	j->id = o->id;
	j->user = o->user;
	j->pid = (pid_t)o->pid;
	j->pid_start = o->pid_start;
	j->asked = o->asked;
	j->row = o->row;
	j->token[0] = o->token_high;
	j->token[1] = o->token_low;
	j->lane = SL_LANE_NONE;
	j->told = o->told != 0;
	j->parked = o->parked != 0;
	j->turns = o->turns;
	j->used_ns = o->used_ns;
	j->page_device = o->page_device;
	j->page_inode = o->page_inode;
	j->part_device = o->part_device;
	j->part_inode = o->part_inode;
	j->arrived_ns = j->then_ns = s->now_ns;
	j->then_turns = j->turns;
	j->then_used_ns = j->used_ns;
	j->holds = SL_SRV_HOLD_ABSENT | (o->paused ? SL_SRV_HOLD_USER : 0);

	s->jobs[s->n_jobs++] = j;
	return j;
}

/* As large as the largest E in it. */
static uint64_t lane_bytes(const struct sl_journal_book *b, uint32_t lane)
{
	uint64_t most = 0;

	for (size_t i = 0; i < b->n_jobs; i++)
		if (b->jobs[i].lane == lane && b->jobs[i].ephemeral_bytes > most)
			most = b->jobs[i].ephemeral_bytes;
	return most;
}

/* Its arrival, its seat, and that it is not here: all at one time. */
static sl_status seat(struct sl_serve *s, struct sl_srv_job *j,
	const struct sl_journal_book *b, const struct sl_journal_job *o)
{
	struct sl_step e = sl_srv_arrival(s, j);

	e.at_ns = 0;
	e.deadline_ns = j->asked.deadline_ns;
	e.persistent_bytes = o->persistent_bytes;
	e.ephemeral_bytes = o->ephemeral_bytes;
	SL_TRY(sl_srv_apply(s, &e));
	e = (struct sl_step){.kind = SL_STEP_PAST,
		.job = j->id,
		.turns = o->turns,
		.used_ns = (sl_ns)(o->used_ns & (((uint64_t)1 << 61) - 1)),
		.flag = o->parked != 0};
	if (o->lane != SL_LANE_NONE) {
		e.kind = SL_STEP_SEAT;
		e.lane = o->lane;
		e.bytes = lane_bytes(b, o->lane);
		e.flag = 0;
	}
	SL_TRY(sl_srv_apply(s, &e));
	j->resident = o->lane != SL_LANE_NONE;
	j->lane = o->lane;
	/* Who waits keeps its place in the queue. */
	j->stays = j->resident;
	j->held = j->resident || o->paused;
	if (!j->held)
		return SL_OK;
	e = (struct sl_step){
		.kind = j->stays ? SL_STEP_AWAY : SL_STEP_HOLD, .job = j->id};
	return sl_srv_apply(s, &e);
}

static sl_status restore_job(struct sl_serve *s, const struct sl_journal_book *b,
	const struct sl_journal_job *o)
{
	struct sl_step end = {.kind = SL_STEP_END, .job = o->id};
	struct sl_srv_job *j;
	sl_status st;

	if (sl_srv_pid_start((pid_t)o->pid) != o->pid_start) {
		s->counts.crashes++;
		sl_srv_log_say(&s->log, "job_ended", o->id,
			"its process ended while there was no daemon");
		return SL_OK;
	}
	j = absent_of(s, o);
	if (!j)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for the jobs of before");
	st = sl_srv_job_watch(s, j);
	if (st == SL_OK)
		st = seat(s, j, b, o);
	if (st == SL_OK || st == SL_E_NOMEM)
		return st;
	/* The journal tells what cannot be; the job will be told when it comes. */
	sl_srv_log_say(&s->log, "job_not_restored", o->id, sl_last_error());
	if (sl_share_find(&s->share, o->id))
		SL_TRY(sl_srv_apply(s, &end));
	sl_srv_job_free(s, j);
	return SL_OK;
}

static sl_status restore_mems(struct sl_serve *s, const struct sl_journal_book *b)
{
	for (size_t i = 0; i < b->n_mems; i++) {
		const struct sl_journal_mem *o = &b->mems[i];

		if (sl_grow((void **)&s->mems, &s->cap_mems, s->n_mems + 1,
			    sizeof(s->mems[0]), (size_t)1 << 20))
			return SL_FAIL(SL_E_NOMEM, "no host memory left for lanes");
		s->mems[s->n_mems++] = (struct sl_srv_mem){.lane = o->lane,
			.user = o->user,
			.fd = -1,
			.bytes = o->bytes,
			.known = true,
			.device = o->device,
			.inode = o->inode};
	}
	return SL_OK;
}

/* What was chosen while it ran counts, unless this start says otherwise. */
static void restore_policy(struct sl_serve *s, const char *name)
{
	const struct sl_job_policy *policy = sl_job_policy_find(name);
	struct sl_share_rules rules = s->share.rules;

	if (!policy || sl_serve_settings_origin(s->settings, SL_SETTING_policy) >=
			       SL_SERVE_ENVIRONMENT)
		return;
	rules.lanes = (uint32_t)s->config->lanes;
	sl_share_finish(&s->share);
	sl_share_init(&s->share, policy, &rules);
	s->share.find = sl_job_policy_find;
	s->policy_chosen = true;
}

sl_status sl_srv_restore(struct sl_serve *s, const struct sl_journal_book *b)
{
	restore_policy(s, b->policy);
	SL_TRY(sl_srv_steps_begin(s));
	s->next_job = b->next_job;
	for (size_t i = 0; i < b->n_limits; i++)
		SL_TRY(sl_srv_apply(s, &(struct sl_step){.kind = SL_STEP_LIMIT,
					       .user = b->limits[i].user,
					       .bytes = b->limits[i].bytes}));
	for (size_t i = 0; i < b->n_jobs; i++)
		SL_TRY(restore_job(s, b, &b->jobs[i]));
	if (s->n_jobs > 0) {
		SL_TRY(restore_mems(s, b));
		s->grace_ns = s->now_ns + s->config->grace;
		s->grace_ns = s->grace_ns > 0 ? s->grace_ns : 1;
	}
	sl_srv_decide(s);
	return SL_OK;
}

/* Not back in time. */
static void cast_out(struct sl_serve *s, struct sl_srv_job *j)
{
	struct sl_step e = sl_srv_step(s, SL_STEP_RESIZE, j->id);
	bool runs = true; /* it may have the lane's turn */

	/* Nor of one whose process nobody can watch would it ever be heard that it ended.
	 */
	if (!j->resident || j->exit.fd < 0) {
		sl_srv_job_end(s, j, "it did not come back to the new daemon");
		return;
	}
	j->outcast = true;
	j->told = j->ready = false;
	j->tell = SL_SRV_TELL_NOTHING;
	e.persistent_bytes = sl_share_find(&s->share, j->id)->persistent_bytes;
	if (sl_srv_event(s, &e) != SL_OK)
		sl_srv_log_say(&s->log, "fault", j->id, sl_last_error());
	for (size_t i = 0; i < s->n_jobs; i++)
		runs = runs && !(s->jobs[i]->overhang && s->jobs[i]->lane == j->lane);
	if (runs)
		sl_srv_mem_revoke(s, j->lane, j->user);
	sl_srv_log_say(&s->log, "job_outcast", j->id,
		"it lives but did not come back: its lane goes, its part stays charged");
	j->unsaid = true;
}

void sl_srv_grace(struct sl_serve *s)
{
	bool absent = false;

	if (s->grace_ns == 0)
		return;
	for (size_t i = 0; i < s->n_jobs; i++)
		absent = absent || (s->jobs[i]->holds & SL_SRV_HOLD_ABSENT);
	if (absent && s->now_ns < s->grace_ns)
		return;
	s->grace_ns = 0;
	s->dirty = true;
	for (size_t i = 0; i < s->n_jobs; i++) {
		struct sl_srv_job *j = s->jobs[i];

		if (j->holds & SL_SRV_HOLD_ABSENT && !j->outcast) {
			cast_out(s, j);
			i = (size_t)-1;
		}
	}
	/* Memory that nobody brought is made anew for who needs it. */
	for (size_t i = 0; i < s->n_mems; i++)
		if (s->mems[i].known) {
			s->mems[i].known = false;
			s->mems[i].bytes = 0;
		}
	sl_srv_log_say(&s->log, "grace_over", UINT32_MAX, NULL);
}

static sl_status prove(const struct sl_srv_job *j, const struct sl_srv_peer *p,
	const struct sl_msg_attach *a)
{
	uint64_t wrong;

	if (!j)
		return SL_FAIL(SL_E_NOT_FOUND,
			"there is no job %u: it ended, or came back too late", a->job);
	wrong = (j->token[0] ^ a->token_high) | (j->token[1] ^ a->token_low);
	if (wrong != 0 || j->user != p->uid ||
		(j->pid_start != 0 && sl_srv_pid_start(p->pid) != j->pid_start))
		return SL_FAIL(SL_E_NO, "job %u is not this process's", a->job);
	if (j->peer)
		return SL_FAIL(SL_E_BUSY, "job %u is here already", a->job);
	if (p->job)
		return SL_FAIL(SL_E_BUSY, "this connection has job %u", p->job->id);
	return SL_OK;
}

/* The descriptors of a message, by what they are; -1: not there. */
struct brought {
	int page, part, lane;
};

static struct brought sort(struct sl_srv_peer *p, const struct sl_msg *m)
{
	const uint32_t bits[] = {SL_WIRE_HAS_PAGE, SL_WIRE_HAS_P, SL_WIRE_HAS_LANE};
	struct brought b = {-1, -1, -1};
	int *to[] = {&b.page, &b.part, &b.lane};
	uint32_t next = 0;

	for (int i = 0; i < 3; i++)
		if (m->u.attach.has & bits[i])
			*to[i] = sl_link_take(p->link, next++);
	return b;
}

static bool is_same(const struct sl_memfd_info *info, uint64_t device, uint64_t inode)
{
	return info->device == device && info->inode == inode && inode != 0;
}

static sl_status take_page(struct sl_srv_job *j, struct brought *b)
{
	struct sl_memfd_info info;

	if (b->page < 0)
		return SL_FAIL(SL_E_INVALID, "a job comes back with its page of turns");
	SL_TRY(sl_memfd_check(b->page, PAGE_SEALS, SL_MEMFD_WRITE, &info));
	if (!is_same(&info, j->page_device, j->page_inode))
		return SL_FAIL(SL_E_INVALID, "that is not the job's page of turns");
	SL_TRY(sl_turn_map(b->page, &j->page));
	j->page_fd = b->page;
	b->page = -1;
	return SL_OK;
}

static sl_status take_part(
	const struct sl_serve *s, struct sl_srv_job *j, struct brought *b)
{
	const struct sl_job *sj = sl_share_find(&s->share, j->id);
	struct sl_memfd_info info;

	if (b->part < 0 || !sj)
		return SL_OK;
	SL_TRY(sl_shared_identity(b->part, &info));
	if (!j->resident || !is_same(&info, j->part_device, j->part_inode) ||
		info.bytes != sj->persistent_bytes)
		return SL_FAIL(SL_E_INVALID, "that is not the job's part of the memory");
	j->p_fd = b->part;
	j->p_bytes = info.bytes;
	b->part = -1;
	return SL_OK;
}

/* Whether the job has the memory that its lane has now. */
static bool take_lane(struct sl_serve *s, const struct sl_srv_job *j, struct brought *b)
{
	struct sl_srv_mem *m = sl_srv_mem_find(s, j->lane, j->user);
	struct sl_memfd_info info;

	if (!j->resident || b->lane < 0 || !m ||
		sl_shared_identity(b->lane, &info) != SL_OK ||
		!is_same(&info, m->device, m->inode) || info.bytes != m->bytes)
		return false;
	if (m->fd < 0) {
		m->fd = b->lane;
		b->lane = -1;
		m->dirty = true;
		m->known = false;
	}
	return true;
}

/* What the job has, and what it is to be told. */
static void settle(struct sl_serve *s, struct sl_srv_job *j, bool has_lane)
{
	const struct sl_job *sj = sl_share_find(&s->share, j->id);
	struct sl_turn_seen seen;
	bool has_part;

	j->unready_ns = s->now_ns;
	if (!sj || !j->resident)
		return;
	sl_turn_look(j->page, &seen);
	has_part = sj->persistent_bytes == 0 || j->p_fd >= 0;
	if (!has_part || !j->told) {
		/* It was told to park, or was never told that it is resident. */
		j->parked = j->parked || j->told;
		j->told = false;
		j->tell = SL_SRV_TELL_ADMITTED;
		return;
	}
	if (!has_lane && sj->ephemeral_bytes > 0)
		j->tell = SL_SRV_TELL_LANE;
	if (!seen.has)
		return;
	j->overhang = j->ready = true;
	j->granted_ns = s->now_ns - s->config->turn_timeout;
	j->wanted = false;
}

sl_status sl_srv_attach(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m)
{
	const struct sl_msg_attach *a = &m->u.attach;
	struct sl_srv_job *j = sl_srv_job_find(s, a->job);
	struct brought b = sort(p, m);
	sl_status st;

	SL_TRY_OUT(prove(j, p, a));
	j->lost_seq = m->seq;
	if (j->outcast) {
		j->peer = p;
		p->job = j;
		sl_srv_job_lose(s, j, SL_E_LOST,
			"the job came back to the new daemon too late (grace)");
		goto out;
	}
	st = take_page(j, &b);
	if (st == SL_OK)
		st = take_part(s, j, &b);
	j->peer = p;
	p->job = j;
	sl_srv_peer_widen(s, p);
	if (st != SL_OK) {
		sl_srv_job_lose(s, j, SL_E_LOST, sl_last_error());
		st = SL_OK;
		goto out;
	}
	settle(s, j, take_lane(s, j, &b));
	sl_srv_job_hold(s, j, SL_SRV_HOLD_IDLE, (a->has & SL_SRV_HAS_IDLE) != 0);
	sl_srv_job_hold(s, j, SL_SRV_HOLD_ABSENT, false);
	j->unsaid = true;
	j->lost_seq = 0;
	s->dirty = true;
	sl_srv_log_say(&s->log, "job_back", j->id, NULL);
	sl_srv_done(s, p, m->seq);
	if (j->parking)
		sl_srv_send(s, p, &(struct sl_msg){.number = SL_MSG_PARK});
out:
	sl_fs_close(b.page);
	sl_fs_close(b.part);
	sl_fs_close(b.lane);
	return st;
}
