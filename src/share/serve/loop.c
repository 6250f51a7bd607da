/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: one thread, epoll, nothing that blocks. A round hears what there is, carries
 * out what follows, and says it.
 */
#include "share/serve/serve_int.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "share/policy/policy.h"

#define EVENTS 256
#define MILLISECOND ((sl_ns)1000000)
#define AWAY_NS (500 * MILLISECOND) /* later than that is more than a busy machine */

sl_status sl_srv_watch(struct sl_serve *s, struct sl_srv_source *source, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = source};

	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, source->fd, &e))
		return SL_FAIL(errno == ENOMEM ? SL_E_NOMEM : SL_E_IO,
			"the loop takes no more: %s", strerror(errno));
	return SL_OK;
}

void sl_srv_unwatch(struct sl_serve *s, struct sl_srv_source *source)
{
	if (source->fd < 0)
		return;
	(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	sl_fs_close(source->fd);
	source->fd = -1;
}

static sl_ns system_clock(void *ctx)
{
	(void)ctx;
	return sl_clock_now();
}

static void reload(struct sl_serve *s)
{
	const struct sl_job_policy *policy;
	struct sl_step e;

	if (sl_serve_settings_reload(s->settings) != SL_OK) {
		sl_srv_log_say(&s->log, "reload_failed", UINT32_MAX, sl_last_error());
		return;
	}
	sl_srv_log_say(&s->log, "reloaded", UINT32_MAX, s->config->config);
	policy = sl_job_policy_find(s->config->policy);
	if (!policy || policy == s->share.policy || s->policy_chosen)
		return;
	e = sl_share_policy_event(&s->share, policy, sl_srv_time(s));
	if (sl_srv_event(s, &e) != SL_OK)
		sl_srv_log_say(&s->log, "fault", UINT32_MAX, sl_last_error());
}

static void on_signal(struct sl_serve *s, struct sl_srv_source *source, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload(s);
		else
			s->stop = true;
	}
}

static sl_status catch_signals(struct sl_serve *s)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t set;

	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	s->signals.on = on_signal;
	s->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals.fd < 0)
		return SL_FAIL(SL_E_IO, "no descriptor for signals: %s", strerror(errno));
	return sl_srv_watch(s, &s->signals, EPOLLIN);
}

static void raise_limits(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
}

static void say_start(struct sl_serve *s)
{
	struct sl_json *j = sl_srv_log_begin(&s->log, "started");

	sl_json_i64(j, "pid", getpid());
	sl_json_str(j, "socket", s->config->socket);
	sl_json_str(j, "policy", s->share.rules.policy);
	sl_json_u64(j, "capacity_bytes", s->share.rules.capacity_bytes);
	sl_srv_log_end(&s->log);
}

static sl_status start(struct sl_serve *s, bool sockets)
{
	struct sl_share_rules rules = {.capacity_bytes = s->config->capacity_bytes,
		.max_wait_ns = s->config->max_wait,
		.quantum_ns = s->config->quantum,
		.lanes = (uint32_t)s->config->lanes};

	s->ring = sl_alloc(SL_SRV_RING * sizeof(*s->ring));
	if (s->ring) /* written now, so that resident memory does not creep up */
		memset(s->ring, 0, SL_SRV_RING * sizeof(*s->ring));
	if (!s->ring)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for the log");
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return SL_FAIL(
			SL_E_IO, "no descriptor for the loop: %s", strerror(errno));
	if (!sl_srv_random(&s->boot, sizeof(s->boot)))
		return SL_FAIL(SL_E_IO, "no random numbers: %s", strerror(errno));
	sl_share_init(&s->share, sl_job_policy_find(s->config->policy), &rules);
	s->share.find = sl_job_policy_find;
	if (sockets) {
		raise_limits();
		SL_TRY(sl_srv_sock_open(s));
		SL_TRY(catch_signals(s));
		SL_TRY(sl_srv_metrics_open(s));
		SL_TRY(sl_srv_joint_open(s));
	}
	SL_TRY(sl_srv_record_open(s));
	say_start(s);
	return SL_OK;
}

sl_status sl_serve_open(const struct sl_serve_options *o, struct sl_serve **out)
{
	struct sl_serve *s = sl_calloc(1, sizeof(*s));
	sl_status st;

	if (!s)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for the daemon");
	s->settings = o->settings;
	s->config = sl_serve_settings_config(o->settings);
	s->clock = o->clock ? o->clock : system_clock;
	s->clock_ctx = o->clock_ctx;
	s->owner = geteuid();
	s->epoll_fd = s->lock_fd = s->log_fd = s->record.fd = -1;
	s->listen.fd = s->signals.fd = s->metrics[0].fd = s->metrics[1].fd = -1;
	s->next_job = 1;
	s->now_ns = s->boot_ns = s->clock(s->clock_ctx);
	sl_srv_log_init(&s->log, o->log_fd);
	s->log.now_ns = s->now_ns;
	st = start(s, o->sockets);
	if (st != SL_OK) {
		sl_serve_close(s);
		return st;
	}
	*out = s;
	return SL_OK;
}

void sl_serve_close(struct sl_serve *s)
{
	if (!s)
		return;
	/* Jobs keep what they have: a daemon that starts again takes them back. */
	for (struct sl_srv_peer *p = s->peers; p; p = p->next) {
		if (p->job)
			p->job->peer = NULL;
		p->job = NULL;
		p->dead = true;
	}
	sl_srv_metrics_close(s);
	sl_srv_joint_close(s);
	s->n_asks = 0;
	sl_srv_peers_finish(s);
	while (s->n_jobs > 0)
		sl_srv_job_free(s, s->jobs[0]);
	sl_srv_jobs_bury(s);
	sl_srv_mems_finish(s);
	sl_srv_sock_close(s);
	sl_srv_unwatch(s, &s->signals);
	sl_srv_record_close(s);
	sl_srv_steps_end(s);
	sl_share_finish(&s->share);
	sl_log_finish(&s->decided);
	sl_buf_finish(&s->log_text);
	sl_srv_log_finish(&s->log);
	sl_fs_close(s->epoll_fd);
	sl_free(s->jobs);
	sl_free(s->asks);
	sl_free(s->ring);
	sl_free(s);
}

