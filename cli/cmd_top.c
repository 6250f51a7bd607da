/* SPDX-License-Identifier: Apache-2.0 */
/* sluice top: the shared device as it is now, and now, and now. */
#include "daemon.h"

#include <stdlib.h>

#include "base/buf.h"
#include "screen.h"
#include "top_draw.h"

#define EVERY_S 1.0
#define PIPE_COLUMNS 120

struct top {
	const struct cli_args *args;
	struct sl_daemon *daemon; /* NULL: gone, or not yet there */
	struct cli_picture picture;
	struct cli_screen screen;
	bool full; /* the terminal is ours */
	bool color, begun;
	double every_s;
};

static sl_status look(struct top *t)
{
	sl_status st = SL_OK;

	if (t->daemon == NULL)
		st = sl_daemon_open(t->args->config.socket, &t->daemon);
	if (st == SL_OK)
		st = cli_picture_take(&t->picture, t->daemon, t->args->all);
	if (st != SL_OK) {
		sl_daemon_close(t->daemon);
		t->daemon = NULL;
	}
	return st;
}

static sl_status print_json(const struct cli_picture *p)
{
	struct cli_line line;
	struct sl_json *j;

	for (size_t i = 0; i < p->n_lanes; i++) {
		const struct sl_lane_row *v = &p->lanes[i];

		j = cli_schema_line(&line, "lane");
		sl_json_u64(j, "lane", v->lane);
		sl_json_u64(j, "holder", v->holder);
		sl_json_u64(j, "members", v->members);
		sl_json_u64(j, "address", v->address);
		sl_json_u64(j, "bytes", v->bytes);
		SL_TRY(cli_line_end(&line));
	}
	for (size_t i = 0; i < p->n_jobs; i++) {
		cli_job_members(cli_schema_line(&line, "job"), &p->jobs[i]);
		SL_TRY(cli_line_end(&line));
	}
	cli_state_members(cli_schema_line(&line, "summary"), &p->state);
	return cli_line_end(&line);
}

static sl_status show(struct top *t, const char *note)
{
	struct cli_top_look look = {
		.columns = PIPE_COLUMNS, .color = t->color, .note = note};
	struct sl_buf text = SL_BUF_INIT;
	sl_status st;

	if (t->args->json)
		return print_json(&t->picture);
	if (t->full)
		cli_screen_size(&look.columns, &look.lines);
	if (!t->full && t->begun)
		SL_TRY_OUT(sl_buf_puts(&text, "\n"));
	SL_TRY_OUT(cli_top_draw(&t->picture, &look, &text));
	SL_TRY_OUT(t->full ? cli_screen_draw(&t->screen, sl_buf_text(&text))
			   : cli_write("-", &text));
	t->begun = true;
out:
	sl_buf_finish(&text);
	return st;
}

/* Until the next look; false: that was the last one. */
static bool rest(struct top *t)
{
	enum cli_key key;

	if (t->args->once)
		return false;
	if (!t->full)
		return cli_rest(t->every_s);
	key = cli_screen_wait(&t->screen, t->every_s);
	return key == CLI_KEY_NONE || key == CLI_KEY_OTHER;
}

static sl_status watch(struct top *t)
{
	bool there = false;

	do {
		sl_status st = look(t);

		if (st == SL_OK && t->full && !t->screen.open)
			cli_screen_open(&t->screen);
		/* A daemon that was there may be started again: jobs wait for it too. */
		if (st != SL_OK && !(there && t->full && st == SL_E_LOST))
			return st;
		there = true;
		SL_TRY(show(t,
			st != SL_OK ? "The daemon is gone; looking for it again. q: quit"
			: t->full   ? "q: quit"
				    : NULL));
	} while (rest(t));
	return cli_stop != 0 ? SL_E_INTERRUPTED : SL_OK;
}

static sl_status run(struct cli_args *args)
{
	const char *plain = getenv("NO_COLOR");
	struct top t = {
		.args = args, .every_s = args->watch_s > 0 ? args->watch_s : EVERY_S};
	bool screen = cli_screen_is_there();
	sl_status st;

	t.full = screen && !args->once && !args->json;
	t.color = screen && (plain == NULL || plain[0] == '\0');
	st = watch(&t);
	cli_screen_close(&t.screen);
	cli_picture_finish(&t.picture);
	sl_daemon_close(t.daemon);
	return st;
}

static const struct cli_option rows[] = {
	{"once", NULL, CLI_FLAG, offsetof(struct cli_args, once), "one look, and end"},
	{"watch", "SECONDS", CLI_POSITIVE, offsetof(struct cli_args, watch_s),
		"between looks (default: 1)"},
	{"all", NULL, CLI_FLAG, offsetof(struct cli_args, all),
		"also the latest jobs that ended"},
};
static const struct cli_options top_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&top_options, &cli_daemon_options, &cli_output_options, NULL};

const struct cli_command cli_command_top = {
	.name = "top",
	.operands = "",
	.summary = "shows the shared device: lanes to scale, tiers, rates, shares, waits",
	.examples = "  sluice top                       # q quits\n"
		    "  sluice top --once\n"
		    "  sluice top --watch 5 | tee log\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
