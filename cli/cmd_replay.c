/* SPDX-License-Identifier: Apache-2.0 */
/* sluice replay: plans of one or several jobs, carried out in virtual time. */
#include "cli.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "output.h"

struct replay {
	struct sl_planner *planners[CLI_MAX_OPERANDS];
	struct sl_replay_source jobs[CLI_MAX_OPERANDS];
	struct sl_replay_report reports[CLI_MAX_OPERANDS];
	struct sl_replay_sum sum;
	size_t n;
	uint64_t shares_bytes; /* sum of the jobs' budgets that are shares of peaks */
	char plans[4096]; /* --plan, cut at its commas */
	struct sl_buf events, timeline;
};

static void report_json(struct sl_json *j, const struct sl_replay_report *r)
{
	sl_json_str(j, "job", r->name);
	sl_json_str(j, "policy", r->policy);
	sl_json_u64(j, "budget_bytes", r->budget_bytes);
	sl_json_u64(j, "peak_bytes", r->peak_bytes);
	sl_json_u64(j, "unbudgeted_peak_bytes", r->unbudgeted_peak_bytes);
	sl_json_u64(j, "held_peak_bytes", r->held_peak_bytes);
	sl_json_u64(j, "base_iter_ns", r->base_iter_ns);
	sl_json_u64(j, "bare_iter_ns", r->bare_iter_ns);
	sl_json_u64(j, "first_iter_ns", r->first_iter_ns);
	sl_json_u64(j, "iter_ns", r->iter_ns);
	sl_json_f64(j, "msr", r->msr);
	sl_json_f64(j, "eor", r->eor);
	sl_json_f64(j, "cbr", r->cbr);
	sl_json_u64(j, "stall_ns", r->stall_ns);
	sl_json_u64(j, "turn_ns", r->turn_ns);
	sl_json_u64(j, "recompute_ns", r->recompute_ns);
	sl_json_u64(j, "recompute_ops", r->recompute_ops);
	sl_json_u64(j, "swap_out_bytes", r->swap_out_bytes);
	sl_json_u64(j, "swap_in_bytes", r->swap_in_bytes);
	sl_json_u64(j, "move_bytes", r->move_bytes);
	sl_json_u64(j, "swap_ins", r->swap_ins);
	sl_json_u64(j, "passive_swap_ins", r->passive_swap_ins);
}

static sl_status sum_json(const struct sl_replay_sum *s)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, "summary");

	sl_json_u64(j, "end_ns", s->end_ns);
	sl_json_u64(j, "bare_end_ns", s->bare_end_ns);
	if (s->budget_bytes > 0)
		sl_json_u64(j, "budget_bytes", s->budget_bytes);
	sl_json_u64(j, "peak_bytes", s->peak_bytes);
	sl_json_u64(j, "unbudgeted_peak_bytes", s->unbudgeted_peak_bytes);
	sl_json_u64(j, "held_peak_bytes", s->held_peak_bytes);
	sl_json_f64(j, "msr", s->msr);
	sl_json_f64(j, "eor", s->eor);
	sl_json_f64(j, "cbr", s->cbr);
	sl_json_open(j, "links", '[');
	for (size_t i = 0; i < s->n_wires; i++) {
		sl_json_open(j, NULL, '{');
		sl_json_str(j, "from", s->wires[i].from);
		sl_json_str(j, "to", s->wires[i].to);
		sl_json_bool(j, "half_duplex", s->wires[i].half_duplex);
		sl_json_u64(j, "bytes", s->wires[i].bytes);
		sl_json_f64(j, "busy_ratio", s->wires[i].busy_ratio);
		sl_json_close(j, '}');
	}
	sl_json_close(j, ']');
	return cli_line_end(&line);
}

static sl_status show_json(const struct replay *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct cli_line line;

		report_json(cli_line_begin(&line, NULL), &r->reports[i]);
		SL_TRY(cli_line_end(&line));
	}
	return sum_json(&r->sum);
}

/* A ratio, or '-' where there is none. */
static const char *number(char text[16], double x)
{
	snprintf(text, 16, isfinite(x) ? "%.3f" : "-", x);
	return text;
}