static void earliest(sl_ns *due, sl_ns at)
{
	if (at >= 0 && (*due < 0 || at < *due))
		*due = at;
}

static sl_ns next_due(const struct sl_serve *s)
{
	sl_ns due = s->n_scrubs > 0 || s->dirty ? s->now_ns : -1;

	earliest(&due, sl_srv_peers_due(s));
	earliest(&due, sl_srv_turns_due(s));
	earliest(&due, sl_srv_wake(s));
	earliest(&due, sl_srv_joint_due(s));
	earliest(&due, s->watchdog_ns > 0 ? s->next_watchdog_ns : -1);
	earliest(&due, sl_srv_metrics_due(s));
	earliest(&due, sl_srv_idle_due(s));
	earliest(&due, s->retry_ns > 0 ? s->retry_ns : -1);
	earliest(&due, s->accept_ns > 0 ? s->accept_ns : -1);
	earliest(&due,
		s->record.ok || s->record.path[0] == '\0' ? -1 : s->record.retry_ns);
	earliest(&due, s->grace_ns > 0 ? s->grace_ns : -1);
	return due;
}

static int timeout_of(const struct sl_serve *s, bool wait)
{
	sl_ns due = wait ? next_due(s) : 0, left;

	if (!wait)
		return 0;
	if (due < 0)
		return -1;
	left = due - s->clock(s->clock_ctx);
	if (left <= 0)
		return 0;
	left = (left + MILLISECOND - 1) / MILLISECOND;
	return left < 60000 ? (int)left : 60000;
}

/* What time alone brings about. */
static void on_time(struct sl_serve *s)
{
	sl_ns wake = sl_srv_wake(s);
	sl_ns due = sl_srv_turns_due(s);
	struct sl_step tick = sl_srv_step(s, SL_STEP_TICK, 0);

	sl_srv_sock_resume(s);
	sl_srv_watchdog(s);
	sl_srv_grace(s);
	sl_srv_idle(s);
	sl_srv_joint_round(s);
	if (wake >= 0 && s->now_ns >= wake && sl_srv_event(s, &tick) != SL_OK)
		sl_srv_log_say(&s->log, "fault", UINT32_MAX, sl_last_error());
	if (due >= 0 && s->now_ns >= due)
		s->dirty = true;
	if (s->retry_ns > 0 && s->now_ns >= s->retry_ns) {
		s->dirty = true;
		s->retry_ns = 0;
	}
}

/* The loop was away: the machine slept, or the daemon was stopped. The jobs may have been
 * so too, so that time is not held against them. */
static void excuse(struct sl_serve *s, sl_ns from, int timeout_ms)
{
	sl_ns away = s->now_ns - from;

	if (timeout_ms < 0 || away < timeout_ms * MILLISECOND + AWAY_NS)
		return;
	sl_srv_log_say(&s->log, "was_away", UINT32_MAX, NULL);
	sl_srv_excuse(s, away);
	if (s->grace_ns > 0)
		s->grace_ns += away;
}

sl_status sl_serve_round(struct sl_serve *s, bool wait)
{
	struct epoll_event events[EVENTS];
	int timeout = timeout_of(s, wait);
	sl_ns from = s->now_ns;
	int n = epoll_wait(s->epoll_fd, events, EVENTS, timeout);

	if (n < 0 && errno != EINTR)
		return SL_FAIL(SL_E_IO, "the loop cannot wait: %s", strerror(errno));
	s->now_ns = s->clock(s->clock_ctx);
	s->log.now_ns = s->now_ns;
	if (wait)
		excuse(s, from, timeout);
	for (int i = 0; i < n; i++) {
		struct sl_srv_source *source = events[i].data.ptr;

		source->on(s, source, events[i].events);
	}
	/* Before anybody is late. */
	sl_srv_peers_hear(s);
	on_time(s);
	sl_srv_scrub(s);
	sl_srv_carry(s);
	sl_srv_follow(s);
	/* What a peer is told, a daemon that starts again knows. */
	sl_srv_record_flush(s);
	sl_srv_peers_round(s);
	/* What the last messages brought about is not left for another round. */
	if (s->dirty) {
		sl_srv_carry(s);
		sl_srv_follow(s);
		sl_srv_record_flush(s);
		sl_srv_peers_round(s);
	}
	sl_srv_metrics_round(s);
	sl_srv_steps_flush(s);
	sl_srv_peers_bury(s);
	sl_srv_jobs_bury(s);
	return SL_OK;
}

sl_status sl_serve_run(struct sl_serve_settings *settings)
{
	struct sl_serve_options o = {
		.settings = settings, .sockets = true, .log_fd = STDERR_FILENO};
	struct sl_serve *s = NULL;
	sl_status st;

	SL_TRY(sl_serve_open(&o, &s));
	sl_srv_notify("READY=1");
	do
		st = sl_serve_round(s, true);
	while (st == SL_OK && !s->stop);
	sl_srv_notify("STOPPING=1");
	sl_srv_log_say(
		&s->log, "stopped", UINT32_MAX, st == SL_OK ? NULL : sl_last_error());
	sl_serve_close(s);
	return st;
}
