/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: how they come, and how they go. */
#include "share/serve/serve_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/units.h"

#define MAX_JOBS ((size_t)1 << 16)
#define START_FIELD 20 /* of /proc/PID/stat, counted behind the program's name */

struct sl_srv_job *sl_srv_job_find(const struct sl_serve *s, uint32_t id)
{
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->jobs[i]->id == id)
			return s->jobs[i];
	return NULL;
}

bool sl_srv_random(void *to, size_t bytes)
{
	return getrandom(to, bytes, 0) == (ssize_t)bytes;
}

uint64_t sl_srv_pid_start(pid_t pid)
{
	char path[64], text[1024];
	uint64_t start;
	char *at;
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	/* The name of the program may hold anything; behind its bracket are numbers. */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return 0;
	for (int i = 0; at && i < START_FIELD; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	at++;
	n = strspn(at, "0123456789");
	/* Its connections end before it does, but after its memory. */
	if (strncmp(at + n, " 0 ", 3) == 0)
		return 0;
	at[n] = '\0';
	return sl_u64_parse(at, &start) == SL_OK ? start : 0;
}

static sl_status check_sizes(struct sl_msg_reg *r)
{
	for (uint32_t i = 0; i < r->menu.n; i++) {
		struct sl_wire_option *o = &r->menu.rows[i];

		if (o->persistent_bytes > (uint64_t)SL_SHARE_MOST / 4 ||
			o->ephemeral_bytes > (uint64_t)SL_SHARE_MOST / 4 ||
			o->turn_ns > (uint64_t)SL_SHARE_MOST)
			return SL_FAIL(SL_E_LIMIT, "row %u of the menu is above 2^59", i);
		o->persistent_bytes = sl_align_up(o->persistent_bytes, SL_SRV_PAGE);
		o->ephemeral_bytes = sl_align_up(o->ephemeral_bytes, SL_SRV_PAGE);
	}
	if (r->kind >= SL_WIRE_KINDS)
		return SL_FAIL(SL_E_INVALID, "%u is no kind of job", r->kind);
	if (r->deadline_ns < 0 || r->length_ns < 0 || r->turn_ns < 0 ||
		r->deadline_ns > SL_SHARE_MOST / 4 || r->length_ns > SL_SHARE_MOST ||
		r->turn_ns > SL_SHARE_MOST)
		return SL_FAIL(SL_E_INVALID,
			"deadline, length and turn lie between 0 and 2^59 ns");
	return SL_OK;
}

static uint64_t limit_of(const struct sl_serve *s, uid_t user)
{
	for (size_t i = 0; i < s->share.n_limits; i++)
		if (s->share.limits[i].user == user && s->share.limits[i].bytes > 0)
			return s->share.limits[i].bytes;
	return UINT64_MAX;
}

/* A job of which no row can ever fit is refused at once, with what would let it in. */
static sl_status find_row(
	const struct sl_serve *s, uid_t user, const struct sl_msg_reg *r, uint32_t *out)
{
	uint64_t capacity = s->share.rules.capacity_bytes, limit = limit_of(s, user);
	uint64_t most = limit < capacity ? limit : capacity, least = UINT64_MAX;
	double slower = 0;
	char need[SL_SIZE_TEXT], have[SL_SIZE_TEXT], hint[128] = "";

	for (uint32_t i = 0; i < r->menu.n; i++) {
		const struct sl_wire_option *o = &r->menu.rows[i];
		uint64_t bytes = o->persistent_bytes + o->ephemeral_bytes;
		double part;

		if (sl_srv_row_allowed(r, i) && bytes <= most) {
			*out = i;
			return SL_OK;
		}
		if (sl_srv_row_allowed(r, i) && bytes < least)
			least = bytes;
		if (sl_srv_row_allowed(r, i) || bytes > most ||
			r->menu.rows[0].turn_ns == 0)
			continue;
		part = (double)o->turn_ns / (double)r->menu.rows[0].turn_ns - 1;
		if (slower == 0 || part < slower)
			slower = part;
	}
	if (slower > 0)
		(void)snprintf(hint, sizeof(hint),
			"; --allow-slowdown %.0f%% would let it in", slower * 100 + 1);
	return SL_FAIL(SL_E_INFEASIBLE,
		"the job needs at least %s (%llu bytes), and %s %s%s",
		sl_size_print(least, need), (unsigned long long)least,
		limit < capacity ? "its user's limit is" : "the device has",
		sl_size_print(most, have),
		hint[0] != '\0' ? hint : "; a smaller batch or budget may fit");
}

static sl_status check_room(const struct sl_serve *s, uid_t user)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_jobs; i++)
		n += s->jobs[i]->user == user;
	if (n >= s->config->jobs_per_user)
		return SL_FAIL(SL_E_LIMIT,
			"user %u has %llu jobs, the most (jobs_per_user)", user,
			(unsigned long long)n);
	return SL_OK;
}

