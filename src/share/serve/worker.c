/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child process that plans for all jobs at once: traces in, plans out, through memory
 * that it was given. It limits itself, so that a hostile trace costs its own minute.
 *
 * On descriptor 0, the request:  joint 2 others=LANES
 *                                job trace=FD bytes=BYTES plan=FD budget=BYTES
 *                                    stays=BYTES lane=N               for each, one line
 * On descriptor 1, the result:   job budget=BYTES bytes=BYTES         for each
 *
 * others: lanes besides whose jobs move bytes. stays: of the budget, over the boundary.
 * No bytes: no plan fits the job's memory; no budget either: its trace is none.
 */
#include "share/serve/joint_int.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"
#include "memory/policy/jobs.h"

#define REQUEST_MOST 65536
#define PLAN_MOST ((size_t)256 << 20)
#define MEMORY_BYTES ((rlim_t)2 << 30)
#define SECONDS 60
#define NICE 19
#define MANY_OPS 600 /* more effort for them takes seconds */
#define KEYS 6

struct task {
	int trace_fd, plan_fd;
	uint32_t lane;
	bool bad; /* its trace is none */
	uint64_t bytes, budget, stays;
	struct sl_trace trace;
	struct sl_policy_choice choice;
};

struct work {
	uint64_t others;
	struct task tasks[SL_JOINT_JOBS];
	size_t n;
};

static sl_status read_task(struct sl_text *t, struct work *w)
{
	uint64_t values[KEYS] = {0};
	static const char *const keys[KEYS] = {
		"trace", "bytes", "plan", "budget", "stays", "lane"};
	struct sl_word word;

	if (w->n == SL_JOINT_JOBS)
		return sl_text_fail(t, "at most %d jobs", SL_JOINT_JOBS);
	for (int i = 0; i < KEYS; i++) {
		if (!sl_text_word(t, &word) || !sl_word_key_is(&word, keys[i]))
			return sl_text_fail(t, "a job has %s=", keys[i]);
		SL_TRY(sl_word_u64(t, &word, &values[i]));
	}
	if (values[0] > INT32_MAX || values[2] > INT32_MAX || values[5] > UINT32_MAX)
		return sl_text_fail(t, "no descriptor is like that");
	w->tasks[w->n++] = (struct task){.trace_fd = (int)values[0],
		.bytes = values[1],
		.plan_fd = (int)values[2],
		.budget = values[3],
		.stays = values[4],
		.lane = (uint32_t)values[5],
		.trace = SL_TRACE_INIT};
	return SL_OK;
}

static sl_status read_request(struct work *w)
{
	struct sl_buf text = SL_BUF_MAX(REQUEST_MOST);
	char part[4096];
	struct sl_text t;
	struct sl_word word;
	sl_status st = SL_OK;
	ssize_t n;
	bool more;

	while ((n = pread(STDIN_FILENO, part, sizeof(part), (off_t)text.len)) > 0)
		SL_TRY_OUT(sl_buf_append(&text, part, (size_t)n));
	sl_text_init(&t, "request", sl_buf_text(&text), text.len);
	SL_TRY_OUT(sl_text_line(&t, &more));
	if (!more || !sl_text_word(&t, &word) || !sl_word_is(&word, "joint") ||
		!sl_text_word(&t, &word) || !sl_word_is(&word, "2") ||
		!sl_text_word(&t, &word) || !sl_word_key_is(&word, "others")) {
		st = sl_text_fail(&t, "no request");
		goto out;
	}
	SL_TRY_OUT(sl_word_u64(&t, &word, &w->others));
	for (;;) {
		SL_TRY_OUT(sl_text_line(&t, &more));
		if (!more)
			break;
		if (!sl_text_word(&t, &word) || !sl_word_is(&word, "job")) {
			st = sl_text_fail(&t, "no job");
			goto out;
		}
		SL_TRY_OUT(read_task(&t, w));
	}
out:
	sl_buf_finish(&text);
	return st;
}

