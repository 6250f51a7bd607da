/* SPDX-License-Identifier: Apache-2.0 */
/* sluice calibrate: measures this machine's cost book. */
#include "cli.h"

#include <unistd.h>

#include "base/fs.h"
#include "base/units.h"
#include "output.h"
#include "sluice/costs.h"

static void on_progress(void *ctx, const char *what, double done)
{
	const struct cli_args *args = ctx;
	bool tty = isatty(STDERR_FILENO);

	if (args->quiet || args->json)
		return;
	fprintf(stderr, "%s%3.0f %%  %s%s", tty ? "\r" : "", 100 * done, what,
		tty ? "\033[K" : "\n");
	fflush(stderr);
}

static double share(const struct sl_calibrate_check *c)
{
	return c->iter_ms > 0 ? c->predicted_ms / c->iter_ms - 1 : 0;
}

static void report_text(const struct sl_calibrate_report *r)
{
	char size[SL_SIZE_TEXT];

	printf("%-18s %8s %8s %9s %9s %9s %6s\n", "op", "samples", "error", "start ns",
		"GFLOP/s", "GB/s", "load");
	for (uint32_t i = 0; i < r->n_rows; i++) {
		const struct sl_calibrate_row *o = &r->rows[i];

		printf("%-18s %8u %6.1f %% %9.0f %9.3g %9.3g %6.2f\n", o->kind,
			o->samples, 100 * o->error, o->start_ns, o->flops_per_s / 1e9,
			o->bytes_per_s / 1e9, o->load);
	}
	for (uint32_t i = 0; i < r->n_links; i++)
		printf("%-8s to %-8s %12s/s, %.1f us a transfer\n", r->links[i].from,
			r->links[i].to, sl_size_print(r->links[i].bytes_per_s, size),
			(double)r->links[i].latency_ns / 1e3);
	printf("\n%-46s %6s %10s %10s %10s %7s\n", "steps that were not fitted", "batch",
		"predicted", "ops", "step ms", "off");
	for (uint32_t i = 0; i < r->n_checks; i++)
		printf("%-46s %6lld %10.2f %10.2f %10.2f %+6.1f%%\n", r->checks[i].model,
			(long long)r->checks[i].batch, r->checks[i].predicted_ms,
			r->checks[i].measured_ms, r->checks[i].iter_ms,
			100 * share(&r->checks[i]));
}

static sl_status report_json(const struct sl_calibrate_report *r)
{
	struct cli_line line;
	struct sl_json *j;

	for (uint32_t i = 0; i < r->n_rows; i++) {
		const struct sl_calibrate_row *o = &r->rows[i];

		j = cli_line_begin(&line, NULL);
		sl_json_str(j, "op", o->kind);
		sl_json_u64(j, "samples", o->samples);
		sl_json_u64(j, "held_out", o->held_out);
		sl_json_f64(j, "error", o->error);
		sl_json_f64(j, "start_ns", o->start_ns);
		sl_json_f64(j, "flops_per_s", o->flops_per_s);
		sl_json_f64(j, "bytes_per_s", o->bytes_per_s);
		sl_json_f64(j, "load", o->load);
		SL_TRY(cli_line_end(&line));
	}
	for (uint32_t i = 0; i < r->n_links; i++) {
		j = cli_line_begin(&line, NULL);
		sl_json_str(j, "from", r->links[i].from);
		sl_json_str(j, "to", r->links[i].to);
		sl_json_u64(j, "bytes_per_s", r->links[i].bytes_per_s);
		sl_json_u64(j, "latency_ns", r->links[i].latency_ns);
		SL_TRY(cli_line_end(&line));
	}
	for (uint32_t i = 0; i < r->n_checks; i++) {
		j = cli_line_begin(&line, NULL);
		sl_json_str(j, "model", r->checks[i].model);
		sl_json_i64(j, "batch", r->checks[i].batch);
		sl_json_f64(j, "predicted_ms", r->checks[i].predicted_ms);
		sl_json_f64(j, "measured_ms", r->checks[i].measured_ms);
		sl_json_f64(j, "iter_ms", r->checks[i].iter_ms);
		SL_TRY(cli_line_end(&line));
	}
	j = cli_line_begin(&line, "summary");
	sl_json_u64(j, "rows", r->n_rows);
	sl_json_u64(j, "links", r->n_links);
	sl_json_u64(j, "cores", r->cores);
	sl_json_f64(j, "seconds", r->seconds);
	return cli_line_end(&line);
}

static sl_status run(struct cli_args *args)
{
	struct sl_calibrate_opts opts = {
		.quick = args->quick,
		.disk_folder = args->folder,
		.stop = &cli_stop,
		.ctx = args,
		.progress = on_progress,
	};
	static struct sl_calibrate_report report;
	struct sl_buf text = SL_BUF_INIT;
	struct sl_fs_new probe = {.fd = -1};
	sl_status st;

	/* What will be written at the end must not fail only then. */
	if (args->output != NULL && args->output[0] != '-') {
		SL_TRY(sl_fs_new_begin(args->output, &probe));
		sl_fs_new_cancel(&probe);
	}
	SL_TRY_OUT(sl_calibrate(&opts, &report, &text));
	if (!args->quiet && !args->json && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (args->output != NULL)
		SL_TRY_OUT(cli_write(args->output, &text));
	if (args->json)
		SL_TRY_OUT(report_json(&report));
	else if (args->output == NULL || args->output[0] != '-')
		report_text(&report);
out:
	sl_buf_finish(&text);
	return st;
}

static const struct cli_option rows[] = {
	{"o", "FILE", CLI_TEXT, offsetof(struct cli_args, output),
		"write the cost book, for --costs FILE"},
	{"quick", NULL, CLI_FLAG, offsetof(struct cli_args, quick),
		"20 seconds instead of two minutes"},
	{"disk", "DIR", CLI_TEXT, offsetof(struct cli_args, folder),
		"disk to measure; `none` leaves it out (default: $SLUICE_DISK, else "
		"/var/tmp)"},
};
static const struct cli_options calibrate_options = {
	rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&calibrate_options, &cli_output_options, NULL};

const struct cli_command cli_command_calibrate = {
	.name = "calibrate",
	.operands = "",
	.min_operands = 0,
	.max_operands = 0,
	.summary = "measures how long ops and copies take here",
	.examples = "  sluice calibrate -o here.cost\n"
		    "  sluice plan gpt2 --batch 4 --budget 2GiB --costs here.cost\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
