/* SPDX-License-Identifier: Apache-2.0 */
/* sluice plan: what a budget will cost, before anything runs. */
#include "cli.h"

#include <string.h>

#include "grid.h"
#include "output.h"
#include "preview.h"

/* The curve's budgets, and for how long they are planned: with the model's opening under
 * a second for a thousand ops. */
#define FRONT_ROWS 11
#define FRONT_NS 600000000u

static bool is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

/* A plan or a trace on standard output stands there alone. */
static bool shows_rows(const struct cli_args *args)
{
	return !is_stdout(args->output) && !is_stdout(args->config.record_path);
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

static sl_status show(const struct cli_preview *p, const struct cli_args *args)
{
	if (!shows_rows(args))
		return SL_OK;
	if (args->json)
		return cli_preview_json(p);
	cli_preview_table(p);
	if (args->quiet)
		return SL_OK;
	cli_preview_sentence(p);
	if (p->front)
		cli_preview_chart(p);
	return SL_OK;
}

/* An infeasible policy still gives its row. */
static sl_status plan_each(
	struct sl_planner *p, const struct cli_args *args, struct cli_preview *out)
{
	const char *name;

	for (size_t i = 0; (name = sl_policy_name_at(i, NULL)) != NULL; i++)
		if (out->n < SL_FRONT_MAX)
			SL_TRY(sl_planner_plan(p, name, args->config.budget_bytes,
				&out->rows[out->n++], NULL));
	cli_preview_sort(out);
	return SL_OK;
}

static sl_status plan_all(
	struct sl_planner *p, const struct cli_args *args, struct sl_buf *text)
{
	const char *wanted = wants_all(args) ? NULL : args->config.policy;
	struct cli_preview preview = {.n = 0, .front = args->pareto};

	if (args->pareto) {
		preview.n = FRONT_ROWS;
		SL_TRY(sl_planner_front(p, wanted, FRONT_NS, preview.rows, &preview.n));
		if (wants_all(args))
			return cli_grid(p, args, &preview);
	} else if (wants_all(args)) {
		SL_TRY(plan_each(p, args, &preview));
	} else {
		preview.n = 1;
		SL_TRY(sl_planner_plan(
			p, wanted, args->config.budget_bytes, preview.rows, text));
	}
	SL_TRY(show(&preview, args));
	for (size_t i = 0; i < preview.n; i++)
		if (preview.rows[i].feasible)
			return SL_OK;
	return sl_planner_infeasible(p);
}

/* All policies and the curve, around the plan that was asked for. */
static sl_status page(struct sl_planner *p, const struct cli_args *args)
{
	struct cli_preview all = {.n = 0}, front = {.n = FRONT_ROWS, .front = true};
	struct sl_page_config c = {.budget_bytes = args->config.budget_bytes,
		.policy = wants_all(args) ? NULL : args->config.policy};
	struct sl_buf text = SL_BUF_INIT;
	sl_status st;

	if (c.budget_bytes > 0) {
		SL_TRY(plan_each(p, args, &all));
		SL_TRY(sl_planner_front(p, c.policy, FRONT_NS, front.rows, &front.n));
		c.policies = all.rows;
		c.n_policies = all.n;
		c.front = front.rows;
		c.n_front = front.n;
	}
	SL_TRY_OUT(sl_planner_page(p, &c, &text));
	SL_TRY_OUT(cli_write(args->html, &text));
out:
	sl_buf_finish(&text);
	return st;
}

static sl_status run(struct cli_args *args)
{
	struct sl_planner *p = NULL;
	struct sl_buf text = SL_BUF_INIT;
	sl_status st;

	args->config.model = args->operands[0];
	SL_TRY_OUT(check_output(args));
	SL_TRY_OUT(sl_planner_open(&args->config, &args->planner, &p));
	if (args->config.budget_ratio > 0)
		args->config.budget_bytes =
			sl_planner_share(p, args->config.budget_ratio);
	SL_TRY_OUT(plan_all(p, args, args->output != NULL ? &text : NULL));
	if (args->output != NULL)
		SL_TRY_OUT(cli_write(args->output, &text));
	if (args->html != NULL)
		SL_TRY_OUT(page(p, args));
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
		"the curve: eleven budgets from the least to the unbudgeted peak"},
	{"html", "FILE", CLI_TEXT, offsetof(struct cli_args, html),
		"draw the plan: memory, links, addresses, waits, other policies"},
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
		"  sluice plan resnet18 --batch 8 --pareto\n"
		"  sluice plan unet --pareto --policy all\n"
		"  sluice plan gpt2:layers=4,width=256 --batch 8 --budget 50% --policy "
		"all\n"
		"  sluice plan unet --budget 50% --html unet.html\n"
		"  sluice plan lenet5 --batch 64 --budget 2MiB -o lenet5.plan --record "
		"lenet5.trace\n",
	.groups = groups,
	.run = run,
};
