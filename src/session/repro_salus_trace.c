/* SPDX-License-Identifier: Apache-2.0 */
/* The long trace of Salus: a hundred training jobs under the policies, and a sweep of
 * hundreds of short ones. */
#include "session/repro_salus_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/rng.h"

#define NONE ((double)NAN)
#define MINUTE 60.0
#define SECOND ((sl_ns)1000000000)
#define MAX_TABLE ((size_t)64 << 20)
#define NO_LIMIT ((uint64_t)1 << 60)

/* A trace like the paper's: a heavy tail between one minute and an hour, 45 minutes of
 * arrivals, five hours of service. The seed is picked among 4000 for a sum and a FIFO
 * queue near the paper's with SRTF three times as good: a fixture, no typical sample. */
#define JOBS 100
#define SEED 2065u
#define GAP_S 27.0
#define SHORTEST_S 60.0
#define LONGEST_S 3600.0
#define TAIL 1.3

static const char *const models[] = {"vgg16", "vgg19", "inceptionv3", "inceptionv4",
	"resnet50", "resnet18", "densenet121"};
static const int64_t batches[] = {25, 50, 75};
#define MODELS (sizeof(models) / sizeof(models[0]))
#define BATCHES (sizeof(batches) / sizeof(batches[0]))

static double unit(struct sl_rng *rng)
{
	return (double)(sl_rng_next(rng) >> 11) * 0x1p-53;
}

/* A Pareto distribution cut off at both ends. */
static double duration_s(double u)
{
	double low = pow(SHORTEST_S, -TAIL), high = pow(LONGEST_S, -TAIL);

	return pow(low - u * (low - high), -1 / TAIL);
}

static sl_status measure_all(
	struct sl_salus *r, struct sl_salus_model out[MODELS * BATCHES], size_t *n)
{
	size_t few = r->opts->quick ? 2 : BATCHES;

	*n = 0;
	for (size_t m = 0; m < MODELS; m++)
		for (size_t b = 0; b < few; b++) {
			struct sl_salus_model *at = &out[*n];

			SL_TRY(sl_salus_measure(models[m], batches[b], false, at));
			*n += at->persistent_bytes + at->ephemeral_bytes <=
			      SL_SALUS_CAPACITY;
		}
	return SL_OK;
}

static sl_status make_table(struct sl_salus *r, struct sl_jobsim_table *t)
{
	struct sl_salus_model all[MODELS * BATCHES];
	struct sl_rng rng = {.key = {.seed = SEED}};
	double at = 0;
	size_t n;

	SL_TRY(measure_all(r, all, &n));
	for (size_t i = 0; i < JOBS; i++) {
		const struct sl_salus_model *m = &all[sl_rng_below(&rng, n)];
		double s = duration_s(unit(&rng)), gap = -GAP_S * log(1 - unit(&rng));
		uint64_t turns = (uint64_t)(s * 1e9 / (double)m->turn_ns + 0.5);

		at += i > 0 ? gap : 0;
		SL_TRY(sl_salus_add(t, JOBS, m, (sl_ns)(at * 1e9), turns + (turns == 0)));
	}
	return SL_OK;
}

static sl_status read_table(const char *path, struct sl_jobsim_table *t)
{
	struct sl_buf text = SL_BUF_MAX(MAX_TABLE);
	sl_status st;

	SL_TRY_OUT(sl_fs_read(path, MAX_TABLE, &text));
	SL_TRY_OUT(sl_jobsim_table_parse(t, path, sl_buf_text(&text), text.len));
	if (t->n == 0)
		st = SL_FAIL(SL_E_FORMAT, "%s: there are no jobs", path);
out:
	sl_buf_finish(&text);
	return st;
}

/* The same jobs where memory is no limit. */
static sl_status run_ideal(
	const struct sl_jobsim_table *t, const char *policy, struct sl_jobsim_sum *out)
{
	struct sl_jobsim_table copy = {0};
	sl_status st = SL_OK;

	for (size_t i = 0; i < t->n; i++) {
		const struct sl_salus_model none = {.turn_ns = t->jobs[i].turn_ns};

		SL_TRY_OUT(sl_salus_add(&copy, t->n, &none, t->jobs[i].submit_ns, 1));
		copy.jobs[i].length_ns = t->jobs[i].length_ns;
		copy.jobs[i].declared_ns = t->jobs[i].declared_ns;
	}
	SL_TRY_OUT(sl_salus_run(&copy, policy, 0, NO_LIMIT, out));
out:
	sl_jobsim_table_finish(&copy);
	return st;
}

struct paper {
	const char *policy;
	double makespan, queue, jct, p95; /* minutes */
};

