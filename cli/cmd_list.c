/* SPDX-License-Identifier: Apache-2.0 */
/* sluice list: what there is, from the tables themselves. */
#include "cli.h"

#include <string.h>

#include "sluice/client.h"
#include "sluice/data.h"
#include "sluice/model.h"
#include "sluice/ops.h"

struct listing {
	const char *name;
	const char *(*at)(size_t i, const char **help);
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

static const struct listing listings[] = {
	{"models", sl_model_at},
	{"policies", sl_policy_name_at},
	{"job-policies", sl_job_policy_name_at},
	{"ops", sl_op_name_at},
	{"devices", sl_device_name_at},
	{"tiers", sl_tier_name_at},
	{"costs", sl_costs_name_at},
	{"data", sl_data_kind_at},
	{"messages", sl_message_name_at},
	{"errors", error_at},
};

static sl_status run(struct cli_args *args)
{
	for (size_t k = 0; k < sizeof(listings) / sizeof(listings[0]); k++) {
		const char *help = "", *name;

		if (strcmp(listings[k].name, args->operands[0]) != 0)
			continue;
		for (size_t i = 0; (name = listings[k].at(i, &help)) != NULL; i++)
			printf("%-18s %s\n", name, help);
		return SL_OK;
	}
	return SL_FAIL(SL_E_USAGE,
		"there is no list of '%s'; there are models policies job-policies ops "
		"devices tiers costs data messages errors",
		args->operands[0]);
}

static const struct cli_options *const groups[] = {&cli_output_options, NULL};

const struct cli_command cli_command_list = {
	.name = "list",
	.operands = "models|policies|job-policies|ops|devices|tiers|costs|data|messages|"
		    "errors",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "lists what there is",
	.examples = "  sluice list models\n  sluice list errors\n",
	.groups = groups,
	.run = run,
};
