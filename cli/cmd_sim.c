/* SPDX-License-Identifier: Apache-2.0 */
/* sluice sim: a table of jobs on one shared device, in virtual time. */
#include "cli.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "output.h"
#include "sluice/job.h"

#define MAX_POLICIES 16
#define NO_SIZES_BYTES ((uint64_t)1 << 60)

static void put_figures(
	struct sl_json *j, const struct sl_sim_report *r, double fifo_mean_jct_s)
{
	sl_json_str(j, "policy", r->policy);
	sl_json_u64(j, "jobs", r->jobs);
	sl_json_u64(j, "capacity_bytes", r->capacity_bytes);
	sl_json_u64(j, "peak_bytes", r->peak_bytes);
	sl_json_u64(j, "lanes", r->lanes);
	sl_json_f64(j, "makespan_min", r->makespan_s / 60);
	sl_json_f64(j, "mean_queue_min", r->mean_queue_s / 60);
	sl_json_f64(j, "longest_queue_min", r->longest_queue_s / 60);
	sl_json_f64(j, "mean_jct_min", r->mean_jct_s / 60);
	sl_json_f64(j, "p95_jct_min", r->p95_jct_s / 60);
	sl_json_f64(j, "max_jct_min", r->max_jct_s / 60);
	sl_json_f64(j, "jain_fairness", r->jain_fairness);
	sl_json_u64(j, "switches", r->switches);
	sl_json_u64(j, "parks", r->parks);
	sl_json_u64(j, "steps", r->steps);
	if (fifo_mean_jct_s > 0 && r->mean_jct_s > 0)
		sl_json_f64(
			j, "fifo_mean_jct_over_this", fifo_mean_jct_s / r->mean_jct_s);
}

static sl_status print_json(const struct sl_sim_report *all, size_t n, double fifo)
{
	struct cli_line line;
	struct sl_json *j;

	for (size_t i = 0; n > 1 && i < n; i++) {
		put_figures(cli_line_begin(&line, "policy"), &all[i], fifo);
		SL_TRY(cli_line_end(&line));
	}
	j = cli_line_begin(&line, "summary");
	if (n == 1) {
		put_figures(j, &all[0], 0);
	} else {
		sl_json_u64(j, "jobs", all[0].jobs);
		sl_json_u64(j, "capacity_bytes", all[0].capacity_bytes);
		sl_json_u64(j, "policies", n);
	}
	return cli_line_end(&line);
}

static void print_text(const struct sl_sim_report *all, size_t n, double fifo)
{
	printf("%llu jobs; minutes\n%-6s %9s %9s %9s %9s %9s %6s %5s%s\n",
		(unsigned long long)all[0].jobs, "policy", "makespan", "queue", "jct",
		"p95 jct", "max jct", "jain", "lanes", n > 1 ? "  fifo/this" : "");
	for (size_t i = 0; i < n; i++) {
		const struct sl_sim_report *r = &all[i];
		char jain[16] = "-";

		if (!isnan(r->jain_fairness))
			snprintf(jain, sizeof(jain), "%.3f", r->jain_fairness);
		printf("%-6s %9.2f %9.2f %9.2f %9.2f %9.2f %6s %5u", r->policy,
			r->makespan_s / 60, r->mean_queue_s / 60, r->mean_jct_s / 60,
			r->p95_jct_s / 60, r->max_jct_s / 60, jain, r->lanes);
		if (n > 1 && r->mean_jct_s > 0)
			printf("  %9.3f", fifo / r->mean_jct_s);
		printf("\n");
	}
}

static bool is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

/* Where each text goes, in the order of struct sl_sim_output. */
struct outputs {
	const char *path[4];
	struct sl_buf text[4];
};

static sl_status check_outputs(
	const struct cli_args *args, const struct outputs *o, bool all)
{
	int given = 0, to_stdout = args->json;

	for (int i = 0; i < 4; i++) {
		given += o->path[i] != NULL;
		to_stdout += is_stdout(o->path[i]);
	}
	if (all && given > 0)
		return SL_FAIL(SL_E_USAGE,
			"files are written for one policy; name it: --policy srtf");
	if (to_stdout > 1)
		return SL_FAIL(SL_E_USAGE,
			"a text on standard output stands there alone; give a file's "
			"name");
	return SL_OK;
}

static sl_status run_policies(
	struct sl_sim_jobs *jobs, struct cli_args *args, struct outputs *o)
{
	struct sl_sim_report all[MAX_POLICIES];
	struct sl_sim_config config = args->sim;
	bool every = strcmp(args->config.policy, "all") == 0, quiet = false;
	struct sl_buf *slot[4];
	struct sl_sim_output texts = {0};
	double fifo = 0;
	size_t n = 0;

	for (int i = 0; i < 4; i++) {
		slot[i] = o->path[i] ? &o->text[i] : NULL;
		quiet |= is_stdout(o->path[i]);
	}
	texts = (struct sl_sim_output){slot[0], slot[1], slot[2], slot[3]};
	config.policy = args->config.policy;
	for (; n < MAX_POLICIES && (every || n == 0); n++) {
		if (every)
			config.policy = sl_job_policy_name_at(n, NULL);
		if (!config.policy)
			break;
		SL_TRY(sl_sim_jobs_run(jobs, &config, &all[n], &texts));
		if (every && strcmp(all[n].policy, "fifo") == 0)
			fifo = all[n].mean_jct_s;
	}
	for (int i = 0; i < 4; i++)
		if (o->path[i])
			SL_TRY(cli_write(o->path[i], &o->text[i]));
	if (args->json)
		return print_json(all, n, fifo);
	if (!quiet)
		print_text(all, n, fifo);
	return SL_OK;
}

