/* SPDX-License-Identifier: Apache-2.0 */
/* sluice plan: what a budget will cost, before anything runs. */
#include "cli.h"

#include <string.h>

#include "base/units.h"
#include "output.h"

static sl_status row_json(const struct sl_plan_report *r)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_str(j, "policy", r->policy);
	sl_json_bool(j, "feasible", r->feasible);
	sl_json_u64(j, "budget_bytes", r->budget_bytes);
	sl_json_u64(j, "least_budget_bytes", r->least_budget_bytes);
	sl_json_u64(j, "bound_budget_bytes", r->bound_budget_bytes);
	sl_json_u64(j, "binding_op", r->binding_op);
	sl_json_str(j, "binding_kind", r->binding_kind);
	sl_json_str(j, "binding_scope", r->binding_scope);
	sl_json_u64(j, "peak_bytes", r->peak_bytes);
	sl_json_u64(j, "unbudgeted_peak_bytes", r->unbudgeted_peak_bytes);
	sl_json_u64(j, "base_iter_ns", r->base_iter_ns);
	sl_json_u64(j, "iter_ns", r->iter_ns);
	sl_json_u64(j, "swap_out_bytes", r->swap_out_bytes);
	sl_json_u64(j, "swap_in_bytes", r->swap_in_bytes);
	sl_json_u64(j, "recompute_ns", r->recompute_ns);
	sl_json_u64(j, "stall_ns", r->stall_ns);
	sl_json_u64(j, "plan_ns", r->plan_ns);
	sl_json_u64(j, "bound_bytes", r->bound_bytes);
	sl_json_u64(j, "bound_out_bytes", r->bound_out_bytes);
	sl_json_u64(j, "bound_in_bytes", r->bound_in_bytes);
	sl_json_u64(j, "bound_ns", r->bound_ns);
	return cli_line_end(&line);
}

static void row_text(const struct sl_plan_report *r)
{
	char budget[SL_SIZE_TEXT], least[SL_SIZE_TEXT], peak[SL_SIZE_TEXT],
		moved[SL_SIZE_TEXT], step[32] = "-";

	if (r->feasible)
		snprintf(step, sizeof(step), "%.2f", (double)r->iter_ns / 1e6);
	printf("%-8s %12s %12s %12s %12s %10.2f %10s  %s\n", r->policy,
		r->budget_bytes == 0 ? "-" : sl_size_print(r->budget_bytes, budget),
		sl_size_print(r->least_budget_bytes, least),
		r->feasible ? sl_size_print(r->peak_bytes, peak) : "-",
		r->feasible ? sl_size_print(r->swap_in_bytes + r->swap_out_bytes, moved)
			    : "-",
		(double)r->base_iter_ns / 1e6, step,
		r->feasible ? "fits" : "does not fit");
}

static bool is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

/* A plan or a trace on standard output stands there alone. */
static bool shows_rows(const struct cli_args *args)
{
	return !is_stdout(args->output) && !is_stdout(args->config.record_path);
}

static void head_text(void)
{
	printf("%-8s %12s %12s %12s %12s %10s %10s\n", "policy", "budget", "least",
		"peak", "moved/step", "bare ms", "step ms");
}

/* Plans one policy; an infeasible one still gives its row. */
static sl_status plan_one(struct sl_planner *p, const struct cli_args *args,
	const char *policy, struct sl_buf *text, bool *feasible)
{
	struct sl_plan_report r;

	SL_TRY(sl_planner_plan(p, policy, args->config.budget_bytes, &r, text));
	*feasible |= r.feasible;
	if (!shows_rows(args))
		return SL_OK;
	if (args->json)
		return row_json(&r);
	row_text(&r);
	return SL_OK;
}

static sl_status pareto(
	struct sl_planner *p, const struct cli_args *args, const char *policy)
{
	struct sl_plan_report r;

