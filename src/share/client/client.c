/* SPDX-License-Identifier: Apache-2.0 */
/* A job's life at the daemon: enlisting, turns, the end. */
#include "share/client/client_int.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fs.h"

#define DAEMON_TIMEOUT_NS ((sl_ns)60 * 1000000000)
#define END_NS ((sl_ns)5 * 1000000000)
#define SHORT_NS ((sl_ns)1000000000)

bool sl_client_flag(const struct sl_client *c, uint32_t flag)
{
	return (sl_atom32_load(&c->flags) & flag) != 0;
}

void sl_client_wait_locked(struct sl_client *c, sl_ns ns)
{
	sl_ns at = sl_clock_now() + ns;
	struct timespec t = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};

	(void)pthread_cond_timedwait(&c->changed, &c->lock, &t);
}

/* A link that broke is the reader's to find out about. */
void sl_client_say_locked(struct sl_client *c, const struct sl_msg *m)
{
	if (c->link != NULL && sl_link_send(c->link, m) == SL_OK)
		(void)!sl_client_flush(c->link, SL_CLIENT_ANSWER_NS);
}

void sl_client_say(struct sl_client *c, const struct sl_msg *m)
{
	pthread_mutex_lock(&c->lock);
	sl_client_say_locked(c, m);
	pthread_mutex_unlock(&c->lock);
}

sl_status sl_client_reason(struct sl_client *c)
{
	char text[sizeof(c->lost_text)];

	pthread_mutex_lock(&c->lock);
	memcpy(text, c->lost_text, sizeof(text));
	pthread_mutex_unlock(&c->lock);
	return SL_FAIL(SL_E_LOST, "%s",
		text[0] != '\0' ? text : "the daemon took this job's memory away");
}

static bool asked_to_stop(const struct sl_client *c)
{
	return c->opts.stop != NULL && *c->opts.stop != 0;
}

/* Under the lock. SL_E_BUSY: the daemon was restarted meanwhile, or is slow. */
static sl_status ask_locked(struct sl_client *c, struct sl_msg *m, sl_ns most)
{
	sl_ns end = sl_clock_now() + most;
	uint64_t breaks = c->breaks;

	m->seq = ++c->seq;
	c->reply = (struct sl_client_reply){.seq = m->seq};
	sl_client_say_locked(c, m);
	while (!c->reply.here && c->breaks == breaks && c->link != NULL &&
		sl_clock_now() < end && !sl_client_flag(c, SL_CLIENT_LOST))
		sl_client_wait_locked(c, SL_CLIENT_LOOK_NS);
	c->reply.seq = 0;
	if (!c->reply.here)
		return SL_E_BUSY;
	if (c->reply.status == SL_OK)
		return SL_OK;
	return SL_FAIL(c->reply.status, "%s", c->reply.text);
}

static struct sl_client *create(const struct sl_client_opts *opts)
{
	struct sl_client *c = sl_calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (c == NULL)
		return NULL;
	c->opts = *opts;
	if (c->opts.daemon_timeout_ns <= 0)
		c->opts.daemon_timeout_ns = DAEMON_TIMEOUT_NS;
	c->fd_page = c->fd_p = c->fd_lane = c->fd_park = -1;
	c->plan_fd = c->trace_fd = -1;
	c->mail.fd_p = c->mail.fd_lane = c->mail.fd_other = -1;
	sl_atom32_store(&c->channel_ppm, 1000000);
	/* Neither fails on Linux. */
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&c->lock, NULL);
	(void)pthread_cond_init(&c->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	return c;
}

/* Signals are the session's thread's business. */
static sl_status start_reader(struct sl_client *c)
{
	sigset_t all, before;
	int err;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&c->thread, NULL, sl_client_reader, c);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err != 0)
		return SL_FAIL(SL_E_NOMEM, "the daemon's reader did not start");
	c->started = true;
	return SL_OK;
}

