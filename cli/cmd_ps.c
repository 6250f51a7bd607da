/* SPDX-License-Identifier: Apache-2.0 */
/* sluice ps: the jobs of the daemon, a row each. */
#include "daemon.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/units.h"

#define COLUMNS 13
#define CELL 40

/* The last column is free text. */
static const char *const titles[COLUMNS] = {"ID", "NAME", "USER", "STATE", "POLICY-KEY",
	"RESIDENT", "SWAPPED", "PEAK", "ITER", "it/s", "SHARE", "WAITED", "REASON"};

struct cells {
	char text[COLUMNS - 1][CELL];
	const char *last;
};

static void size_cell(uint64_t bytes, char cell[CELL])
{
	char text[SL_SIZE_TEXT];

	snprintf(cell, CELL, "%s", sl_size_print(bytes, text));
}

static void fill(const struct sl_job_row *r, struct cells *c)
{
	snprintf(c->text[0], CELL, "%u", r->id);
	snprintf(c->text[1], CELL, "%.24s", r->name);
	cli_user_text(r->user, c->text[2]);
	snprintf(c->text[3], CELL, "%s", r->state);
	snprintf(c->text[4], CELL, "%" PRId64, r->key);
	size_cell(r->resident_bytes, c->text[5]);
	size_cell(r->swapped_bytes, c->text[6]);
	size_cell(r->persistent_bytes + r->ephemeral_bytes, c->text[7]);
	snprintf(c->text[8], CELL, "%" PRIu64, r->turns);
	snprintf(c->text[9], CELL, "%.2f", r->rate);
	snprintf(c->text[10], CELL, "%.0f%%", r->share * 100);
	cli_time_text(r->waited_s, c->text[11]);
	c->last = r->reason[0] != '\0' ? r->reason : "-";
}

static void widen(size_t width[COLUMNS], const struct cells *c)
{
	for (size_t k = 0; k + 1 < COLUMNS; k++)
		if (strlen(c->text[k]) > width[k])
			width[k] = strlen(c->text[k]);
}

/* Words to the left, numbers to the right. */
static sl_status put_row(
	const size_t width[COLUMNS], const struct cells *c, struct sl_buf *out)
{
	for (size_t k = 0; k + 1 < COLUMNS; k++) {
		bool words = k >= 1 && k <= 3;

		SL_TRY(sl_buf_printf(
			out, words ? "%-*s  " : "%*s  ", (int)width[k], c->text[k]));
	}
	return sl_buf_printf(out, "%s\n", c->last);
}

static sl_status table(const struct cli_picture *p, struct sl_buf *out)
{
	struct cells c = {.last = titles[COLUMNS - 1]};
	size_t width[COLUMNS] = {0};

	for (size_t k = 0; k + 1 < COLUMNS; k++)
		snprintf(c.text[k], CELL, "%s", titles[k]);
	widen(width, &c);
	for (size_t i = 0; i < p->n_jobs; i++) {
		struct cells row = {.last = ""};

		fill(&p->jobs[i], &row);
		widen(width, &row);
	}
	SL_TRY(put_row(width, &c, out));
	for (size_t i = 0; i < p->n_jobs; i++) {
		fill(&p->jobs[i], &c);
		SL_TRY(put_row(width, &c, out));
	}
	return SL_OK;
}

static sl_status print_json(const struct cli_picture *p)
{
	struct cli_line line;
	struct sl_json *j;

	for (size_t i = 0; i < p->n_jobs; i++) {
		cli_job_members(cli_schema_line(&line, NULL), &p->jobs[i]);
		SL_TRY(cli_line_end(&line));
	}
	j = cli_schema_line(&line, "summary");
	cli_state_members(j, &p->state);
	return cli_line_end(&line);
}

static sl_status print_text(const struct cli_picture *p, bool again)
{
	struct sl_buf out = SL_BUF_INIT;
	sl_status st = SL_OK;

	/* A terminal shows the latest table alone. */
	if (again)
		SL_TRY_OUT(sl_buf_puts(
			&out, isatty(STDOUT_FILENO) != 0 ? "\033[H\033[J" : "\n"));
	SL_TRY_OUT(table(p, &out));
	SL_TRY_OUT(cli_write("-", &out));
out:
	sl_buf_finish(&out);
	return st;
}

static sl_status run(struct cli_args *args)
{
	struct cli_picture p = {0};
	struct sl_daemon *d = NULL;
	bool again = false;
	sl_status st;

	SL_TRY_OUT(sl_daemon_open(args->config.socket, &d));
	do {
		SL_TRY_OUT(cli_picture_take(&p, d, args->all));
		SL_TRY_OUT(args->json ? print_json(&p) : print_text(&p, again));
		again = true;
	} while (args->watch_s > 0 && cli_rest(args->watch_s));
out:
	cli_picture_finish(&p);
	sl_daemon_close(d);
	return st;
}

static const struct cli_option rows[] = {
	{"all", NULL, CLI_FLAG, offsetof(struct cli_args, all),
		"also the latest ones that ended"},
	{"watch", "SECONDS", CLI_POSITIVE, offsetof(struct cli_args, watch_s),
		"again and again"},
};
static const struct cli_options ps_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&ps_options, &cli_daemon_options, &cli_output_options, NULL};

const struct cli_command cli_command_ps = {
	.name = "ps",
	.operands = "",
	.summary = "lists the jobs that share the device",
	.examples =
		"  sluice ps\n"
		"  sluice ps --all --json           # an object a job, then a summary\n"
		"  sluice ps --watch 2\n",
	.groups = groups,
	.run = run,
};
