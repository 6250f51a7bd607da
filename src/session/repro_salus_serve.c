/* SPDX-License-Identifier: Apache-2.0 */
/* Salus and inference: models packed in one device, latency by the rate of requests, and
 * answers beside training. A request is a job of one turn; its model's P is charged all
 * along. */
#include "session/repro_salus_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "share/policy/policy.h"

#define NONE ((double)NAN)
#define COPIES 3
#define SEED 42u
#define LANES 4 /* models that answer at the same time */

static const struct {
	const char *model;
	int64_t batch;
} served[SL_SALUS_MODELS] = {{"vgg16", 32}, {"vgg19", 32}, {"inceptionv3", 32},
	{"inceptionv4", 32}, {"resnet50", 32}, {"resnet18", 32}, {"densenet121", 32},
	{"unet", 4}, {"gpt2:layers=6,width=512", 4}, {"gpt2", 1}, {"lstm", 32},
	{"convnet", 64}, {"lenet5", 64}, {"mlp", 64}};

/* Devices that are needed if all peaks stand side by side, first fit. */
static uint32_t by_peaks(const struct sl_salus_model *m, size_t n)
{
	uint64_t room[SL_SALUS_MODELS * COPIES];
	uint32_t used = 0;

	for (size_t i = 0; i < n * COPIES; i++) {
		const struct sl_salus_model *at = &m[i % n];
		uint64_t peak = at->persistent_bytes + at->ephemeral_bytes;
		uint32_t k = 0;

		while (k < used && room[k] < peak)
			k++;
		if (k == used)
			room[used++] = SL_SALUS_CAPACITY;
		room[k] -= peak;
	}
	return used;
}

/* How many are resident when all have come. */
static sl_status admit_all(
	const struct sl_salus_model *m, size_t n, uint32_t *resident, uint64_t *granted)
{
	const struct sl_share_rules rules = {
		.capacity_bytes = SL_SALUS_CAPACITY, .lanes = LANES};
	struct sl_share s;
	struct sl_log log = {0};
	sl_status st;

	sl_share_init(&s, sl_job_policy_find("pack"), &rules);
	for (uint32_t i = 0; i < n * COPIES; i++) {
		const struct sl_step e = {.kind = SL_STEP_ARRIVE,
			.job = i,
			.priority = SL_JOB_PRIORITY,
			.turn_ns = m[i % n].turn_ns,
			.persistent_bytes = m[i % n].persistent_bytes,
			.ephemeral_bytes = m[i % n].ephemeral_bytes};

		SL_TRY_OUT(sl_share_apply(&s, &e));
		SL_TRY_OUT(sl_share_decide(&s, &log));
	}
	SL_TRY_OUT(sl_share_check(&s));
	*resident = 0;
	for (size_t i = 0; i < s.n; i++)
		*resident += s.jobs[i]->resident;
	*granted = s.lanes.granted_bytes;
out:
	sl_log_finish(&log);
	sl_share_finish(&s);
	return st;
}

