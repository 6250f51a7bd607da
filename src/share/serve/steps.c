/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events into sl_share, decisions out, each a line of the decision log.
 *
 * 1. Each event is decided on before the next one, at a time of its own, so that the log
 *    decides the same when it is read again.
 * 2. A log stands for itself: a start and another policy begin a new one.
 */
#include "share/serve/serve_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"

#define OLD_LOGS 1000
#define TEXT_MOST ((size_t)1 << 22)
#define RETRY_NS ((sl_ns)10 * 1000000)

sl_ns sl_srv_time(struct sl_serve *s)
{
	sl_ns at = s->now_ns - s->boot_ns;

	return at > s->share.now_ns ? at : s->share.now_ns + 1;
}

struct sl_step sl_srv_step(const struct sl_serve *s, enum sl_step_kind kind, uint32_t job)
{
	sl_ns at = s->now_ns - s->boot_ns;

	return (struct sl_step){.kind = kind,
		.job = job,
		.at_ns = at > s->share.now_ns ? at : s->share.now_ns + 1};
}

static void log_failed(struct sl_serve *s, const char *why)
{
	sl_srv_log_say(&s->log, "decision_log_ends", UINT32_MAX, why);
	sl_fs_close(s->log_fd);
	s->log_fd = -1;
	sl_buf_clear(&s->log_text);
}

static void note(struct sl_serve *s, const struct sl_step *step)
{
	s->ring[s->ring_n % SL_SRV_RING] = *step;
	s->ring_n++;
	if (s->log_fd < 0)
		return;
	if (sl_step_print(step, &s->log_text) != SL_OK)
		log_failed(s, sl_last_error());
	else if (s->log_text.len > TEXT_MOST / 2)
		sl_srv_steps_flush(s);
}

void sl_srv_steps_flush(struct sl_serve *s)
{
	size_t at = 0;

	while (s->log_fd >= 0 && at < s->log_text.len) {
		ssize_t n = write(s->log_fd, s->log_text.data + at, s->log_text.len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			log_failed(s, strerror(errno));
		else
			at += (size_t)n;
	}
	sl_buf_clear(&s->log_text);
}

/* Keeps what is there under the first free number. */
static void keep_old(const char *path)
{
	char old[4096];

	for (int i = 1; i < OLD_LOGS; i++) {
		(void)snprintf(old, sizeof(old), "%s.%d", path, i);
		if (access(old, F_OK) != 0) {
			(void)rename(path, old);
			return;
		}
	}
}

sl_status sl_srv_steps_begin(struct sl_serve *s)
{
	const char *path = s->config->log;
	struct sl_log head = {.rules = s->share.rules};

	sl_srv_steps_end(s);
	s->log_text.max = TEXT_MOST;
	if (path[0] == '\0')
		return SL_OK;
	if (access(path, F_OK) == 0)
		keep_old(path);
	s->log_fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0640);
	if (s->log_fd < 0)
		return SL_FAIL(SL_E_WRITE, "cannot write the log of decisions %s: %s",
			path, strerror(errno));
	return sl_log_print(&head, &s->log_text);
}

void sl_srv_steps_end(struct sl_serve *s)
{
	sl_srv_steps_flush(s);
	sl_fs_close(s->log_fd);
	s->log_fd = -1;
}

static void log_decision(struct sl_serve *s, const struct sl_step *step)
{
	static const char *const names[SL_STEP_KINDS] = {
		[SL_STEP_ADMIT] = "job_admitted", [SL_STEP_REJECT] = "job_rejected"};
	struct sl_json *j;

	if (!names[step->kind])
		return;
	j = sl_srv_log_begin(&s->log, names[step->kind]);
	sl_json_u64(j, "job", step->job);
	if (step->kind == SL_STEP_ADMIT) {
		sl_json_u64(j, "lane", step->lane);
		sl_json_u64(j, "lane_bytes", step->bytes);
	}
	sl_srv_log_end(&s->log);
}

void sl_srv_decide(struct sl_serve *s)
{
	sl_status st;

	s->decided.n = 0;
	st = sl_share_decide(&s->share, &s->decided);
	for (size_t i = 0; i < s->decided.n; i++) {
		note(s, &s->decided.steps[i]);
		log_decision(s, &s->decided.steps[i]);
	}
	s->dirty = true;
	s->redecide = st != SL_OK;
	if (st == SL_OK)
		return;
	s->counts.step_retries++;
	s->retry_ns = s->now_ns + RETRY_NS;
	sl_srv_log_say(&s->log, "decides_again", UINT32_MAX, sl_last_error());
}

sl_status sl_srv_apply(struct sl_serve *s, const struct sl_step *e)
{
	SL_TRY(sl_share_apply(&s->share, e));
	note(s, e);
	return SL_OK;
}

sl_status sl_srv_event(struct sl_serve *s, const struct sl_step *e)
{
	/* A decision that memory ran out for stands before what comes now. */
	if (s->redecide)
		sl_srv_decide(s);
	SL_TRY(sl_srv_apply(s, e));
	sl_srv_decide(s);
	return SL_OK;
}
