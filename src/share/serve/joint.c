/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans for the jobs that gave their traces, each within the memory it has: made anew by
 * a child process when one comes or goes or its times changed, and passed on unread; jobs
 * check what they adopt. The loop never waits for the child, and a child that takes too
 * long is killed.
 */
#include "share/serve/joint_int.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/memfd.h"
#include "base/text.h"

#define SEALS (SL_MEMFD_SHRINK | SL_MEMFD_GROW | SL_MEMFD_WRITE)
#define TRACE_MOST ((uint64_t)64 << 20)
#define RESULT_MOST 4096
#define SETTLE_NS ((sl_ns)200 * 1000000) /* several may come at once */
#define AGAIN_NS ((sl_ns)1000000000) /* the same, for times that changed */
#define PATIENCE_NS ((sl_ns)90 * 1000000000)

/* What comes later does not put off what was wanted before. */
static void want(struct sl_serve *s, sl_ns in_ns)
{
	struct sl_srv_joint *x = s->joint;

	if (!x)
		return;
	if (!x->wanted || s->now_ns + in_ns < x->begin_ns)
		x->begin_ns = s->now_ns + in_ns;
	x->wanted = true;
}

sl_status sl_srv_trace(struct sl_serve *s, struct sl_srv_peer *p, struct sl_srv_job *j,
	const struct sl_msg *m)
{
	struct sl_memfd_info info;
	int fd = sl_link_take(p->link, 0);
	sl_status st = fd < 0 ? SL_FAIL(SL_E_INVALID, "a trace comes with a descriptor")
			      : sl_memfd_check(fd, SEALS, 0, &info);

	if (st == SL_OK && (m->u.trace.bytes == 0 || m->u.trace.bytes > info.bytes ||
				   m->u.trace.bytes > TRACE_MOST))
		st = SL_FAIL(SL_E_LIMIT, "a trace has from 1 to %llu bytes",
			(unsigned long long)TRACE_MOST);
	if (st != SL_OK) {
		sl_fs_close(fd);
		return st;
	}
	want(s, j->trace_fd >= 0 ? AGAIN_NS : SETTLE_NS);
	sl_fs_close(j->trace_fd);
	j->trace_fd = fd;
	j->trace_bytes = m->u.trace.bytes;
	return SL_OK;
}

void sl_srv_joint_want(struct sl_serve *s)
{
	want(s, SETTLE_NS);
}

static bool takes_part(const struct sl_srv_job *j)
{
	return j->trace_fd >= 0 && j->peer && j->resident && !j->outcast;
}

/* Lanes with jobs that move bytes of which none takes part. */
static uint32_t other_lanes(const struct sl_serve *s)
{
	uint32_t lanes = 0;

	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct sl_srv_job *j = s->jobs[i];
		bool first = j->resident && j->asked.channels != 0 && !j->outcast;

		for (size_t k = 0; k < s->n_jobs && first; k++) {
			const struct sl_srv_job *o = s->jobs[k];

			first = o->lane != j->lane ||
				!(takes_part(o) ||
					(k < i && o->resident && o->asked.channels != 0 &&
						!o->outcast));
		}
		lanes += first;
	}
	return lanes;
}

static void forget(struct sl_srv_joint *x)
{
	for (size_t i = 0; i < x->n; i++)
		sl_fs_close(x->plan_fds[i]);
	sl_fs_close(x->result_fd);
	x->result_fd = -1;
	x->n = 0;
}

static sl_status add(struct sl_serve *s, struct sl_srv_joint *x,
	const struct sl_srv_job *j, struct sl_buf *text)
{
	const struct sl_job *sj = sl_share_find(&s->share, j->id);

	if (!sj)
		return SL_OK;
	SL_TRY(sl_memfd_create("sluice-plan", 0, &x->plan_fds[x->n]));
	x->jobs[x->n++] = j->id;
	return sl_buf_printf(text,
		"job trace=%d bytes=%llu plan=%d budget=%llu stays=%llu lane=%u\n",
		j->trace_fd, (unsigned long long)j->trace_bytes, x->plan_fds[x->n - 1],
		(unsigned long long)(sj->persistent_bytes + sj->ephemeral_bytes),
		(unsigned long long)sj->persistent_bytes, j->lane);
}

