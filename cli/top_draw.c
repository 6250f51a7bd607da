/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of the shared device in characters. */
#include "top_draw.h"

#include <string.h>

#include "base/units.h"

#define BAR_MOST 160 /* cells of the device */
#define LANE_CELLS 30 /* of the device beside a lane */
#define SHARE_CELLS 8
#define FIXED_LINES 9 /* beside lanes and jobs */
#define JOB_COLUMNS 115 /* of a job's line without its reason */
#define NARROW 112 /* columns; below, users and bars are left out */

static const char *style(const struct cli_top_look *look, const char *code)
{
	return look->color ? code : "";
}

static char lane_letter(uint32_t lane)
{
	return (char)('A' + lane % 26);
}

/* What lies at a byte of the device: a lane's letter, the last digit of the job whose
 * persistent part it is, a dot. Parts have no addresses of their own: they are stacked.
 */
static char cell_at(const struct cli_picture *p, uint64_t byte)
{
	uint64_t top = 0;

	for (size_t i = 0; i < p->n_lanes; i++)
		if (byte >= p->lanes[i].address &&
			byte - p->lanes[i].address < p->lanes[i].bytes)
			return lane_letter(p->lanes[i].lane);
	for (size_t i = 0; i < p->n_jobs; i++) {
		top += p->jobs[i].resident_bytes;
		if (byte < top)
			return (char)('0' + p->jobs[i].id % 10);
	}
	return '.';
}

static const char *cell_style(char cell)
{
	if (cell == '.')
		return "\033[2m";
	if (cell >= 'A')
		return "\033[42;30m";
	return (cell - '0') % 2 == 0 ? "\033[44;37m" : "\033[46;30m";
}

static sl_status draw_device(
	const struct cli_picture *p, const struct cli_top_look *look, struct sl_buf *out)
{
	uint64_t capacity = p->state.capacity_bytes;
	int n = look->columns - 12;
	char cell = 0;

	n = n < 10 ? 10 : n > BAR_MOST ? BAR_MOST : n;
	SL_TRY(sl_buf_puts(out, "  device  ["));
	for (int i = 0; i < n; i++) {
		/* The byte in the middle of the cell. */
		double at = ((double)i + 0.5) / n * (double)capacity;
		char now = cell_at(p, (uint64_t)at);

		if (look->color && now != cell)
			SL_TRY(sl_buf_printf(out, "\033[0m%s", cell_style(now)));
		SL_TRY(sl_buf_append(out, &now, 1));
		cell = now;
	}
	SL_TRY(sl_buf_printf(out, "%s]\n", style(look, "\033[0m")));
	return sl_buf_printf(out,
		"          %sdigits: persistent parts of jobs; letters: lanes; dots: "
		"free%s\n",
		style(look, "\033[2m"), style(look, "\033[0m"));
}

static void bar(double part, int cells, char text[LANE_CELLS + 1])
{
	int full = (int)(part * cells + 0.5);

	full = part > 0 && full == 0 ? 1 : full > cells ? cells : full;
	memset(text, '#', (size_t)full);
	memset(text + full, '.', (size_t)(cells - full));
	text[cells] = '\0';
}

static double part_of(uint64_t bytes, uint64_t all)
{
	return all > 0 ? (double)bytes / (double)all : 0;
}

static const char *name_of(const struct cli_picture *p, uint32_t id)
{
	for (size_t i = 0; i < p->n_jobs; i++)
		if (p->jobs[i].id == id)
			return p->jobs[i].name;
	return "";
}

static sl_status draw_lanes(
	const struct cli_picture *p, const struct cli_top_look *look, struct sl_buf *out)
{
	char size[SL_SIZE_TEXT], text[LANE_CELLS + 1];

	for (size_t i = 0; i < p->n_lanes; i++) {
		const struct sl_lane_row *v = &p->lanes[i];

		bar(part_of(v->bytes, p->state.capacity_bytes), LANE_CELLS, text);
		SL_TRY(sl_buf_printf(out, "  lane %c  [%s] %10s  %u job%s",
			lane_letter(v->lane), text, sl_size_print(v->bytes, size),
			v->members, v->members == 1 ? "" : "s"));
		if (v->holder != 0)
			SL_TRY(sl_buf_printf(out, "; %sjob %u %s has the turn%s",
				style(look, "\033[32m"), v->holder, name_of(p, v->holder),
				style(look, "\033[0m")));
		SL_TRY(sl_buf_puts(out, "\n"));
	}
	return SL_OK;
}

static sl_status draw_tiers(const struct cli_picture *p, struct sl_buf *out)
{
	const struct sl_daemon_state *s = &p->state;
	char text[LANE_CELLS + 1], used[SL_SIZE_TEXT], all[SL_SIZE_TEXT],
		free_text[SL_SIZE_TEXT];
	uint64_t lower = 0;

	for (size_t i = 0; i < p->n_jobs; i++)
		lower += p->jobs[i].swapped_bytes;
	bar(part_of(s->granted_bytes, s->capacity_bytes), LANE_CELLS, text);
	SL_TRY(sl_buf_printf(out, "  memory  [%s] %10s of %s; largest free range %s\n",
		text, sl_size_print(s->granted_bytes, used),
		sl_size_print(s->capacity_bytes, all),
		sl_size_print(s->largest_free_bytes, free_text)));
	bar(part_of(lower, s->capacity_bytes), LANE_CELLS, text);
	return sl_buf_printf(out, "  below   [%s] %10s on host and disk\n", text,
		sl_size_print(lower, used));
}

