/* SPDX-License-Identifier: Apache-2.0 */
/* sluice repro: the tables of a paper on our models, its figures beside ours. */
#include "cli.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "output.h"
#include "repro_figure.h"

static void on_progress(void *ctx, const char *what, double done)
{
	const struct cli_repro *s = ctx;
	bool tty = isatty(STDERR_FILENO);

	if (s->args->quiet || s->args->json)
		return;
	fprintf(stderr, "%s%3.0f %%  %s%s", tty ? "\r" : "", 100 * done, what,
		tty ? "\033[K" : "\n");
	fflush(stderr);
}

static const char *const names[] = {[SL_REPRO_SINGLE] = "single",
	[SL_REPRO_COPIES] = "copies",
	[SL_REPRO_BATCH] = "batch"};
static const char *const titles[] = {[SL_REPRO_SINGLE] = "One job, batch 16",
	[SL_REPRO_COPIES] = "Copies of one job, batch 2",
	[SL_REPRO_BATCH] = "One job, by batch"};

static const char *number(char text[16], double x)
{
	snprintf(text, 16, isfinite(x) ? "%.3f" : "-", x);
	return text;
}

static double cbr(double msr, double eor)
{
	return eor > 0.0005 ? msr / eor : (double)NAN;
}

static sl_status head(struct cli_repro *s, enum sl_repro_table table)
{
	if (s->table == (int)table)
		return SL_OK;
	s->table = (int)table;
	return sl_buf_printf(&s->text,
		"\n## %s\n\n"
		"| %-11s | batch | copies | plan | MSR paper | rules | ours  | EOR paper "
		"| rules | ours  | CBR paper | rules  | ours   |\n"
		"|-------------|------:|-------:|------|----------:|------:|------:|-----"
		"--"
		"---:|------:|------:|----------:|-------:|-------:|\n",
		titles[table], "model");
}

static sl_status row_text(struct cli_repro *s, const struct sl_repro_row *r)
{
	char n[9][16];

	SL_TRY(head(s, r->table));
	return sl_buf_printf(&s->text,
		"| %-11s | %5lld | %6u | %s | %9s | %5s | %5s | %9s | %5s | %5s | %9s | "
		"%6s | %6s |\n",
		r->model, (long long)r->batch, r->copies, r->cold ? "cold" : "warm",
		number(n[0], r->paper_msr), number(n[1], r->greedy_msr),
		number(n[2], r->msr), number(n[3], r->paper_eor),
		number(n[4], r->greedy_eor), number(n[5], r->eor),
		number(n[6], cbr(r->paper_msr, r->paper_eor)),
		number(n[7], cbr(r->greedy_msr, r->greedy_eor)),
		number(n[8], cbr(r->msr, r->eor)));
}

static sl_status row_json(const struct sl_repro_row *r)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_str(j, "table", names[r->table]);
	sl_json_str(j, "model", r->model);
	sl_json_i64(j, "batch", r->batch);
	sl_json_u64(j, "copies", r->copies);
	sl_json_bool(j, "cold", r->cold);
	sl_json_f64(j, "paper_msr", r->paper_msr);
	sl_json_f64(j, "paper_eor", r->paper_eor);
	sl_json_f64(j, "eor_limit", r->eor_limit);
	sl_json_f64(j, "msr", r->msr);
	sl_json_f64(j, "eor", r->eor);
	sl_json_f64(j, "greedy_msr", r->greedy_msr);
	sl_json_f64(j, "greedy_eor", r->greedy_eor);
	return cli_line_end(&line);
}

static sl_status on_row(void *ctx, const struct sl_repro_row *r)
{
	struct cli_repro *s = ctx;

	s->rows++;
	SL_TRY(row_text(s, r));
	return s->args->json ? row_json(r) : SL_OK;
}

static sl_status on_figure(void *ctx, const struct sl_repro_figure *f)
{
	return cli_repro_figure(ctx, f);
}

static sl_status on_claim(void *ctx, const struct sl_repro_claim *c)
{
	struct cli_repro *s = ctx;
	struct cli_line line;
	struct sl_json *j;

	if (s->claims++ == 0)
		SL_TRY(sl_buf_puts(&s->text, "\n## What the tables show\n\n"));
	s->hold += c->holds;
	SL_TRY(sl_buf_printf(&s->text, "- **%s**: %s. %s\n",
		c->holds ? "holds" : "does not hold", c->text, c->numbers));
	if (!s->args->json)
		return SL_OK;
	j = cli_line_begin(&line, NULL);
	sl_json_str(j, "claim", c->text);
	sl_json_bool(j, "holds", c->holds);
	sl_json_str(j, "numbers", c->numbers);
	return cli_line_end(&line);
}

