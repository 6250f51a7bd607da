/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of planned jobs: plans found or made, baselines beside them, pictures written.
 */
#include "memory/replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/units.h"
#include "memory/policy/jobs.h"
#include "session/planner_int.h"

#define MAX_PLAN_BYTES ((size_t)1 << 30)

struct replayer {
	const struct sl_replay_source *sources;
	const struct sl_replay_config *config;
	uint32_t n;
	struct sl_plan *plans;
	struct sl_replay_job *jobs;
	struct sl_replay_result *results, *bare;
	struct sl_json json;
};

static sl_status load_plan(const struct sl_replay_source *s, struct sl_plan *out)
{
	struct sl_buf text = SL_BUF_MAX(MAX_PLAN_BYTES);
	sl_status st;

	SL_TRY_OUT(sl_fs_read(s->plan_path, MAX_PLAN_BYTES, &text));
	SL_TRY_OUT(sl_plan_parse(
		s->plan_path, sl_buf_text(&text), text.len, &s->planner->trace, out));
	st = sl_plan_check(&s->planner->trace, out,
		s->budget_bytes > 0 ? s->budget_bytes : out->budget, NULL);
	if (st == SL_E_NO)
		st = sl_fail_prefix(SL_E_FORMAT,
			"%s is not sound for this trace and budget; re-plan with `sluice "
			"plan ... -o FILE`",
			s->plan_path);
out:
	sl_buf_finish(&text);
	return st;
}

static sl_status make_plan(const struct sl_replay_source *s, struct sl_plan *out)
{
	struct sl_policy_choice policy;

	if (s->plan_path != NULL)
		return load_plan(s, out);
	SL_TRY(sl_planner_policy(s->policy, s->budget_bytes, &policy));
	return sl_policy_apply(&policy, &s->planner->trace,
		s->budget_bytes > 0 ? s->budget_bytes : UINT64_MAX, out);
}

static const char *name_of(const struct sl_replay_source *s)
{
	return s->name != NULL ? s->name : s->planner->trace.job_name;
}

static sl_status check_joint(const struct replayer *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->sources[i].plan_path != NULL || r->sources[i].budget_bytes > 0)
			return SL_FAIL(SL_E_USAGE,
				"jobs that are planned together have no budget or "
				"stored plan of their own; leave them, or the joint "
				"budget, out");
	}
	return SL_OK;
}