	SL_TRY(sl_planner_plan(p, policy, 0, &r, NULL));
	for (int i = 0; i <= 10; i++) {
		uint64_t low = r.least_budget_bytes, high = r.unbudgeted_peak_bytes;
		uint64_t budget =
			low + (high > low ? (high - low) / 10 * (uint64_t)i : 0);
		struct sl_plan_report point;

		SL_TRY(sl_planner_plan(
			p, policy, sl_align_up(budget, 4096), &point, NULL));
		if (args->json)
			SL_TRY(row_json(&point));
		else
			row_text(&point);
	}
	return SL_OK;
}

static bool wants_all(const struct cli_args *args)
{
	return args->config.policy != NULL && strcmp(args->config.policy, "all") == 0;
}

static sl_status check_output(const struct cli_args *args)
{
	if (args->output != NULL && (args->pareto || wants_all(args)))
		return SL_FAIL(SL_E_USAGE,
			"-o writes one plan; leave %s out, or name one policy and budget",
			args->pareto ? "--pareto" : "--policy all");
	if (!shows_rows(args) &&
		(args->json || args->pareto || wants_all(args) ||
			is_stdout(args->output) == is_stdout(args->config.record_path)))
		return SL_FAIL(SL_E_USAGE,
			"a plan or trace on standard output stands there alone; give a "
			"file's name");
	return SL_OK;
}

static sl_status plan_all(
	struct sl_planner *p, const struct cli_args *args, struct sl_buf *text)
{
	const char *wanted = args->config.policy;
	bool feasible = false, all = wants_all(args);

	if (!args->json && shows_rows(args))
		head_text();
	if (args->pareto)
		return pareto(p, args, all || wanted == NULL ? "belady" : wanted);
	if (!all)
		SL_TRY(plan_one(p, args, wanted, text, &feasible));
	for (size_t i = 0; all && sl_policy_name_at(i, NULL) != NULL; i++)
		SL_TRY(plan_one(p, args, sl_policy_name_at(i, NULL), NULL, &feasible));
	if (!feasible)
		return sl_planner_infeasible(p);
	return SL_OK;
}

static sl_status run(struct cli_args *args)
{
	struct sl_planner *p = NULL;
	struct sl_buf text = SL_BUF_INIT;
	sl_status st;

	args->config.model = args->operands[0];
	SL_TRY_OUT(check_output(args));
	SL_TRY_OUT(sl_planner_open(&args->config, &args->planner, &p));
	SL_TRY_OUT(plan_all(p, args, args->output != NULL ? &text : NULL));
	if (args->output != NULL)
		SL_TRY_OUT(cli_write(args->output, &text));
	if (args->config.record_path != NULL) {
		sl_buf_clear(&text);
		SL_TRY_OUT(sl_planner_trace(p, &text));
		SL_TRY_OUT(cli_write(args->config.record_path, &text));
	}
out:
	sl_planner_close(p);
	sl_buf_finish(&text);
	return st;
}

static const struct cli_option rows[] = {
	{"o", "PLAN", CLI_TEXT, offsetof(struct cli_args, output),
		"write the plan's text"},
	{"pareto", NULL, CLI_FLAG, offsetof(struct cli_args, pareto),
		"a row for each of eleven budgets"},
};
static const struct cli_options plan_options = {rows, sizeof(rows) / sizeof(rows[0])};

static const struct cli_options *const groups[] = {&plan_options, &cli_tier_options,
	&cli_memory_options, &cli_model_options, &cli_output_options, NULL};

const struct cli_command cli_command_plan = {
	.name = "plan",
	.operands = "MODEL|TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "previews what a budget costs; nothing is run",
	.examples =
		"  sluice plan resnet18 --batch 8 --budget 512MiB\n"
		"  sluice plan gpt2:layers=4,width=256 --batch 8 --policy all --json\n"
		"  sluice plan lenet5 --batch 64 --budget 2MiB -o lenet5.plan --record "
		"lenet5.trace\n",
	.groups = groups,
	.run = run,
};