/* Requests go to the services of a name: another user's would hear what is not for it. */
static sl_status check_name(
	const struct sl_serve *s, uid_t user, const struct sl_msg_reg *r)
{
	for (size_t i = 0; r->kind == SL_WIRE_SERVICE && i < s->n_jobs; i++)
		if (s->jobs[i]->asked.kind == SL_WIRE_SERVICE &&
			s->jobs[i]->user != user &&
			strcmp(s->jobs[i]->asked.name, r->name) == 0)
			return SL_FAIL(SL_E_NO,
				"service '%s' is user %u's; choose another name", r->name,
				s->jobs[i]->user);
	return SL_OK;
}

static void on_exit_of(struct sl_serve *s, struct sl_srv_source *source, uint32_t events)
{
	struct sl_srv_job *j =
		(struct sl_srv_job *)((char *)source - offsetof(struct sl_srv_job, exit));
	struct sl_srv_peer *p = j->peer;

	(void)events;
	if (source->fd < 0)
		return;
	/* What it said before it died is heard first, by the end of its connection. */
	if (p && p->more)
		return;
	sl_srv_job_end(s, j, "its process ended");
	if (p)
		sl_srv_peer_close(s, p, NULL);
}

sl_status sl_srv_job_watch(struct sl_serve *s, struct sl_srv_job *j)
{
	j->exit.on = on_exit_of;
	j->exit.fd = -1;
	if (j->pid <= 0)
		return SL_OK;
	j->exit.fd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	/* An old kernel or another name space: the connection tells. */
	if (j->exit.fd < 0)
		return SL_OK;
	return sl_srv_watch(s, &j->exit, EPOLLIN);
}

void sl_srv_job_free(struct sl_serve *s, struct sl_srv_job *j)
{
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->jobs[i] == j) {
			s->jobs[i] = s->jobs[--s->n_jobs];
			break;
		}
	if (j->peer)
		j->peer->job = NULL;
	sl_srv_unwatch(s, &j->exit);
	sl_turn_unmap(j->page);
	sl_fs_close(j->page_fd);
	sl_fs_close(j->p_fd);
	if (j->trace_fd >= 0)
		sl_srv_joint_want(s);
	sl_fs_close(j->trace_fd);
	/* Events of this round may name it. */
	j->buried = s->buried;
	s->buried = j;
}

void sl_srv_jobs_bury(struct sl_serve *s)
{
	while (s->buried) {
		struct sl_srv_job *j = s->buried;

		s->buried = j->buried;
		sl_free(j);
	}
}

sl_status sl_srv_job_room(struct sl_serve *s)
{
	if (sl_grow((void **)&s->jobs, &s->cap_jobs, s->n_jobs + 1, sizeof(void *),
		    MAX_JOBS))
		return SL_FAIL(SL_E_NOMEM, "the daemon has no memory left for %zu jobs",
			s->n_jobs + 1);
	return SL_OK;
}

/* NULL after a failure, whose status is *st. */
static struct sl_srv_job *create(struct sl_serve *s, const struct sl_srv_peer *p,
	const struct sl_msg_reg *r, sl_status *st)
{
	struct sl_srv_job *j;

	*st = sl_srv_job_room(s);
	if (*st != SL_OK)
		return NULL;
	j = sl_calloc(1, sizeof(*j));
	if (!j) {
		*st = SL_FAIL(SL_E_NOMEM, "the daemon has no memory left for a job");
		return NULL;
	}
	j->page_fd = j->p_fd = j->trace_fd = j->exit.fd = -1;
	j->id = s->next_job;
	j->user = p->uid;
	j->pid = p->pid;
	j->pid_start = sl_srv_pid_start(p->pid);
	j->asked = *r;
	j->lane = SL_LANE_NONE;
	j->waited_ns = -1;
	j->arrived_ns = j->then_ns = s->now_ns;
	s->jobs[s->n_jobs++] = j;
	*st = sl_turn_create(&j->page_fd, &j->page);
	if (*st == SL_OK)
		*st = sl_srv_job_watch(s, j);
	if (*st == SL_OK && !sl_srv_random(j->token, sizeof(j->token)))
		*st = SL_FAIL(SL_E_IO, "no random numbers: %s", strerror(errno));
	sl_srv_identity(j->page_fd, &j->page_device, &j->page_inode);
	if (*st == SL_OK)
		return j;
	sl_srv_job_free(s, j);
	return NULL;
}

