/* SPDX-License-Identifier: Apache-2.0 */
/* sluice convert: traces of other programs to ours, and back. */
#include "cli.h"

#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "output.h"

static sl_status report_json(const struct sl_convert_report *r)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, "summary");

	sl_json_str(j, "from", r->from);
	sl_json_str(j, "to", r->to);
	sl_json_u64(j, "ops", r->ops);
	sl_json_u64(j, "values", r->values);
	sl_json_u64(j, "live_peak_bytes", r->live_peak_bytes);
	sl_json_u64(j, "ops_ns", r->ops_ns);
	return cli_line_end(&line);
}

static void report_text(const struct sl_convert_report *r)
{
	char peak[SL_SIZE_TEXT];

	printf("%s to %s: %llu ops of %.3f ms, %llu values, at most %s live\n", r->from,
		r->to, (unsigned long long)r->ops, (double)r->ops_ns / 1e6,
		(unsigned long long)r->values, sl_size_print(r->live_peak_bytes, peak));
}

static sl_status run(struct cli_args *args)
{
	bool apart = args->output != NULL && strcmp(args->output, "-") != 0;
	struct sl_buf text = SL_BUF_INIT;
	struct sl_convert_report r;
	sl_status st;

	if (!apart && args->json)
		return SL_FAIL(SL_E_USAGE,
			"a trace on standard output stands there alone; give -o FILE");
	args->convert.in = args->operands[0];
	args->convert.out = apart ? args->output : NULL;
	SL_TRY_OUT(sl_convert_file(&args->convert, apart ? NULL : &text, &r));
	if (!apart)
		SL_TRY_OUT(cli_write("-", &text));
	else if (args->json)
		SL_TRY_OUT(report_json(&r));
	else if (!args->quiet)
		report_text(&r);
out:
	sl_buf_finish(&text);
	return st;
}

static const struct cli_option rows[] = {
	{"o", "OUT", CLI_TEXT, offsetof(struct cli_args, output),
		"write it there; its name says what it is: X.trace, X.kernels.csv (with "
		"X.tensors.csv), X.log, X.csv (default: standard output)"},
	{"from", "KIND", CLI_TEXT, offsetof(struct cli_args, convert.from),
		"trace, g10, dtr or buffers (default: what its first line looks like)"},
	{"to", "KIND", CLI_TEXT, offsetof(struct cli_args, convert.to),
		"the same (default: by the name of OUT, else trace)"},
};
static const struct cli_options convert_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&convert_options, &cli_output_options, NULL};

const struct cli_command cli_command_convert = {
	.name = "convert",
	.operands = "FILE",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "reads traces of other programs, and writes ours as theirs",
	.examples = "  sluice convert bert.kernels.csv -o bert.trace\n"
		    "  sluice convert resnet.log -o resnet.trace\n"
		    "  sluice convert lenet5.trace --to dtr -o lenet5.log\n"
		    "  sluice convert lenet5.trace -o lenet5.csv\n",
	.groups = groups,
	.run = run,
};
