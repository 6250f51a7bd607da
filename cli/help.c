/* SPDX-License-Identifier: Apache-2.0 */
/* Help, manual and completion, printed from the tables of commands and options. */
#include "cli.h"

#include <string.h>

void cli_help_all(FILE *out)
{
	fputs("sluice trains and runs deep-learning models inside a hard memory "
	      "budget.\n\n"
	      "usage: sluice COMMAND [operands] [options]\n\n",
		out);
	for (size_t i = 0; cli_command_at(i) != NULL; i++)
		fprintf(out, "  %-9s %s\n", cli_command_at(i)->name,
			cli_command_at(i)->summary);
	fputs("\nexamples:\n"
	      "  sluice train lenet5 --data idx:/usr/share/datasets/fashion-mnist "
	      "--eval\n"
	      "  sluice plan resnet18 --batch 8 --budget 512MiB\n"
	      "  sluice train gpt2:layers=4,width=256 --data text:kjv.txt --budget "
	      "64MiB\n"
	      "  sluiced --budget 2GiB        # then, in other terminals: sluice train "
	      "resnet18 --shared; sluice top\n\n"
	      "`sluice COMMAND --help` tells more. SIZE is bytes, or with KiB MiB GiB, "
	      "KB MB GB.\n",
		out);
}

/* One letter has one dash. */
static const char *dashes(const struct cli_option *row)
{
	return strlen(row->name) == 1 ? "-" : "--";
}

static void print_option(const struct cli_option *row, FILE *out)
{
	char left[64];

	snprintf(left, sizeof(left), "%s%s%s%s", dashes(row), row->name,
		row->value != NULL ? " " : "", row->value != NULL ? row->value : "");
	fprintf(out, "  %-20s %s\n", left, row->help);
}

void cli_help(const struct cli_command *c, FILE *out)
{
	fprintf(out, "sluice %s: %s\n\nusage: sluice %s%s%s [options]\n\noptions:\n",
		c->name, c->summary, c->name, c->operands[0] != '\0' ? " " : "",
		c->operands);
	for (size_t g = 0; c->groups[g] != NULL; g++)
		for (size_t i = 0; i < c->groups[g]->n; i++)
			print_option(&c->groups[g]->rows[i], out);
	fprintf(out, "\nexamples:\n%s", c->examples);
}

static void man_text(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		if (*text == '-' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void man_option(const struct cli_option *row, FILE *out)
{
	fputs(".TP\n.B ", out);
	man_text(dashes(row), out);
	man_text(row->name, out);
	fprintf(out, "%s%s\n", row->value != NULL ? " " : "",
		row->value != NULL ? row->value : "");
	man_text(row->help, out);
	fputc('\n', out);
}

void cli_man(FILE *out)
{
	fputs(".TH SLUICE 1\n.SH NAME\nsluice \\- train and run models inside a hard "
	      "memory budget\n"
	      ".SH SYNOPSIS\n.B sluice\n.I COMMAND\n[operands] [options]\n.SH COMMANDS\n",
		out);
	for (size_t i = 0; cli_command_at(i) != NULL; i++) {
		const struct cli_command *c = cli_command_at(i);

		fprintf(out, ".SS sluice %s %s\n", c->name, c->operands);
		man_text(c->summary, out);
		fputs(".\n", out);
		for (size_t g = 0; c->groups[g] != NULL; g++)
			for (size_t k = 0; k < c->groups[g]->n; k++)
				man_option(&c->groups[g]->rows[k], out);
		fputs(".PP\n.nf\n", out);
		man_text(c->examples, out);
		fputs(".fi\n", out);
	}
	fputs(".SH EXIT STATUS\n.nf\n", out);
	for (int st = 0; st < SL_STATUS_COUNT; st++)
		fprintf(out, "%3d  %s\n", sl_status_exit_code((sl_status)st),
			sl_status_text((sl_status)st));
	fputs(".fi\n", out);
}

void cli_completion(FILE *out)
{
	fputs("_sluice()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n"
	      "\tif [ $COMP_CWORD -eq 1 ]; then\n\t\twords='",
		out);
	for (size_t i = 0; cli_command_at(i) != NULL; i++)
		fprintf(out, "%s%s", i > 0 ? " " : "", cli_command_at(i)->name);
	fputs("'\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n", out);
	for (size_t i = 0; cli_command_at(i) != NULL; i++) {
		const struct cli_command *c = cli_command_at(i);

		fprintf(out, "\t\t%s) words='", c->name);
		for (size_t g = 0; c->groups[g] != NULL; g++)
			for (size_t k = 0; k < c->groups[g]->n; k++)
				fprintf(out, "%s%s ", dashes(&c->groups[g]->rows[k]),
					c->groups[g]->rows[k].name);
		fputs("' ;;\n", out);
	}
	fputs("\t\tesac\n\tfi\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
	      "complete -o default -F _sluice sluice\n",
		out);
}
