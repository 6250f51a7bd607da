/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that hears the daemon, and finds it again after it was gone. */
#include "share/client/client_int.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/fs.h"

#define BACKOFF_NS ((sl_ns)10 * 1000000)
#define BACKOFF_MOST_NS ((sl_ns)1000000000)
#define RATE_MS 1000

/* Whoever waits looks again. Under the lock. */
static void tell(struct sl_client *c, uint32_t flag)
{
	(void)sl_atom32_or(&c->flags, flag);
	(void)pthread_cond_broadcast(&c->changed);
	if (c->page != NULL)
		sl_turn_nudge(c->page);
}

static void lose(struct sl_client *c, const char *text)
{
	pthread_mutex_lock(&c->lock);
	if (c->lost_text[0] == '\0')
		(void)snprintf(c->lost_text, sizeof(c->lost_text), "%.255s", text);
	tell(c, SL_CLIENT_LOST);
	pthread_mutex_unlock(&c->lock);
}

static void replace_fd(int *fd, int with)
{
	sl_fs_close(*fd);
	*fd = with;
}

static void on_registered(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	if (c->enlisted)
		return;
	c->job = m->u.registered.job;
	c->token_high = m->u.registered.token_high;
	c->token_low = m->u.registered.token_low;
	c->fd_page = sl_link_take(l, 0);
	c->enlisted = true;
	c->reply.here = c->reply.seq == m->seq;
	c->reply.status = SL_OK;
}

static void on_admitted(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	uint32_t next = 0;

	c->mail.admitted = true;
	c->mail.grant = m->u.admitted;
	replace_fd(&c->mail.fd_p,
		m->u.admitted.persistent_bytes > 0 ? sl_link_take(l, next++) : -1);
	replace_fd(&c->mail.fd_lane,
		m->u.admitted.ephemeral_bytes > 0 ? sl_link_take(l, next) : -1);
	tell(c, SL_CLIENT_NEWS);
}

static void on_lane(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	c->mail.lane = true;
	c->mail.other = m->u.lane;
	replace_fd(&c->mail.fd_other, sl_link_take(l, 0));
	tell(c, SL_CLIENT_NEWS);
}

static void on_park(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	(void)l;
	(void)m;
	c->mail.park = true;
	tell(c, SL_CLIENT_NEWS);
}

static void on_channel(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	(void)l;
	sl_atom32_store(&c->channel_ppm, m->u.channel.ppm);
}

static void on_lost(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	(void)l;
	(void)snprintf(c->lost_text, sizeof(c->lost_text), "%s", m->u.lost.text);
	tell(c, SL_CLIENT_LOST);
}

static void on_plan(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	replace_fd(&c->plan_fd, sl_link_take(l, 0));
	c->plan_bytes = m->u.plan.bytes;
	sl_atom32_store(&c->plan_here, 1);
}

static void on_stop(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	(void)l;
	(void)m;
	tell(c, SL_CLIENT_STOP);
}

static void on_done(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	(void)l;
	if (c->reply.seq == 0 || c->reply.seq != m->seq)
		return;
	c->reply.here = true;
	c->reply.status = SL_OK;
}

static void on_error(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	uint32_t code = m->u.error.code;

	(void)l;
	if (c->reply.seq == 0 || c->reply.seq != m->seq)
		return;
	c->reply.here = true;
	c->reply.status = code > 0 && code < SL_STATUS_COUNT ? (sl_status)code : SL_E_NO;
	(void)snprintf(c->reply.text, sizeof(c->reply.text), "%s", m->u.error.text);
}

/* The first line. */
static void on_words(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	const struct sl_wire_bytes *b = &m->u.words.text;
	size_t n = 0;

	(void)l;
	if (c->words_seq == 0 || c->words_seq != m->seq)
		return;
	c->words_seq = 0;
	while (n < b->size && n + 1 < sizeof(c->words) && b->data[n] >= ' ')
		n++;
	memcpy(c->words, b->data, n);
	c->words[n] = '\0';
}

