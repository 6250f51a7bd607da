/* SPDX-License-Identifier: Apache-2.0 */
/* All policies at all budgets of a curve. */
#include "grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/units.h"
#include "output.h"

#define POLICIES 32u

struct grid {
	struct sl_planner *planner;
	struct sl_plan_report *cells; /* by policy, then budget */
	const char *names[POLICIES];
	size_t n_policies, n_budgets;
};

static struct sl_plan_report *cell(const struct grid *g, size_t policy, size_t budget)
{
	return &g->cells[policy * g->n_budgets + budget];
}

static void tell(const struct cli_args *args, const char *name, size_t done, size_t all)
{
	if (args->quiet || args->json || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%3.0f %%  %s\033[K", 100.0 * (double)done / (double)all,
		done < all ? name : "");
	if (done == all)
		fputs("\r\033[K", stderr);
}

/* A plan for less memory is one for more. */
static sl_status fill_policy(const struct grid *g, size_t p, const struct cli_preview *f)
{
	for (size_t i = 0; i < g->n_budgets; i++) {
		struct sl_plan_report *to = cell(g, p, i), *less = to - (i > 0);
		uint64_t budget = f->rows[i].budget_bytes;

		SL_TRY(sl_planner_plan(g->planner, g->names[p], budget, to, NULL));
		if (less->feasible && (!to->feasible || less->iter_ns < to->iter_ns))
			*to = *less;
		to->budget_bytes = budget;
	}
	return SL_OK;
}

static uint64_t quickest(const struct grid *g, size_t budget)
{
	uint64_t ns = UINT64_MAX;

	for (size_t p = 0; p < g->n_policies; p++) {
		const struct sl_plan_report *r = cell(g, p, budget);

		ns = r->feasible && r->iter_ns < ns ? r->iter_ns : ns;
	}
	return ns;
}

static void print_row(const struct grid *g, size_t budget)
{
	const struct sl_plan_report *any = cell(g, 0, budget);
	uint64_t best = quickest(g, budget);
	char size[SL_SIZE_TEXT];

	printf("%11s %4.0f %%", sl_size_print(any->budget_bytes, size),
		100 * sl_times(any->budget_bytes, any->unbudgeted_peak_bytes));
	for (size_t p = 0; p < g->n_policies; p++) {
		const struct sl_plan_report *r = cell(g, p, budget);
		char text[32] = "-";

		if (r->feasible)
			snprintf(text, sizeof(text), "%.3f%s",
				sl_times(r->iter_ns, r->base_iter_ns),
				r->iter_ns == best ? "*" : " ");
		printf(" %10s", text);
	}
	printf("\n");
}

static void print(const struct grid *g)
{
	printf("%11s %6s", "budget", "share");
	for (size_t p = 0; p < g->n_policies; p++)
		printf(" %10s", g->names[p]);
	printf("\n");
	for (size_t i = 0; i < g->n_budgets; i++)
		print_row(g, i);
	printf("step time by the time of all ops once; *: the quickest; -: does not "
	       "fit\n");
}

static sl_status print_json(const struct grid *g)
{
	struct cli_preview one = {.n = 1};

	for (size_t i = 0; i < g->n_policies * g->n_budgets; i++) {
		one.rows[0] = g->cells[i];
		SL_TRY(cli_preview_json(&one));
	}
	return SL_OK;
}

sl_status cli_grid(struct sl_planner *p, const struct cli_args *args,
	const struct cli_preview *front)
{
	struct grid g = {.planner = p, .n_budgets = front->n};
	const char *name;
	sl_status st = SL_OK;

	while (g.n_policies < POLICIES &&
		(name = sl_policy_name_at(g.n_policies, NULL)) != NULL)
		g.names[g.n_policies++] = name;
	g.cells = sl_calloc(g.n_policies * g.n_budgets + 1, sizeof(*g.cells));
	if (g.cells == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a table of policies");
	for (size_t k = 0; k < g.n_policies; k++) {
		tell(args, g.names[k], k, g.n_policies);
		SL_TRY_OUT(fill_policy(&g, k, front));
	}
	tell(args, "", g.n_policies, g.n_policies);
	if (args->json)
		SL_TRY_OUT(print_json(&g));
	else
		print(&g);
out:
	sl_free(g.cells);
	return st;
}
