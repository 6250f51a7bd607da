/* SPDX-License-Identifier: Apache-2.0 */
/* sluice limit, policy, config, events: the daemon as a whole. */
#include "daemon.h"

#include <string.h>

#include "base/buf.h"
#include "base/units.h"

static const struct cli_options *const groups[] = {
	&cli_daemon_options, &cli_output_options, NULL};

static sl_status run_limit(struct cli_args *args)
{
	char user[CLI_USER_TEXT], size[SL_SIZE_TEXT];
	struct sl_daemon *d = NULL;
	struct cli_line line;
	struct sl_json *j;
	uint64_t bytes = 0;
	uint32_t id;
	sl_status st;

	SL_TRY(cli_user_parse(args->operands[0], &id));
	if (strcmp(args->operands[1], "none") != 0)
		SL_TRY(sl_size_parse("limit", args->operands[1], &bytes));
	if (bytes == 0 && strcmp(args->operands[1], "none") != 0)
		return SL_FAIL(SL_E_USAGE,
			"a limit of nothing lets no job in; give a size, or `none` for "
			"no limit");
	SL_TRY_OUT(sl_daemon_open(args->config.socket, &d));
	SL_TRY_OUT(sl_daemon_limit(d, id, bytes));
	cli_user_text(id, user);
	if (args->json) {
		j = cli_schema_line(&line, "summary");
		sl_json_str(j, "user", user);
		sl_json_u64(j, "uid", id);
		sl_json_u64(j, "limit_bytes", bytes);
		SL_TRY_OUT(cli_line_end(&line));
	} else if (!args->quiet) {
		printf("%s: %s\n", user,
			bytes > 0 ? sl_size_print(bytes, size) : "no limit");
	}
out:
	sl_daemon_close(d);
	return st;
}

static sl_status run_policy(struct cli_args *args)
{
	struct sl_daemon *d = NULL;
	struct cli_line line;
	sl_status st;
	struct sl_daemon_state state;

	SL_TRY_OUT(sl_daemon_open(args->config.socket, &d));
	if (args->n_operands > 0)
		SL_TRY_OUT(sl_daemon_policy(d, args->operands[0]));
	SL_TRY_OUT(sl_daemon_status(d, &state, NULL, NULL));
	if (args->json) {
		sl_json_str(cli_schema_line(&line, "summary"), "policy", state.policy);
		SL_TRY_OUT(cli_line_end(&line));
	} else {
		printf("%s\n", state.policy);
	}
out:
	sl_daemon_close(d);
	return st;
}

/* The text up to the end of the line, without blanks around. */
static void trim(char **from, char **end)
{
	while (*from < *end && **from == ' ')
		(*from)++;
	while (*end > *from && (*end)[-1] == ' ')
		(*end)--;
	**end = '\0';
}

/* name = value  # origin */
static sl_status setting_json(char *text, char *end)
{
	char *equals = memchr(text, '=', (size_t)(end - text)), *hash = NULL, *value;
	struct cli_line line;
	struct sl_json *j;

	if (equals == NULL)
		return SL_OK;
	for (char *at = end; hash == NULL && --at > equals;)
		if (*at == '#')
			hash = at;
	value = equals + 1;
	j = cli_schema_line(&line, "setting");
	trim(&text, &equals);
	sl_json_str(j, "name", text);
	text = hash != NULL ? hash + 1 : end;
	trim(&text, &end);
	if (hash != NULL)
		end = hash;
	trim(&value, &end);
	sl_json_str(j, "value", value);
	sl_json_str(j, "origin", text);
	return cli_line_end(&line);
}

static sl_status config_json(struct sl_buf *text)
{
	struct cli_line line;
	size_t n = 0;

	for (char *at = text->data; at != NULL && at < text->data + text->len; n++) {
		char *end = strchr(at, '\n');

		end = end != NULL ? end : text->data + text->len;
		SL_TRY(setting_json(at, end));
		at = end + 1;
	}
	sl_json_u64(cli_schema_line(&line, "summary"), "settings", n);
	return cli_line_end(&line);
}

