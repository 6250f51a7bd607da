/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice repro g10`: its published runs on its traces, and the same rules on our models,
 * in virtual time. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "memory/bound.h"
#include "memory/foreign/foreign.h"
#include "memory/policy/policy.h"
#include "session/planner_int.h"
#include "session/repro_tell.h"
#include "sluice/repro.h"

#define GIB ((uint64_t)1 << 30)
#define BUDGET (40 * GIB)
#define NOISE 0.2
#define WITHIN 0.05

static const struct sl_repro_shape shapes[] = {
	{"traces", "Its traces in 40 GiB, time / time of the kernels alone (last: our "
		   "default policy)"},
	{"bytes",
		"Its traces in 40 GiB, GB that come back each iteration (last: the least "
		"of swapping alone)"},
	{"models",
		"Our models in 60 % of their peak, time / time of the ops alone (last: "
		"our default policy)"},
};

/* As published (example_results/overall_*), in parts of the ideal time; NaN: not. */
static const struct published {
	const char *name, *file;
	double g10, host, gds, deepum, flash, lru;
	double in_gb;
} published[] = {
	{"bert-256", "g10-bert-256", 1.003508, 1.096511, 1.241277, 1.257361, 1.402175,
		2.697161, 9.563},
	{"vit-1280", "g10-vit-1280", 1.490800, 1.677538, 1.769727, 2.033808, (double)NAN,
		6.620000, 28.829},
	{"bert-512", "g10-bert-512", 1.492210, (double)NAN, (double)NAN, 1.608618,
		4.482911, 8.225131, (double)NAN},
};
#define N_TRACES (sizeof(published) / sizeof(published[0]))

static const struct {
	const char *model;
	int64_t batch;
} models[] = {{"resnet50", 32}, {"bert-base", 8}, {"vit-b16", 32}};
#define N_MODELS (sizeof(models) / sizeof(models[0]))

struct run {
	const struct sl_repro_opts *opts;
	uint32_t done, total;
	uint32_t near, traces, below, ordered, beaten, cells; /* of the claims */
	double noise; /* most that wrong times cost, on the traces */
	double in_gb[N_TRACES], least_gb[N_TRACES];
	char ratios[256];
};

/* Time of a plan in parts of the ops' time, priced on `truth`; and its bytes in. */
static sl_status measure(const struct sl_trace *t, const struct sl_trace *truth,
	const char *policy, uint64_t budget, double out[2])
{
	struct sl_policy_choice choice;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_plan_price price;
	sl_status st;

	SL_TRY(sl_policy_parse(policy, &choice));
	SL_TRY_OUT(sl_policy_apply(&choice, t, budget, &plan));
	SL_TRY_OUT(sl_plan_price(truth, &plan, &price));
	out[0] = (double)price.iter_ns / (double)price.base_iter_ns;
	out[1] = (double)price.swap_in_bytes / 1e9;
out:
	sl_plan_finish(&plan);
	return st;
}

/* A plan made of times that are wrong by up to NOISE, carried out with the right ones. */
static sl_status with_noise(struct sl_trace *t, uint64_t budget, double *out)
{
	struct sl_rng rng = {.key = {.seed = 15}};
	struct sl_trace wrong = *t;
	double both[2];
	sl_status st;

	wrong.ops = sl_alloc(((size_t)t->n_ops + 1) * sizeof(*wrong.ops));
	if (wrong.ops == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a trace");
	for (uint32_t i = 0; i < t->n_ops; i++) {
		double by = (double)sl_rng_below(&rng, 2001) / 1000 - 1;

		wrong.ops[i] = t->ops[i];
		wrong.ops[i].dur_ns =
			(uint64_t)((double)t->ops[i].dur_ns * (1 + NOISE * by));
	}
	st = measure(&wrong, t, "g10", budget, both);
	*out = both[0];
	sl_free(wrong.ops);
	return st;
}

struct ours {
	double g10[2], paging[2], far[2], best[2], noise;
};

static sl_status measure_all(struct sl_trace *t, uint64_t budget, struct ours *o)
{
	SL_TRY(measure(t, t, "g10", budget, o->g10));
	SL_TRY(measure(t, t, "g10:wait=0", budget, o->paging));
	SL_TRY(measure(t, t, "g10:host=0", budget, o->far));
	SL_TRY(measure(t, t, SL_POLICY_WITH_BUDGET, budget, o->best));
	return with_noise(t, budget, &o->noise);
}

/* What holds for every trace and model. */
static void count(struct run *r, const struct ours *o)
{
	r->cells++;
	r->ordered += o->g10[0] <= o->far[0];
	r->beaten += o->best[0] <= o->g10[0];
}

static sl_status tell_times(const struct run *r, size_t shape, const char *name,
	const struct ours *o, const struct published *p)
{
	const double none = (double)NAN;
	const struct {
		const char *figure;
		double paper, ours;
	} rows[] = {
		{"G10", p != NULL ? p->g10 : none, o->g10[0]},
		{"G10, faults as paging has them", p != NULL ? p->g10 : none,
			o->paging[0]},
		{"G10, times wrong by 20 %", none, o->noise},
		{"G10-GDS: the far tier alone", p != NULL ? p->gds : none, o->far[0]},
		{"G10-Host", p != NULL ? p->host : none, none},
		{"DeepUM+", p != NULL ? p->deepum : none, none},
		{"FlashNeuron", p != NULL ? p->flash : none, none},
		{"LRU paging", p != NULL ? p->lru : none, none},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (isfinite(rows[i].paper) || isfinite(rows[i].ours))
			SL_TRY(sl_repro_tell(r->opts, &shapes[shape], name,
				rows[i].figure,
				(double[3]){rows[i].paper, rows[i].ours, o->best[0]}));
	return SL_OK;
}

static sl_status one_trace(struct run *r, const struct published *p, const char *folder)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_traffic_bound least;
	struct ours o;
	char path[4096];
	size_t n = strlen(r->ratios);
	sl_status st;

	SL_TRY(sl_repro_advance(r->opts, p->name, &r->done, r->total));
	if (snprintf(path, sizeof(path), "%s/%s.kernels.csv", folder, p->file) >=
		(int)sizeof(path))
		return SL_FAIL(SL_E_USAGE, "--traces has over 4000 characters");
	SL_TRY_OUT(sl_foreign_read_as(SL_FOREIGN_G10, path, &t));
	SL_TRY_OUT(sl_traffic_bound(&t, BUDGET, &least));
	SL_TRY_OUT(measure_all(&t, BUDGET, &o));
	SL_TRY_OUT(tell_times(r, 0, p->name, &o, p));
	r->in_gb[r->traces] = o.g10[1];
	r->least_gb[r->traces] = (double)least.in_bytes / 1e9;
	r->noise = fmax(r->noise, o.noise / o.g10[0] - 1);
	count(r, &o);
	r->traces++;
	r->near += fabs(o.g10[0] / p->g10 - 1) <= WITHIN;
	r->below += o.g10[0] < p->deepum && o.g10[0] < p->lru;
	snprintf(r->ratios + n, sizeof(r->ratios) - n, "%s%s %.4f (%.4f)",
		n > 0 ? ", " : "", p->name, o.g10[0], p->g10);
out:
	sl_trace_finish(&t);
	return st;
}

static sl_status one_model(struct run *r, const char *model, int64_t batch)
{
	const struct sl_session_config config = {.model = model,
		.batch = batch,
		.optim = "adam",
		.costs = "gpu",
		.budget_bytes = 1024 * GIB,
		.host_bytes = 128 * GIB};
	const struct sl_planner_device device = {.link_bytes_per_s = 15754000000u,
		.disk_bytes_per_s = 3200000000u,
		.disk_bytes = 4096 * GIB};
	struct sl_planner *p = NULL;
	struct ours o;
	char name[48];
	uint64_t budget;
	sl_status st;

	SL_TRY(sl_repro_advance(r->opts, model, &r->done, r->total));
	snprintf(name, sizeof(name), "%.30s, batch %d", model, (int)batch);
	SL_TRY_OUT(sl_planner_open(&config, &device, &p));
	budget = p->unbudgeted_peak / 10 * 6 / 4096 * 4096;
	budget = budget > p->least.bytes ? budget : p->least.bytes;
	SL_TRY_OUT(measure_all(&p->trace, budget, &o));
	SL_TRY_OUT(tell_times(r, 2, name, &o, NULL));
	count(r, &o);
out:
	sl_planner_close(p);
	return st;
}

static sl_status claim(const struct run *r, bool holds, const char *text, const char *fmt,
	...) SL_PRINTF(4, 5);

static sl_status claim(
	const struct run *r, bool holds, const char *text, const char *fmt, ...)
{
	struct sl_repro_claim c = {.holds = holds};
	va_list args;

	snprintf(c.text, sizeof(c.text), "%s", text);
	va_start(args, fmt);
	vsnprintf(c.numbers, sizeof(c.numbers), fmt, args);
	va_end(args);
	return r->opts->claim(r->opts->ctx, &c);
}

static sl_status tell_claims(const struct run *r)
{
	if (r->traces > 0) {
		SL_TRY(claim(r, r->near == r->traces,
			"our g10 is within 5 % of the published one on its traces",
			"%u of %u: %s", r->near, r->traces, r->ratios));
		SL_TRY(claim(r, r->below == r->traces,
			"it is faster than DeepUM+ and LRU paging as published",
			"%u of %u", r->below, r->traces));
		SL_TRY(claim(r, r->noise <= 0.01,
			"times wrong by 20 % cost its traces at most 1 %",
			"at most %.2f %% in %u traces", 100 * r->noise, r->traces));
	}
	SL_TRY(claim(r, r->ordered == r->cells, "a host tier never slows it down",
		"%u of %u", r->ordered, r->cells));
	return claim(r, r->beaten == r->cells, "our default policy is no slower",
		"%u of %u", r->beaten, r->cells);
}

sl_status sl_repro_g10(const struct sl_repro_opts *opts)
{
	uint32_t n_traces = opts->traces == NULL ? 0 : opts->quick ? 1 : N_TRACES;
	uint32_t n_models = opts->quick ? 1 : N_MODELS;
	struct run r = {.opts = opts, .total = n_traces + n_models};

	for (uint32_t i = 0; i < n_traces; i++)
		SL_TRY(one_trace(&r, &published[i], opts->traces));
	for (uint32_t i = 0; i < n_traces; i++)
		SL_TRY(sl_repro_tell(r.opts, &shapes[1], published[i].name, "G10",
			(double[3]){published[i].in_gb, r.in_gb[i], r.least_gb[i]}));
	for (uint32_t i = 0; i < n_models; i++)
		SL_TRY(one_model(&r, models[i].model, models[i].batch));
	return tell_claims(&r);
}

const struct sl_repro sl_repro_row_g10 = {
	.name = "g10",
	.intro =
		"# G10's evaluation, in virtual time\n\n"
		"Host 15.754 GB/s and disk 3.2 GB/s each way. `--traces DIR` has its "
		"traces (g10-*.kernels.csv\nand g10-*.tensors.csv); without it there are "
		"our models alone, on the cost book `gpu`.\n",
	.run = sl_repro_g10,
};