static void row_text(const struct sl_replay_report *r)
{
	char peak[SL_SIZE_TEXT], moved[SL_SIZE_TEXT], cbr[16];

	printf("%-16.16s %-8s %12s %7.3f %10.2f %10.2f %8.3f %8s %10.2f %12s %6llu "
	       "%4llu/%llu\n",
		r->name, r->policy, sl_size_print(r->peak_bytes, peak), r->msr,
		(double)r->bare_iter_ns / 1e6, (double)r->iter_ns / 1e6, r->eor,
		number(cbr, r->cbr), (double)r->stall_ns / 1e6,
		sl_size_print(r->swap_in_bytes + r->swap_out_bytes, moved),
		(unsigned long long)r->recompute_ops,
		(unsigned long long)r->passive_swap_ins, (unsigned long long)r->swap_ins);
}

/* How a budget for all was split. */
static void parts_text(const struct replay *r)
{
	char bytes[SL_SIZE_TEXT];

	printf("budget %s for all:", sl_size_print(r->sum.budget_bytes, bytes));
	for (size_t i = 0; i < r->n; i++)
		printf("%s %s %s", i > 0 ? "," : "", r->reports[i].name,
			sl_size_print(r->reports[i].budget_bytes, bytes));
	printf("\n");
}

static sl_status show_text(const struct replay *r)
{
	const struct sl_replay_sum *s = &r->sum;
	char bytes[SL_SIZE_TEXT], cbr[16];

	printf("%-16s %-8s %12s %7s %10s %10s %8s %8s %10s %12s %6s %s\n", "job",
		"policy", "peak", "MSR", "bare ms", "step ms", "EOR", "CBR", "stall ms",
		"moved/step", "again", "late ins");
	for (size_t i = 0; i < r->n; i++)
		row_text(&r->reports[i]);
	printf("all: %.2f ms (bare %.2f), MSR %.3f, EOR %.3f, CBR %s; most held at once "
	       "%s\n",
		(double)s->end_ns / 1e6, (double)s->bare_end_ns / 1e6, s->msr, s->eor,
		number(cbr, s->cbr), sl_size_print(s->held_peak_bytes, bytes));
	if (s->budget_bytes > 0)
		parts_text(r);
	for (size_t i = 0; i < s->n_wires; i++)
		printf("link %s %s %s: %s, busy %.1f %% of the time\n", s->wires[i].from,
			s->wires[i].half_duplex ? "and" : "to", s->wires[i].to,
			sl_size_print(s->wires[i].bytes, bytes),
			100 * s->wires[i].busy_ratio);
	return SL_OK;
}

/* The next part of a list with commas, which is cut there; NULL after the last one. */
static char *next_part(char **list)
{
	char *part = *list, *comma = part != NULL ? strchr(part, ',') : NULL;

	if (comma != NULL)
		*comma = '\0';
	*list = comma != NULL ? comma + 1 : NULL;
	return part;
}

static sl_status set_phases(struct replay *r, const char *text)
{
	char copy[256], *list = copy;
	size_t i = 0;

	if (text == NULL)
		return SL_OK;
	if (strlen(text) >= sizeof(copy))
		return SL_FAIL(
			SL_E_USAGE, "--phases has over %zu characters", sizeof(copy) - 1);
	memcpy(copy, text, strlen(text) + 1);
	for (char *part; (part = next_part(&list)) != NULL; i++) {
		double ms;

		if (sl_f64_parse(part, &ms) != SL_OK || !(ms >= 0 && ms <= 1e9))
			return SL_FAIL(SL_E_USAGE,
				"--phases: '%s' is no number of milliseconds from 0 to "
				"1e9",
				part);
		if (i < r->n)
			r->jobs[i].phase_ns = (uint64_t)(ms * 1e6);
	}
	return i == r->n ? SL_OK
			 : SL_FAIL(SL_E_USAGE,
				   "--phases names %zu times for %zu jobs; give one each",
				   i, r->n);
}

/* One plan is every job's, several are one's each. */
static sl_status set_plans(struct replay *r, const char *text)
{
	char *list = r->plans, *part, *first = NULL;
	size_t i = 0;

	if (text == NULL)
		return SL_OK;
	if (strlen(text) >= sizeof(r->plans))
		return SL_FAIL(SL_E_USAGE, "--plan has over %zu characters",
			sizeof(r->plans) - 1);
	memcpy(r->plans, text, strlen(text) + 1);
	for (; (part = next_part(&list)) != NULL; i++) {
		first = i == 0 ? part : first;
		if (i < r->n)
			r->jobs[i].plan_path = part;
	}
	for (size_t k = 1; i == 1 && k < r->n; k++)
		r->jobs[k].plan_path = first;
	return i == 1 || i == r->n ? SL_OK
				   : SL_FAIL(SL_E_USAGE,
					     "--plan names %zu plans for %zu jobs; give "
					     "one, or one each",
					     i, r->n);
}

