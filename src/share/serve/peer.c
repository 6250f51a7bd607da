/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: whose it is, what it may send, and how fast.
 *
 * 1. A peer above its rate is not read for a while; nobody is killed for being fast.
 * 2. One that does not read what it asked for is cut off when its buffer is full.
 * 3. Peers are freed at the end of a round: events of the same round may name them.
 * 4. A round hears messages for a while only, of each user in turn (users.c).
 */
#include "share/serve/serve_int.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"

#define IN_SMALL ((size_t)64 << 10) /* before a job is registered */
#define OUT_LARGE ((size_t)4 << 20)
#define OUT_MOST ((size_t)2 << 20)
#define HEARING_NS ((sl_ns)1000000) /* of a round; turns do not wait for longer */

static void watch(struct sl_serve *s, struct sl_srv_peer *p)
{
	struct epoll_event e = {.data.ptr = &p->source};

	if (p->dead)
		return;
	e.events = (p->resume_ns == 0 && !p->closing ? EPOLLIN : 0) |
		   (p->writes ? EPOLLOUT : 0);
	(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, p->source.fd, &e);
}

void sl_srv_peer_close(struct sl_serve *s, struct sl_srv_peer *p, const char *why)
{
	struct sl_srv_job *j = p->job;
	struct sl_json *json;

	if (p->dead)
		return;
	p->dead = true;
	if (why) {
		json = sl_srv_log_begin(&s->log, "peer_closed");
		sl_json_i64(json, "pid", p->pid);
		sl_json_u64(json, "user", p->uid);
		sl_json_str(json, "text", why);
		sl_srv_log_end(&s->log);
	}
	(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, p->source.fd, NULL);
	s->n_peers--;
	p->job = NULL;
	sl_srv_asks_of_peer(s, p);
	if (j) {
		j->peer = NULL;
		sl_srv_job_part(s, j, why ? why : "its connection ended");
	}
}

/* Its link is closed here if that cannot take long; else a thread does it. */
static bool bury(struct sl_serve *s, struct sl_srv_peer *p)
{
	if (!p->burial.started && !sl_link_may_block(p->link)) {
		sl_link_destroy(p->link);
		return true;
	}
	/* It hears of it at once. */
	if (!p->burial.started)
		(void)shutdown(p->source.fd, SHUT_RDWR);
	return sl_srv_bury(s, &p->burial);
}