static const struct row {
	enum sl_msg_number number;
	void (*fn)(struct sl_client *c, struct sl_link *l, const struct sl_msg *m);
} rows[] = {
	{SL_MSG_REGISTERED, on_registered},
	{SL_MSG_ADMITTED, on_admitted},
	{SL_MSG_LANE, on_lane},
	{SL_MSG_PARK, on_park},
	{SL_MSG_CHANNEL, on_channel},
	{SL_MSG_LOST, on_lost},
	{SL_MSG_STOP, on_stop},
	{SL_MSG_PLAN, on_plan},
	{SL_MSG_DONE, on_done},
	{SL_MSG_ERROR, on_error},
	{SL_MSG_WORDS, on_words},
};

static void hear(struct sl_client *c, struct sl_link *l, const struct sl_msg *m)
{
	if (m->number == SL_MSG_QUERY) {
		if (c->opts.query != NULL)
			c->opts.query(c->opts.ctx, &m->u.query);
		return;
	}
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < SL_COUNT(rows); i++)
		if (rows[i].number == m->number)
			rows[i].fn(c, l, m);
	(void)pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void say_rate(struct sl_client *c)
{
	struct sl_msg m = {.number = SL_MSG_RATE};

	pthread_mutex_lock(&c->lock);
	m.u.rate = c->rate;
	if (c->rate_new)
		sl_client_say_locked(c, &m);
	c->rate_new = false;
	pthread_mutex_unlock(&c->lock);
}

/* Messages that are here; false: the connection is of no more use. */
static bool drain(struct sl_client *c, struct sl_link *l)
{
	bool closed = false, any = true;
	sl_status st = sl_link_receive(l, &closed);

	while (any) {
		struct sl_msg m;
		sl_status one = sl_link_next(l, &m, &any);

		if (one == SL_OK && any)
			hear(c, l, &m);
		else if (one != SL_OK && !any)
			return false;
	}
	return st == SL_OK && !closed;
}

static void listen_to(struct sl_client *c, struct sl_link *l)
{
	struct pollfd p = {.fd = sl_link_fd(l), .events = POLLIN};
	sl_ns told = sl_clock_now();

	while (drain(c, l)) {
		bool swaps = sl_atom32_load(&c->swaps) != 0;

		(void)poll(&p, 1, swaps ? RATE_MS : -1);
		if (!swaps || sl_clock_now() - told < (sl_ns)RATE_MS * 1000000)
			continue;
		say_rate(c);
		told = sl_clock_now();
	}
}

/* What the job has, in the daemon's words; under the lock. */
static void describe(struct sl_client *c, struct sl_msg *m)
{
	struct sl_turn_seen seen = {0};

	*m = (struct sl_msg){.number = SL_MSG_ATTACH, .seq = ++c->seq};
	if (c->page != NULL)
		sl_turn_look(c->page, &seen);
	m->u.attach = (struct sl_msg_attach){.job = c->job,
		.token_high = c->token_high,
		.token_low = c->token_low,
		.has = c->idle ? SL_WIRE_HAS_IDLE : 0,
		.turns = seen.turns,
		.used_ns = seen.used_ns};
	if (c->fd_page >= 0) {
		m->u.attach.has |= SL_WIRE_HAS_PAGE;
		m->fds[m->n_fds++] = c->fd_page;
	}
	if (c->fd_p >= 0) {
		m->u.attach.has |= SL_WIRE_HAS_P;
		m->fds[m->n_fds++] = c->fd_p;
	}
	if (c->fd_lane >= 0) {
		m->u.attach.has |= SL_WIRE_HAS_LANE;
		m->fds[m->n_fds++] = c->fd_lane;
	}
}

/* Says what the job has, and from then on the session's thread is heard too: nothing that
 * it says is lost or comes before that. */
