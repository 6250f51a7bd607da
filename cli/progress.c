/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long work shows itself: to a person a line that renews itself with rate, loss,
 * memory and time left; to a pipe a plain line now and then; with --json one object a
 * step.
 */
#include "cli.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "output.h"
#include "screen.h"
#include "base/units.h"

#define TTY_MS 100.0 /* between renewals of the line */
#define PIPE_MS 2000.0 /* between plain lines */
#define BAR 10
#define MAX_HOURS 100000
#define LINE_MOST 512

static double now_ms(void)
{
	return (double)sl_clock_now() / 1e6;
}

/* "########.." of device bytes against the budget. */
static void bar_text(uint64_t used, uint64_t budget, char bar[BAR + 1])
{
	int filled = budget > 0 ? (int)((double)used / (double)budget * BAR + 0.5) : BAR;

	for (int i = 0; i < BAR; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[BAR] = '\0';
}

static void time_left(
	const struct cli_progress *p, const struct sl_step_report *r, char text[32])
{
	/* A resumed run has not done all of its steps itself. */
	double s = (now_ms() - p->started_ms) / 1e3 /
		   (double)(r->step - p->first_step + 1) * (double)(r->steps - r->step);

	if (s >= 3600 * MAX_HOURS)
		snprintf(text, 32, "over %dh left", MAX_HOURS);
	else if (s >= 3600)
		snprintf(text, 32, "%dh%02dm left", (int)(s / 3600),
			(int)fmod(s / 60, 60));
	else if (s >= 60)
		snprintf(text, 32, "%dm%02ds left", (int)(s / 60), (int)fmod(s, 60));
	else
		snprintf(text, 32, "%ds left", (int)s);
}

static void json_step(const struct sl_step_report *r)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_i64(j, "step", r->step);
	sl_json_f64(j, "loss", r->loss);
	sl_json_f64(j, "iter_ms", r->iter_ms);
	sl_json_i64(j, "epoch", r->epoch);
	sl_json_f64(j, r->text ? "bits_per_byte" : "accuracy",
		r->text ? r->loss / log(2) : r->accuracy);
	sl_json_u64(j, "swap_out_bytes", r->swap_out_bytes);
	sl_json_u64(j, "swap_in_bytes", r->swap_in_bytes);
	sl_json_u64(j, "recompute_ops", r->recompute_ops);
	sl_json_f64(j, "stall_ms", r->stall_ms);
	sl_json_f64(j, "predicted_iter_ms", r->predicted_iter_ms);
	sl_json_u64(j, "replans", r->replans);
	if (r->is_shared)
		sl_json_f64(j, "waited_ms", r->waited_ms);
	if (cli_line_end(&line) == SL_E_WRITE)
		cli_stop = 1; /* nobody reads any more */
}

/* What the budget and other jobs cost this step; nothing without them. */
static void cost_text(const struct sl_step_report *r, char text[96])
{
	char moved[SL_SIZE_TEXT];
	int n = 0;

	text[0] = '\0';
	if (r->budget_bytes > 0)
		n = snprintf(text, 96, "  moved %s, waited %.1f ms",
			sl_size_print(r->swap_out_bytes + r->swap_in_bytes, moved),
			r->stall_ms);
	if (r->is_shared)
		snprintf(text + n, 96 - (size_t)n, "  others had %.0f ms", r->waited_ms);
}

/* A renewed line must not wrap: the next one would be printed below its rest. */
static int line_room(const struct cli_progress *p)
{
	int columns, lines;

	cli_screen_size(&columns, &lines);
	return p->tty && columns <= LINE_MOST ? columns - 1 : LINE_MOST;
}

static void put_line(struct cli_progress *p, const char *text)
{
	fprintf(p->out, "%s%.*s%s", p->tty ? "\r" : "", line_room(p), text,
		p->tty ? "\033[K" : "\n");
	fflush(p->out);
	p->open_line = p->tty;
}

