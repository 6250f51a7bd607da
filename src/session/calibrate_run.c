/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of one model, timed op by op while other threads keep cores busy. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/cost.h"
#include "session/calibrate_int.h"
#include "session/session_int.h"

#define MOST_STEPS 64u
#define LEAST_STEPS 3u
#define MAX_SAMPLES ((size_t)1 << 20)

double sl_calibrate_load(int i)
{
	return (double)i / (SL_CALIBRATE_LOADS - 1);
}

/* Threads that only compute. */
struct spinners {
	pthread_t threads[SL_POOL_WIDTH_MAX];
	int n;
	atomic_bool stop;
};

static void *spin(void *arg)
{
	struct spinners *s = arg;
	volatile double x = 1;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed))
		for (int i = 0; i < 1000; i++)
			x = x * 1.0000001;
	return NULL;
}

static void spinners_end(struct spinners *s)
{
	atomic_store(&s->stop, true);
	for (int i = 0; i < s->n; i++)
		pthread_join(s->threads[i], NULL);
	s->n = 0;
}

static sl_status spinners_begin(struct spinners *s, double load)
{
	int wanted = (int)(load * sl_machine_cores() + 0.5);

	s->n = 0;
	atomic_init(&s->stop, false);
	while (s->n < wanted) {
		if (pthread_create(&s->threads[s->n], NULL, spin, s) != 0) {
			spinners_end(s);
			return SL_FAIL(
				SL_E_NOMEM, "a thread that makes load did not start");
		}
		s->n++;
	}
	return SL_OK;
}

struct bed {
	struct sl_session *s;
	const struct sl_program *program;
	uint64_t *ns; /* of the step, by op */
	float *times; /* [MOST_STEPS][n_ops] */
	double iter_ns[MOST_STEPS];
	uint32_t steps;
};

static sl_status bed_open(const struct sl_calibrate_case *c, struct bed *b)
{
	const struct sl_session_config config = {
		.model = c->model,
		.optim = c->optim,
		.batch = c->batch,
		.steps = MOST_STEPS,
		.clip = 1,
		.weight_decay = -1,
		.allow_nan = true,
		.valid_ratio = -1,
	};
	size_t n;

	SL_TRY(sl_session_open(&config, &b->s));
	SL_TRY(sl_session_prepare(b->s, NULL));
	b->program = b->s->instances[SL_TRAIN].program;
	n = b->program->n_ops;
	b->ns = sl_calloc(n, sizeof(*b->ns));
	b->times = sl_calloc(n * MOST_STEPS, sizeof(*b->times));
	if (b->ns == NULL || b->times == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the times of %zu ops", n);
	b->s->machine.op_ns = b->ns;
	b->s->io.request = (struct sl_data_request){
		.split = SL_SPLIT_TRAIN, .count = b->s->instances[SL_TRAIN].batch};
	return SL_OK;
}

static void bed_close(struct bed *b)
{
	sl_session_close(b->s);
	sl_free(b->ns);
	sl_free(b->times);
}

static sl_status step(struct bed *b)
{
	uint32_t n = b->program->n_ops;
	sl_ns begin = sl_clock_now();

	SL_TRY(sl_session_run(b->s, SL_TRAIN));
	b->s->step++;
	b->iter_ns[b->steps] = (double)(sl_clock_now() - begin);
	for (uint32_t i = 0; i < n; i++)
		b->times[(size_t)b->steps * n + i] = (float)b->ns[i];
	b->steps++;
	return SL_OK;
}

static sl_status steps_for(struct bed *b, sl_ns ns)
{
	sl_ns end = sl_clock_now() + ns;

	b->steps = 0;
	while (b->steps < LEAST_STEPS || (b->steps < MOST_STEPS && sl_clock_now() < end))
		SL_TRY(step(b));
	return SL_OK;
}

static double mean(const double *x, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

/* By op: medians over the steps; under load means, as an op that is now and then put off
 * is slow on the whole and not by its median. */
static void take_times(const struct bed *b, int load, struct sl_calibrate_run *out)
{
	double ns[MOST_STEPS];

	for (uint32_t i = 0; i < out->n_ops; i++) {
		for (uint32_t k = 0; k < b->steps; k++)
			ns[k] = (double)b->times[(size_t)k * out->n_ops + i];
		out->ops[i].ns[load] =
			load == 0 ? sl_cost_median(ns, b->steps) : mean(ns, b->steps);
	}
	if (load == 0) {
		memcpy(ns, b->iter_ns, sizeof(ns));
		out->iter_ms = sl_cost_median(ns, b->steps) / 1e6;
	}
}

static sl_status describe_ops(const struct bed *b, struct sl_calibrate_run *out)
{
	out->n_ops = b->program->n_ops;
	out->ops = sl_calloc(out->n_ops, sizeof(*out->ops));
	if (out->ops == NULL)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for %u ops", b->program->n_ops);
	for (uint32_t i = 0; i < out->n_ops; i++) {
		const struct sl_node_info *info = &b->program->ops[i].info;
		struct sl_cost work;

		sl_cost_work(info, &work);
		out->ops[i] = (struct sl_calibrate_op){
			.kind = info->op->name, .flops = work.flops, .bytes = work.bytes};
	}
	return SL_OK;
}

static bool same_work(const struct sl_calibrate_op *a, const struct sl_calibrate_op *b)
{
	return a->kind == b->kind && a->flops == b->flops && a->bytes == b->bytes;
}

static bool seen_before(const struct sl_calibrate_run *r, uint32_t op)
{
	for (uint32_t i = 0; i < op; i++)
		if (same_work(&r->ops[i], &r->ops[op]))
			return true;
	return false;
}

/* The mean of all ops of this kind and size, so that held-out sizes are really out. */
static double mean_ns(const struct sl_calibrate_run *r, uint32_t op, int load)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = op; i < r->n_ops; i++) {
		if (!same_work(&r->ops[i], &r->ops[op]))
			continue;
		sum += r->ops[i].ns[load];
		n++;
	}
	return sum / n;
}