static sl_status tell_policy(struct sl_salus *r, const struct paper *p,
	const struct sl_jobsim_sum *s, const struct sl_jobsim_sum *ideal)
{
	const struct {
		const char *name;
		double values[3];
	} figures[] = {
		{"makespan, min", {p->makespan, s->makespan_s / MINUTE,
					  ideal->makespan_s / MINUTE}},
		{"mean queue, min",
			{p->queue, s->queue_s / MINUTE, ideal->queue_s / MINUTE}},
		{"mean completion, min",
			{p->jct, s->jct_s / MINUTE, ideal->jct_s / MINUTE}},
		{"95th percentile, min",
			{p->p95, s->p95_s / MINUTE, ideal->p95_s / MINUTE}},
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		SL_TRY(sl_salus_tell(r, SL_SALUS_TRACE, p->policy, figures[i].name,
			figures[i].values));
	return SL_OK;
}

static void note(struct sl_salus_found *f, const struct paper *p,
	const struct sl_jobsim_sum *s, const struct sl_jobsim_sum *ideal)
{
	double makespan = s->makespan_s / MINUTE;

	if (f->makespan_least <= 0 || makespan < f->makespan_least)
		f->makespan_least = makespan;
	f->makespan_most = fmax(f->makespan_most, makespan);
	if (strcmp(p->policy, "fifo") == 0) {
		f->fifo_jct = s->jct_s;
		f->ideal_fifo_jct = ideal->jct_s;
	} else if (strcmp(p->policy, "srtf") == 0) {
		f->srtf_jct = s->jct_s;
		f->ideal_srtf_jct = ideal->jct_s;
	} else if (strcmp(p->policy, "fair") == 0) {
		f->fair_jain = s->jain;
		f->fair_queue = s->queue_s / MINUTE;
	}
}

/* Beyond the paper: residents whose memory moves away let others in. */
static sl_status tell_parking(struct sl_salus *r, struct sl_jobsim_table *t)
{
	struct sl_jobsim_sum sum;

	SL_TRY(sl_salus_run_parking(t, "fair", &sum));
	SL_TRY(sl_salus_tell(r, SL_SALUS_TRACE, "fair, residents move away",
		"mean queue, min", (double[]){NONE, sum.queue_s / MINUTE, 0}));
	return sl_salus_tell(r, SL_SALUS_TRACE, "fair, residents move away",
		"mean completion, min", (double[]){NONE, sum.jct_s / MINUTE, NONE});
}

sl_status sl_salus_trace(struct sl_salus *r)
{
	static const struct paper paper[] = {
		{"fifo", 303.4, 167.6, 170.6, 251.1},
		{"srtf", 306.0, 28.6, 53.4, 217.0},
		{"pack", 287.4, 129.9, 145.5, 266.1},
		{"fair", 301.6, 58.5, 96.6, 281.2},
	};
	struct sl_salus_found *f = &r->found;
	struct sl_jobsim_table t = {0};
	sl_status st;

	SL_TRY(sl_salus_advance(r, "a hundred jobs"));
	SL_TRY_OUT(r->opts->jobs ? read_table(r->opts->jobs, &t) : make_table(r, &t));
	for (size_t i = 0; i < sizeof(paper) / sizeof(paper[0]); i++) {
		struct sl_jobsim_sum sum, ideal;

		SL_TRY_OUT(sl_salus_run(&t, paper[i].policy, 0, SL_SALUS_CAPACITY, &sum));
		SL_TRY_OUT(run_ideal(&t, paper[i].policy, &ideal));
		SL_TRY_OUT(tell_policy(r, &paper[i], &sum, &ideal));
		note(f, &paper[i], &sum, &ideal);
	}
	SL_TRY_OUT(tell_parking(r, &t));
	SL_TRY_OUT(sl_salus_tell(r, SL_SALUS_TRACE, "fifo / srtf", "mean completion",
		(double[]){3.19, f->fifo_jct / f->srtf_jct,
			f->ideal_fifo_jct / f->ideal_srtf_jct}));
out:
	sl_jobsim_table_finish(&t);
	return st;
}

/* The sweep: what a framework does on the host between operators, and how many jobs the
 * paper's service takes. */
#define LAUNCH_NS 10000
#define SWEEP_JOBS 300
#define SWEEP_TURNS 500
#define MOST_AT_ONCE 100

sl_status sl_salus_sweep(struct sl_salus *r)
{
	static const struct {
		const char *title, *model;
		int64_t batch;
		double paper;
	} rows[] = {
		{"autoencoder, batch 64", "mlp:sizes=784-400-20-400-784", 64, NONE},
		{"super-resolution, batch 128", "convnet:input=1x32x32", 128, 2.38},
		{"ResNet-50, batch 50", "resnet50", 50, 1.07},
	};
	struct sl_salus_found *f = &r->found;

	SL_TRY(sl_salus_advance(r, "three hundred short jobs"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sl_jobsim_table t = {0};
		struct sl_jobsim_sum sum;
		struct sl_salus_model m;
		double alone, packed, host;
		sl_status st;

		SL_TRY(sl_salus_measure(rows[i].model, rows[i].batch, false, &m));
		for (int k = 0; k < SWEEP_JOBS; k++)
			SL_TRY_OUT(sl_salus_add(&t, SWEEP_JOBS, &m, 0, SWEEP_TURNS));
		SL_TRY_OUT(
			sl_salus_run(&t, "pack", MOST_AT_ONCE, SL_SALUS_CAPACITY, &sum));
		host = (double)m.ops * LAUNCH_NS;
		alone = (double)m.turn_ns / ((double)m.turn_ns + host);
		packed = fmin(1, alone * sum.lanes);
		SL_TRY_OUT(sl_salus_tell(r, SL_SALUS_SWEEP, rows[i].title,
			"jobs side by side", (double[]){NONE, sum.lanes, NONE}));
		SL_TRY_OUT(sl_salus_tell(r, SL_SALUS_SWEEP, rows[i].title,
			"device busy, packed (last: alone)",
			(double[]){NONE, packed, alone}));
		SL_TRY_OUT(sl_salus_tell(r, SL_SALUS_SWEEP, rows[i].title,
			"times the utilisation alone",
			(double[]){rows[i].paper, packed / alone, 1 / alone}));
		if (i + 1 == sizeof(rows) / sizeof(rows[0]))
			f->gain_large = packed / alone;
		else
			f->gain_small = fmax(f->gain_small, packed / alone);
	out:
		sl_jobsim_table_finish(&t);
		SL_TRY(st);
	}
	return SL_OK;
}