struct sl_step sl_srv_arrival(struct sl_serve *s, const struct sl_srv_job *j)
{
	struct sl_step e = sl_srv_step(s, SL_STEP_ARRIVE, j->id);
	const struct sl_wire_option *o = &j->asked.menu.rows[j->row];

	e.user = j->user;
	e.priority = j->asked.priority;
	e.deadline_ns = j->asked.deadline_ns > 0 ? e.at_ns + j->asked.deadline_ns : 0;
	e.length_ns = j->asked.length_ns;
	e.turn_ns = j->asked.turn_ns > 0 ? j->asked.turn_ns : (sl_ns)o->turn_ns;
	e.persistent_bytes = o->persistent_bytes;
	e.ephemeral_bytes = o->ephemeral_bytes;
	return e;
}

static void say_registered(struct sl_serve *s, const struct sl_srv_job *j)
{
	struct sl_json *json = sl_srv_log_begin(&s->log, "job_registered");

	sl_json_u64(json, "job", j->id);
	sl_json_u64(json, "user", j->user);
	sl_json_i64(json, "pid", j->pid);
	sl_json_str(json, "name", j->asked.name);
	sl_json_str(json, "kind", sl_wire_kind_name(j->asked.kind));
	sl_json_u64(json, "persistent_bytes", j->asked.menu.rows[0].persistent_bytes);
	sl_json_u64(json, "ephemeral_bytes", j->asked.menu.rows[0].ephemeral_bytes);
	sl_srv_log_end(&s->log);
}

sl_status sl_srv_register(
	struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m)
{
	struct sl_msg_reg r = m->u.reg;
	struct sl_msg answer = {.number = SL_MSG_REGISTERED, .seq = m->seq, .n_fds = 1};
	struct sl_srv_job *j;
	uint32_t row = 0;
	struct sl_step e;
	sl_status st;

	if (p->job)
		return SL_FAIL(SL_E_BUSY,
			"this connection has job %u; open another one for another job",
			p->job->id);
	SL_TRY(check_sizes(&r));
	SL_TRY(check_room(s, p->uid));
	SL_TRY(check_name(s, p->uid, &r));
	st = find_row(s, p->uid, &r, &row);
	if (st != SL_OK) {
		s->counts.rejects++;
		return st;
	}
	j = create(s, p, &r, &st);
	if (!j)
		return st;
	j->row = row;
	e = sl_srv_arrival(s, j);
	say_registered(s, j); /* before it is admitted */
	st = sl_srv_event(s, &e);
	if (st != SL_OK) {
		sl_srv_job_free(s, j);
		return st;
	}
	s->next_job++;
	j->peer = p;
	p->job = j;
	j->unsaid = true;
	sl_srv_peer_widen(s, p);
	for (struct sl_srv_peer *o = s->peers; r.kind == SL_WIRE_SERVICE && o;
		o = o->next)
		if (o->greeted)
			sl_srv_peer_widen(s, o);
	answer.fds[0] = j->page_fd;
	answer.u.registered.job = j->id;
	answer.u.registered.token_high = j->token[0];
	answer.u.registered.token_low = j->token[1];
	sl_srv_send(s, p, &answer);
	return SL_OK;
}

/* Paused, or idle for a quantum: what it keeps may be of use to others. */
static bool may_be_parked(const struct sl_serve *s, const struct sl_srv_job *j)
{
	if (j->holds & (SL_SRV_HOLD_UNREADY | SL_SRV_HOLD_ABSENT))
		return false;
	return (j->holds & SL_SRV_HOLD_USER) ||
	       s->now_ns - j->idle_ns >= s->config->quantum;
}

void sl_srv_idle(struct sl_serve *s)
{
	for (size_t i = 0; i < s->n_jobs; i++) {
		struct sl_srv_job *j = s->jobs[i];

		if (j->holds & SL_SRV_HOLD_IDLE && j->stays && may_be_parked(s, j))
			sl_srv_job_hold(s, j, 0, true);
	}
}

sl_ns sl_srv_idle_due(const struct sl_serve *s)
{
	sl_ns due = -1, at;

	for (size_t i = 0; i < s->n_jobs; i++) {
		at = s->jobs[i]->idle_ns + s->config->quantum;
		if (s->jobs[i]->holds == SL_SRV_HOLD_IDLE && s->jobs[i]->stays &&
			(due < 0 || at < due))
			due = at;
	}
	return due;
}