sl_status sl_salus_packing(struct sl_salus *r)
{
	struct sl_salus_found *f = &r->found;
	struct sl_salus_model m[SL_SALUS_MODELS];
	uint64_t granted = 0, peaks = 0;
	const double gib = 1024.0 * 1024 * 1024;
	const size_t n = SL_SALUS_MODELS;
	char subject[48];

	SL_TRY(sl_salus_advance(r, "models in one device"));
	for (size_t i = 0; i < n; i++) {
		SL_TRY(sl_salus_measure(served[i].model, served[i].batch, true, &m[i]));
		peaks += COPIES * (m[i].persistent_bytes + m[i].ephemeral_bytes);
	}
	f->services = (uint32_t)(n * COPIES);
	f->by_peaks = by_peaks(m, n);
	SL_TRY(admit_all(m, n, &f->resident, &granted));
	snprintf(subject, sizeof(subject), "%zu models, %d each", n, COPIES);
	SL_TRY(sl_salus_tell(r, SL_SALUS_PACKING, subject, "resident in one device",
		(double[]){42, f->resident, NONE}));
	SL_TRY(sl_salus_tell(r, SL_SALUS_PACKING, subject,
		"devices, each peak beside the others",
		(double[]){6, f->by_peaks, NONE}));
	SL_TRY(sl_salus_tell(r, SL_SALUS_PACKING, subject, "devices, one model each",
		(double[]){42, f->services, NONE}));
	return sl_salus_tell(r, SL_SALUS_PACKING, subject,
		"GiB, P and four lanes (last: all peaks)",
		(double[]){NONE, (double)granted / gib, (double)peaks / gib});
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct latency {
	double mean_ms, p95_ms;
};

/* Of the jobs that are called like that, from submission to the end. */
static sl_status latency_of(
	const struct sl_jobsim_table *t, const char *name, struct latency *out)
{
	double *ms = sl_alloc((t->n + 1) * sizeof(*ms));
	size_t n = 0;

	if (ms == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for %zu requests", t->n);
	*out = (struct latency){0};
	for (size_t i = 0; i < t->n; i++) {
		const struct sl_jobsim_job *j = &t->jobs[i];

		if (strcmp(j->name, name) != 0)
			continue;
		ms[n] = (double)(j->end_ns - j->submit_ns) * 1e-6;
		out->mean_ms += ms[n++];
	}
	if (n > 0) {
		qsort(ms, n, sizeof(*ms), by_value);
		out->mean_ms /= (double)n;
		out->p95_ms = ms[(95 * n + 99) / 100 - 1];
	}
	sl_free(ms);
	return SL_OK;
}

/* Requests with exponential gaps, n of them. */
static sl_status add_requests(struct sl_jobsim_table *t, size_t n, double gap_ns,
	const struct sl_salus_model *m, struct sl_rng *rng)
{
	struct sl_salus_model one = *m;
	double at = 0;

	one.persistent_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		double u = (double)(sl_rng_next(rng) >> 11) * 0x1p-53;

		at -= gap_ns * log(1 - u);
		SL_TRY(sl_salus_add(t, SIZE_MAX / 2, &one, (sl_ns)at, 1));
	}
	return SL_OK;
}

static int by_submission(const void *a, const void *b)
{
	const struct sl_jobsim_job *x = a, *y = b;

	return x->submit_ns < y->submit_ns ? -1 : x->submit_ns > y->submit_ns;
}

#define FULL_LOAD 0.7 /* of the device, at 100 % of the rate */
#define OTHERS_LOAD 0.1

/* One service at a rate, others beside it, at most two lanes. */
static sl_status at_rate(const struct sl_salus_model *m, double rate, bool others,
	size_t n, struct latency *out)
{
	struct sl_rng rng = {.key = {.seed = SEED}};
	struct sl_jobsim_table t = {0};
	struct sl_jobsim_sum sum;
	struct sl_salus_model other = *m;
	double turn = (double)m->turn_ns, gap = turn / (FULL_LOAD * rate);
	sl_status st;

	snprintf(other.name, sizeof(other.name), "others");
	SL_TRY_OUT(add_requests(&t, n, gap, m, &rng));
	if (others)
		SL_TRY_OUT(add_requests(&t,
			(size_t)((double)n * gap * OTHERS_LOAD / turn) + 1,
			turn / OTHERS_LOAD, &other, &rng));
	qsort(t.jobs, t.n, sizeof(*t.jobs), by_submission);
	SL_TRY_OUT(sl_salus_run(&t, "pack", others ? 2 : 1, SL_SALUS_CAPACITY, &sum));
	SL_TRY_OUT(latency_of(&t, m->name, out));
out:
	sl_jobsim_table_finish(&t);
	return st;
}

sl_status sl_salus_rate(struct sl_salus *r)
{
	static const double rates[] = {1, .75, .5, .25, .01};
	struct sl_salus_found *f = &r->found;
	struct sl_salus_model m;
	size_t n = r->opts->quick ? 200 : 1000;

	SL_TRY(sl_salus_advance(r, "latency by rate"));
	SL_TRY(sl_salus_measure("resnet50", 1, true, &m));
	f->turn_ms = (double)m.turn_ns * 1e-6;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct latency alone, beside;
		char subject[48];

		SL_TRY(at_rate(&m, rates[i], false, n, &alone));
		SL_TRY(at_rate(&m, rates[i], true, n, &beside));
		snprintf(subject, sizeof(subject), "ResNet-50, %.0f %% of the rate",
			100 * rates[i]);
		SL_TRY(sl_salus_tell(r, SL_SALUS_RATE, subject,
			"mean, ms, beside others (last: alone)",
			(double[]){NONE, beside.mean_ms, alone.mean_ms}));
		SL_TRY(sl_salus_tell(r, SL_SALUS_RATE, subject,
			"95th percentile, ms (last: alone)",
			(double[]){NONE, beside.p95_ms, alone.p95_ms}));
		f->slow_ms = i == 0 ? beside.mean_ms : f->slow_ms;
		f->fast_ms = beside.mean_ms;
	}
	return SL_OK;
}

