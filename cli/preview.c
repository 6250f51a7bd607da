/* SPDX-License-Identifier: Apache-2.0 */
/* Previews of plans: JSON, a table, a sentence, a curve. */
#include "preview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "output.h"

#define CELL 64
#define CHART_WIDTH 60
#define CHART_HEIGHT 9
#define FREE 1.005 /* a step this much longer counts as not slowed down */

static double ratio(uint64_t a, uint64_t b)
{
	return b > 0 ? (double)a / (double)b : 0;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static int by_time(const void *a, const void *b)
{
	const struct sl_plan_report *x = a, *y = b;

	if (x->feasible != y->feasible)
		return x->feasible ? -1 : 1;
	if (x->iter_ns != y->iter_ns)
		return x->iter_ns < y->iter_ns ? -1 : 1;
	return strcmp(x->policy, y->policy);
}

void cli_preview_sort(struct cli_preview *p)
{
	qsort(p->rows, p->n, sizeof(*p->rows), by_time);
}

/* The share that a plan takes more than any can. */
static double gap(const struct sl_plan_report *r)
{
	if (!r->feasible || r->joint_bound_ns == 0)
		return 0;
	return (double)r->iter_ns / (double)r->joint_bound_ns - 1;
}

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
	sl_json_u64(j, "held_peak_bytes", r->held_peak_bytes);
	sl_json_u64(j, "unbudgeted_peak_bytes", r->unbudgeted_peak_bytes);
	sl_json_u64(j, "base_iter_ns", r->base_iter_ns);
	sl_json_u64(j, "iter_ns", r->iter_ns);
	sl_json_u64(j, "swap_out_bytes", r->swap_out_bytes);
	sl_json_u64(j, "swap_in_bytes", r->swap_in_bytes);
	sl_json_u64(j, "move_bytes", r->move_bytes);
	sl_json_u64(j, "recompute_ops", r->recompute_ops);
	sl_json_u64(j, "recompute_ns", r->recompute_ns);
	sl_json_u64(j, "stall_ns", r->stall_ns);
	sl_json_u64(j, "host_bytes", r->host_bytes);
	sl_json_u64(j, "disk_bytes", r->disk_bytes);
	sl_json_u64(j, "plan_ns", r->plan_ns);
	sl_json_u64(j, "bound_bytes", r->bound_bytes);
	sl_json_u64(j, "bound_out_bytes", r->bound_out_bytes);
	sl_json_u64(j, "bound_in_bytes", r->bound_in_bytes);
	sl_json_u64(j, "bound_ns", r->bound_ns);
	sl_json_u64(j, "joint_bound_ns", r->joint_bound_ns);
	sl_json_f64(j, "gap", gap(r));
	return cli_line_end(&line);
}

sl_status cli_preview_json(const struct cli_preview *p)
{
	for (size_t i = 0; i < p->n; i++)
		SL_TRY(row_json(&p->rows[i]));
	return SL_OK;
}

/* The least budget at which nothing is lost; n: none. */
static size_t free_row(const struct cli_preview *p)
{
	size_t i = 0;

	while (i < p->n &&
		!(p->rows[i].feasible && (double)p->rows[i].iter_ns <=
						 FREE * (double)p->rows[i].base_iter_ns))
		i++;
	return i;
}

static void size_cell(char text[CELL], uint64_t bytes)
{
	char size[SL_SIZE_TEXT];

	snprintf(text, CELL, "%s", bytes > 0 ? sl_size_print(bytes, size) : "-");
}

static void ms_cell(char text[CELL], uint64_t ns)
{
	if (ns > 0)
		snprintf(text, CELL, "%.2f", ms(ns));
}

/* "+12.3 %", or "2.5x" from the double on. */
static void slowdown_text(char text[CELL], const struct sl_plan_report *r)
{
	double x = sl_times(r->iter_ns, r->base_iter_ns);

	if (x >= 2)
		snprintf(text, CELL, "%.2fx", x);
	else
		snprintf(text, CELL, "+%.1f %%", 100 * (x - 1));
}

/* Cells are "-" at first. */
#define CELL_ARGS const struct cli_preview *p, const struct sl_plan_report *r, char *text

/* A curve is of one policy, which its sentence names. */
static void policy_cell(CELL_ARGS)
{
	if (!p->front)
		snprintf(text, CELL, "%s", r->policy);
}

static void budget_cell(CELL_ARGS)
{
	(void)p;
	size_cell(text, r->budget_bytes);
}

static void share_cell(CELL_ARGS)
{
	(void)p;
	if (r->budget_bytes > 0 && r->unbudgeted_peak_bytes > 0)
		snprintf(text, CELL, "%.0f %%",
			100 * ratio(r->budget_bytes, r->unbudgeted_peak_bytes));
}

static void peak_cell(CELL_ARGS)
{
	(void)p;
	size_cell(text, r->peak_bytes);
}