static sl_status finish_json(const struct cli_repro *s)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, "summary");

	sl_json_u64(j, "rows", s->rows);
	sl_json_u64(j, "claims", s->claims);
	sl_json_u64(j, "hold", s->hold);
	return cli_line_end(&line);
}

static sl_status find(const char *name, const struct sl_repro **out)
{
	char known[256] = "";
	size_t n = 0;

	for (size_t i = 0; (*out = sl_repro_at(i)) != NULL; i++) {
		if (strcmp((*out)->name, name) == 0)
			return SL_OK;
		if (n < sizeof(known))
			n += (size_t)snprintf(
				known + n, sizeof(known) - n, " %s", (*out)->name);
	}
	return SL_FAIL(SL_E_USAGE, "there are no tables of '%s'; there are those of%s",
		name, known);
}

static sl_status check(const struct cli_args *args, const char *name)
{
	struct sl_fs_new probe = {.fd = -1};
	bool tensile = strcmp(name, "tensile") == 0;

	if (args->table != NULL && strcmp(name, "salus") != 0)
		return SL_FAIL(SL_E_USAGE, "--table is a trace of jobs for salus");
	if (args->traces != NULL && strcmp(name, "g10") != 0)
		return SL_FAIL(SL_E_USAGE, "--traces is the folder of g10's traces");
	if (args->n_jobs != 0 && (!tensile || args->n_jobs < 2 || args->n_jobs > 3))
		return SL_FAIL(
			SL_E_USAGE, "--jobs is for tensile, which plans 2 or 3 together");
	/* What will be written at the end must not fail only then. */
	if (args->output != NULL && args->output[0] != '-') {
		SL_TRY(sl_fs_new_begin(args->output, &probe));
		sl_fs_new_cancel(&probe);
	}
	return SL_OK;
}

static sl_status run(struct cli_args *args)
{
	struct cli_repro s = {.args = args, .text = SL_BUF_INIT, .table = -1};
	const struct sl_repro_opts opts = {.quick = args->quick,
		.stop = &cli_stop,
		.ctx = &s,
		.row = on_row,
		.figure = on_figure,
		.jobs = args->table,
		.traces = args->traces,
		.n_jobs = (uint32_t)args->n_jobs,
		.claim = on_claim,
		.progress = on_progress};
	const struct sl_repro *repro;
	sl_status st;

	SL_TRY(find(args->operands[0], &repro));
	SL_TRY(check(args, repro->name));
	SL_TRY_OUT(sl_buf_puts(&s.text, repro->intro));
	SL_TRY_OUT(repro->run(&opts));
	if (!args->quiet && !args->json && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (args->output != NULL)
		SL_TRY_OUT(cli_write(args->output, &s.text));
	if (args->json)
		SL_TRY_OUT(finish_json(&s));
	else if (args->output == NULL)
		SL_TRY_OUT(cli_write("-", &s.text));
out:
	sl_buf_finish(&s.text);
	return st;
}

static const struct cli_option rows[] = {
	{"quick", NULL, CLI_FLAG, offsetof(struct cli_args, quick),
		"fewer models and cells"},
	{"jobs", "N", CLI_COUNT, offsetof(struct cli_args, n_jobs),
		"tensile: sets of N different jobs, planned together"},
	{"table", "FILE", CLI_TEXT, offsetof(struct cli_args, table),
		"salus: this table of jobs is its trace"},
	{"traces", "DIR", CLI_TEXT, offsetof(struct cli_args, traces),
		"g10: its traces lie there, g10-*.kernels.csv and g10-*.tensors.csv"},
	{"o", "FILE", CLI_TEXT, offsetof(struct cli_args, output),
		"write the tables there, as Markdown"},
};
static const struct cli_options repro_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&repro_options, &cli_output_options, NULL};

const struct cli_command cli_command_repro = {
	.name = "repro",
	.operands = "PAPER",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "a paper's tables on our models, its figures beside ours",
	.examples = "  sluice list papers\n"
		    "  sluice repro tensile --quick\n"
		    "  sluice repro tensile -o tensile.md\n"
		    "  sluice repro salus\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
