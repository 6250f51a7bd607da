/* SPDX-License-Identifier: Apache-2.0 */
/* sluice check: the independent checker on a trace and a plan. */
#include "cli.h"

#include "output.h"

static sl_status report_json(const struct sl_check_report *r, bool sound)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, "summary");

	sl_json_bool(j, "sound", sound);
	sl_json_u64(j, "budget_bytes", r->budget_bytes);
	sl_json_u64(j, "peak_bytes", r->peak_bytes);
	sl_json_u64(j, "stated_peak_bytes", r->stated_peak_bytes);
	sl_json_u64(j, "ops", r->ops);
	sl_json_u64(j, "values", r->values);
	sl_json_u64(j, "actions", r->actions);
	if (!sound)
		sl_json_str(j, "breach", sl_last_error());
	return cli_line_end(&line);
}

static sl_status run(struct cli_args *args)
{
	struct sl_check_report r = {0};
	sl_status st = sl_check_files(
		args->operands[0], args->operands[1], args->config.budget_bytes, &r);

	if (st != SL_OK && st != SL_E_NO)
		return st;
	if (args->json)
		SL_TRY(report_json(&r, st == SL_OK));
	else if (st == SL_OK)
		printf("sound: %u ops, %u values, %u actions, peak %llu of %llu bytes\n",
			r.ops, r.values, r.actions, (unsigned long long)r.peak_bytes,
			(unsigned long long)r.budget_bytes);
	return st;
}

static const struct cli_option rows[] = {
	{"budget", "SIZE", CLI_SIZE, offsetof(struct cli_args, config.budget_bytes),
		"hard cap of device memory (default: the plan's own)"},
};
static const struct cli_options check_options = {rows, 1};
static const struct cli_options *const groups[] = {
	&check_options, &cli_output_options, NULL};

const struct cli_command cli_command_check = {
	.name = "check",
	.operands = "TRACE PLAN",
	.min_operands = 2,
	.max_operands = 2,
	.summary = "proves a plan sound, or names its first breach",
	.examples = "  sluice check lenet5.trace lenet5.plan --budget 6MiB\n",
	.groups = groups,
	.run = run,
};