static sl_status read_trace(struct task *x)
{
	sl_status st;
	char *data = mmap(
		NULL, x->bytes > 0 ? x->bytes : 1, PROT_READ, MAP_SHARED, x->trace_fd, 0);

	if (data == MAP_FAILED)
		return SL_FAIL(SL_E_READ, "a trace cannot be mapped");
	st = sl_trace_parse("trace", data, x->bytes, &x->trace);
	(void)munmap(data, x->bytes > 0 ? x->bytes : 1);
	return st;
}

static sl_status write_plan(struct task *x, const struct sl_jobs_lease *job)
{
	struct sl_buf text = SL_BUF_MAX(PLAN_MOST);
	char line[96];
	int n;
	sl_status st = SL_OK;

	if (job->plan.n_values > 0)
		st = sl_plan_print(&job->plan, &x->trace, &text);
	if (st == SL_OK && text.len > 0)
		st = sl_fs_pwrite(x->plan_fd, "plan", text.data, text.len, 0);
	n = snprintf(line, sizeof(line), "job budget=%llu bytes=%llu\n",
		(unsigned long long)job->budget, (unsigned long long)text.len);
	if (st == SL_OK && write(STDOUT_FILENO, line, (size_t)n) != n)
		st = SL_FAIL(SL_E_WRITE, "the result cannot be written");
	sl_buf_finish(&text);
	return st;
}

/* Who cannot be read takes no part. */
static sl_status take_up(struct task *x, struct sl_jobs_lease *jobs, size_t *n)
{
	sl_status st = read_trace(x);

	if (st == SL_E_NOMEM)
		return st;
	x->bad = st != SL_OK;
	if (x->bad)
		return SL_OK;
	/* Each is planned at many budgets: joint would take several times as long. */
	SL_TRY(sl_policy_parse("tensile", &x->choice));
	if (x->trace.n_ops > MANY_OPS)
		x->choice = sl_policy_quick(&x->choice);
	jobs[(*n)++] = (struct sl_jobs_lease){.trace = &x->trace,
		.choice = &x->choice,
		.budget = x->budget,
		.most_p_bytes = x->stays,
		.lane = x->lane};
	return SL_OK;
}

/* A line for each task, in their order. */
static sl_status write_all(struct work *w, const struct sl_jobs_lease *jobs)
{
	static const char none[] = "job budget=0 bytes=0\n";
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (!w->tasks[i].bad)
			SL_TRY(write_plan(&w->tasks[i], &jobs[n++]));
		else if (write(STDOUT_FILENO, none, sizeof(none) - 1) !=
			 (ssize_t)sizeof(none) - 1)
			return SL_FAIL(SL_E_WRITE, "the result cannot be written");
	}
	return SL_OK;
}

static sl_status plan(struct work *w)
{
	struct sl_jobs_lease jobs[SL_JOINT_JOBS] = {0};
	uint32_t others = w->others < SL_JOINT_JOBS ? (uint32_t)w->others : SL_JOINT_JOBS;
	size_t n = 0;
	sl_status st;

	for (size_t i = 0; i < w->n; i++)
		SL_TRY(take_up(&w->tasks[i], jobs, &n));
	st = sl_policy_jobs_leases(jobs, n, others);
	if (st == SL_OK)
		st = write_all(w, jobs);
	for (size_t i = 0; i < n; i++)
		sl_plan_finish(&jobs[i].plan);
	return st;
}

sl_status sl_serve_worker(void)
{
	struct rlimit memory = {MEMORY_BYTES, MEMORY_BYTES}, cpu = {SECONDS, SECONDS};
	struct work *w;
	sl_status st;

	if (setrlimit(RLIMIT_AS, &memory) || setrlimit(RLIMIT_CPU, &cpu))
		return SL_FAIL(SL_E_IO, "a worker cannot limit itself");
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	w = sl_calloc(1, sizeof(*w));
	if (!w)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	st = read_request(w);
	if (st == SL_OK)
		st = plan(w);
	for (size_t i = 0; i < w->n; i++)
		sl_trace_finish(&w->tasks[i].trace);
	sl_free(w);
	return st;
}