static void gaps_cell(CELL_ARGS)
{
	(void)p;
	if (r->feasible && r->held_peak_bytes > 0)
		snprintf(text, CELL, "%.1f %%",
			100 * (1 - ratio(r->held_peak_bytes, r->peak_bytes)));
}

static void step_cell(CELL_ARGS)
{
	(void)p;
	ms_cell(text, r->iter_ns);
}

static void slowdown_cell(CELL_ARGS)
{
	(void)p;
	if (r->feasible)
		slowdown_text(text, r);
}

static void stall_cell(CELL_ARGS)
{
	(void)p;
	ms_cell(text, r->stall_ns);
}

static void again_cell(CELL_ARGS)
{
	(void)p;
	if (r->recompute_ops > 0)
		snprintf(text, CELL, "%llu", (unsigned long long)r->recompute_ops);
}

static void again_ms_cell(CELL_ARGS)
{
	(void)p;
	ms_cell(text, r->recompute_ns);
}

static void out_cell(CELL_ARGS)
{
	(void)p;
	size_cell(text, r->swap_out_bytes);
}

static void in_cell(CELL_ARGS)
{
	(void)p;
	size_cell(text, r->swap_in_bytes);
}

static void moved_cell(CELL_ARGS)
{
	(void)p;
	size_cell(text, r->move_bytes);
}

static void host_cell(CELL_ARGS)
{
	(void)p;
	size_cell(text, r->host_bytes);
}

static void disk_cell(CELL_ARGS)
{
	(void)p;
	size_cell(text, r->disk_bytes);
}

/* Where nothing has to leave it says nothing. */
static void bound_cell(CELL_ARGS)
{
	(void)p;
	if (r->bound_bytes > 0)
		ms_cell(text, r->bound_ns);
}

/* A policy whose own plan does not fit takes that one. */
static bool is_beladys(const struct cli_preview *p, const struct sl_plan_report *r)
{
	for (size_t i = 0; i < p->n && !p->front; i++) {
		const struct sl_plan_report *b = &p->rows[i];

		if (strcmp(b->policy, "belady") == 0)
			return b != r && b->iter_ns == r->iter_ns &&
			       b->swap_out_bytes == r->swap_out_bytes &&
			       b->swap_in_bytes == r->swap_in_bytes &&
			       b->move_bytes == r->move_bytes &&
			       r->swap_out_bytes + r->move_bytes > 0;
	}
	return false;
}

static void verdict_cell(CELL_ARGS)
{
	char size[SL_SIZE_TEXT];

	if (!r->feasible)
		snprintf(text, CELL, "does not fit: needs %s",
			sl_size_print(r->least_budget_bytes, size));
	else if (p->front && (size_t)(r - p->rows) == free_row(p))
		snprintf(text, CELL, "fits: the least without slowdown");
	else
		snprintf(text, CELL, is_beladys(p, r) ? "fits: belady's plan" : "fits");
}

