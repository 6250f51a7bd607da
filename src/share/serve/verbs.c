/* SPDX-License-Identifier: Apache-2.0 */
/* What each message does: a table. */
#include "share/serve/serve_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "share/policy/policy.h"

/* For whom a message is. */
enum who {
	ANYBODY,
	JOB, /* of the connection: it must have one */
	OWNER, /* of the job that the message names first, or a ruler */
	RULER /* the daemon's owner, root */
};

/* A message, who sent it, and the job it is about. */
struct call {
	struct sl_serve *s;
	struct sl_srv_peer *p;
	struct sl_srv_job *j;
	const struct sl_msg *m;
};

struct verb {
	enum sl_msg_number number;
	enum who who;
	bool silent; /* has no answer: a failure is logged */
	sl_status (*run)(struct call *c);
};

static sl_status do_hello(struct call *c)
{
	struct sl_msg w = {.number = SL_MSG_WELCOME, .seq = c->m->seq};

	if (c->m->u.hello.magic != SL_WIRE_MAGIC ||
		c->m->u.hello.version != SL_WIRE_VERSION) {
		c->p->closing = true;
		return SL_FAIL(SL_E_UNSUPPORTED,
			"the daemon speaks version %u, the client %u; run the same "
			"version",
			SL_WIRE_VERSION, c->m->u.hello.version);
	}
	c->p->greeted = true;
	for (size_t i = 0; i < c->s->n_jobs; i++)
		if (c->s->jobs[i]->asked.kind == SL_WIRE_SERVICE) {
			sl_srv_peer_widen(c->s, c->p);
			break;
		}
	w.u.welcome.version = SL_WIRE_VERSION;
	w.u.welcome.ruler = c->p->ruler;
	w.u.welcome.boot = c->s->boot;
	w.u.welcome.capacity_bytes = c->s->share.rules.capacity_bytes;
	sl_wire_text(
		w.u.welcome.policy, sizeof(w.u.welcome.policy), c->s->share.rules.policy);
	sl_wire_text(
		w.u.welcome.device, sizeof(w.u.welcome.device), c->s->config->device);
	sl_srv_send(c->s, c->p, &w);
	return SL_OK;
}

static sl_status do_register(struct call *c)
{
	return sl_srv_register(c->s, c->p, c->m);
}

static sl_status do_ready(struct call *c)
{
	const struct sl_srv_mem *m = sl_srv_mem_find(c->s, c->j->lane, c->j->user);
	uint32_t memory = c->m->u.ready.memory;

	if (!c->j->told || c->j->tell != SL_SRV_TELL_NOTHING)
		return SL_OK;
	/* Of memory that was replaced since: it will say so again. */
	if (memory != 0 && m && m->fd >= 0 && memory != (uint32_t)m->inode)
		return SL_OK;
	c->j->ready = true;
	c->j->parked = false;
	c->s->dirty = true;
	sl_srv_job_hold(c->s, c->j, SL_SRV_HOLD_UNREADY, false);
	return SL_OK;
}

static sl_status do_report(struct call *c)
{
	bool had = c->j->granted || c->j->overhang;

	/* First, so that the turn that it gives back is not given to it again. */
	if (c->m->u.report.idle)
		sl_srv_job_hold(c->s, c->j, SL_SRV_HOLD_IDLE, true);
	sl_srv_report(c->s, c->j, c->m->u.report.turns, c->m->u.report.used_ns);
	/* One a turn that was given and is back: no peer can flood with them. */
	if (had && !c->j->granted && !c->j->overhang)
		c->p->tokens += 1;
	return SL_OK;
}

static sl_status do_awake(struct call *c)
{
	sl_srv_job_hold(c->s, c->j, SL_SRV_HOLD_IDLE, false);
	return SL_OK;
}

