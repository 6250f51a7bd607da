/* SPDX-License-Identifier: Apache-2.0 */
/* sluice list: what there is, from the tables themselves. */
#include "cli.h"

#include <string.h>

#include "output.h"
#include "sluice/client.h"
#include "sluice/data.h"
#include "sluice/memory.h"
#include "sluice/model.h"
#include "sluice/ops.h"
#include "sluice/repro.h"

struct listing {
	const char *name;
	const char *(*at)(size_t i, const char **help);
	/* Options of a row, or NULL. */
	bool (*option_at)(const char *row, size_t i, struct sl_policy_option_row *out);
};

static const char *error_at(size_t i, const char **help)
{
	static char text[128];

	if (i >= SL_STATUS_COUNT)
		return NULL;
	snprintf(text, sizeof(text), "exit %d: %s", sl_status_exit_code((sl_status)i),
		sl_status_text((sl_status)i));
	*help = text;
	return sl_status_name((sl_status)i);
}

/* By the title of its tables. */
static const char *paper_at(size_t i, const char **help)
{
	const struct sl_repro *r = sl_repro_at(i);
	static char title[96];

	if (r == NULL)
		return NULL;
	snprintf(title, sizeof(title), "%.*s", (int)strcspn(r->intro + 2, "\n"),
		r->intro + 2);
	*help = title;
	return r->name;
}

static const struct listing listings[] = {
	{"models", sl_model_at, NULL},
	{"policies", sl_policy_name_at, sl_policy_option_at},
	{"job-policies", sl_job_policy_name_at, NULL},
	{"ops", sl_op_name_at, NULL},
	{"passes", sl_pass_name_at, NULL},
	{"devices", sl_device_name_at, NULL},
	{"tiers", sl_tier_name_at, NULL},
	{"costs", sl_costs_name_at, NULL},
	{"data", sl_data_kind_at, NULL},
	{"papers", paper_at, NULL},
	{"messages", sl_message_name_at, NULL},
	{"errors", error_at, NULL},
};

static void print_text(const struct listing *l, const char *name, const char *help)
{
	struct sl_policy_option_row o;

	printf("%-18s %s\n", name, help);
	for (size_t k = 0; l->option_at != NULL && l->option_at(name, k, &o); k++)
		printf("  :%s=%-*lld %lld to %lld; %s\n", o.name,
			(int)(14 - strlen(o.name)), (long long)o.usual, (long long)o.min,
			(long long)o.max, o.help);
}

static sl_status print_json(const struct listing *l, const char *name, const char *help)
{
	struct sl_policy_option_row o;
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_str(j, "name", name);
	sl_json_str(j, "help", help);
	if (l->option_at != NULL)
		sl_json_open(j, "options", '[');
	for (size_t k = 0; l->option_at != NULL && l->option_at(name, k, &o); k++) {
		sl_json_open(j, NULL, '{');
		sl_json_str(j, "name", o.name);
		sl_json_i64(j, "default", o.usual);
		sl_json_i64(j, "min", o.min);
		sl_json_i64(j, "max", o.max);
		sl_json_str(j, "help", o.help);
		sl_json_close(j, '}');
	}
	if (l->option_at != NULL)
		sl_json_close(j, ']');
	return cli_line_end(&line);
}

static sl_status run(struct cli_args *args)
{
	for (size_t k = 0; k < sizeof(listings) / sizeof(listings[0]); k++) {
		const struct listing *l = &listings[k];
		const char *help = "", *name;

		if (strcmp(l->name, args->operands[0]) != 0)
			continue;
		for (size_t i = 0; (name = l->at(i, &help)) != NULL; i++) {
			if (args->json)
				SL_TRY(print_json(l, name, help));
			else
				print_text(l, name, help);
		}
		return SL_OK;
	}
	return SL_FAIL(SL_E_USAGE,
		"there is no list of '%s'; there are models policies job-policies ops "
		"passes devices tiers costs data papers messages errors",
		args->operands[0]);
}

static const struct cli_options *const groups[] = {&cli_output_options, NULL};

const struct cli_command cli_command_list = {
	.name = "list",
	.operands = "models|policies|job-policies|ops|passes|devices|tiers|costs|data|"
		    "papers|messages|errors",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "lists what there is",
	.examples = "  sluice list models\n  sluice list policies --json\n",
	.groups = groups,
	.run = run,
};
