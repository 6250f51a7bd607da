/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice repro salus`: the shapes of the paper's experiments in virtual time, and what
 * they are said to show. Its figures are quoted from memory (docs/how-to/reproduce.md).
 */
#include "session/repro_salus_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "session/planner_int.h"
#include "session/repro_tell.h"
#include "share/policy/policy.h"

#define MAX_WAIT_NS ((sl_ns)21600 * 1000000000)
#define QUANTUM_NS ((sl_ns)60 * 1000000000)
#define LINK_BYTES_PER_S 12000000000u

static const struct sl_repro_shape shapes[] = {
	[SL_SALUS_TRACE] = {"trace",
		"A hundred training jobs (last: where memory is no limit)"},
	[SL_SALUS_SWEEP] = {"sweep", "Three hundred short jobs of a sweep"},
	[SL_SALUS_PACKING] = {"packing", "Models that serve, in one device"},
	[SL_SALUS_RATE] = {"rate", "Latency by the rate of requests"},
	[SL_SALUS_BESIDE] = {"beside", "Inference beside training"},
};

/* The plan without a budget: what stays is P, the rest of its peak E. */
static sl_status fill(const struct sl_trace *t, uint32_t ops, struct sl_salus_model *out)
{
	struct sl_policy_choice keep;
	struct sl_plan plan = SL_PLAN_INIT;
	sl_status st;

	SL_TRY_OUT(sl_policy_parse("keep", &keep));
	SL_TRY_OUT(sl_policy_apply(&keep, t, UINT64_MAX, &plan));
	out->persistent_bytes = plan.p_bytes;
	out->ephemeral_bytes = plan.peak - plan.p_bytes;
	out->ops = ops;
	for (uint32_t i = 0; i < t->n_ops; i++)
		out->turn_ns += (sl_ns)t->ops[i].dur_ns;
out:
	sl_plan_finish(&plan);
	return st;
}

sl_status sl_salus_measure(
	const char *model, int64_t batch, bool infer, struct sl_salus_model *out)
{
	const struct sl_session_config config = {.model = model,
		.batch = batch,
		.optim = "momentum",
		.costs = "gpu",
		.disk_folder = "none",
		.infer_only = infer,
		.as_built = true};
	struct sl_trace trace = SL_TRACE_INIT;
	struct sl_session *s = NULL;
	const struct sl_instance *x;
	sl_status st;

	*out = (struct sl_salus_model){0};
	snprintf(out->name, sizeof(out->name), "%.40s %d", model, (int)batch);
	SL_TRY_OUT(sl_session_open(&config, &s));
	x = &s->instances[infer ? SL_EVAL : SL_TRAIN];
	SL_TRY_OUT(sl_machine_describe(&s->machine, &config, 0));
	SL_TRY_OUT(sl_program_trace(x->program, NULL, 0, s->machine.costs, &trace));
	SL_TRY_OUT(fill(&trace, trace.n_ops, out));
out:
	sl_trace_finish(&trace);
	sl_session_close(s);
	return st;
}

sl_status sl_salus_tell(struct sl_salus *r, enum sl_salus_shape shape,
	const char *subject, const char *figure, const double values[3])
{
	return sl_repro_tell(r->opts, &shapes[shape], subject, figure, values);
}

sl_status sl_salus_advance(struct sl_salus *r, const char *what)
{
	return sl_repro_advance(r->opts, what, &r->done, r->total);
}

static sl_status run_with(struct sl_jobsim_table *t, const char *policy,
	const struct sl_share_rules *rules, struct sl_jobsim_sum *out)
{
	struct sl_jobsim m = {.policy = sl_job_policy_find(policy), .rules = *rules};
	sl_status st;

	m.rules.max_wait_ns = MAX_WAIT_NS;
	st = sl_jobsim_run(&m, t);
	*out = m.sum;
	sl_jobsim_finish(&m);
	return st;
}

sl_status sl_salus_run(struct sl_jobsim_table *t, const char *policy, uint32_t lanes,
	uint64_t capacity, struct sl_jobsim_sum *out)
{
	const struct sl_share_rules rules = {.capacity_bytes = capacity, .lanes = lanes};

	return run_with(t, policy, &rules, out);
}

sl_status sl_salus_run_parking(
	struct sl_jobsim_table *t, const char *policy, struct sl_jobsim_sum *out)
{
	const struct sl_share_rules rules = {.capacity_bytes = SL_SALUS_CAPACITY,
		.quantum_ns = QUANTUM_NS,
		.park_bytes_per_s = LINK_BYTES_PER_S};

	return run_with(t, policy, &rules, out);
}

sl_status sl_salus_add(struct sl_jobsim_table *t, size_t most,
	const struct sl_salus_model *m, sl_ns submit, uint64_t turns)
{
	struct sl_jobsim_job *j;

	if (sl_grow((void **)&t->jobs, &t->cap, t->n + 1, sizeof(*t->jobs), most))
		return SL_FAIL(SL_E_NOMEM, "no host memory for %zu jobs", t->n);
	j = &t->jobs[t->n++];
	*j = (struct sl_jobsim_job){.submit_ns = submit,
		.priority = SL_JOB_PRIORITY,
		.turn_ns = m->turn_ns,
		.length_ns = m->turn_ns * (sl_ns)turns,
		.declared_ns = m->turn_ns * (sl_ns)turns,
		.persistent_bytes = m->persistent_bytes,
		.ephemeral_bytes = m->ephemeral_bytes};
	snprintf(j->name, sizeof(j->name), "%s", m->name);
	return SL_OK;
}

static void claim_srtf(const struct sl_salus_found *f, struct sl_repro_claim *c)
{
	double ours = f->fifo_jct / f->srtf_jct,
	       ideal = f->ideal_fifo_jct / f->ideal_srtf_jct;

	snprintf(c->text, sizeof(c->text),
		"SRTF's jobs end in a third of FIFO's time, as good as without memory");
	snprintf(c->numbers, sizeof(c->numbers),
		"FIFO / SRTF: %.2f, without limits of memory %.2f, in the paper 3.19",
		ours, ideal);
	c->holds = ours >= 3 && ours >= 0.9 * ideal;
}

static void claim_makespan(const struct sl_salus_found *f, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text), "no policy makes the whole longer");
	snprintf(c->numbers, sizeof(c->numbers),
		"makespans %.1f to %.1f min; in the paper 287.4 to 306.0",
		f->makespan_least, f->makespan_most);
	c->holds = f->makespan_most <= 1.02 * f->makespan_least;
}

static void claim_fair(const struct sl_salus_found *f, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text), "FAIR gives residents equal parts");
	snprintf(c->numbers, sizeof(c->numbers),
		"Jain's index %.4f; mean queue %.1f min, in the paper 58.5", f->fair_jain,
		f->fair_queue);
	c->holds = f->fair_jain >= 0.99;
}

static void claim_sweep(const struct sl_salus_found *f, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text),
		"packing gains much with small jobs and little with large ones");
	snprintf(c->numbers, sizeof(c->numbers),
		"up to %.2f times (paper 2.38); with ResNet-50 %.2f (paper 1.07)",
		f->gain_small, f->gain_large);
	c->holds = f->gain_small >= 2 && f->gain_large < 1.2;
}

static void claim_packing(const struct sl_salus_found *f, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text), "%u models serve on one device", f->services);
	snprintf(c->numbers, sizeof(c->numbers),
		"%u are resident; with each one's peak beside the others' they need %u "
		"devices (paper: 42 on one, MPS a seventh of that)",
		f->resident, f->by_peaks);
	c->holds = f->resident == f->services && f->by_peaks > 1;
}

static void claim_rate(const struct sl_salus_found *f, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text),
		"a service beside others answers in little more than its own time");
	snprintf(c->numbers, sizeof(c->numbers),
		"mean %.2f ms at 1 %% of the rate and %.2f ms at all of it; its batch "
		"takes %.2f ms",
		f->fast_ms, f->slow_ms, f->turn_ms);
	c->holds = f->fast_ms <= 1.5 * f->turn_ms && f->fast_ms < f->slow_ms;
}

static void claim_beside(const struct sl_salus_found *f, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text),
		"beside training, a lane of its own is what keeps answers fast");
	snprintf(c->numbers, sizeof(c->numbers),
		"p95 at most %.1f ms with it and %.1f ms in the training's lane; the "
		"training takes %.1f %% longer",
		f->own_lane_ms, f->one_lane_ms, 100 * f->train_loss);
	c->holds = f->own_lane_ms * 2 < f->one_lane_ms;
}

static sl_status tell_claims(const struct sl_salus *r)
{
	static void (*const claims[])(const struct sl_salus_found *,
		struct sl_repro_claim *) = {claim_srtf, claim_makespan, claim_fair,
		claim_sweep, claim_packing, claim_rate, claim_beside};

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct sl_repro_claim c = {0};

		claims[i](&r->found, &c);
		SL_TRY(r->opts->claim(r->opts->ctx, &c));
	}
	return SL_OK;
}

sl_status sl_repro_salus(const struct sl_repro_opts *opts)
{
	struct sl_salus r = {.opts = opts, .total = 5};

	SL_TRY(sl_salus_trace(&r));
	SL_TRY(sl_salus_sweep(&r));
	SL_TRY(sl_salus_packing(&r));
	SL_TRY(sl_salus_rate(&r));
	SL_TRY(sl_salus_beside(&r));
	return tell_claims(&r);
}

const struct sl_repro sl_repro_row_salus = {
	.name = "salus",
	.intro =
		"# Salus's experiments, in virtual time\n\n"
		"Cost book `gpu` (14 TFLOP/s, 800 GB/s), a device of 14 GiB. The paper's "
		"figures are of\none P100 with TensorFlow; what has to agree is the "
		"shapes.\n",
	.run = sl_repro_salus,
};