static sl_status make_joint_plans(struct replayer *r)
{
	struct sl_policy_choice policy;
	struct sl_jobs_member *jobs = NULL;
	sl_status st;

	SL_TRY(check_joint(r));
	SL_TRY(sl_planner_policy(
		r->sources[0].policy, r->config->joint_budget_bytes, &policy));
	jobs = sl_calloc(r->n, sizeof(*jobs));
	if (jobs == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a replay");
	for (uint32_t i = 0; i < r->n; i++) {
		jobs[i].trace = &r->sources[i].planner->trace;
		jobs[i].name = name_of(&r->sources[i]);
	}
	SL_TRY_OUT(sl_policy_jobs(&policy, jobs, r->n, r->config->joint_budget_bytes));
	for (uint32_t i = 0; i < r->n; i++)
		sl_plan_move(&r->plans[i], &jobs[i].plan);
out:
	sl_free(jobs);
	return st;
}

static sl_status make_plans(struct replayer *r)
{
	if (r->config->joint_budget_bytes > 0 && r->n > 0)
		return make_joint_plans(r);
	for (uint32_t i = 0; i < r->n; i++)
		SL_TRY(make_plan(&r->sources[i], &r->plans[i]));
	return SL_OK;
}

static sl_status begin(struct replayer *r)
{
	r->plans = sl_calloc((size_t)r->n + 1, sizeof(*r->plans));
	r->jobs = sl_calloc((size_t)r->n + 1, sizeof(*r->jobs));
	r->results = sl_calloc((size_t)r->n + 1, sizeof(*r->results));
	r->bare = sl_calloc((size_t)r->n + 1, sizeof(*r->bare));
	if (!r->plans || !r->jobs || !r->results || !r->bare)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a replay");
	SL_TRY(make_plans(r));
	for (uint32_t i = 0; i < r->n; i++) {
		const struct sl_replay_source *s = &r->sources[i];

		r->jobs[i] = (struct sl_replay_job){.trace = &s->planner->trace,
			.plan = &r->plans[i],
			.phase_ns = s->phase_ns,
			.iterations = s->iterations};
	}
	return SL_OK;
}

static void finish(struct replayer *r)
{
	for (uint32_t i = 0; i < r->n && r->plans != NULL; i++)
		sl_plan_finish(&r->plans[i]);
	sl_free(r->plans);
	sl_free(r->jobs);
	sl_free(r->results);
	sl_free(r->bare);
}

static const char *const kind_names[] = {[SL_REPLAY_OP] = "op",
	[SL_REPLAY_AGAIN] = "recompute",
	[SL_REPLAY_MOVE] = "move",
	[SL_REPLAY_OUT] = "out",
	[SL_REPLAY_IN] = "in"};

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

/* A process is a job; thread 0 its ops, the others its channels, two for each link. */
static void begin_event(struct sl_json *j, const char *phase, const char *name,
	const struct sl_replay_span *s, uint64_t at_ns)
{
	bool copy = s->kind == SL_REPLAY_OUT || s->kind == SL_REPLAY_IN;

	sl_json_open(j, NULL, '{');
	sl_json_str(j, "ph", phase);
	sl_json_str(j, "name", name);
	sl_json_u64(j, "pid", s->job);
	sl_json_u64(j, "tid",
		copy ? 1 + 2 * (uint64_t)s->channel + (s->kind == SL_REPLAY_IN) : 0);
	sl_json_f64(j, "ts", us(at_ns));
}

static void event_json(struct replayer *r, const struct sl_replay_span *s)
{
	const struct sl_trace *t = r->jobs[s->job].trace;
	bool op = s->kind == SL_REPLAY_OP || s->kind == SL_REPLAY_AGAIN;
	struct sl_json *j = &r->json;

	begin_event(
		j, "X", op ? t->ops[s->id].kind : t->values[s->id].name, s, s->begin_ns);
	sl_json_str(j, "cat", kind_names[s->kind]);
	sl_json_f64(j, "dur", us(s->end_ns - s->begin_ns));
	sl_json_open(j, "args", '{');
	sl_json_u64(j, "id", s->id);
	sl_json_u64(j, "iteration", s->iteration);
	sl_json_u64(j, "bytes", s->bytes);
	sl_json_close(j, '}');
	sl_json_close(j, '}');
	begin_event(j, "C", "device bytes", s, s->end_ns);
	sl_json_open(j, "args", '{');
	sl_json_u64(j, "held", s->held_bytes);
	sl_json_close(j, '}');
	sl_json_close(j, '}');
}

static sl_status see(void *ctx, const struct sl_replay_span *s)
{
	struct replayer *r = ctx;

	if (r->config->events != NULL)
		event_json(r, s);
	if (r->config->timeline == NULL)
		return SL_OK;
	return sl_buf_printf(r->config->timeline, "%u,%u,%s,%u,%u,%llu,%llu,%llu,%llu\n",
		s->job, s->iteration, kind_names[s->kind], s->id, s->channel,
		(unsigned long long)s->begin_ns, (unsigned long long)s->end_ns,
		(unsigned long long)s->bytes, (unsigned long long)s->held_bytes);
}

static void name_jobs(struct replayer *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct sl_replay_span s = {.job = i};

		begin_event(&r->json, "M", "process_name", &s, 0);
		sl_json_open(&r->json, "args", '{');
		sl_json_str(&r->json, "name", name_of(&r->sources[i]));
		sl_json_close(&r->json, '}');
		sl_json_close(&r->json, '}');
	}
}

static sl_status play(struct replayer *r, struct sl_replay_total *total)
{
	const struct sl_replay_config *c = r->config;
	struct sl_replay_opts opts = {.jobs = r->jobs,
		.n_jobs = r->n,
		.own_compute = c->own_compute,
		.span = c->events != NULL || c->timeline != NULL ? see : NULL,
		.ctx = r};

	if (c->timeline != NULL)
		SL_TRY(sl_buf_puts(c->timeline, "job,iteration,kind,id,channel,begin_ns,"
						"end_ns,bytes,held_bytes\n"));
	if (c->events != NULL) {
		sl_json_begin(&r->json, c->events);
		sl_json_open(&r->json, NULL, '{');
		sl_json_open(&r->json, "traceEvents", '[');
		name_jobs(r);
	}
	SL_TRY(sl_replay(&opts, r->results, total));
	if (c->events == NULL)
		return SL_OK;
	sl_json_close(&r->json, ']');
	sl_json_close(&r->json, '}');
	return sl_json_end(&r->json);
}

static sl_status play_bare(struct replayer *r, uint64_t *end_ns)
{
	struct sl_replay_opts opts = {.jobs = r->jobs,
		.n_jobs = r->n,
		.own_compute = r->config->own_compute,
		.bare = true};
	struct sl_replay_total total = {0};

	SL_TRY(sl_replay(&opts, r->bare, &total));
	*end_ns = total.end_ns;
	sl_replay_total_finish(&total);
	return SL_OK;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b > 0 ? (double)a / (double)b : 0;
}