static sl_status replay(const struct cli_args *args)
{
	struct sl_sim_replay r = {0};
	sl_status st = sl_sim_replay_file(args->decisions, &r);
	struct cli_line line;
	struct sl_json *j;

	if (st != SL_OK && st != SL_E_NO)
		return st;
	if (args->json) {
		j = cli_line_begin(&line, "summary");
		sl_json_str(j, "policy", r.policy);
		sl_json_u64(j, "events", r.events);
		sl_json_u64(j, "decisions", r.decisions);
		sl_json_bool(j, "same", st == SL_OK);
		if (st != SL_OK)
			sl_json_str(j, "reason", sl_last_error());
		SL_TRY(cli_line_end(&line));
	} else if (st == SL_OK) {
		printf("%s: %llu events, %llu decisions, all the same and sound\n",
			r.policy, (unsigned long long)r.events,
			(unsigned long long)r.decisions);
	}
	return st;
}

static sl_status run(struct cli_args *args)
{
	struct outputs o = {
		.path = {args->output, args->timeline, args->svg, args->record},
		.text = {SL_BUF_INIT, SL_BUF_INIT, SL_BUF_INIT, SL_BUF_INIT}};
	struct sl_sim_jobs *jobs = NULL;
	bool no_memory;
	sl_status st;

	if ((args->decisions != NULL) == (args->n_operands > 0))
		return SL_FAIL(SL_E_USAGE,
			"give a table of jobs, or --decisions FILE and no table");
	if (args->decisions)
		return replay(args);
	if (!args->config.policy)
		args->config.policy = "all";
	SL_TRY(check_outputs(args, &o, strcmp(args->config.policy, "all") == 0));
	SL_TRY_OUT(sl_sim_jobs_open(args->operands[0], &jobs, &no_memory));
	if (no_memory)
		fprintf(stderr,
			"sluice: %s has no columns persistent_mb and ephemeral_mb: "
			"every job takes 0 bytes\n",
			args->operands[0]);
	if (args->sim.capacity_bytes == 0 && !no_memory) {
		st = SL_FAIL(SL_E_USAGE, "say how large the device is: --capacity 14GiB");
		goto out;
	}
	if (args->sim.capacity_bytes == 0)
		args->sim.capacity_bytes = NO_SIZES_BYTES;
	SL_TRY_OUT(run_policies(jobs, args, &o));
out:
	sl_sim_jobs_close(jobs);
	for (int i = 0; i < 4; i++)
		sl_buf_finish(&o.text[i]);
	return st;
}

static const struct cli_option rows[] = {
	{"policy", "NAME", CLI_TEXT, offsetof(struct cli_args, config.policy),
		"fair fifo pack rr srtf, or all for a table (default: all)"},
	{"capacity", "SIZE", CLI_SIZE, offsetof(struct cli_args, sim.capacity_bytes),
		"bytes of the device, such as 14GiB"},
	{"lanes", "N", CLI_COUNT, offsetof(struct cli_args, sim.lanes),
		"at most N lanes (default: 1; pack: as many as fit)"},
	{"max-wait", "SECONDS", CLI_REAL, offsetof(struct cli_args, sim.max_wait_s),
		"a job that waited so long goes first; 0: none does (default: 21600)"},
	{"quantum", "SECONDS", CLI_REAL, offsetof(struct cli_args, sim.quantum_s),
		"service before a resident's memory moves away for an equal; 0: never "
		"(default: 0)"},
	{"park-rate", "RATE", CLI_RATE, offsetof(struct cli_args, sim.park_bytes_per_s),
		"how fast it moves, such as 1.7GB/s (default: at once)"},
	{"o", "OUT.csv", CLI_TEXT, offsetof(struct cli_args, output), "a row a job"},
	{"timeline", "FILE", CLI_TEXT, offsetof(struct cli_args, timeline),
		"a row an interval of constant share"},
	{"svg", "FILE", CLI_TEXT, offsetof(struct cli_args, svg),
		"draw lanes over time, and each job's wait"},
	{"record", "FILE", CLI_TEXT, offsetof(struct cli_args, record),
		"write events and decisions"},
	{"decisions", "FILE", CLI_TEXT, offsetof(struct cli_args, decisions),
		"decide a recorded log again, line for line"},
};
static const struct cli_options sim_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&sim_options, &cli_output_options, NULL};

const struct cli_command cli_command_sim = {
	.name = "sim",
	.operands = "JOBS.csv",
	.min_operands = 0,
	.max_operands = 1,
	.summary = "runs a table of jobs on one shared device in virtual time",
	.examples = "  sluice sim jobs.csv --capacity 14GiB\n"
		    "  sluice sim jobs.csv --capacity 14GiB --policy pack -o out.csv "
		    "--svg lanes.svg\n"
		    "  sluice sim --decisions recorded.log\n",
	.groups = groups,
	.run = run,
};