static const char *state_style(const struct sl_job_row *r)
{
	if (strcmp(r->state, "running") == 0)
		return "\033[32m";
	if (strcmp(r->state, "waiting") == 0 || strcmp(r->state, "parked") == 0)
		return "\033[33m";
	return "";
}

static bool is_narrow(const struct cli_top_look *look)
{
	return look->lines > 0 && look->columns < NARROW;
}

/* A reason that the line has no room for has one of its own. */
static bool reason_apart(const struct sl_job_row *r, const struct cli_top_look *look)
{
	return look->lines > 0 && r->reason[0] != '\0' &&
	       JOB_COLUMNS + (int)strlen(r->reason) > look->columns;
}

/* Fits into 80 columns. */
static sl_status draw_narrow(
	const struct sl_job_row *r, const struct cli_top_look *look, struct sl_buf *out)
{
	char waited[CLI_TIME_TEXT], resident[SL_SIZE_TEXT], swapped[SL_SIZE_TEXT];

	cli_time_text(r->waited_s, waited);
	return sl_buf_printf(out,
		"%4u  %-10.10s %s%-8s%s %c %10s %10s %6llu %7.2f %4.0f%% %7s\n", r->id,
		r->name, style(look, state_style(r)), r->state, style(look, "\033[0m"),
		r->seated ? lane_letter(r->lane) : '-',
		sl_size_print(r->resident_bytes, resident),
		sl_size_print(r->swapped_bytes, swapped), (unsigned long long)r->turns,
		r->rate, r->share * 100, waited);
}

static sl_status draw_wide(
	const struct sl_job_row *r, const struct cli_top_look *look, struct sl_buf *out)
{
	char user[CLI_USER_TEXT], waited[CLI_TIME_TEXT], share[LANE_CELLS + 1];
	char resident[SL_SIZE_TEXT], swapped[SL_SIZE_TEXT];
	char lane[2] = {r->seated ? lane_letter(r->lane) : '-', '\0'};

	cli_user_text(r->user, user);
	cli_time_text(r->waited_s, waited);
	bar(r->share, SHARE_CELLS, share);
	return sl_buf_printf(out,
		"%4u  %-14.14s %-8.8s %s%-8s%s %-4s %10s %10s %8llu %8.2f [%s] %3.0f%% "
		"%7s  %s\n",
		r->id, r->name, user, style(look, state_style(r)), r->state,
		style(look, "\033[0m"), lane, sl_size_print(r->resident_bytes, resident),
		sl_size_print(r->swapped_bytes, swapped), (unsigned long long)r->turns,
		r->rate, share, r->share * 100, waited,
		reason_apart(r, look) ? "" : r->reason);
}

static sl_status draw_job(
	const struct sl_job_row *r, const struct cli_top_look *look, struct sl_buf *out)
{
	SL_TRY(is_narrow(look) ? draw_narrow(r, look, out) : draw_wide(r, look, out));
	return reason_apart(r, look)
		       ? sl_buf_printf(out, "      %s%s%s\n", style(look, "\033[2m"),
				 r->reason, style(look, "\033[0m"))
		       : SL_OK;
}

static sl_status draw_jobs(
	const struct cli_picture *p, const struct cli_top_look *look, struct sl_buf *out)
{
	int room = look->lines - FIXED_LINES - (int)p->n_lanes;
	size_t i = 0;

	if (is_narrow(look))
		SL_TRY(sl_buf_printf(out,
			"%s  ID  %-10s %-8s L %10s %10s %6s %7s %5s %7s%s\n",
			style(look, "\033[7m"), "NAME", "STATE", "RESIDENT", "SWAPPED",
			"ITER", "it/s", "SHARE", "WAITED", style(look, "\033[0m")));
	else
		SL_TRY(sl_buf_printf(out,
			"%s  ID  %-14s %-8s %-8s %-4s %10s %10s %8s %8s %-15s %7s  "
			"REASON%s\n",
			style(look, "\033[7m"), "NAME", "USER", "STATE", "LANE",
			"RESIDENT", "SWAPPED", "ITER", "it/s", "SHARE", "WAITED",
			style(look, "\033[0m")));
	for (; i < p->n_jobs; i++) {
		room -= 1 + reason_apart(&p->jobs[i], look);
		if (look->lines > 0 && room < (i + 1 < p->n_jobs))
			break;
		SL_TRY(draw_job(&p->jobs[i], look, out));
	}
	if (i < p->n_jobs)
		SL_TRY(sl_buf_printf(out, "      and %zu more; `sluice ps` lists all\n",
			p->n_jobs - i));
	return SL_OK;
}

sl_status cli_top_draw(
	const struct cli_picture *p, const struct cli_top_look *look, struct sl_buf *out)
{
	const struct sl_daemon_state *s = &p->state;
	char up[CLI_TIME_TEXT];

	cli_time_text(s->uptime_s, up);
	SL_TRY(sl_buf_printf(out,
		"%ssluice top%s  policy %s  up %s  jobs %u, %u resident  turns %llu, "
		"%llu handed over\n\n",
		style(look, "\033[1m"), style(look, "\033[0m"), s->policy, up, s->jobs,
		s->residents, (unsigned long long)s->turns,
		(unsigned long long)s->switches));
	SL_TRY(draw_device(p, look, out));
	SL_TRY(draw_lanes(p, look, out));
	SL_TRY(draw_tiers(p, out));
	SL_TRY(sl_buf_puts(out, "\n"));
	SL_TRY(draw_jobs(p, look, out));
	if (look->note != NULL)
		SL_TRY(sl_buf_printf(out, "\n%s%s%s\n", style(look, "\033[2m"),
			look->note, style(look, "\033[0m")));
	return SL_OK;
}