/* The request's text, and a place for each plan. */
static sl_status prepare(struct sl_serve *s, struct sl_srv_joint *x, int *out_request)
{
	struct sl_buf text = SL_BUF_MAX(65536);
	sl_status st;

	SL_TRY_OUT(sl_buf_printf(&text, "joint 2 others=%u\n", other_lanes(s)));
	for (size_t i = 0; i < s->n_jobs && x->n < SL_JOINT_JOBS; i++)
		if (takes_part(s->jobs[i]))
			SL_TRY_OUT(add(s, x, s->jobs[i], &text));
	SL_TRY_OUT(sl_memfd_create("sluice-result", 0, &x->result_fd));
	SL_TRY_OUT(sl_memfd_create("sluice-request", 0, out_request));
	st = sl_fs_pwrite(*out_request, "request", text.data, text.len, 0);
out:
	sl_buf_finish(&text);
	return st;
}

/* The child has the request, the result, traces and plans under their own numbers. */
static sl_status spawn(struct sl_serve *s, struct sl_srv_joint *x, int request)
{
	char name[] = "sluiced", flag[] = "--worker";
	char *const argv[] = {name, flag, NULL}, *const environment[] = {NULL};
	posix_spawn_file_actions_t a;
	pid_t pid;
	int failed = posix_spawn_file_actions_init(&a);

	if (failed)
		return SL_FAIL(SL_E_NOMEM, "no child can be made");
	failed = posix_spawn_file_actions_adddup2(&a, request, STDIN_FILENO) ||
		 posix_spawn_file_actions_adddup2(&a, x->result_fd, STDOUT_FILENO);
	for (size_t i = 0; i < x->n && !failed; i++) {
		const struct sl_srv_job *j = sl_srv_job_find(s, x->jobs[i]);

		failed = posix_spawn_file_actions_adddup2(&a, j->trace_fd, j->trace_fd) ||
			 posix_spawn_file_actions_adddup2(
				 &a, x->plan_fds[i], x->plan_fds[i]);
	}
	if (!failed)
		failed = posix_spawn(&pid, "/proc/self/exe", &a, NULL, argv, environment);
	(void)posix_spawn_file_actions_destroy(&a);
	if (failed)
		return SL_FAIL(SL_E_NOMEM, "no child can be made");
	x->child.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (x->child.fd >= 0)
		return sl_srv_watch(s, &x->child, EPOLLIN);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return SL_FAIL(SL_E_IO, "a child cannot be watched");
}

static void begin(struct sl_serve *s)
{
	struct sl_srv_joint *x = s->joint;
	size_t n = 0;
	int request = -1;
	sl_status st;

	x->wanted = false;
	for (size_t i = 0; i < s->n_jobs; i++)
		n += takes_part(s->jobs[i]);
	/* Who is left alone gets the whole of the links back. */
	if (n == 0 || (n == 1 && !x->together))
		return;
	x->together = n > 1;
	st = prepare(s, x, &request);
	if (st == SL_OK)
		st = spawn(s, x, request);
	sl_fs_close(request);
	if (st != SL_OK) {
		sl_srv_log_say(&s->log, "joint_fails", UINT32_MAX, sl_last_error());
		forget(x);
		return;
	}
	x->until_ns = s->now_ns + PATIENCE_NS;
	sl_srv_log_say(&s->log, "joint_begins", UINT32_MAX, NULL);
}

/* Its trace is none: it takes no part, and the others get their plans. */
static void forget_trace(struct sl_serve *s, struct sl_srv_job *j)
{
	if (!j)
		return;
	sl_srv_log_say(&s->log, "trace_unreadable", j->id, NULL);
	sl_fs_close(j->trace_fd);
	j->trace_fd = -1;
}