static sl_status add_samples(
	const struct sl_calibrate_run *r, struct sl_calibrate_samples *to)
{
	for (uint32_t i = 0; i < r->n_ops; i++) {
		const struct sl_calibrate_op *o = &r->ops[i];

		if (seen_before(r, i))
			continue;
		for (int load = 0; load < SL_CALIBRATE_LOADS; load++) {
			double ns = mean_ns(r, i, load);

			if (!(ns > 0))
				continue;
			if (sl_grow((void **)&to->items, &to->cap, to->n + 1,
				    sizeof(*to->items), MAX_SAMPLES) != 0)
				return SL_FAIL(SL_E_NOMEM,
					"no host memory for %zu samples", to->n);
			to->items[to->n++] = (struct sl_calibrate_sample){.kind = o->kind,
				.s = {o->flops, o->bytes, sl_calibrate_load(load), ns}};
		}
	}
	return SL_OK;
}

sl_status sl_calibrate_case_run(const struct sl_calibrate_case *c,
	const sl_ns ns[SL_CALIBRATE_LOADS], struct sl_calibrate_samples *samples,
	struct sl_calibrate_run *out)
{
	struct spinners spinners;
	struct bed b = {0};
	sl_status st;

	SL_TRY_OUT(bed_open(c, &b));
	SL_TRY_OUT(describe_ops(&b, out));
	SL_TRY_OUT(step(&b)); /* warms up */
	for (int load = 0; load < SL_CALIBRATE_LOADS; load++) {
		if (ns[load] == 0)
			continue;
		SL_TRY_OUT(spinners_begin(&spinners, sl_calibrate_load(load)));
		st = steps_for(&b, ns[load]);
		spinners_end(&spinners);
		if (st != SL_OK)
			goto out;
		take_times(&b, load, out);
	}
	if (samples != NULL)
		SL_TRY_OUT(add_samples(out, samples));
out:
	bed_close(&b);
	if (st != SL_OK) {
		sl_free(out->ops);
		*out = (struct sl_calibrate_run){0};
	}
	return st;
}