static const struct column {
	const char *title;
	void (*cell)(
		const struct cli_preview *p, const struct sl_plan_report *r, char *text);
	bool left;
} columns[] = {
	{"policy", policy_cell, true},
	{"budget", budget_cell, false},
	{"share", share_cell, false},
	{"peak", peak_cell, false},
	{"gaps", gaps_cell, false},
	{"step ms", step_cell, false},
	{"slowdown", slowdown_cell, false},
	{"stall ms", stall_cell, false},
	{"ops again", again_cell, false},
	{"again ms", again_ms_cell, false},
	{"out", out_cell, false},
	{"in", in_cell, false},
	{"shifted", moved_cell, false},
	{"on host", host_cell, false},
	{"on disk", disk_cell, false},
	{"swap bound ms", bound_cell, false},
	{"verdict", verdict_cell, true},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void cell_text(const struct cli_preview *p, size_t c, size_t i, char text[CELL])
{
	snprintf(text, CELL, "-");
	columns[c].cell(p, &p->rows[i], text);
}

/* 0: nothing in it. */
static int column_width(const struct cli_preview *p, size_t c)
{
	size_t width = strlen(columns[c].title);
	bool used = false;

	for (size_t i = 0; i < p->n; i++) {
		char text[CELL];

		cell_text(p, c, i, text);
		used = used || strcmp(text, "-") != 0;
		width = strlen(text) > width ? strlen(text) : width;
	}
	return used ? (int)width : 0;
}

static void put(size_t c, int width, const char *text)
{
	if (width == 0)
		return;
	printf("%s%*s", columns[c].left && c == 0 ? "" : "  ",
		c + 1 == COLUMNS  ? 0
		: columns[c].left ? -width
				  : width,
		text);
}

void cli_preview_table(const struct cli_preview *p)
{
	int width[COLUMNS];

	for (size_t c = 0; c < COLUMNS; c++)
		width[c] = column_width(p, c);
	for (size_t c = 0; c < COLUMNS; c++)
		put(c, width[c], columns[c].title);
	printf("\n");
	for (size_t i = 0; i < p->n; i++) {
		for (size_t c = 0; c < COLUMNS; c++) {
			char text[CELL];

			cell_text(p, c, i, text);
			put(c, width[c], text);
		}
		printf("\n");
	}
}

/* "runs 72 ops again (6.90 ms), moves 1.20 MiB out and 3.40 MiB in (0.10 ms of waiting)"
 */
static void say_means(const struct sl_plan_report *r)
{
	char out[SL_SIZE_TEXT], in[SL_SIZE_TEXT];

	if (r->recompute_ops > 0)
		printf("runs %llu op%s again (%.2f ms), ",
			(unsigned long long)r->recompute_ops,
			r->recompute_ops == 1 ? "" : "s", ms(r->recompute_ns));
	if (r->swap_out_bytes + r->swap_in_bytes > 0)
		printf("moves %s out and %s in (%.2f ms of waiting)",
			sl_size_print(r->swap_out_bytes, out),
			sl_size_print(r->swap_in_bytes, in), ms(r->stall_ns));
	else
		printf("moves nothing");
}

static void say_plan(const struct sl_plan_report *r)
{
	char peak[SL_SIZE_TEXT], all[SL_SIZE_TEXT], slower[CELL];

	printf("%s holds the step in %s of %s: ", r->policy,
		sl_size_print(r->peak_bytes, peak),
		sl_size_print(r->unbudgeted_peak_bytes, all));
	say_means(r);
	slowdown_text(slower, r);
	if ((double)r->iter_ns <= FREE * (double)r->base_iter_ns)
		printf("; no slowdown\n");
	else
		printf("; %s (%.2f ms instead of %.2f)\n", slower, ms(r->iter_ns),
			ms(r->base_iter_ns));
}

void cli_preview_sentence(const struct cli_preview *p)
{
	size_t i = p->front ? free_row(p) : 0;
	const struct sl_plan_report *r = &p->rows[i < p->n ? i : 0];
	char least[SL_SIZE_TEXT];

	if (p->n == 0 || !r->feasible)
		return;
	if (p->front)
		printf("from %s on: ", sl_size_print(r->budget_bytes, least));
	say_plan(r);
	if (r->budget_bytes == 0)
		return;
	if (r->joint_bound_ns > 0)
		printf("gap: at most %.1f %%; no plan takes less than %.2f ms\n",
			100 * gap(r), (double)r->joint_bound_ns / 1e6);
	printf("least budget: %s, set by op %u (%s)\n",
		sl_size_print(r->least_budget_bytes, least), r->binding_op,
		r->binding_kind);
}

/* The row whose plan serves at a budget. */
static const struct sl_plan_report *row_at(const struct cli_preview *p, double budget)
{
	const struct sl_plan_report *r = &p->rows[0];

	for (size_t i = 1; i < p->n; i++)
		if ((double)p->rows[i].budget_bytes <= budget)
			r = &p->rows[i];
	return r;
}

/* From the top: 0 is the slowest. */
static int line_of(const struct cli_preview *p, const struct sl_plan_report *r)
{
	double most = (double)p->rows[0].iter_ns,
	       least = (double)p->rows[p->n - 1].iter_ns;

	return (int)((most - (double)r->iter_ns) / (most - least) * (CHART_HEIGHT - 1) +
		     0.5);
}

static void chart_line(const struct cli_preview *p, int y)
{
	double from = (double)p->rows[0].budget_bytes,
	       span = (double)p->rows[p->n - 1].budget_bytes - from;
	char line[CHART_WIDTH + 1];
	int len = 0;

	for (int x = 0; x < CHART_WIDTH; x++) {
		const struct sl_plan_report *r =
			row_at(p, from + span * x / (CHART_WIDTH - 1));

		line[x] = line_of(p, r) == y ? '*' : ' ';
		len = line[x] == '*' ? x + 1 : len;
	}
	printf("%.*s\n", len, line);
}

void cli_preview_chart(const struct cli_preview *p)
{
	const struct sl_plan_report *first = p->rows,
				    *last = &p->rows[p->n > 0 ? p->n - 1 : 0];
	char from[SL_SIZE_TEXT], to[SL_SIZE_TEXT];

	if (p->n < 2 || !first->feasible || !last->feasible ||
		first->iter_ns <= last->iter_ns)
		return;
	printf("\n%10s\n", "step ms");
	for (int y = 0; y < CHART_HEIGHT; y++) {
		if (y == 0 || y == CHART_HEIGHT - 1)
			printf("%10.2f |", ms(y == 0 ? first->iter_ns : last->iter_ns));
		else
			printf("%10s |", "");
		chart_line(p, y);
	}
	printf("%10s +", "");
	for (int x = 0; x < CHART_WIDTH; x++)
		putchar('-');
	printf("\n%12s%-*s%s\n", "", CHART_WIDTH - 10,
		sl_size_print(first->budget_bytes, from),
		sl_size_print(last->budget_bytes, to));
}