void sl_srv_peers_bury(struct sl_serve *s)
{
	struct sl_srv_peer **at = &s->peers;

	while (*at) {
		struct sl_srv_peer *p = *at;

		if (!p->dead || !bury(s, p)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		sl_srv_user_leave(s, p->user);
		sl_free(p);
	}
}

void sl_srv_peers_finish(struct sl_serve *s)
{
	while (s->peers) {
		struct sl_srv_peer *p = s->peers;

		s->peers = p->next;
		sl_srv_user_leave(s, p->user);
		if (sl_srv_bury_last(&p->burial))
			sl_free(p);
	}
}

/* Says what is queued, as far as the socket takes it. */
static void flush(struct sl_serve *s, struct sl_srv_peer *p)
{
	bool empty = true;
	sl_status st = sl_link_flush(p->link, &empty);

	if (st != SL_OK && st != SL_E_BUSY) {
		sl_srv_peer_close(s, p, NULL);
		return;
	}
	if (st == SL_OK && empty && p->closing) {
		sl_srv_peer_close(s, p, NULL);
		return;
	}
	if (p->writes != (st != SL_OK || !empty)) {
		p->writes = !p->writes;
		watch(s, p);
	}
}

void sl_srv_peer_widen(struct sl_serve *s, struct sl_srv_peer *p)
{
	(void)s;
	if (!p->dead)
		sl_link_limit(p->link, SL_LINK_MOST, OUT_LARGE);
}

void sl_srv_send(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m)
{
	sl_status st;

	if (!p || p->dead)
		return;
	st = sl_link_send(p->link, m);
	if (st == SL_E_LIMIT) {
		bool empty;

		/* Room may have come since. */
		if (sl_link_flush(p->link, &empty) == SL_OK)
			st = sl_link_send(p->link, m);
	}
	if (st != SL_OK)
		sl_srv_peer_close(s, p, sl_last_error());
}

void sl_srv_done(struct sl_serve *s, struct sl_srv_peer *p, uint32_t seq)
{
	sl_srv_send(s, p, &(struct sl_msg){.number = SL_MSG_DONE, .seq = seq});
}

void sl_srv_error(struct sl_serve *s, struct sl_srv_peer *p, uint32_t seq, sl_status st)
{
	struct sl_msg m = {.number = SL_MSG_ERROR, .seq = seq};
	struct sl_json *j;

	m.u.error.code = (uint32_t)st;
	sl_wire_text(m.u.error.text, sizeof(m.u.error.text), sl_last_error());
	s->counts.refused++;
	j = sl_srv_log_begin(&s->log, "refused");
	sl_json_i64(j, "pid", p->pid);
	sl_json_u64(j, "user", p->uid);
	sl_json_str(j, "code", sl_status_name(st));
	sl_json_str(j, "text", m.u.error.text);
	sl_srv_log_end(&s->log);
	sl_srv_send(s, p, &m);
}

void sl_srv_words(struct sl_serve *s, struct sl_srv_peer *p, uint32_t seq,
	const char *text, size_t len)
{
	struct sl_msg m = {.number = SL_MSG_WORDS, .seq = seq};

	m.u.words.text.data = (const uint8_t *)text;
	m.u.words.text.size = (uint32_t)(len < 65536 ? len : 65536);
	sl_srv_send(s, p, &m);
}

/* One more message may be handled now. */
static bool may_handle(struct sl_serve *s, struct sl_srv_peer *p)
{
	double rate = (double)s->config->messages_per_second;

	p->tokens += (double)(s->now_ns - p->filled_ns) * 1e-9 * rate;
	p->filled_ns = s->now_ns;
	if (p->tokens > rate)
		p->tokens = rate;
	if (p->tokens >= 1) {
		p->tokens -= 1;
		return true;
	}
	p->resume_ns = s->now_ns + (sl_ns)(1e9 / rate) + 1;
	s->counts.paused++;
	watch(s, p);
	return false;
}

/* A failure that is final ends the connection, with its reason said. */
static void break_off(struct sl_serve *s, struct sl_srv_peer *p, sl_status st)
{
	sl_srv_error(s, p, 0, st);
	if (p->dead)
		return;
	p->closing = true;
	p->more = false;
	watch(s, p);
	flush(s, p);
}

/* One message, if there is one and it may. */
static void hear(struct sl_serve *s, struct sl_srv_peer *p)
{
	struct sl_msg m;
	bool any;
	sl_status st;

	if (!may_handle(s, p))
		return;
	st = sl_link_next(p->link, &m, &any);
	if (st != SL_OK && !any) {
		break_off(s, p, st);
		return;
	}
	if (!any) {
		p->tokens += 1;
		p->more = false;
		if (p->closed)
			sl_srv_peer_close(s, p, NULL);
		return;
	}
	s->counts.messages++;
	if (st != SL_OK)
		sl_srv_error(s, p, m.seq, st);
	else
		sl_srv_handle(s, p, &m);
}

static void on_peer(struct sl_serve *s, struct sl_srv_source *source, uint32_t events)
{
	struct sl_srv_peer *p = (struct sl_srv_peer *)source;

	if (p->dead)
		return;
	if (events & EPOLLOUT)
		flush(s, p);
	if (p->dead || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	if (p->resume_ns > 0 || p->closing) {
		if (events & (EPOLLHUP | EPOLLERR))
			sl_srv_peer_close(s, p, NULL);
		return;
	}
	/* What is here already is heard first. */
	if (p->more)
		return;
	p->more = true;
	if (sl_link_receive(p->link, &p->closed) != SL_OK)
		sl_srv_peer_close(s, p, NULL);
}

/* Until something is to be carried out, which does not wait for what others say. */
static void hear_all(struct sl_serve *s)
{
	sl_ns began = s->clock(s->clock_ctx), now = began, after;
	struct sl_srv_peer *p = sl_srv_next_heard(s);

	while (p) {
		hear(s, p);
		after = s->clock(s->clock_ctx);
		sl_srv_heard(s, p, after - now);
		now = after;
		p = !s->dirty && now - began < HEARING_NS ? sl_srv_next_heard(s) : NULL;
	}
}

void sl_srv_peers_hear(struct sl_serve *s)
{
	for (struct sl_srv_peer *p = s->peers; p; p = p->next)
		if (!p->dead && p->resume_ns > 0 && s->now_ns >= p->resume_ns) {
			p->resume_ns = 0;
			watch(s, p);
		}
	hear_all(s);
}

void sl_srv_peers_round(struct sl_serve *s)
{
	sl_srv_peers_hear(s);
	for (struct sl_srv_peer *p = s->peers; p; p = p->next)
		if (!p->dead && !p->writes && sl_link_queued(p->link) > 0)
			flush(s, p);
	sl_srv_users_round(s);
}

sl_ns sl_srv_peers_due(const struct sl_serve *s)
{
	sl_ns due = -1;

	for (const struct sl_srv_peer *p = s->peers; p; p = p->next) {
		sl_ns at = p->resume_ns > 0 ? p->resume_ns : p->more ? s->now_ns : -1;

		if (!p->dead && !p->closing && at >= 0 && (due < 0 || at < due))
			due = at;
	}
	return due;
}

/* The reason, for one that gets no further. */
static void turn_away(struct sl_srv_peer *p, sl_status st)
{
	struct sl_msg m = {.number = SL_MSG_ERROR};
	bool empty;

	m.u.error.code = (uint32_t)st;
	sl_wire_text(m.u.error.text, sizeof(m.u.error.text), sl_last_error());
	if (sl_link_send(p->link, &m) == SL_OK)
		(void)!sl_link_flush(p->link, &empty);
}

sl_status sl_serve_adopt(struct sl_serve *s, int fd, const struct ucred *who)
{
	struct sl_srv_peer *p = sl_calloc(1, sizeof(*p));
	sl_status st;

	if (!p) {
		(void)close(fd);
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a connection");
	}
	p->uid = who->uid;
	p->pid = who->pid;
	p->ruler = who->uid == 0 || who->uid == s->owner;
	p->tokens = (double)s->config->messages_per_second;
	p->filled_ns = s->now_ns;
	st = sl_link_create(fd, &p->link);
	if (st != SL_OK) {
		sl_free(p);
		return st;
	}
	p->burial.link = p->link;
	p->source = (struct sl_srv_source){.fd = sl_link_fd(p->link), .on = on_peer};
	sl_link_limit(p->link, IN_SMALL, OUT_MOST);
	sl_link_take_memory_only(p->link);
	st = sl_srv_user_join(s, p->uid, &p->user);
	if (st == SL_OK)
		st = sl_srv_watch(s, &p->source, EPOLLIN);
	if (st != SL_OK) {
		turn_away(p, st);
		p->dead = true;
	}
	p->next = s->peers;
	s->peers = p;
	s->n_peers += !p->dead;
	return st;
}
