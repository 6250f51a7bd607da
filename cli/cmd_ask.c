/* SPDX-License-Identifier: Apache-2.0 */
/* sluice ask: samples to a service, one request each, and how long the answers took. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "daemon.h"
#include "sluice/data.h"

#define CLIENTS_MOST 512
#define REQUESTS_MOST 10000000

/* What the askers share: each takes the next request until there are none. */
struct load {
	const struct cli_args *args;
	struct sl_data *data;
	size_t sample_bytes;
	int64_t samples, count;
	sl_ns begin_ns;
	pthread_mutex_t lock; /* over what follows, the data and the output */
	int64_t next, answered, refused, late;
	sl_ns at_ns; /* when the next request comes */
	struct sl_rng rng;
	double *took_ms; /* [count] */
	sl_status status; /* the first failure that ends it all */
	char message[256];
};

struct request {
	int64_t index;
	sl_ns at_ns;
	float x[]; /* the sample */
};

static void fail(struct load *l, sl_status st)
{
	(void)pthread_mutex_lock(&l->lock);
	if (l->status == SL_OK) {
		l->status = st;
		snprintf(l->message, sizeof(l->message), "%s", sl_last_error());
	}
	(void)pthread_mutex_unlock(&l->lock);
}

/* Poisson arrivals where a rate was given; else as soon as somebody is free. Under the
 * lock. */
static sl_ns next_arrival(struct load *l)
{
	double u = (double)(sl_rng_next(&l->rng) >> 11) * 0x1p-53;
	sl_ns at = l->at_ns;

	if (!(l->args->rate > 0))
		return sl_clock_now();
	l->at_ns += (sl_ns)(-log(1 - u) / l->args->rate * 1e9);
	return at;
}

static bool take(struct load *l, struct request *r)
{
	struct sl_data_request pick = {
		.split = SL_SPLIT_TRAIN, .count = 1, .as_stored = true};
	int64_t *labels = NULL;
	sl_status st = SL_OK;
	bool any;

	(void)pthread_mutex_lock(&l->lock);
	any = l->status == SL_OK && l->next < l->count && cli_stop == 0;
	if (any) {
		labels = sl_calloc(l->sample_bytes / 4 + 1, sizeof(*labels));
		r->index = l->next++;
		r->at_ns = next_arrival(l);
		pick.first = r->index % l->samples;
		st = labels != NULL ? sl_data_batch(l->data, &pick, r->x, labels)
				    : SL_FAIL(SL_E_NOMEM, "no host memory for labels");
	}
	(void)pthread_mutex_unlock(&l->lock);
	sl_free(labels);
	if (st != SL_OK)
		fail(l, st);
	return any && st == SL_OK;
}

static size_t best_of(const float *row, size_t n, double *probability)
{
	size_t best = 0;
	double sum = 0;

	for (size_t i = 1; i < n; i++)
		best = row[i] > row[best] ? i : best;
	for (size_t i = 0; i < n; i++)
		sum += exp((double)row[i] - (double)row[best]);
	*probability = 1 / sum;
	return best;
}

static sl_status print(const struct load *l, int64_t index, double ms,
	const struct sl_daemon_answer *a, const float *row)
{
	double probability;
	size_t best = best_of(row, a->output_bytes / sizeof(float), &probability);
	struct cli_line line;
	struct sl_json *j;

	if (l->args->quiet)
		return SL_OK;
	if (!l->args->json) {
		printf("%lld  class %zu (%.3f)  %.2f ms, %.2f of it waiting, %u "
		       "together\n",
			(long long)index, best, probability, ms, 1e3 * a->waited_s,
			a->batch);
		return SL_OK;
	}
	j = cli_line_begin(&line, NULL);
	sl_json_i64(j, "index", index);
	sl_json_u64(j, "class", best);
	sl_json_f64(j, "probability", probability);
	sl_json_f64(j, "ms", ms);
	sl_json_f64(j, "waited_ms", 1e3 * a->waited_s);
	sl_json_f64(j, "ran_ms", 1e3 * a->ran_s);
	sl_json_u64(j, "batch", a->batch);
	return cli_line_end(&line);
}