static sl_status do_resize(struct call *c)
{
	struct sl_step e = sl_srv_step(c->s, SL_STEP_RESIZE, c->j->id);
	uint64_t persistent = c->m->u.resize.persistent_bytes;
	uint64_t ephemeral = c->m->u.resize.ephemeral_bytes;

	if (persistent > (uint64_t)SL_SHARE_MOST / 4 ||
		ephemeral > (uint64_t)SL_SHARE_MOST / 4)
		return SL_FAIL(SL_E_LIMIT, "sizes are at most 2^59 bytes");
	if (c->j->granted || c->j->overhang)
		return SL_FAIL(SL_E_BUSY, "sizes change without the turn only");
	if (c->j->tell == SL_SRV_TELL_RESIZED)
		return SL_FAIL(SL_E_BUSY, "another resize is under way");
	e.persistent_bytes = (persistent + SL_SRV_PAGE - 1) / SL_SRV_PAGE * SL_SRV_PAGE;
	e.ephemeral_bytes = (ephemeral + SL_SRV_PAGE - 1) / SL_SRV_PAGE * SL_SRV_PAGE;
	SL_TRY(sl_srv_event(c->s, &e));
	c->j->unsaid = true;
	if (c->j->resident) {
		c->j->tell = c->j->told ? SL_SRV_TELL_RESIZED : SL_SRV_TELL_ADMITTED;
		c->j->tell_seq = c->m->seq;
		c->j->ready = false;
	}
	if (c->j->tell != SL_SRV_TELL_RESIZED)
		sl_srv_send(c->s, c->p,
			&(struct sl_msg){.number = SL_MSG_RESIZED,
				.seq = c->m->seq,
				.u.resized = {.lane = SL_LANE_NONE,
					.persistent_bytes = e.persistent_bytes,
					.ephemeral_bytes = e.ephemeral_bytes}});
	return SL_OK;
}

static sl_status do_end(struct call *c)
{
	if (c->j->granted || c->j->overhang)
		sl_srv_report(c->s, c->j, c->m->u.end.turns, c->m->u.end.used_ns);
	sl_srv_job_end(c->s, c->j, NULL);
	sl_srv_done(c->s, c->p, c->m->seq);
	return SL_OK;
}

static sl_status do_parked(struct call *c)
{
	struct sl_step e = sl_srv_step(c->s, SL_STEP_PARKED, c->j->id);

	if (!c->j->parking)
		return SL_FAIL(SL_E_INVALID, "the job was not asked to park");
	SL_TRY(sl_srv_event(c->s, &e));
	c->j->parked = true;
	sl_srv_log_say(&c->s->log, "job_parked", c->j->id, NULL);
	sl_srv_job_leave(c->s, c->j);
	return SL_OK;
}

static sl_status do_rate(struct call *c)
{
	if (c->j->rate_ns > 0 && c->s->now_ns - c->j->rate_ns < (sl_ns)500 * 1000000)
		return SL_OK;
	c->j->rate = c->m->u.rate;
	c->j->rate_ns = c->s->now_ns;
	return SL_OK;
}

static sl_status do_trace(struct call *c)
{
	return sl_srv_trace(c->s, c->p, c->j, c->m);
}

static sl_status do_list(struct call *c)
{
	sl_srv_list(c->s, c->p, c->m);
	return SL_OK;
}

static sl_status do_status(struct call *c)
{
	sl_srv_status(c->s, c->p, c->m);
	return SL_OK;
}

static sl_status do_pause(struct call *c)
{
	sl_srv_job_hold(c->s, c->j, SL_SRV_HOLD_USER, true);
	sl_srv_log_say(&c->s->log, "job_paused", c->j->id, NULL);
	sl_srv_done(c->s, c->p, c->m->seq);
	return SL_OK;
}

static sl_status do_resume(struct call *c)
{
	sl_srv_job_hold(c->s, c->j, SL_SRV_HOLD_USER, false);
	sl_srv_log_say(&c->s->log, "job_resumed", c->j->id, NULL);
	sl_srv_done(c->s, c->p, c->m->seq);
	return SL_OK;
}