static sl_status say_attach(struct sl_client *c, struct sl_link *l, uint32_t *out_seq)
{
	struct sl_msg m;
	sl_status st = SL_OK;

	pthread_mutex_lock(&c->lock);
	if (c->enlisted) {
		describe(c, &m);
		*out_seq = m.seq;
		st = sl_link_send(l, &m);
	}
	if (st == SL_OK)
		st = sl_client_flush(l, SL_CLIENT_ANSWER_NS);
	if (c->closing)
		st = SL_E_INTERRUPTED;
	c->link = st == SL_OK ? l : NULL;
	(void)pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return st;
}

/* Until the answer, other messages are heard as ever. */
static sl_status attach(struct sl_client *c, struct sl_link *l)
{
	struct sl_msg m = {0};
	uint32_t seq = 0;

	SL_TRY(say_attach(c, l, &seq));
	while (seq != 0 && !sl_client_flag(c, SL_CLIENT_LOST)) {
		SL_TRY(sl_link_get(l, &m, SL_CLIENT_ANSWER_NS));
		if (m.seq != seq) {
			hear(c, l, &m);
			continue;
		}
		if (m.number == SL_MSG_ERROR || m.number == SL_MSG_LOST)
			lose(c, m.number == SL_MSG_ERROR ? m.u.error.text
							 : m.u.lost.text);
		break;
	}
	return SL_OK;
}

/* One try. */
static bool come_back(struct sl_client *c)
{
	struct sl_msg ready;
	struct sl_link *l = NULL;
	sl_status st;

	if (sl_client_shake(c, &l) != SL_OK)
		return false;
	st = attach(c, l);
	pthread_mutex_lock(&c->lock);
	if (st != SL_OK)
		c->link = NULL;
	c->reattached += st == SL_OK;
	ready = sl_client_ready_msg(c);
	if (c->filled && (c->fd_p >= 0 || c->fd_lane >= 0))
		sl_client_say_locked(c, &ready);
	sl_client_say_trace_locked(c);
	pthread_mutex_unlock(&c->lock);
	if (st != SL_OK)
		sl_link_destroy(l);
	return st == SL_OK;
}

/* False: it is over. */
static bool find_again(struct sl_client *c)
{
	sl_ns begin = sl_clock_now(), pause = BACKOFF_NS;
	char text[200];

	for (;;) {
		bool closing;

		pthread_mutex_lock(&c->lock);
		if (!c->closing)
			sl_client_wait_locked(c, pause);
		closing = c->closing;
		pthread_mutex_unlock(&c->lock);
		if (closing || sl_client_flag(c, SL_CLIENT_LOST))
			return false;
		if (come_back(c))
			return !sl_client_flag(c, SL_CLIENT_LOST);
		if (sl_clock_now() - begin > c->opts.daemon_timeout_ns)
			break;
		pause = pause * 2 < BACKOFF_MOST_NS ? pause * 2 : BACKOFF_MOST_NS;
	}
	(void)snprintf(text, sizeof(text),
		"the daemon at %s has been gone for %lld s (--daemon-timeout)", c->path,
		(long long)(c->opts.daemon_timeout_ns / 1000000000));
	lose(c, text);
	return false;
}

void *sl_client_reader(void *client)
{
	struct sl_client *c = client;
	struct sl_link *l = c->link;
	bool closing;

	do {
		listen_to(c, l);
		pthread_mutex_lock(&c->lock);
		c->link = NULL;
		c->breaks++;
		closing = c->closing;
		(void)pthread_cond_broadcast(&c->changed);
		pthread_mutex_unlock(&c->lock);
		sl_link_destroy(l);
		if (closing || sl_client_flag(c, SL_CLIENT_LOST) || !find_again(c))
			break;
		pthread_mutex_lock(&c->lock);
		l = c->link;
		pthread_mutex_unlock(&c->lock);
	} while (l != NULL);
	return NULL;
}