/* An answer of at least one logit, or a failure that ends everything. */
static sl_status note(struct load *l, const struct request *r, sl_status st,
	const struct sl_daemon_answer *a)
{
	double ms = (double)(sl_clock_now() - r->at_ns) / 1e6;
	sl_status printed = SL_OK;
	float *row;

	if (st == SL_E_BUSY) { /* too many wait; others may go on */
		(void)pthread_mutex_lock(&l->lock);
		l->refused++;
		(void)pthread_mutex_unlock(&l->lock);
		return SL_OK;
	}
	SL_TRY(st);
	row = sl_alloc(a->output_bytes + sizeof(float));
	if (row == NULL || a->output_bytes < sizeof(float)) {
		sl_free(row);
		return SL_FAIL(SL_E_LOST, "the service answered nothing");
	}
	memcpy(row, a->output, a->output_bytes);
	(void)pthread_mutex_lock(&l->lock);
	l->took_ms[l->answered++] = ms;
	l->late += l->args->within_s > 0 && ms > 1e3 * l->args->within_s;
	printed = print(l, r->index, ms, a, row);
	(void)pthread_mutex_unlock(&l->lock);
	sl_free(row);
	return printed;
}

static sl_status ask_all(struct load *l, struct sl_daemon *d, struct request *r)
{
	while (take(l, r)) {
		struct sl_daemon_answer a;
		sl_ns now = sl_clock_now();
		sl_status st;

		if (r->at_ns > now)
			sl_clock_sleep(r->at_ns - now);
		st = sl_daemon_ask(d, l->args->operands[0], l->args->within_s, r->x,
			(uint32_t)l->sample_bytes, &a);
		SL_TRY(note(l, r, st, &a));
	}
	return SL_OK;
}