static sl_status run_config(struct cli_args *args)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_daemon *d = NULL;
	sl_status st;

	SL_TRY_OUT(sl_daemon_open(args->config.socket, &d));
	SL_TRY_OUT(sl_daemon_config(d, &text));
	SL_TRY_OUT(args->json ? config_json(&text) : cli_write("-", &text));
out:
	sl_daemon_close(d);
	sl_buf_finish(&text);
	return st;
}

struct events {
	bool json;
	uint64_t n;
};

static sl_status print_line(const char *text, size_t len, bool json)
{
	struct sl_buf plain = SL_BUF_INIT;
	struct cli_line line;
	sl_status st;

	if (json)
		SL_TRY_OUT(sl_buf_append(&plain, text, len));
	else
		SL_TRY_OUT(sl_buf_printf(&plain, "%.*s\n", (int)len, text));
	if (json) {
		sl_json_str(cli_schema_line(&line, NULL), "line", sl_buf_text(&plain));
		SL_TRY_OUT(cli_line_end(&line));
	} else {
		SL_TRY_OUT(cli_write("-", &plain));
	}
out:
	sl_buf_finish(&plain);
	return st;
}

static sl_status on_text(void *ctx, const char *text, size_t len)
{
	struct events *e = ctx;

	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end != NULL ? (size_t)(end - text) : len;

		SL_TRY(print_line(text, n, e->json));
		e->n++;
		n += end != NULL;
		text += n;
		len -= n;
	}
	return SL_OK;
}

static sl_status run_events(struct cli_args *args)
{
	struct events e = {.json = args->json};
	struct sl_daemon *d = NULL;
	uint32_t last = args->last > 0 ? (uint32_t)args->last : 20;
	struct cli_line line;
	sl_status st;

	SL_TRY_OUT(sl_daemon_open(args->config.socket, &d));
	SL_TRY_OUT(sl_daemon_events(d, last, args->follow, &cli_stop, &e, on_text));
	if (args->json) {
		sl_json_u64(cli_schema_line(&line, "summary"), "lines", e.n);
		SL_TRY_OUT(cli_line_end(&line));
	}
out:
	sl_daemon_close(d);
	return st;
}

static const struct cli_option events_rows[] = {
	{"last", "N", CLI_COUNT, offsetof(struct cli_args, last),
		"the latest N lines (default: 20)"},
	{"follow", NULL, CLI_FLAG, offsetof(struct cli_args, follow),
		"then those that come, until interrupted"},
};
static const struct cli_options events_options = {
	events_rows, sizeof(events_rows) / sizeof(events_rows[0])};
static const struct cli_options *const events_groups[] = {
	&events_options, &cli_daemon_options, &cli_output_options, NULL};

const struct cli_command cli_command_limit = {
	.name = "limit",
	.operands = "USER SIZE|none",
	.min_operands = 2,
	.max_operands = 2,
	.summary =
		"the most bytes that a user's jobs may hold together; the owner's to say",
	.examples = "  sluice limit anna 2GiB\n  sluice limit 1000 none\n",
	.groups = groups,
	.run = run_limit,
};

const struct cli_command cli_command_policy = {
	.name = "policy",
	.operands = "[NAME]",
	.max_operands = 1,
	.summary = "says or changes who goes first; see `sluice list job-policies`",
	.examples = "  sluice policy\n  sluice policy srtf      # the owner's to say\n",
	.groups = groups,
	.run = run_policy,
};

const struct cli_command cli_command_config = {
	.name = "config",
	.operands = "",
	.summary = "prints the daemon's settings and where each is from",
	.examples = "  sluice config\n",
	.groups = groups,
	.run = run_config,
};

const struct cli_command cli_command_events = {
	.name = "events",
	.operands = "",
	.summary = "prints what the daemon decided, in the words of its log",
	.examples = "  sluice events --last 100\n  sluice events --follow\n",
	.groups = events_groups,
	.run = run_events,
};
