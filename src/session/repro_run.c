/* SPDX-License-Identifier: Apache-2.0 */
/* One model of a reproduction: plans at any budget, warm or cold, priced with true times.
 */
#include "session/repro_int.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/units.h"
#include "memory/policy/gaps.h"
#include "memory/policy/tensile_published.h"
#include "session/machine.h"

#define LINK_BYTES_PER_S 12000000000u
#define ENOUGH_BYTES ((uint64_t)1 << 44)
#define ITERATIONS 3
#define NEAR 8 /* levels below one that are tried */

sl_status sl_repro_open(const char *model, int64_t batch, struct sl_repro_job *out)
{
	const struct sl_session_config config = {.model = model,
		.batch = batch,
		.optim = "adam",
		.costs = "gpu",
		.budget_bytes = ENOUGH_BYTES,
		.host_bytes = ENOUGH_BYTES,
		.disk_folder = "none"};
	const struct sl_planner_device device = {
		.link_bytes_per_s = LINK_BYTES_PER_S, .half_duplex = true};
	const struct sl_trace *t;

	*out = (struct sl_repro_job){0};
	SL_TRY(sl_planner_open(&config, &device, &out->planner));
	t = &out->planner->trace;
	for (uint32_t i = 0; i < t->n_ops; i++)
		out->base_ns += t->ops[i].dur_ns;
	return SL_OK;
}

void sl_repro_close(struct sl_repro_job *j)
{
	for (int kind = 0; kind < SL_REPRO_KINDS; kind++) {
		for (int i = 0; i <= SL_REPRO_LEVELS; i++) {
			if (j->plans[kind][i] != NULL)
				sl_plan_finish(j->plans[kind][i]);
			sl_free(j->plans[kind][i]);
		}
	}
	sl_planner_close(j->planner);
	*j = (struct sl_repro_job){0};
}

static uint64_t budget_of(const struct sl_repro_job *j, uint32_t level)
{
	uint64_t low = j->planner->least.bytes, high = j->planner->unbudgeted_peak;
	uint64_t span = high > low ? high - low : 0;

	return sl_align_up(low + span / SL_REPRO_LEVELS * level, 4096);
}

static sl_status plan_at(struct sl_repro_job *j, enum sl_repro_kind kind, uint32_t level,
	const struct sl_plan **out);

/* Trainings, too, begin with a quick plan where there are many ops. */
static bool is_quick(const struct sl_repro_job *j, enum sl_repro_kind kind)
{
	return kind == SL_REPRO_COLD && j->planner->trace.n_ops >= SL_MACHINE_MANY_OPS;
}

static sl_status plan_with(struct sl_repro_job *j, const struct sl_trace *view,
	enum sl_repro_kind kind, uint32_t level)
{
	struct sl_plan **at = &j->plans[kind][level];
	struct sl_policy_choice policy;

	SL_TRY(sl_policy_parse("tensile", &policy));
	if (is_quick(j, kind))
		policy = sl_policy_quick(&policy);
	*at = sl_calloc(1, sizeof(**at));
	if (*at == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a reproduction");
	return sl_policy_apply(&policy, view, budget_of(j, level), *at);
}

/* That measured the latencies; 0: they are predicted. */
static uint32_t copies_of(enum sl_repro_kind kind)
{
	return kind >= SL_REPRO_WARM && kind <= SL_REPRO_WARM_3
		       ? (uint32_t)(kind - SL_REPRO_WARM) + 1
		       : 0;
}

static sl_status make_plan(
	struct sl_repro_job *j, enum sl_repro_kind kind, uint32_t level)
{
	uint32_t copies = copies_of(kind);
	struct sl_trace view = SL_TRACE_INIT;
	const struct sl_plan *cold = NULL;
	sl_status st;