/* Unbudgeted peaks are whole pages, as budgets are. */
static double saving(uint64_t peak, uint64_t unbudgeted)
{
	uint64_t pages = sl_align_up(peak, 4096);

	return pages < unbudgeted ? 1 - ratio(pages, unbudgeted) : 0;
}

static double cost_benefit(double msr, double eor)
{
	return eor > 0 ? msr / eor : (double)NAN;
}

static void fill_report(const struct replayer *r, uint32_t i, struct sl_replay_report *o)
{
	const struct sl_replay_source *s = &r->sources[i];
	const struct sl_replay_result *x = &r->results[i];
	uint64_t n = s->iterations > 0 ? s->iterations : 1;

	*o = (struct sl_replay_report){
		.budget_bytes = r->plans[i].budget == UINT64_MAX ? 0 : r->plans[i].budget,
		.peak_bytes = x->peak_bytes,
		.unbudgeted_peak_bytes = s->planner->unbudgeted_peak,
		.held_peak_bytes = x->held_peak_bytes,
		.base_iter_ns = x->base_iter_ns,
		.bare_iter_ns = r->bare[i].steady_iter_ns,
		.first_iter_ns = x->first_iter_ns,
		.iter_ns = x->steady_iter_ns,
		.stall_ns = x->stall_ns / n,
		.turn_ns = x->turn_ns / n,
		.recompute_ns = x->recompute_ns / n,
		.recompute_ops = x->recompute_ops / n,
		.swap_out_bytes = x->swap_out_bytes / n,
		.swap_in_bytes = x->swap_in_bytes / n,
		.move_bytes = x->move_bytes / n,
		.swap_ins = x->swap_ins / n,
		.passive_swap_ins = x->passive_swap_ins / n,
		.msr = saving(x->peak_bytes, s->planner->unbudgeted_peak),
		.eor = sl_times(x->steady_iter_ns, r->bare[i].steady_iter_ns) - 1,
	};
	o->cbr = cost_benefit(o->msr, o->eor);
	snprintf(o->name, sizeof(o->name), "%s", name_of(s));
	snprintf(o->policy, sizeof(o->policy), "%s", r->plans[i].policy);
}

static void fill_sum(const struct replayer *r, const struct sl_replay_total *t,
	uint64_t bare_end_ns, struct sl_replay_sum *o)
{
	*o = (struct sl_replay_sum){.end_ns = t->end_ns,
		.bare_end_ns = bare_end_ns,
		.budget_bytes = r->config->joint_budget_bytes,
		.held_peak_bytes = t->held_peak_bytes,
		.eor = sl_times(t->end_ns, bare_end_ns) - 1};
	for (uint32_t i = 0; i < r->n; i++) {
		o->peak_bytes += r->results[i].peak_bytes;
		o->unbudgeted_peak_bytes += r->sources[i].planner->unbudgeted_peak;
	}
	o->msr = saving(o->peak_bytes, o->unbudgeted_peak_bytes);
	o->cbr = cost_benefit(o->msr, o->eor);
	for (uint32_t i = 0; i < t->n_links && o->n_wires < SL_REPLAY_WIRES; i++) {
		const struct sl_replay_link *l = &t->links[i];
		struct sl_replay_wire *w = &o->wires[o->n_wires++];

		*w = (struct sl_replay_wire){.half_duplex = l->half_duplex,
			.bytes = l->bytes,
			.busy_ratio = ratio(l->busy_ns, t->end_ns)};
		memcpy(w->from, l->from, sizeof(w->from));
		memcpy(w->to, l->to, sizeof(w->to));
	}
}

sl_status sl_replay_jobs(const struct sl_replay_source *jobs, size_t n,
	const struct sl_replay_config *config, struct sl_replay_report *out,
	struct sl_replay_sum *sum)
{
	struct replayer r = {.sources = jobs, .config = config, .n = (uint32_t)n};
	struct sl_replay_total total = {0};
	uint64_t bare_end_ns = 0;
	sl_status st;

	SL_TRY_OUT(begin(&r));
	SL_TRY_OUT(play(&r, &total));
	SL_TRY_OUT(play_bare(&r, &bare_end_ns));
	for (uint32_t i = 0; i < r.n; i++)
		fill_report(&r, i, &out[i]);
	fill_sum(&r, &total, bare_end_ns, sum);
out:
	sl_replay_total_finish(&total);
	finish(&r);
	return st;
}
