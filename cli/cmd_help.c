/* SPDX-License-Identifier: Apache-2.0 */
/* sluice help: of all, of one command, as a manual page, as a completion script. */
#include "cli.h"

static sl_status run(struct cli_args *args)
{
	const struct cli_command *c;

	if (args->man) {
		cli_man(stdout);
		return SL_OK;
	}
	if (args->bash) {
		cli_completion(stdout);
		return SL_OK;
	}
	if (args->n_operands == 0) {
		cli_help_all(stdout);
		return SL_OK;
	}
	c = cli_command_find(args->operands[0]);
	if (c == NULL)
		return SL_FAIL(SL_E_USAGE, "there is no command '%s'", args->operands[0]);
	cli_help(c, stdout);
	return SL_OK;
}

static const struct cli_option rows[] = {
	{"man", NULL, CLI_FLAG, offsetof(struct cli_args, man), "the manual page"},
	{"completion", NULL, CLI_FLAG, offsetof(struct cli_args, bash),
		"a script for bash"},
};
static const struct cli_options help_options = {rows, 2};
static const struct cli_options *const groups[] = {
	&help_options, &cli_output_options, NULL};

const struct cli_command cli_command_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.min_operands = 0,
	.max_operands = 1,
	.summary = "this text, or a command's",
	.examples = "  sluice help train\n  sluice help --man >sluice.1\n  . <(sluice "
		    "help --completion)\n",
	.groups = groups,
	.run = run,
};