sl_status sl_client_open(const struct sl_client_opts *opts, struct sl_client **out)
{
	struct sl_client *c = create(opts);
	sl_status st;

	if (c == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a job of the daemon");
	SL_TRY_OUT(sl_daemon_path(opts->socket, c->path));
	SL_TRY_OUT(sl_client_shake(c, &c->link));
	SL_TRY_OUT(start_reader(c));
	*out = c;
	return SL_OK;
out:
	sl_client_close(c);
	return st;
}

/* A daemon that is restarted between question and answer is asked again. */
static sl_status enlist(struct sl_client *c, struct sl_msg *m)
{
	sl_status st = SL_E_BUSY;

	pthread_mutex_lock(&c->lock);
	while (st == SL_E_BUSY && !sl_client_flag(c, SL_CLIENT_LOST) &&
		!asked_to_stop(c)) {
		if (c->enlisted)
			st = SL_OK; /* the answer was late */
		else if (c->link == NULL)
			sl_client_wait_locked(c, SL_CLIENT_LOOK_NS);
		else
			st = ask_locked(c, m, SL_CLIENT_ANSWER_NS);
	}
	pthread_mutex_unlock(&c->lock);
	if (st != SL_E_BUSY)
		return st;
	if (asked_to_stop(c))
		return SL_FAIL(SL_E_INTERRUPTED, "interrupted before the first step");
	return sl_client_reason(c);
}

sl_status sl_client_enlist(struct sl_client *c, const struct sl_msg_reg *job)
{
	struct sl_msg m = {.number = SL_MSG_REGISTER};
	struct sl_turn_page *page = NULL;

	m.u.reg = *job;
	sl_atom32_store(&c->swaps, job->channels > 0);
	SL_TRY(enlist(c, &m));
	if (c->fd_page < 0)
		return SL_FAIL(SL_E_LOST,
			"the daemon at %s gave no page of turns: it is of another "
			"version",
			c->path);
	SL_TRY(sl_turn_map(c->fd_page, &page));
	pthread_mutex_lock(&c->lock);
	c->page = page;
	pthread_mutex_unlock(&c->lock);
	c->stats.job = c->job;
	return SL_OK;
}

sl_status sl_client_admit(struct sl_client *c, struct sl_client_room *out)
{
	sl_ns begin = sl_clock_now();

	while (!c->mapped) {
		SL_TRY(sl_client_see_to(c));
		if (c->mapped)
			break;
		if (asked_to_stop(c) || sl_client_stopped(c))
			return SL_FAIL(SL_E_INTERRUPTED,
				"interrupted while it waited to be admitted");
		pthread_mutex_lock(&c->lock);
		if (!sl_client_flag(c, SL_CLIENT_NEWS | SL_CLIENT_LOST))
			sl_client_wait_locked(c, SL_CLIENT_LOOK_NS);
		pthread_mutex_unlock(&c->lock);
		sl_client_explain(c, sl_clock_now() - begin);
	}
	c->stats.admit_ns = sl_clock_now() - begin;
	c->stats.waited_ns = c->stats.admit_ns;
	*out = (struct sl_client_room){.row = c->stats.row,
		.base = sl_window_base(c->window),
		.persistent_bytes = c->p_bytes,
		.ephemeral_bytes = c->e_bytes};
	return SL_OK;
}

sl_status sl_client_ready(struct sl_client *c)
{
	struct sl_msg m = sl_client_ready_msg(c);

	if (sl_client_lost(c))
		return sl_client_reason(c);
	pthread_mutex_lock(&c->lock);
	c->filled = true;
	sl_client_say_locked(c, &m);
	pthread_mutex_unlock(&c->lock);
	return SL_OK;
}

static void awake(struct sl_client *c)
{
	const struct sl_msg m = {.number = SL_MSG_AWAKE};

	pthread_mutex_lock(&c->lock);
	c->idle = false;
	sl_client_say_locked(c, &m);
	pthread_mutex_unlock(&c->lock);
}

sl_status sl_client_enter(struct sl_client *c)
{
	sl_ns begin;

	if (SL_LIKELY(sl_atom32_load(&c->flags) == 0 && !c->idle && !c->fresh_lane &&
		      sl_turn_try(c->page))) {
		sl_turn_begin(c->page, sl_clock_now());
		return SL_OK;
	}
	begin = sl_clock_now();
	if (c->idle)
		awake(c);
	SL_TRY(sl_client_wait_turn(c, true));
	sl_turn_begin(c->page, sl_clock_now());
	if (c->fresh_lane)
		SL_TRY(sl_window_populate_lane(c->window));
	c->fresh_lane = false;
	c->stats.waited_ns += sl_clock_now() - begin;
	return SL_OK;
}

bool sl_client_wanted(struct sl_client *c)
{
	c->will_yield = sl_turn_asked(c->page) || sl_client_flag(c, SL_CLIENT_NEWS);
	return c->will_yield;
}

static void give_back(struct sl_client *c, bool idle)
{
	struct sl_msg m = {.number = SL_MSG_REPORT};

	m.u.report.turns = c->stats.turns;
	m.u.report.used_ns = (uint64_t)c->stats.used_ns;
	m.u.report.idle = idle;
	c->stats.switches++;
	pthread_mutex_lock(&c->lock);
	c->idle = idle;
	sl_turn_yield(c->page);
	sl_client_say_locked(c, &m);
	pthread_mutex_unlock(&c->lock);
}

/* Nobody gives turns meanwhile: one that is there is kept. */
static bool is_alone(struct sl_client *c)
{
	bool alone;

	pthread_mutex_lock(&c->lock);
	alone = c->link == NULL;
	pthread_mutex_unlock(&c->lock);
	return alone;
}

sl_status sl_client_leave(struct sl_client *c, sl_ns used_ns, bool rests)
{
	sl_turn_count(c->page, used_ns);
	c->stats.turns++;
	c->stats.used_ns += used_ns;
	if (SL_UNLIKELY(c->will_yield || rests) && !is_alone(c))
		give_back(c, rests);
	c->will_yield = false;
	return SL_OK;
}

sl_status sl_client_tend(struct sl_client *c)
{
	return sl_client_flag(c, SL_CLIENT_NEWS | SL_CLIENT_LOST) ? sl_client_see_to(c)
								  : SL_OK;
}

/* A report must not cross a grant: who has no turn waits for one and gives that back. */
sl_status sl_client_idle(struct sl_client *c)
{
	if (c->idle || !c->filled || sl_client_lost(c) || is_alone(c))
		return SL_OK;
	if (!sl_turn_try(c->page))
		SL_TRY(sl_client_wait_turn(c, false));
	give_back(c, true);
	return SL_OK;
}

bool sl_client_lost(const struct sl_client *c)
{
	return sl_client_flag(c, SL_CLIENT_LOST) ||
	       (c->page != NULL && sl_turn_revoked(c->page)) ||
	       (c->window != NULL && sl_window_lost(c->window));
}

bool sl_client_stopped(const struct sl_client *c)
{
	return sl_client_flag(c, SL_CLIENT_STOP);
}

uint32_t sl_client_channel_ppm(const struct sl_client *c)
{
	return sl_atom32_load(&c->channel_ppm);
}

void sl_client_rate(struct sl_client *c, const struct sl_msg_rate *rate)
{
	pthread_mutex_lock(&c->lock);
	c->rate_new = c->rate_new || memcmp(&c->rate, rate, sizeof(*rate)) != 0;
	c->rate = *rate;
	pthread_mutex_unlock(&c->lock);
}

void sl_client_answer(struct sl_client *c, const struct sl_msg_answer *a)
{
	struct sl_msg m = {.number = SL_MSG_ANSWER};

	m.u.answer = *a;
	sl_client_say(c, &m);
}

void sl_client_stats(struct sl_client *c, struct sl_client_stats *out)
{
	*out = c->stats;
	pthread_mutex_lock(&c->lock);
	out->reattached = c->reattached;
	pthread_mutex_unlock(&c->lock);
}

/* Until it was heard: a connection that breaks meanwhile loses it. A daemon that stays
 * away is not waited for long. */
static void say_end_locked(struct sl_client *c, struct sl_msg *m)
{
	sl_ns end = sl_clock_now() + END_NS, most = sl_clock_now() + SHORT_NS;
	sl_status st = SL_E_BUSY;

	while (st == SL_E_BUSY && !sl_client_flag(c, SL_CLIENT_LOST) &&
		sl_clock_now() < (c->link != NULL ? end : most)) {
		if (c->link == NULL) {
			sl_client_wait_locked(c, SL_CLIENT_LOOK_NS);
			continue;
		}
		st = ask_locked(c, m, END_NS);
		most = sl_clock_now() + SHORT_NS;
	}
}

void sl_client_end(struct sl_client *c, sl_status how)
{
	struct sl_msg m = {.number = SL_MSG_END};

	if (c->ended || !c->enlisted)
		return;
	c->ended = true;
	sl_client_give_room(c);
	m.u.end.turns = c->stats.turns;
	m.u.end.used_ns = (uint64_t)c->stats.used_ns;
	m.u.end.code = (uint32_t)how;
	pthread_mutex_lock(&c->lock);
	say_end_locked(c, &m);
	pthread_mutex_unlock(&c->lock);
}

static void stop_reader(struct sl_client *c)
{
	if (!c->started)
		return;
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	if (c->link != NULL)
		(void)shutdown(sl_link_fd(c->link), SHUT_RDWR);
	(void)pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	(void)pthread_join(c->thread, NULL);
}

void sl_client_close(struct sl_client *c)
{
	if (c == NULL)
		return;
	sl_client_end(c, SL_E_INTERRUPTED);
	stop_reader(c);
	sl_client_give_room(c);
	sl_window_destroy(c->window);
	sl_turn_unmap(c->page);
	sl_link_destroy(c->link);
	sl_fs_close(c->mail.fd_p);
	sl_fs_close(c->mail.fd_lane);
	sl_fs_close(c->mail.fd_other);
	sl_fs_close(c->plan_fd);
	sl_fs_close(c->trace_fd);
	sl_fs_close(c->fd_page);
	(void)pthread_cond_destroy(&c->changed);
	(void)pthread_mutex_destroy(&c->lock);
	sl_free(c);
}