/* Where there is no room for all of it, the bar is what one misses least. */
static void put_step(struct cli_progress *p, const struct sl_step_report *r)
{
	char size[SL_SIZE_TEXT], left[32], cells[BAR + 1], bar[BAR + 4], cost[96];
	char text[LINE_MOST];
	int n, room = line_room(p);

	bar_text(r->device_bytes, r->budget_bytes, cells);
	snprintf(bar, sizeof(bar), "[%s] ", cells);
	time_left(p, r, left);
	cost_text(r, cost);
	do {
		n = snprintf(text, sizeof(text),
			"step %lld/%lld  loss %.4f  %s %.3f  %.0f samples/s  %s%s%s  %s",
			(long long)r->step, (long long)r->steps, r->loss,
			r->text ? "bits/byte" : "acc",
			r->text ? r->loss / log(2) : r->accuracy, r->samples_per_s, bar,
			sl_size_print(r->device_bytes, size), cost, left);
		if (n <= room || bar[0] == '\0')
			break;
		bar[0] = '\0';
	} while (true);
	put_line(p, text);
}

static void on_step(void *ctx, const struct sl_step_report *r)
{
	struct cli_progress *p = ctx;
	double now = now_ms();

	if (p->first_step == 0) {
		p->first_step = r->step;
		p->started_ms = now - r->iter_ms; /* reading and planning are no pace */
	}
	bool last = r->step == r->steps;

	if (p->json)
		json_step(r);
	if (p->json || p->quiet ||
		(!last && now - p->last_ms < (p->tty ? TTY_MS : PIPE_MS)))
		return;
	p->last_ms = now;
	put_step(p, r);
}

/* A pipe that is full, a terminal that was stopped: writing would wait for a person. */
static bool is_behind(void *ctx, int wait_ms)
{
	const struct cli_progress *p = ctx;
	struct pollfd out = {
		.fd = p->json ? STDOUT_FILENO : fileno(p->out), .events = POLLOUT};

	return (p->json || !p->quiet) && poll(&out, 1, wait_ms) == 0;
}

void cli_progress_end(struct cli_progress *p)
{
	if (p->open_line)
		fputc('\n', p->out);
	p->open_line = false;
}

static void json_wait(const char *reason, double waited_ms)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_str(j, "waits", reason);
	sl_json_f64(j, "waited_ms", waited_ms);
	if (cli_line_end(&line) == SL_E_WRITE)
		cli_stop = 1;
}

/* Renewed on a terminal; elsewhere a line when the reason changes. */
static void on_wait(void *ctx, const char *reason, double waited_ms)
{
	struct cli_progress *p = ctx;
	char text[LINE_MOST];
	bool same = strncmp(p->reason, reason, sizeof(p->reason) - 1) == 0;

	if (p->quiet || (same && !p->tty))
		return;
	snprintf(p->reason, sizeof(p->reason), "%s", reason);
	if (p->json) {
		if (!same)
			json_wait(reason, waited_ms);
		return;
	}
	snprintf(text, sizeof(text), "waits for %.0f s: %s", waited_ms / 1e3, reason);
	put_line(p, text);
}

static void on_eval(void *ctx, const struct sl_eval_report *r)
{
	struct cli_progress *p = ctx;
	struct cli_line line;
	struct sl_json *j;

	if (!p->json) {
		cli_progress_end(p);
		printf("epoch %lld: held-out loss %.4f, %s %.4f over %lld samples\n",
			(long long)r->epoch, r->loss,
			r->text ? "bits per byte" : "accuracy",
			r->text ? r->bits_per_byte : r->accuracy, (long long)r->samples);
		fflush(stdout);
		return;
	}
	j = cli_line_begin(&line, NULL);
	sl_json_i64(j, "eval_epoch", r->epoch);
	sl_json_f64(j, "loss", r->loss);
	sl_json_f64(j, r->text ? "bits_per_byte" : "accuracy",
		r->text ? r->bits_per_byte : r->accuracy);
	sl_json_i64(j, "samples", r->samples);
	if (cli_line_end(&line) == SL_E_WRITE)
		cli_stop = 1;
}

static void on_note(void *ctx, const char *text)
{
	cli_progress_end(ctx);
	fprintf(stderr, "note: %s\n", text);
}

void cli_progress_init(struct cli_progress *p, const struct cli_args *args)
{
	*p = (struct cli_progress){
		.json = args->json,
		.quiet = args->quiet,
		.tty = isatty(STDOUT_FILENO) != 0,
		.out = stdout,
	};
}

void cli_progress_apart(struct cli_progress *p)
{
	p->tty = isatty(STDERR_FILENO) != 0;
	p->out = stderr;
}

struct sl_session_events cli_progress_events(struct cli_progress *p)
{
	return (struct sl_session_events){.ctx = p,
		.step = on_step,
		.eval = on_eval,
		.note = on_note,
		.wait = on_wait,
		.behind = is_behind};
}