static sl_status open_jobs(struct replay *r, struct cli_args *args)
{
	for (r->n = 0; r->n < (size_t)args->n_operands; r->n++) {
		struct sl_planner **p = &r->planners[r->n];
		uint64_t budget;

		args->config.model = args->operands[r->n];
		SL_TRY(sl_planner_open(&args->config, &args->planner, p));
		budget = args->config.budget_bytes;
		if (args->config.budget_ratio > 0)
			budget = sl_planner_share(*p, args->config.budget_ratio);
		r->shares_bytes += args->config.budget_ratio > 0 ? budget : 0;
		r->jobs[r->n] = (struct sl_replay_source){.planner = *p,
			.name = args->operands[r->n],
			.policy = args->config.policy,
			.budget_bytes = args->joint ? 0 : budget,
			.iterations =
				args->iterations > 0 ? (uint32_t)args->iterations : 3};
	}
	SL_TRY(set_phases(r, args->phases));
	return set_plans(r, args->config.plan_path);
}

static sl_status write_pictures(const struct replay *r, const struct cli_args *args)
{
	if (args->events != NULL)
		SL_TRY(cli_write(args->events, &r->events));
	if (args->timeline != NULL)
		SL_TRY(cli_write(args->timeline, &r->timeline));
	return SL_OK;
}

static sl_status run(struct cli_args *args)
{
	struct replay r = {.events = SL_BUF_INIT, .timeline = SL_BUF_INIT};
	struct sl_replay_config config = {.own_compute = args->own_compute,
		.events = args->events != NULL ? &r.events : NULL,
		.timeline = args->timeline != NULL ? &r.timeline : NULL};
	sl_status st;

	if (args->joint &&
		((args->config.budget_bytes == 0 && !(args->config.budget_ratio > 0)) ||
			args->config.plan_path != NULL))
		return SL_FAIL(SL_E_USAGE,
			"--joint needs --budget, for all jobs together, and no --plan");
	SL_TRY_OUT(open_jobs(&r, args));
	if (args->joint)
		config.joint_budget_bytes = args->config.budget_bytes > 0
						    ? args->config.budget_bytes
						    : r.shares_bytes;
	SL_TRY_OUT(sl_replay_jobs(r.jobs, r.n, &config, r.reports, &r.sum));
	SL_TRY_OUT(write_pictures(&r, args));
	SL_TRY_OUT(args->json ? show_json(&r) : show_text(&r));
out:
	for (size_t i = 0; i < CLI_MAX_OPERANDS; i++)
		sl_planner_close(r.planners[i]);
	sl_buf_finish(&r.events);
	sl_buf_finish(&r.timeline);
	return st;
}

static const struct cli_option rows[] = {
	{"iterations", "N", CLI_COUNT, offsetof(struct cli_args, iterations),
		"of each job (default: 3)"},
	{"phases", "MS,...", CLI_TEXT, offsetof(struct cli_args, phases),
		"when each job begins (default: all at 0)"},
	{"joint", NULL, CLI_FLAG, offsetof(struct cli_args, joint),
		"plan the jobs together; --budget is for all of them"},
	{"own-compute", NULL, CLI_FLAG, offsetof(struct cli_args, own_compute),
		"a device for each job; only links are shared"},
	{"trace", "FILE", CLI_TEXT, offsetof(struct cli_args, events),
		"what happened, as JSON for Perfetto"},
	{"timeline", "FILE", CLI_TEXT, offsetof(struct cli_args, timeline),
		"the same as CSV"},
};
static const struct cli_options replay_options = {rows, sizeof(rows) / sizeof(rows[0])};

static const struct cli_options *const groups[] = {&replay_options, &cli_tier_options,
	&cli_memory_options, &cli_model_options, &cli_output_options, NULL};

const struct cli_command cli_command_replay = {
	.name = "replay",
	.operands = "MODEL|TRACE...",
	.min_operands = 1,
	.max_operands = CLI_MAX_OPERANDS,
	.summary =
		"carries plans out in virtual time; jobs share the device and its links",
	.examples =
		"  sluice replay resnet18 --batch 8 --budget 256MiB --trace step.json\n"
		"  sluice replay a.trace b.trace --plan a.plan,b.plan --phases 0,12.5\n"
		"  sluice replay lenet5 lenet5 --batch 64 --budget 2MiB --duplex half "
		"--json\n"
		"  sluice replay a.trace b.trace c.trace --joint --budget 64MiB\n",
	.groups = groups,
	.run = run,
};