#define TRAIN_TURNS 200

/* Training from the beginning, requests all along; in one lane they wait for the end of
 * an iteration, in another they have half of the device. */
static sl_status beside(const struct sl_salus_model *train,
	const struct sl_salus_model *infer, bool own, struct latency *out, double *loss)
{
	struct sl_rng rng = {.key = {.seed = SEED}};
	struct sl_jobsim_table t = {0};
	struct sl_jobsim_sum sum;
	sl_ns length = train->turn_ns * TRAIN_TURNS;
	double gap = (double)train->turn_ns / 2;
	sl_status st;

	SL_TRY_OUT(sl_salus_add(&t, 2, train, 0, TRAIN_TURNS));
	SL_TRY_OUT(add_requests(&t, TRAIN_TURNS, gap, infer, &rng));
	for (size_t i = 1; i < t.n; i++)
		t.jobs[i].priority = SL_JOB_PRIORITY / 2;
	SL_TRY_OUT(sl_salus_run(
		&t, own ? "pack" : "srtf", own ? 2 : 1, SL_SALUS_CAPACITY, &sum));
	SL_TRY_OUT(latency_of(&t, infer->name, out));
	*loss = (double)t.jobs[0].end_ns / (double)length - 1;
out:
	sl_jobsim_table_finish(&t);
	return st;
}

sl_status sl_salus_beside(struct sl_salus *r)
{
	static const int64_t batches[] = {1, 2, 4, 8};
	struct sl_salus_found *f = &r->found;
	struct sl_salus_model train, infer;

	SL_TRY(sl_salus_advance(r, "inference beside training"));
	SL_TRY(sl_salus_measure("inceptionv4", 50, false, &train));
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		struct latency own, one;
		double loss, one_loss;
		char subject[48];

		SL_TRY(sl_salus_measure("vgg16", batches[i], true, &infer));
		SL_TRY(beside(&train, &infer, true, &own, &loss));
		SL_TRY(beside(&train, &infer, false, &one, &one_loss));
		snprintf(subject, sizeof(subject), "VGG-16, batch %d, beside Inception-4",
			(int)batches[i]);
		SL_TRY(sl_salus_tell(r, SL_SALUS_BESIDE, subject,
			"mean, ms, own lane (last: one lane)",
			(double[]){NONE, own.mean_ms, one.mean_ms}));
		SL_TRY(sl_salus_tell(r, SL_SALUS_BESIDE, subject,
			"95th percentile, ms (last: one lane)",
			(double[]){NONE, own.p95_ms, one.p95_ms}));
		SL_TRY(sl_salus_tell(r, SL_SALUS_BESIDE, subject,
			"training longer, % (last: one lane)",
			(double[]){NONE, 100 * loss, 100 * one_loss}));
		f->own_lane_ms = fmax(f->own_lane_ms, own.p95_ms);
		f->one_lane_ms = fmax(f->one_lane_ms, one.p95_ms);
		f->train_loss = fmax(f->train_loss, loss);
	}
	return SL_OK;
}