	/* Alone, what is measured is no matter of the plan. */
	if (copies > 1)
		SL_TRY(plan_at(j, SL_REPRO_COLD, level, &cold));
	SL_TRY_OUT(sl_repro_predict(j, &view));
	if (copies > 0)
		SL_TRY_OUT(sl_repro_correct(j, cold, copies, &view));
	SL_TRY_OUT(plan_with(j, &view, kind, level));
out:
	sl_repro_forget(&view);
	return st;
}

static sl_status plan_at(struct sl_repro_job *j, enum sl_repro_kind kind, uint32_t level,
	const struct sl_plan **out)
{
	if (j->plans[kind][level] == NULL)
		SL_TRY(make_plan(j, kind, level));
	*out = j->plans[kind][level];
	return SL_OK;
}

sl_status sl_repro_replay(const struct sl_repro_job *j, const struct sl_plan *plan,
	uint32_t copies, const struct sl_replay_opts *opts, uint64_t *end_ns)
{
	struct sl_replay_job jobs[SL_REPRO_MAX_COPIES];
	struct sl_replay_result results[SL_REPRO_MAX_COPIES];
	struct sl_replay_total total = {0};
	struct sl_replay_opts all = *opts;

	all.jobs = jobs;
	all.n_jobs = copies;
	for (uint32_t i = 0; i < copies; i++)
		jobs[i] = (struct sl_replay_job){.trace = &j->planner->trace,
			.plan = plan,
			.phase_ns = j->base_ns * i / copies,
			.iterations = ITERATIONS};
	SL_TRY(sl_replay(&all, results, &total));
	if (end_ns != NULL)
		*end_ns = total.end_ns;
	sl_replay_total_finish(&total);
	return SL_OK;
}

static sl_status price_copies(const struct sl_repro_job *j, const struct sl_plan *plan,
	uint32_t copies, double *eor)
{
	uint64_t end = 0, bare = 1;

	SL_TRY(sl_repro_replay(j, plan, copies, &(struct sl_replay_opts){0}, &end));
	SL_TRY(sl_repro_replay(
		j, plan, copies, &(struct sl_replay_opts){.bare = true}, &bare));
	*eor = (double)end / (double)bare - 1;
	return SL_OK;
}

sl_status sl_repro_measure(struct sl_repro_job *j, enum sl_repro_kind kind,
	uint32_t copies, uint32_t level, struct sl_repro_point *out)
{
	const struct sl_plan *plan = NULL;
	struct sl_plan_price price;

	SL_TRY(plan_at(j, kind, level, &plan));
	*out = (struct sl_repro_point){.level = level,
		.next_msr = 1 - (double)budget_of(j, level > 0 ? level - 1 : 0) /
					(double)j->planner->unbudgeted_peak,
		.msr = 1 - (double)sl_align_up(plan->peak, 4096) /
				   (double)j->planner->unbudgeted_peak};
	if (copies > 1)
		return price_copies(j, plan, copies, &out->eor);
	SL_TRY(sl_plan_price(&j->planner->trace, plan, &price));
	out->eor = (double)price.iter_ns / (double)j->base_ns - 1;
	return SL_OK;
}

/* Whether a level is within the limit; then it is the new high one. */
static sl_status try_level(struct sl_repro_job *j, const struct sl_repro_ask *ask,
	uint32_t level, uint32_t *high, struct sl_repro_point *out)
{
	struct sl_repro_point at;

	SL_TRY(sl_repro_measure(j, ask->kind, ask->copies, level, &at));
	if (at.eor > ask->eor_limit)
		return SL_OK;
	*high = level;
	*out = at;
	return SL_OK;
}

/* Times do not rise evenly towards lower budgets: a look beyond the edge that bisection
 * has found. */
static sl_status look_beyond(struct sl_repro_job *j, const struct sl_repro_ask *ask,
	uint32_t *high, struct sl_repro_point *out)
{
	static const uint32_t steps[] = {2, 4, 7};

	for (size_t i = 0; i < SL_COUNT(steps); i++) {
		uint32_t was = *high;

		if (was >= steps[i])
			SL_TRY(try_level(j, ask, was - steps[i], high, out));
		if (*high < was)
			i = SIZE_MAX; /* from the new edge, all steps again */
	}
	return SL_OK;
}

static sl_status look_everywhere(struct sl_repro_job *j, const struct sl_repro_ask *ask,
	uint32_t *high, struct sl_repro_point *out)
{
	for (uint32_t at = *high; at > 0 && *high - at < NEAR;)
		SL_TRY(try_level(j, ask, --at, high, out));
	return SL_OK;
}

sl_status sl_repro_search(struct sl_repro_job *j, const struct sl_repro_ask *ask,
	struct sl_repro_point *out)
{
	uint32_t low = 0, high = SL_REPRO_LEVELS;

	/* The last level is the unbudgeted step, which costs nothing. */
	SL_TRY(sl_repro_measure(j, ask->kind, ask->copies, high, out));
	while (low < high) {
		uint32_t mid = (low + high) / 2, was = high;

		SL_TRY(try_level(j, ask, mid, &high, out));
		if (high == was)
			low = mid + 1;
	}
	if (ask->every)
		SL_TRY(look_everywhere(j, ask, &high, out));
	else
		SL_TRY(look_beyond(j, ask, &high, out));
	return SL_OK;
}

sl_status sl_repro_most(struct sl_repro_job *j, bool cross, double *msr)
{
	const struct sl_trace *t = &j->planner->trace;
	uint64_t *level = sl_calloc((size_t)t->n_ops + 1, sizeof(*level)), most = 0;
	struct sl_gaps g = {0};
	sl_status st = SL_OK;

	if (level == NULL) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory for a reproduction");
		goto out;
	}
	SL_TRY_OUT(sl_gaps_init(&g, t));
	for (uint32_t i = 0; i < g.n; i++)
		if (sl_gap_movable(&g, &g.gaps[i]) && (cross || !g.gaps[i].wraps))
			sl_gap_set(&g.gaps[i], SL_FATE_SWAP);
	sl_gaps_levels(&g, level);
	for (uint32_t i = 0; i < t->n_ops; i++)
		most = level[i] > most ? level[i] : most;
	*msr = 1 - (double)most / (double)j->planner->unbudgeted_peak;
out:
	sl_gaps_finish(&g);
	sl_free(level);
	return st;
}

sl_status sl_repro_greedy(
	struct sl_repro_job *j, uint32_t copies, struct sl_repro_point *out)
{
	const struct sl_trace *traces[SL_REPRO_MAX_COPIES];
	struct sl_tp_wire wires[SL_REPRO_MAX_COPIES];
	const struct sl_tp_options opt = {0};
	struct sl_tp p = {0};
	uint64_t first = 0, base = 0, end = 0;
	sl_status st;

	for (uint32_t i = 0; i < copies; i++) {
		traces[i] = &j->planner->trace;
		wires[i] = sl_tp_wire_of(traces[i]);
	}
	SL_TRY_OUT(sl_tp_init(&p, traces, wires, copies, &opt));
	SL_TRY_OUT(sl_tp_run(&p));
	for (uint32_t i = 0; i < copies; i++) {
		const struct sl_tp_job *job = &p.jobs[i];

		first += job->first_peak;
		base += job->iter_ns;
		end += job->end_ns + job->redo_ns;
	}
	*out = (struct sl_repro_point){.msr = 1 - (double)p.peak / (double)first,
		.eor = (double)end / (double)base - 1};
out:
	sl_tp_finish(&p);
	return st;
}