/* A line of the result goes with its plan to the job. */
static sl_status pass_on(struct sl_serve *s, struct sl_text *t, size_t i)
{
	struct sl_msg m = {.number = SL_MSG_PLAN, .n_fds = 1};
	struct sl_srv_job *j = sl_srv_job_find(s, s->joint->jobs[i]);
	struct sl_word w;

	if (!sl_text_word(t, &w) || !sl_word_is(&w, "job") || !sl_text_word(t, &w) ||
		!sl_word_key_is(&w, "budget"))
		return sl_text_fail(t, "no job");
	SL_TRY(sl_word_u64(t, &w, &m.u.plan.budget_bytes));
	if (!sl_text_word(t, &w) || !sl_word_key_is(&w, "bytes"))
		return sl_text_fail(t, "no bytes");
	SL_TRY(sl_word_u64(t, &w, &m.u.plan.bytes));
	/* No budget: its trace is none; else no plan fits its memory. */
	if (m.u.plan.bytes == 0) {
		if (m.u.plan.budget_bytes == 0)
			forget_trace(s, j);
		return SL_OK;
	}
	SL_TRY(sl_memfd_seal(s->joint->plan_fds[i], SEALS | SL_MEMFD_SEAL));
	m.fds[0] = s->joint->plan_fds[i];
	if (!j)
		return SL_OK;
	sl_srv_log_say(&s->log, "joint_plan", j->id, NULL);
	sl_srv_send(s, j->peer, &m);
	return SL_OK;
}

static sl_status pass_all(struct sl_serve *s)
{
	struct sl_srv_joint *x = s->joint;
	char text[RESULT_MOST];
	ssize_t n = pread(x->result_fd, text, sizeof(text), 0);
	struct sl_text t;
	bool more;

	if (n < 0)
		return SL_FAIL(SL_E_READ, "the result cannot be read");
	sl_text_init(&t, "result", text, (size_t)n);
	for (size_t i = 0; i < x->n; i++) {
		SL_TRY(sl_text_line(&t, &more));
		if (!more)
			return sl_text_fail(&t, "the result ends early");
		SL_TRY(pass_on(s, &t, i));
	}
	return SL_OK;
}

static void on_child(struct sl_serve *s, struct sl_srv_source *source, uint32_t events)
{
	struct sl_srv_joint *x = s->joint;
	siginfo_t info = {0};
	sl_status st;

	(void)events;
	if (source->fd < 0 || waitid((idtype_t)P_PIDFD, (id_t)source->fd, &info, WEXITED))
		return;
	sl_srv_unwatch(s, source);
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		st = pass_all(s);
	else
		st = SL_FAIL(SL_E_INFEASIBLE, "the worker ended with %d", info.si_status);
	sl_srv_log_say(&s->log, st == SL_OK ? "joint_done" : "joint_fails", UINT32_MAX,
		st == SL_OK ? NULL : sl_last_error());
	forget(x);
}

sl_status sl_srv_joint_open(struct sl_serve *s)
{
	s->joint = sl_calloc(1, sizeof(*s->joint));
	if (!s->joint)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for the daemon");
	s->joint->child = (struct sl_srv_source){.fd = -1, .on = on_child};
	s->joint->result_fd = -1;
	return SL_OK;
}

void sl_srv_joint_round(struct sl_serve *s)
{
	struct sl_srv_joint *x = s->joint;

	if (!x)
		return;
	if (x->child.fd >= 0 && s->now_ns >= x->until_ns)
		(void)syscall(SYS_pidfd_send_signal, x->child.fd, SIGKILL, NULL, 0);
	if (x->child.fd < 0 && x->wanted && s->now_ns >= x->begin_ns)
		begin(s);
}

sl_ns sl_srv_joint_due(const struct sl_serve *s)
{
	const struct sl_srv_joint *x = s->joint;

	if (!x)
		return -1;
	return x->child.fd >= 0 ? x->until_ns : x->wanted ? x->begin_ns : -1;
}

void sl_srv_joint_close(struct sl_serve *s)
{
	siginfo_t info;

	if (!s->joint)
		return;
	if (s->joint->child.fd >= 0) {
		(void)syscall(
			SYS_pidfd_send_signal, s->joint->child.fd, SIGKILL, NULL, 0);
		(void)waitid((idtype_t)P_PIDFD, (id_t)s->joint->child.fd, &info, WEXITED);
	}
	sl_srv_unwatch(s, &s->joint->child);
	forget(s->joint);
	sl_free(s->joint);
	s->joint = NULL;
}