void sl_srv_job_hold(struct sl_serve *s, struct sl_srv_job *j, unsigned why, bool on)
{
	struct sl_step e = sl_srv_step(s, SL_STEP_RELEASE, j->id);
	bool held, stays;

	j->holds = on ? j->holds | why : j->holds & ~why;
	j->unsaid = j->unsaid || why == SL_SRV_HOLD_USER;
	if (why == SL_SRV_HOLD_IDLE && on)
		j->idle_ns = s->now_ns;
	/* Who waits for memory keeps its place in the queue while it is absent. */
	held = (j->holds & (j->resident ? ~0u : ~(unsigned)SL_SRV_HOLD_ABSENT)) != 0;
	stays = held && !may_be_parked(s, j);
	if ((held == j->held && stays == j->stays) || !sl_share_find(&s->share, j->id))
		return;
	if (held)
		e.kind = stays ? SL_STEP_AWAY : SL_STEP_HOLD;
	j->held = held;
	j->stays = stays;
	if (sl_srv_event(s, &e) != SL_OK)
		sl_srv_log_say(&s->log, "fault", j->id, sl_last_error());
}

void sl_srv_job_leave(struct sl_serve *s, struct sl_srv_job *j)
{
	sl_srv_mem_retire(s, j->p_fd, j->p_bytes, SL_LANE_NONE);
	j->p_fd = -1;
	j->p_bytes = 0;
	j->resident = j->told = j->ready = j->parking = false;
	j->lane = SL_LANE_NONE;
	if (j->trace_fd >= 0)
		sl_srv_joint_want(s);
	j->tell = SL_SRV_TELL_NOTHING;
	j->unsaid = true;
	s->dirty = true;
}

/* What the job holds goes. */
static void let_go(struct sl_serve *s, struct sl_srv_job *j, const struct sl_step *end)
{
	if (sl_share_find(&s->share, j->id) && sl_srv_event(s, end) != SL_OK)
		sl_srv_log_say(&s->log, "fault", j->id, sl_last_error());
	sl_srv_mem_retire(s, j->p_fd, j->p_bytes, SL_LANE_NONE);
	j->p_fd = -1;
	s->dirty = true;
}

static void say_end(struct sl_serve *s, const struct sl_srv_job *j, const char *why)
{
	struct sl_json *json = sl_srv_log_begin(&s->log, "job_ended");

	sl_json_u64(json, "job", j->id);
	sl_json_u64(json, "user", j->user);
	sl_json_u64(json, "turns", j->turns);
	sl_json_f64(json, "used_s", (double)j->used_ns * 1e-9);
	sl_json_str(json, "text", why);
	sl_srv_log_end(&s->log);
}

void sl_srv_job_end(struct sl_serve *s, struct sl_srv_job *j, const char *why)
{
	const char *text = why ? why : j->stopped ? "cancelled" : "done";
	struct sl_step e = sl_srv_step(s, SL_STEP_END, j->id);
	struct sl_turn_seen seen = {0};

	if (j->page)
		sl_turn_look(j->page, &seen);
	sl_srv_book(s, j, seen.turns, seen.used_ns, &e);
	j->granted = j->overhang = false;
	if (why)
		s->counts.crashes++;
	s->counts.swap_in += j->rate.swap_in_bytes;
	s->counts.swap_out += j->rate.swap_out_bytes;
	let_go(s, j, &e);
	say_end(s, j, text);
	sl_srv_record_end(s, j->id);
	sl_srv_asks_of_job(s, j->id);
	sl_srv_remember(s, j, text);
	sl_srv_job_free(s, j);
}

void sl_srv_job_part(struct sl_serve *s, struct sl_srv_job *j, const char *why)
{
	bool lives = j->pid_start == 0 || sl_srv_pid_start(j->pid) == j->pid_start;

	if (lives && (j->granted || j->overhang)) {
		sl_turn_revoke(j->page);
		sl_srv_mem_revoke(s, j->lane, j->user);
	}
	sl_srv_job_end(s, j, why);
}

void sl_srv_job_lose(
	struct sl_serve *s, struct sl_srv_job *j, sl_status code, const char *why)
{
	struct sl_msg m = {.number = SL_MSG_LOST};
	struct sl_srv_peer *p = j->peer;

	if (j->page)
		sl_turn_revoke(j->page);
	m.u.lost.code = (uint32_t)code;
	sl_wire_text(m.u.lost.text, sizeof(m.u.lost.text), why);
	s->counts.lost++;
	m.seq = j->lost_seq;
	/* It may be at work in its lane's memory. */
	if (j->granted || j->overhang)
		sl_srv_mem_revoke(s, j->lane, j->user);
	if (p) {
		p->job = NULL;
		j->peer = NULL;
	}
	sl_srv_job_end(s, j, why);
	sl_srv_send(s, p, &m);
}
