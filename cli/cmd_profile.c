/* SPDX-License-Identifier: Apache-2.0 */
/* sluice profile: where a step's time goes, beside the machine's peaks. */
#include "cli.h"

#include <string.h>

#include "base/fs.h"
#include "output.h"
#include "profile.h"

#define USUAL_TOP 30

static sl_status find_by(const char *text, enum sl_profile_by *out)
{
	const char *name;

	*out = SL_PROFILE_BY_KERNEL;
	for (size_t i = 0; text != NULL && (name = sl_profile_by_name(i)) != NULL; i++) {
		if (strcmp(name, text) != 0)
			continue;
		*out = (enum sl_profile_by)i;
		return SL_OK;
	}
	return text == NULL ? SL_OK
			    : SL_FAIL(SL_E_USAGE,
				      "--by %s is unknown; there are kernel, op, scope, "
				      "node",
				      text);
}

static sl_status check(const struct cli_args *args)
{
	struct sl_fs_new probe = {.fd = -1};

	if (args->config.epochs > 0)
		return SL_FAIL(SL_E_USAGE,
			"a profile measures single steps: give --steps, not --epochs");
	if (args->config.save_path != NULL)
		return SL_FAIL(SL_E_USAGE,
			"a profile trains nothing worth keeping: leave "
			"--save out");
	if (args->events == NULL || strcmp(args->events, "-") == 0)
		return SL_OK;
	/* What will be written at the end must not fail only then. */
	SL_TRY(sl_fs_new_begin(args->events, &probe));
	sl_fs_new_cancel(&probe);
	return SL_OK;
}

static sl_status write_timeline(const struct cli_args *args, const struct sl_profile *p)
{
	struct sl_buf text = SL_BUF_INIT;
	sl_status st;

	SL_TRY_OUT(sl_profile_timeline(p, &text));
	SL_TRY_OUT(cli_write(args->events, &text));
out:
	sl_buf_finish(&text);
	return st;
}

static size_t shown(const struct cli_args *args, size_t n)
{
	size_t top = args->top > 0 ? (size_t)args->top : args->json ? n : USUAL_TOP;

	return top < n ? top : n;
}

static sl_status report(
	const struct cli_args *args, const struct sl_profile *p, enum sl_profile_by by)
{
	struct sl_profile_row *rows = NULL;
	struct cli_profile view = {
		.model = args->operands[0], .sum = sl_profile_summary(p), .by = by};
	sl_status st = SL_OK;

	/* A timeline on standard output stands there alone. */
	if (args->events != NULL) {
		SL_TRY(write_timeline(args, p));
		if (strcmp(args->events, "-") == 0)
			return SL_OK;
	}
	SL_TRY(sl_profile_rows(p, by, &rows, &view.n));
	view.rows = rows;
	view.shown = shown(args, view.n);
	if (args->json)
		st = cli_profile_json(&view);
	else
		cli_profile_text(&view);
	sl_profile_rows_free(rows);
	return st;
}

static sl_status run(struct cli_args *args)
{
	struct sl_profile_opts opts = {.steps = args->config.steps,
		.warmup = args->warmup,
		.timeline = args->events != NULL};
	struct sl_session_events events;
	struct cli_progress progress;
	struct sl_profile *p = NULL;
	enum sl_profile_by by;
	sl_status st;

	SL_TRY(find_by(args->by, &by));
	SL_TRY(check(args));
	args->config.model = args->operands[0];
	args->config.infer_only = args->infer;
	cli_progress_init(&progress, args);
	cli_progress_apart(&progress);
	progress.json = false; /* its lines are the table's */
	events = cli_progress_events(&progress);
	events.step = NULL;
	st = sl_profile_run(&args->config, &opts, &events, &p);
	cli_progress_end(&progress);
	SL_TRY(st);
	st = report(args, p, by);
	sl_profile_free(p);
	return st;
}

static const struct cli_option rows[] = {
	{"by", "NAME", CLI_TEXT, offsetof(struct cli_args, by),
		"a row for each kernel, op, scope or node (default: kernel)"},
	{"top", "N", CLI_COUNT, offsetof(struct cli_args, top),
		"only the N rows that take longest (default: 30; with --json all)"},
	{"infer", NULL, CLI_FLAG, offsetof(struct cli_args, infer),
		"forward batches instead of training steps"},
	{"before", "N", CLI_COUNT, offsetof(struct cli_args, warmup),
		"steps before those that are measured (default: 2); --steps are "
		"measured (default: 5)"},
	{"trace", "FILE", CLI_TEXT, offsetof(struct cli_args, events),
		"write the steps as trace events, for ui.perfetto.dev"},
};
static const struct cli_options profile_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {&profile_options, &cli_model_options,
	&cli_memory_options, &cli_output_options, NULL};

const struct cli_command cli_command_profile = {
	.name = "profile",
	.operands = "MODEL",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "times a step op by op, beside the machine's peaks",
	.examples = "  sluice profile gpt2 --batch 4 --data synthetic:64\n"
		    "  sluice profile resnet50 --batch 8 --by node --top 20\n"
		    "  sluice profile resnet50 --batch 1 --infer --steps 20\n"
		    "  sluice profile gpt2 --batch 4 --budget 50% --host 4GiB --trace "
		    "step.json\n"
		    "  sluice profile lenet5 --json --by scope\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
