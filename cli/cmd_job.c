/* SPDX-License-Identifier: Apache-2.0 */
/* sluice explain, pause, resume, cancel, priority: one job, or some. */
#include "daemon.h"

#include <string.h>

#include "base/buf.h"
#include "base/units.h"

static const struct cli_options *const groups[] = {
	&cli_daemon_options, &cli_output_options, NULL};

/* The daemon's words on a line of JSON; they may be longer than other lines. */
static sl_status explain_json(uint32_t job, const char *text)
{
	struct cli_line line;
	struct sl_json *j = cli_schema_line(&line, "summary");

	line.text.max = (size_t)1 << 20;
	sl_json_u64(j, "id", job);
	sl_json_str(j, "text", text);
	return cli_line_end(&line);
}

static sl_status run_explain(struct cli_args *args)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_daemon *d = NULL;
	uint32_t job;
	sl_status st;

	SL_TRY(cli_job_parse(args->operands[0], &job));
	SL_TRY_OUT(sl_daemon_open(args->config.socket, &d));
	SL_TRY_OUT(sl_daemon_explain(d, job, &text));
	if (text.len == 0 || text.data[text.len - 1] != '\n')
		SL_TRY_OUT(sl_buf_puts(&text, "\n"));
	SL_TRY_OUT(args->json ? explain_json(job, sl_buf_text(&text))
			      : cli_write("-", &text));
out:
	sl_daemon_close(d);
	sl_buf_finish(&text);
	return st;
}

typedef sl_status (*rule_fn)(struct sl_daemon *d, uint32_t job);

static sl_status report(const struct cli_args *args, uint32_t job, const char *what)
{
	struct cli_line line;
	struct sl_json *j;

	if (args->json) {
		j = cli_schema_line(&line, "summary");
		sl_json_u64(j, "id", job);
		sl_json_str(j, "did", what);
		return cli_line_end(&line);
	}
	if (!args->quiet)
		printf("job %u: %s\n", job, what);
	return SL_OK;
}

/* All of them are read before the first one is done. */
static sl_status each_job(struct cli_args *args, rule_fn rule, const char *what)
{
	uint32_t jobs[CLI_MAX_OPERANDS];
	struct sl_daemon *d = NULL;
	sl_status st;

	for (int i = 0; i < args->n_operands; i++)
		SL_TRY(cli_job_parse(args->operands[i], &jobs[i]));
	SL_TRY_OUT(sl_daemon_open(args->config.socket, &d));
	for (int i = 0; i < args->n_operands; i++) {
		SL_TRY_OUT(rule(d, jobs[i]));
		SL_TRY_OUT(report(args, jobs[i], what));
	}
out:
	sl_daemon_close(d);
	return st;
}

static sl_status run_pause(struct cli_args *args)
{
	return each_job(args, sl_daemon_pause, "paused");
}

static sl_status run_resume(struct cli_args *args)
{
	return each_job(args, sl_daemon_resume, "resumed");
}

static sl_status run_cancel(struct cli_args *args)
{
	return each_job(args, sl_daemon_cancel, "cancelled; ends at its next boundary");
}

static sl_status run_priority(struct cli_args *args)
{
	struct sl_daemon *d = NULL;
	int64_t priority;
	char what[32];
	uint32_t job;
	sl_status st;

	SL_TRY(cli_job_parse(args->operands[0], &job));
	if (sl_i64_parse(args->operands[1], &priority) != SL_OK || priority > INT32_MAX ||
		priority < INT32_MIN)
		return SL_FAIL(SL_E_USAGE,
			"'%.80s' is not a priority: a whole number, the lower the "
			"sooner, 20 is usual",
			args->operands[1]);
	SL_TRY_OUT(sl_daemon_open(args->config.socket, &d));
	SL_TRY_OUT(sl_daemon_priority(d, job, (int32_t)priority));
	snprintf(what, sizeof(what), "priority %lld", (long long)priority);
	SL_TRY_OUT(report(args, job, what));
out:
	sl_daemon_close(d);
	return st;
}

const struct cli_command cli_command_explain = {
	.name = "explain",
	.operands = "JOB",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "says why a job waits and what would let it in",
	.examples = "  sluice explain 3\n",
	.groups = groups,
	.run = run_explain,
};

const struct cli_command cli_command_pause = {
	.name = "pause",
	.operands = "JOB...",
	.min_operands = 1,
	.max_operands = CLI_MAX_OPERANDS,
	.summary = "gives jobs no turn until they are resumed",
	.examples = "  sluice pause 3\n  sluice pause 3 4\n",
	.groups = groups,
	.run = run_pause,
};

const struct cli_command cli_command_resume = {
	.name = "resume",
	.operands = "JOB...",
	.min_operands = 1,
	.max_operands = CLI_MAX_OPERANDS,
	.summary = "lets paused jobs go on",
	.examples = "  sluice resume 3\n",
	.groups = groups,
	.run = run_resume,
};

const struct cli_command cli_command_cancel = {
	.name = "cancel",
	.operands = "JOB...",
	.min_operands = 1,
	.max_operands = CLI_MAX_OPERANDS,
	.summary =
		"ends jobs at their next boundary; a checkpoint is written if asked for",
	.examples = "  sluice cancel 3\n",
	.groups = groups,
	.run = run_cancel,
};

const struct cli_command cli_command_priority = {
	.name = "priority",
	.operands = "JOB N",
	.min_operands = 2,
	.max_operands = 2,
	.summary = "gives a job another priority; the lower goes first, 20 is usual",
	.examples = "  sluice priority 3 5\n  sluice priority 3 -1\n",
	.groups = groups,
	.run = run_priority,
};