/* Once: it is told, and ends at its boundary. Twice: it is struck off at once. */
static sl_status do_cancel(struct call *c)
{
	struct sl_msg stop = {.number = SL_MSG_STOP};

	sl_srv_log_say(&c->s->log, "job_cancelled", c->j->id, NULL);
	if (c->j->stopped || !c->j->peer) {
		sl_srv_job_lose(c->s, c->j, SL_E_INTERRUPTED, "the job was cancelled");
	} else {
		c->j->stopped = true;
		c->s->dirty = true;
		sl_wire_text(stop.u.stop.text, sizeof(stop.u.stop.text),
			"the job was cancelled");
		sl_srv_send(c->s, c->j->peer, &stop);
	}
	sl_srv_done(c->s, c->p, c->m->seq);
	return SL_OK;
}

static sl_status do_explain(struct call *c)
{
	sl_srv_explain(c->s, c->p, c->m);
	return SL_OK;
}

static sl_status do_events(struct call *c)
{
	sl_srv_events(c->s, c->p, c->m);
	return SL_OK;
}

static sl_status do_limit(struct call *c)
{
	struct sl_step e = sl_srv_step(c->s, SL_STEP_LIMIT, 0);

	if (c->m->u.limit.bytes > (uint64_t)SL_SHARE_MOST)
		return SL_FAIL(SL_E_LIMIT, "a limit is at most 2^61 bytes");
	e.user = c->m->u.limit.user;
	e.bytes = c->m->u.limit.bytes;
	SL_TRY(sl_srv_event(c->s, &e));
	sl_srv_record_limit(c->s, e.user, e.bytes);
	sl_srv_done(c->s, c->p, c->m->seq);
	return SL_OK;
}

static sl_status do_attach(struct call *c)
{
	return sl_srv_attach(c->s, c->p, c->m);
}

static sl_status do_policy(struct call *c)
{
	struct sl_serve *s = c->s;
	const char *name = c->m->u.policy.name;
	const struct sl_job_policy *policy = sl_job_policy_find(name);
	struct sl_step e;

	if (name[0] != '\0' && !c->p->ruler)
		return SL_FAIL(SL_E_NO, "only the daemon's owner and root may do that");
	if (name[0] != '\0' && !policy)
		return SL_FAIL(SL_E_USAGE,
			"there is no policy '%s'; there are fair fifo pack rr srtf",
			name);
	if (policy && policy != s->share.policy) {
		e = sl_share_policy_event(&s->share, policy, sl_srv_time(s));
		SL_TRY(sl_srv_event(s, &e));
		sl_srv_record_policy(s);
		sl_srv_log_say(&s->log, "policy", UINT32_MAX, name);
	}
	sl_srv_words(
		s, c->p, c->m->seq, s->share.rules.policy, strlen(s->share.rules.policy));
	return SL_OK;
}

static sl_status do_priority(struct call *c)
{
	struct sl_step e = sl_srv_step(c->s, SL_STEP_PRIORITY, c->j->id);

	e.priority = c->m->u.priority.priority;
	SL_TRY(sl_srv_event(c->s, &e));
	c->j->asked.priority = e.priority;
	c->j->unsaid = true;
	sl_srv_done(c->s, c->p, c->m->seq);
	return SL_OK;
}

static sl_status do_ask(struct call *c)
{
	return sl_srv_ask(c->s, c->p, c->m);
}

static sl_status do_answer(struct call *c)
{
	return sl_srv_answer(c->s, c->j, c->m);
}

static sl_status do_config(struct call *c)
{
	struct sl_buf text = SL_BUF_MAX(65536);
	sl_status st = sl_serve_settings_print(c->s->settings, &text);

	if (st == SL_OK)
		sl_srv_words(c->s, c->p, c->m->seq, sl_buf_text(&text), text.len);
	sl_buf_finish(&text);
	return st;
}

