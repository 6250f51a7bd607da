/* SPDX-License-Identifier: Apache-2.0 */
/* sluice sim: a table of jobs, policies by name, and what is written. */
#include "sluice/job.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "share/policy/policy.h"
#include "share/sim.h"

#define MAX_BYTES ((size_t)1 << 30)

struct sl_sim_jobs {
	struct sl_jobsim_table table;
};

const char *sl_job_policy_name_at(size_t i, const char **summary)
{
	const struct sl_job_policy *p = sl_job_policy_at(i);

	if (p && summary)
		*summary = p->summary;
	return p ? p->name : NULL;
}

void sl_sim_jobs_close(struct sl_sim_jobs *j)
{
	if (!j)
		return;
	sl_jobsim_table_finish(&j->table);
	sl_free(j);
}

sl_status sl_sim_jobs_open(const char *path, struct sl_sim_jobs **out, bool *no_memory)
{
	sl_status st;
	struct sl_buf text = SL_BUF_MAX(MAX_BYTES);
	struct sl_sim_jobs *j = sl_calloc(1, sizeof(*j));

	if (!j)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a table of jobs");
	SL_TRY_OUT(sl_fs_read(path, MAX_BYTES, &text));
	SL_TRY_OUT(sl_jobsim_table_parse(&j->table, path, sl_buf_text(&text), text.len));
	*no_memory = j->table.no_memory;
	*out = j;
	j = NULL;
out:
	sl_buf_finish(&text);
	sl_sim_jobs_close(j);
	return st;
}

static sl_status find_policy(const char *name, const struct sl_job_policy **out)
{
	*out = sl_job_policy_find(name);
	if (!*out)
		return SL_FAIL(SL_E_USAGE,
			"--policy %s is unknown; `sluice list job-policies` lists them",
			name);
	return SL_OK;
}

static void fill(struct sl_sim_report *out, const struct sl_jobsim *m, size_t jobs)
{
	const struct sl_jobsim_sum *s = &m->sum;

	*out = (struct sl_sim_report){.jobs = jobs,
		.capacity_bytes = m->rules.capacity_bytes,
		.peak_bytes = s->peak_bytes,
		.makespan_s = s->makespan_s,
		.mean_queue_s = s->queue_s,
		.longest_queue_s = s->longest_queue_s,
		.mean_jct_s = s->jct_s,
		.p95_jct_s = s->p95_s,
		.max_jct_s = s->max_s,
		.jain_fairness = s->jain,
		.switches = s->switches,
		.parks = s->parks,
		.steps = s->steps,
		.lanes = s->lanes};
	memcpy(out->policy, m->log.rules.policy, sizeof(out->policy));
}

sl_status sl_sim_jobs_run(struct sl_sim_jobs *j, const struct sl_sim_config *config,
	struct sl_sim_report *out, const struct sl_sim_output *texts)
{
	static const struct sl_sim_output none = {0};
	const struct sl_sim_output *to = texts ? texts : &none;
	sl_status st;
	struct sl_jobsim m = {.rules = {.capacity_bytes = config->capacity_bytes,
				      .lanes = (uint32_t)config->lanes,
				      .max_wait_ns = (sl_ns)(config->max_wait_s * 1e9),
				      .quantum_ns = (sl_ns)(config->quantum_s * 1e9),
				      .park_bytes_per_s = config->park_bytes_per_s},
		.keep_spans = to->timeline || to->svg,
		.keep_log = to->decisions != NULL};

	SL_TRY(find_policy(config->policy, &m.policy));
	if (config->lanes < 0 || config->lanes >= UINT32_MAX || config->max_wait_s < 0 ||
		config->max_wait_s > 1e9 || config->capacity_bytes > SL_SHARE_MOST ||
		config->quantum_s < 0 || config->quantum_s > 1e9)
		return SL_FAIL(SL_E_USAGE,
			"lanes lie within 0 and 2^32, a wait and a quantum within 0 and "
			"1e9 seconds");
	SL_TRY_OUT(sl_jobsim_run(&m, &j->table));
	if (to->jobs)
		SL_TRY_OUT(sl_jobsim_jobs_csv(&j->table, to->jobs));
	if (to->timeline)
		SL_TRY_OUT(sl_jobsim_spans_csv(&m, &j->table, to->timeline));
	if (to->svg)
		SL_TRY_OUT(sl_jobsim_svg(&m, &j->table, to->svg));
	if (to->decisions)
		SL_TRY_OUT(sl_log_print(&m.log, to->decisions));
	fill(out, &m, j->table.n);
out:
	sl_jobsim_finish(&m);
	return st;
}

sl_status sl_sim_replay_file(const char *path, struct sl_sim_replay *out)
{
	sl_status st;
	struct sl_buf text = SL_BUF_MAX(MAX_BYTES);
	struct sl_log log = {0};
	const struct sl_job_policy *policy;
	struct sl_sim_replay r = {0};

	SL_TRY_OUT(sl_fs_read(path, MAX_BYTES, &text));
	SL_TRY_OUT(sl_log_parse(path, sl_buf_text(&text), text.len, &log));
	policy = sl_job_policy_find(log.rules.policy);
	if (!policy) {
		st = SL_FAIL(SL_E_FORMAT, "%s:1: there is no job policy '%s'", path,
			log.rules.policy);
		goto out;
	}
	memcpy(r.policy, log.rules.policy, sizeof(r.policy));
	for (size_t i = 0; i < log.n; i++)
		*(sl_step_is_event(&log.steps[i]) ? &r.events : &r.decisions) += 1;
	st = sl_log_replay_with(&log, policy, sl_job_policy_find);
	if (st == SL_OK || st == SL_E_NO)
		*out = r;
out:
	sl_log_finish(&log);
	sl_buf_finish(&text);
	return st;
}
