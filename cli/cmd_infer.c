/* SPDX-License-Identifier: Apache-2.0 */
/* sluice infer: a trained model over an input, a line a sample. */
#include "daemon.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "output.h"

/* "npy:FILE" of FILE.npy, "idx:DIR" of a folder, "text:FILE" of anything else; specs
 * stay. */
static char *spec_of(const char *input)
{
	static const char *const kinds[] = {
		"idx:", "text:", "csv:", "npy:", "synthetic:"};
	struct stat info;
	struct sl_buf spec = SL_BUF_MAX(8192);
	const char *end = strrchr(input, '.');
	const char *kind = "text:";
	char *out = NULL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(input, kinds[i], strlen(kinds[i])) == 0)
			return sl_strdup(input);
	if (stat(input, &info) == 0 && S_ISDIR(info.st_mode))
		kind = "idx:";
	else if (end != NULL && strcmp(end, ".npy") == 0)
		kind = "npy:";
	else if (end != NULL && strcmp(end, ".csv") == 0)
		kind = "csv:";
	if (sl_buf_printf(&spec, "%s%s", kind, input) == SL_OK)
		out = sl_strdup(sl_buf_text(&spec));
	sl_buf_finish(&spec);
	return out;
}

static sl_status json_row(const struct sl_prediction *p)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_i64(j, "index", p->index);
	sl_json_i64(j, p->text ? "next" : "class", p->label);
	sl_json_f64(j, "probability", p->probability);
	if (p->text)
		sl_json_f64(j, "bits_per_byte", p->bits_per_byte);
	return cli_line_end(&line);
}

struct run {
	const struct cli_args *args;
	struct cli_progress progress;
};

static sl_status each(void *ctx, const struct sl_prediction *p)
{
	struct run *r = ctx;

	if (r->args->json)
		return json_row(p);
	cli_progress_end(&r->progress);
	if (p->text)
		printf("%lld  %.3f bits per byte, next byte %lld (%.3f)\n",
			(long long)p->index, p->bits_per_byte, (long long)p->label,
			p->probability);
	else
		printf("%lld  class %lld (%.3f)\n", (long long)p->index,
			(long long)p->label, p->probability);
	return SL_OK;
}

static sl_status infer(struct cli_args *args)
{
	struct run r = {.args = args};
	struct sl_session_events events;
	struct sl_session *s = NULL;
	sl_status st;

	cli_progress_init(&r.progress, args);
	cli_progress_apart(&r.progress);
	events = cli_progress_events(&r.progress);
	SL_TRY_OUT(sl_session_open(&args->config, &s));
	SL_TRY_OUT(sl_session_prepare(s, &events));
	SL_TRY_OUT(sl_session_infer(s, &r, each));
out:
	cli_progress_end(&r.progress);
	sl_session_close(s);
	return st;
}

static sl_status report(const struct cli_args *args, const struct sl_serve_report *r)
{
	struct cli_line line;
	struct sl_json *j;

	if (!args->json) {
		printf("%llu requests, %llu refused, %llu late, %llu batches; the "
		       "longest "
		       "took %.2f ms\n",
			(unsigned long long)r->requests, (unsigned long long)r->refused,
			(unsigned long long)r->late, (unsigned long long)r->batches,
			r->longest_ms);
		return SL_OK;
	}
	j = cli_schema_line(&line, "summary");
	sl_json_u64(j, "requests", r->requests);
	sl_json_u64(j, "refused", r->refused);
	sl_json_u64(j, "late", r->late);
	sl_json_u64(j, "batches", r->batches);
	sl_json_f64(j, "longest_ms", r->longest_ms);
	return cli_line_end(&line);
}

/* Until a signal or `sluice cancel`. */
static sl_status serve(struct cli_args *args)
{
	struct cli_progress progress;
	struct sl_session_events events;
	struct sl_serve_report r = {0};
	struct sl_session *s = NULL;
	sl_status st;

	cli_progress_init(&progress, args);
	events = cli_progress_events(&progress);
	SL_TRY_OUT(sl_session_open(&args->config, &s));
	SL_TRY_OUT(sl_session_prepare(s, &events));
	cli_progress_end(&progress);
	if (!args->json && !args->quiet)
		fprintf(stderr, "serving %s; `sluice ask %s --input ...` asks it\n",
			args->config.model, args->config.serve);
	SL_TRY_OUT(sl_session_serve(s, &r));
	cli_progress_end(&progress);
	SL_TRY_OUT(report(args, &r));
out:
	cli_progress_end(&progress);
	sl_session_close(s);
	return st;
}

static sl_status settle_service(struct cli_args *args)
{
	struct sl_session_config *c = &args->config;

	if (c->serve == NULL && args->within != NULL)
		return SL_FAIL(SL_E_USAGE, "--within is for a service: --serve NAME");
	if (c->serve != NULL && (args->input != NULL || c->job_name != NULL))
		return SL_FAIL(SL_E_USAGE,
			"a service has its name from --serve and its samples from those "
			"who ask: leave --name and --input out");
	c->shared = c->shared || c->serve != NULL;
	return cli_time_store("--within", args->within, &c->within_s);
}

static sl_status run(struct cli_args *args)
{
	char *spec;
	sl_status st;

	SL_TRY(settle_service(args));
	SL_TRY(cli_settle_shared(args));
	args->config.model = args->operands[0];
	args->config.infer_only = true;
	args->config.logits_only = true;
	args->config.valid_ratio = -1; /* all of a text, not its held-out tenth */
	if (args->config.serve != NULL)
		return serve(args);
	if (args->input == NULL)
		return SL_FAIL(SL_E_USAGE, "infer needs --input FILE, or --serve NAME to "
					   "answer `sluice ask`");
	spec = spec_of(args->input);
	if (spec == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the input's name");
	args->config.data = spec;
	st = infer(args);
	sl_free(spec);
	return st;
}

static const struct cli_option rows[] = {
	{"input", "FILE", CLI_TEXT, offsetof(struct cli_args, input),
		"samples: .npy, .csv, a text, or a folder in IDX format (its test "
		"images)"},
	{"serve", "NAME", CLI_TEXT, offsetof(struct cli_args, config.serve),
		"instead of an input: answer `sluice ask NAME` as a job of the daemon"},
	{"within", "TIME", CLI_TEXT, offsetof(struct cli_args, within),
		"objective of a request's latency, such as 50ms: batches are gathered "
		"within it (default: 100ms)"},
	{"resume", "FILE", CLI_TEXT, offsetof(struct cli_args, config.resume_path),
		"weights (safetensors; default: fresh ones by seed)"},
	{"batch", "N", CLI_COUNT, offsetof(struct cli_args, config.batch),
		"samples at a time"},
	{"threads", "N", CLI_COUNT, offsetof(struct cli_args, threads),
		"width of running"},
	{"seed", "N", CLI_SEED, offsetof(struct cli_args, config.seed),
		"of fresh weights"},
};
static const struct cli_options infer_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {&infer_options, &cli_memory_options,
	&cli_shared_options, &cli_daemon_options, &cli_output_options, NULL};

const struct cli_command cli_command_infer = {
	.name = "infer",
	.operands = "MODEL",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "runs a trained model over an input",
	.examples = "  sluice infer lenet5 --input /usr/share/datasets/fashion-mnist "
		    "--resume lenet5.safetensors\n"
		    "  sluice infer gpt2:layers=4,width=256 --input letter.txt --resume "
		    "gpt.safetensors --budget 32MiB\n"
		    "  sluice infer lenet5 --serve digits --within 50ms --resume "
		    "lenet5.safetensors\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
