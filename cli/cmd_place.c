/* SPDX-License-Identifier: Apache-2.0 */
/* sluice place: addresses for buffers whose lifetimes are known. */
#include "cli.h"

#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "output.h"

static double ratio_of(const struct sl_place_report *r)
{
	return r->load_bytes > 0 && r->height_bytes >= r->base_bytes
		       ? (double)(r->height_bytes - r->base_bytes) / (double)r->load_bytes
		       : 1;
}

static sl_status report_json(const struct sl_place_report *r)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, "summary");

	sl_json_u64(j, "buffers", r->buffers);
	sl_json_u64(j, "fixed", r->fixed);
	sl_json_u64(j, "load_bytes", r->load_bytes);
	sl_json_u64(j, "height_bytes", r->height_bytes);
	sl_json_u64(j, "base_bytes", r->base_bytes);
	sl_json_u64(j, "capacity_bytes", r->capacity_bytes);
	sl_json_u64(j, "bound_bytes", r->bound_bytes);
	sl_json_u64(j, "nodes", r->nodes);
	sl_json_f64(j, "ratio", ratio_of(r));
	sl_json_bool(j, "valid", r->valid);
	if (!r->valid)
		sl_json_str(j, "reason", sl_last_error());
	sl_json_f64(j, "seconds", (double)r->place_ns * 1e-9);
	return cli_line_end(&line);
}

static void report_text(const struct sl_place_report *r, bool validate)
{
	printf("%llu buffers (%llu fixed), load %llu, height %llu (%.4f x load), %.1f "
	       "ms%s\n",
		(unsigned long long)r->buffers, (unsigned long long)r->fixed,
		(unsigned long long)r->load_bytes, (unsigned long long)r->height_bytes,
		ratio_of(r), (double)r->place_ns * 1e-6,
		!r->valid  ? ""
		: validate ? ", sound"
			   : "");
}

static bool is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

static sl_status check_output(const struct cli_args *args)
{
	if (is_stdout(args->output) && (args->json || is_stdout(args->svg)))
		return SL_FAIL(SL_E_USAGE,
			"a table on standard output stands there alone; give a file's "
			"name");
	if (is_stdout(args->svg) && args->json)
		return SL_FAIL(SL_E_USAGE,
			"a picture on standard output stands there alone; give a file's "
			"name");
	return SL_OK;
}

static bool must_stop(void *ctx)
{
	(void)ctx;
	return cli_stop != 0;
}

/* Standard output holds results. */
static void show(void *ctx, uint64_t height, uint64_t nodes)
{
	const struct cli_args *args = ctx;

	if (!args->quiet)
		fprintf(stderr, "searched %llu nodes: lowest height %llu\n",
			(unsigned long long)nodes, (unsigned long long)height);
}

static sl_status run(struct cli_args *args)
{
	struct sl_buf csv = SL_BUF_INIT, svg = SL_BUF_INIT;
	struct sl_place_report r;
	sl_status st, placed;

	SL_TRY(check_output(args));
	args->place.threads = args->threads > INT_MAX ? INT_MAX : (int)args->threads;
	args->place.nodes = (uint64_t)args->nodes;
	args->place.stop = must_stop;
	args->place.progress = show;
	args->place.ctx = args;
	placed = sl_place_file(args->operands[0], &args->place, &r,
		args->output ? &csv : NULL, args->svg ? &svg : NULL);
	st = placed;
	if (placed != SL_OK && placed != SL_E_NO && placed != SL_E_INTERRUPTED)
		goto out;
	/* Whoever interrupts it gets the best so far. */
	if (placed != SL_E_NO && args->output)
		SL_TRY_OUT(cli_write(args->output, &csv));
	if (placed != SL_E_NO && args->svg)
		SL_TRY_OUT(cli_write(args->svg, &svg));
	if (args->json)
		SL_TRY_OUT(report_json(&r));
	else if (placed == SL_OK && !is_stdout(args->output) && !is_stdout(args->svg))
		report_text(&r, args->place.validate);
	st = placed;
out:
	sl_buf_finish(&csv);
	sl_buf_finish(&svg);
	return st;
}

static const struct cli_option rows[] = {
	{"capacity", "BYTES", CLI_SIZE, offsetof(struct cli_args, place.capacity_bytes),
		"no buffer may end above it (default: as low as is found)"},
	{"base", "BYTES", CLI_SIZE0, offsetof(struct cli_args, place.base_bytes),
		"lowest offset given (default: 0)"},
	{"fast", NULL, CLI_FLAG, offsetof(struct cli_args, place.fast),
		"search for milliseconds, not until found"},
	{"nodes", "N", CLI_COUNT, offsetof(struct cli_args, nodes),
		"effort of the exact search (default: 6 million with a capacity, else "
		"100 thousand for each height tried)"},
	{"threads", "N", CLI_COUNT, offsetof(struct cli_args, threads),
		"of the exact search (default: all cores; same result)"},
	{"validate", NULL, CLI_FLAG, offsetof(struct cli_args, place.validate),
		"check the offsets of the file pair by pair; place nothing"},
	{"o", "OUT.csv", CLI_TEXT, offsetof(struct cli_args, output),
		"write the input's columns and offset"},
	{"svg", "FILE", CLI_TEXT, offsetof(struct cli_args, svg),
		"draw the placement: time across, address up"},
};
static const struct cli_options place_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&place_options, &cli_output_options, NULL};

const struct cli_command cli_command_place = {
	.name = "place",
	.operands = "FILE.csv",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "gives buffers of known lifetimes their addresses",
	.examples = "  sluice place buffers.csv --capacity 1MiB -o placed.csv --svg "
		    "placed.svg\n"
		    "  sluice place placed.csv --validate --capacity 1MiB\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