static const struct verb verbs[] = {
	{SL_MSG_HELLO, ANYBODY, false, do_hello},
	{SL_MSG_REGISTER, ANYBODY, false, do_register},
	{SL_MSG_READY, JOB, true, do_ready},
	{SL_MSG_REPORT, JOB, true, do_report},
	{SL_MSG_AWAKE, JOB, true, do_awake},
	{SL_MSG_RESIZE, JOB, false, do_resize},
	{SL_MSG_END, JOB, false, do_end},
	{SL_MSG_RATE, JOB, true, do_rate},
	{SL_MSG_LIST, ANYBODY, false, do_list},
	{SL_MSG_STATUS, ANYBODY, false, do_status},
	{SL_MSG_PAUSE, OWNER, false, do_pause},
	{SL_MSG_RESUME, OWNER, false, do_resume},
	{SL_MSG_CANCEL, OWNER, false, do_cancel},
	{SL_MSG_PARKED, JOB, true, do_parked},
	{SL_MSG_EXPLAIN, ANYBODY, false, do_explain},
	{SL_MSG_EVENTS, ANYBODY, false, do_events},
	{SL_MSG_LIMIT, RULER, false, do_limit},
	{SL_MSG_POLICY, ANYBODY, false, do_policy},
	{SL_MSG_PRIORITY, OWNER, false, do_priority},
	{SL_MSG_ATTACH, ANYBODY, false, do_attach},
	{SL_MSG_ASK, ANYBODY, false, do_ask},
	{SL_MSG_ANSWER, JOB, true, do_answer},
	{SL_MSG_TRACE, JOB, true, do_trace},
	{SL_MSG_CONFIG, ANYBODY, false, do_config},
};

static const struct verb *find(enum sl_msg_number number)
{
	for (size_t i = 0; i < SL_COUNT(verbs); i++)
		if (verbs[i].number == number)
			return &verbs[i];
	return NULL;
}

/* Messages about a job name it in their first field. */
static uint32_t named_job(const struct sl_msg *m)
{
	uint32_t id;

	memcpy(&id, &m->u, sizeof(id));
	return id;
}

static sl_status choose(struct sl_serve *s, struct sl_srv_peer *p, const struct verb *v,
	const struct sl_msg *m, struct sl_srv_job **out)
{
	*out = p->job;
	if (v->who == JOB && !p->job)
		return SL_FAIL(SL_E_INVALID, "this connection has no job");
	if (v->who == RULER && !p->ruler)
		return SL_FAIL(SL_E_NO, "only the daemon's owner and root may do that");
	if (v->who != OWNER)
		return SL_OK;
	*out = sl_srv_job_find(s, named_job(m));
	if (!*out)
		return SL_FAIL(SL_E_NOT_FOUND,
			"there is no job %u now; `sluice ps --all` lists jobs",
			named_job(m));
	if ((*out)->user != p->uid && !p->ruler)
		return SL_FAIL(SL_E_NO, "job %u is another user's", named_job(m));
	return SL_OK;
}

void sl_srv_handle(struct sl_serve *s, struct sl_srv_peer *p, struct sl_msg *m)
{
	const struct verb *v = find(m->number);
	struct sl_srv_job *j = NULL;
	sl_status st;

	if (!p->greeted && m->number != SL_MSG_HELLO) {
		st = SL_FAIL(SL_E_INVALID, "the first message is hello");
		p->closing = true;
	} else if (!v) {
		st = SL_FAIL(SL_E_UNSUPPORTED, "the daemon takes no message %u",
			(unsigned)m->number);
	} else {
		st = choose(s, p, v, m, &j);
		if (st == SL_OK)
			st = v->run(&(struct call){s, p, j, m});
	}
	if (st == SL_OK)
		return;
	if (v && v->silent && p->greeted)
		sl_srv_log_say(&s->log, "message_ignored", UINT32_MAX, sl_last_error());
	else
		sl_srv_error(s, p, m->seq, st);
}
