/* SPDX-License-Identifier: Apache-2.0 */
/* Options of jobs that share their device, and what they mean. */
#include "cli.h"

#include <string.h>

#include "base/units.h"

#define ROW(name, value, kind, field, help) \
	{ \
		name, value, CLI_##kind, offsetof(struct cli_args, field), help \
	}

static const struct cli_option rows[] = {
	ROW("shared", NULL, FLAG, config.shared,
		"take turns with other jobs: memory comes from the daemon, sluiced"),
	ROW("name", "NAME", TEXT, config.job_name, "of the job (default: the model's)"),
	ROW("priority", "N", COUNT, priority, "a lower number goes first (default: 20)"),
	ROW("deadline", "TIME", TEXT, deadline,
		"end wanted, from now on, such as 90s or 2h: earlier ones go first"),
	ROW("allow-slowdown", "N%", TEXT, allow_slowdown,
		"be admitted with less memory where a step costs at most so much more "
		"(default: 0%)"),
	ROW("daemon-timeout", "TIME", TEXT, daemon_timeout,
		"wait so long for a daemon that is gone (default: 60s)"),
};
const struct cli_options cli_shared_options = {rows, sizeof(rows) / sizeof(rows[0])};

sl_status cli_time_store(const char *option, const char *text, double *to)
{
	sl_ns ns;

	if (text == NULL)
		return SL_OK;
	SL_TRY(sl_time_parse(option, text, &ns));
	if (ns <= 0)
		return SL_FAIL(SL_E_USAGE, "%s %s leaves no time; give one such as 60s",
			option, text);
	*to = (double)ns / 1e9;
	return SL_OK;
}

static sl_status store_slowdown(const char *text, double *to)
{
	size_t len = text != NULL ? strlen(text) : 0;
	char number[32];

	if (text == NULL)
		return SL_OK;
	if (len < 2 || len > sizeof(number) || text[len - 1] != '%')
		goto bad;
	memcpy(number, text, len - 1);
	number[len - 1] = '\0';
	if (sl_f64_parse(number, to) != SL_OK || !(*to >= 0) || *to > 100000)
		goto bad;
	*to /= 100;
	return SL_OK;
bad:
	return SL_FAIL(SL_E_USAGE,
		"--allow-slowdown %s is no part of a step; give one such as 20%%", text);
}

sl_status cli_settle_shared(struct cli_args *args)
{
	struct sl_session_config *c = &args->config;
	bool any = c->socket != NULL || c->job_name != NULL || args->priority > 0 ||
		   args->deadline != NULL || args->allow_slowdown != NULL ||
		   args->daemon_timeout != NULL;

	if (!c->shared)
		return any ? SL_FAIL(SL_E_USAGE,
				     "--socket, --name, --priority, --deadline, "
				     "--allow-slowdown "
				     "and --daemon-timeout are for jobs with --shared")
			   : SL_OK;
	c->priority = (int32_t)args->priority;
	SL_TRY(cli_time_store("--deadline", args->deadline, &c->deadline_s));
	SL_TRY(cli_time_store(
		"--daemon-timeout", args->daemon_timeout, &c->daemon_timeout_s));
	return store_slowdown(args->allow_slowdown, &c->allow_slowdown);
}