static void *asker(void *ctx)
{
	struct load *l = ctx;
	struct request *r = sl_alloc(sizeof(*r) + l->sample_bytes);
	struct sl_daemon *d = NULL;
	sl_status st = r != NULL ? sl_daemon_open(l->args->config.socket, &d)
				 : SL_FAIL(SL_E_NOMEM, "no host memory for a request");

	if (st == SL_OK)
		st = ask_all(l, d, r);
	if (st != SL_OK)
		fail(l, st);
	sl_daemon_close(d);
	sl_free(r);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double percentile(const struct load *l, double p)
{
	int64_t i = (int64_t)ceil(p * (double)l->answered) - 1;

	return l->answered > 0 ? l->took_ms[i > 0 ? i : 0] : (double)NAN;
}

static sl_status summary(const struct load *l)
{
	double s = (double)(sl_clock_now() - l->begin_ns) / 1e9;
	char late[32] = "";
	struct cli_line line;
	struct sl_json *j;

	qsort(l->took_ms, (size_t)l->answered, sizeof(double), by_value);
	if (!l->args->json) {
		if (l->args->within_s > 0)
			snprintf(late, sizeof(late), ", %lld late", (long long)l->late);
		printf("%lld answered, %lld refused%s; ms: median %.2f, p95 %.2f, p99 "
		       "%.2f, most %.2f; %.1f a second\n",
			(long long)l->answered, (long long)l->refused, late,
			percentile(l, 0.5), percentile(l, 0.95), percentile(l, 0.99),
			percentile(l, 1), (double)l->answered / s);
		return SL_OK;
	}
	j = cli_schema_line(&line, "summary");
	sl_json_i64(j, "answered", l->answered);
	sl_json_i64(j, "refused", l->refused);
	if (l->args->within_s > 0) /* the service's objective is not known here */
		sl_json_i64(j, "late", l->late);
	sl_json_f64(j, "median_ms", percentile(l, 0.5));
	sl_json_f64(j, "p95_ms", percentile(l, 0.95));
	sl_json_f64(j, "p99_ms", percentile(l, 0.99));
	sl_json_f64(j, "max_ms", percentile(l, 1));
	sl_json_f64(j, "per_s", (double)l->answered / s);
	return cli_line_end(&line);
}

static sl_status open_data(struct load *l)
{
	const struct sl_session_config *c = &l->args->config;
	const char *spec = l->args->input;
	bool text = strncmp(spec, "text:", 5) == 0;
	struct sl_data_opts opts = {
		.valid = -1,
		.context = l->args->context,
		.vocab = text ? 256 : l->args->vocab,
		.seed = c->seed,
	};
	const struct sl_data_info *info;

	SL_TRY(sl_data_open(spec, &opts, &l->data));
	info = sl_data_info(l->data);
	l->sample_bytes = 4 * (size_t)sl_shape_count(&info->sample);
	l->samples = info->count[SL_SPLIT_TRAIN];
	if (l->samples < 1)
		return SL_FAIL(SL_E_FORMAT, "%s holds no sample", spec);
	return SL_OK;
}

static sl_status ask(struct load *l, int64_t clients)
{
	pthread_t threads[CLIENTS_MOST];
	int64_t n = 0;

	l->took_ms = sl_calloc((size_t)l->count, sizeof(double));
	if (l->took_ms == NULL)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for %lld times", (long long)l->count);
	l->begin_ns = l->at_ns = sl_clock_now();
	while (n < clients && pthread_create(&threads[n], NULL, asker, l) == 0)
		n++;
	for (int64_t i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
	if (n < clients)
		return SL_FAIL(SL_E_NOMEM, "only %lld of %lld askers could start",
			(long long)n, (long long)clients);
	if (l->status != SL_OK)
		return SL_FAIL(l->status, "%s", l->message);
	return summary(l);
}

static sl_status run(struct cli_args *args)
{
	struct load l = {.args = args,
		.count = args->count > 0 ? args->count : 1,
		.rng = {.key = {.seed = args->config.seed}}};
	int64_t clients = args->clients > 0 ? args->clients : 1;
	sl_status st;

	SL_TRY(cli_time_store("--within", args->within, &args->within_s));
	if (args->input == NULL)
		return SL_FAIL(SL_E_USAGE,
			"ask needs --input SPEC, such as idx:DIR or synthetic:3x32x32");
	if (clients > CLIENTS_MOST || l.count > REQUESTS_MOST)
		return SL_FAIL(SL_E_USAGE,
			"--clients is at most %d and --count at most %d", CLIENTS_MOST,
			REQUESTS_MOST);
	if (pthread_mutex_init(&l.lock, NULL) != 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a lock");
	st = open_data(&l);
	if (st == SL_OK)
		st = ask(&l, clients);
	sl_data_close(l.data);
	sl_free(l.took_ms);
	(void)pthread_mutex_destroy(&l.lock);
	return st;
}

static const struct cli_option rows[] = {
	{"input", "SPEC", CLI_TEXT, offsetof(struct cli_args, input),
		"samples, as --data of train: idx:DIR, csv:FILE, npy:FILE, text:FILE, "
		"synthetic:SHAPE"},
	{"count", "N", CLI_COUNT, offsetof(struct cli_args, count),
		"requests (default 1); samples begin anew when they are used up"},
	{"clients", "N", CLI_COUNT, offsetof(struct cli_args, clients),
		"that ask at once (default 1)"},
	{"rate", "X", CLI_POSITIVE, offsetof(struct cli_args, rate),
		"requests a second, at random moments; times count from the moment a "
		"request was due"},
	{"within", "TIME", CLI_TEXT, offsetof(struct cli_args, within),
		"objective of the latency, such as 50ms; later answers are counted "
		"(default: the service's, which counts them)"},
	{"context", "T", CLI_COUNT, offsetof(struct cli_args, context),
		"tokens of a sample, as the service has"},
	{"vocab", "N", CLI_COUNT, offsetof(struct cli_args, vocab),
		"of synthetic tokens"},
	{"seed", "N", CLI_SEED, offsetof(struct cli_args, config.seed),
		"of synthetic samples and of moments"},
};
static const struct cli_options ask_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&ask_options, &cli_daemon_options, &cli_output_options, NULL};

const struct cli_command cli_command_ask = {
	.name = "ask",
	.operands = "SERVICE",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "sends samples to a service that runs under the daemon",
	.examples = "  sluice infer lenet5 --serve digits --within 50ms --resume "
		    "lenet5.safetensors &\n"
		    "  sluice ask digits --input idx:/usr/share/datasets/fashion-mnist "
		    "--count 10\n"
		    "  sluice ask digits --input synthetic:1x28x28 --count 2000 "
		    "--clients 32 --rate 200 --quiet\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
