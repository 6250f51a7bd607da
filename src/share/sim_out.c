/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulation prints: a row a job, a row an interval, a log decided again. */
#include "share/sim.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "share/decision_check.h"

#define SECOND 1000000000

/* All digits, so that every figure can be computed from the table. */
#define TIME "%" PRId64 ".%09" PRId64
#define TIME_OF(ns) (ns) / SECOND, (ns) % SECOND

sl_status sl_jobsim_jobs_csv(const struct sl_jobsim_table *t, struct sl_buf *out)
{
	SL_TRY(sl_buf_puts(out, "job_id,submit_s,first_start_s,end_s,attained_s,lane,"
				"persistent_mb,ephemeral_mb\n"));
	for (size_t i = 0; i < t->n; i++) {
		const struct sl_jobsim_job *x = &t->jobs[i];

		SL_TRY(sl_buf_printf(out,
			"%s," TIME "," TIME "," TIME "," TIME ",%u,%.10g,%.10g\n",
			x->name, TIME_OF(x->submit_ns), TIME_OF(x->first_ns),
			TIME_OF(x->end_ns), TIME_OF(x->length_ns), x->lane,
			(double)x->persistent_bytes / 1048576,
			(double)x->ephemeral_bytes / 1048576));
	}
	return SL_OK;
}

sl_status sl_jobsim_spans_csv(
	const struct sl_jobsim *m, const struct sl_jobsim_table *t, struct sl_buf *out)
{
	SL_TRY(sl_buf_puts(out, "job_id,lane,start_s,end_s,share\n"));
	for (size_t i = 0; i < m->n_spans; i++) {
		const struct sl_jobsim_span *p = &m->spans[i];

		/* Rounded down, so that parts never add up to more than one. */
		SL_TRY(sl_buf_printf(out, "%s,%u," TIME "," TIME ",%.12f\n",
			t->jobs[p->job].name, p->lane, TIME_OF(p->from_ns),
			TIME_OF(p->to_ns), floor(p->share * 1e12) / 1e12));
	}
	return SL_OK;
}

/* Line for line: step `at` of the log, NULL past its events, against what is decided. */
static sl_status compare(const struct sl_log *l, size_t at, const struct sl_step *now)
{
	sl_status st;
	struct sl_buf was = SL_BUF_INIT, is = SL_BUF_INIT;

	if (at < l->n && !sl_step_is_event(&l->steps[at]))
		SL_TRY_OUT(sl_step_print(&l->steps[at], &was));
	if (now)
		SL_TRY_OUT(sl_step_print(now, &is));
	st = SL_OK;
	if (strcmp(sl_buf_text(&was), sl_buf_text(&is)) != 0)
		st = SL_FAIL(SL_E_NO, "step %zu: recorded '%.*s', decided now '%.*s'",
			at + 1, (int)strcspn(sl_buf_text(&was), "\n"), sl_buf_text(&was),
			(int)strcspn(sl_buf_text(&is), "\n"), sl_buf_text(&is));
out:
	sl_buf_finish(&was);
	sl_buf_finish(&is);
	return st;
}

sl_status sl_log_replay(const struct sl_log *l, const struct sl_job_policy *policy)
{
	return sl_log_replay_with(l, policy, NULL);
}

sl_status sl_log_replay_with(const struct sl_log *l, const struct sl_job_policy *policy,
	const struct sl_job_policy *(*find)(const char *name))
{
	sl_status st;
	struct sl_share s;
	struct sl_log now = {0};

	sl_share_init(&s, policy, &l->rules);
	s.find = find;
	SL_TRY_OUT(sl_decision_check_log(l));
	for (size_t at = 0; at < l->n;) {
		sl_ns time = l->steps[at].at_ns;

		/* All events of a moment, then what is decided. */
		for (; at < l->n && sl_step_is_event(&l->steps[at]) &&
			l->steps[at].at_ns == time;
			at++)
			SL_TRY_OUT(sl_share_apply(&s, &l->steps[at]));
		now.n = 0;
		SL_TRY_OUT(sl_share_decide(&s, &now));
		for (size_t i = 0; i < now.n; i++)
			SL_TRY_OUT(compare(l, at++, &now.steps[i]));
		SL_TRY_OUT(compare(l, at, NULL));
		SL_TRY_OUT(sl_share_check(&s));
	}
	st = SL_OK;
out:
	if (st == SL_E_INVALID || st == SL_E_NOMEM_DEVICE)
		st = SL_FAIL(SL_E_FORMAT, "events that do not fit together: %s",
			sl_last_error());
	sl_log_finish(&now);
	sl_share_finish(&s);
	return st;
}
