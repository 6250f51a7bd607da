/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long plans take: traces of transformer-like training steps of 1,000 and 10,000 ops
 * at half of their peak. Medians of five, wall time and the process's own time: on a busy
 * machine only the latter says something about us.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "memory/policy/policy.h"
#include "../tests/unit/memory/gen.h"

#define ROUNDS 5
#define OPS_A_BLOCK 17

static const struct row {
	const char *policy;
	uint32_t ops;
	double bar_ms;
} rows[] = {
	{"joint:effort=0", 1000, 50},
	{"joint", 1000, 1000},
	{"tensile:effort=0", 1000, 50},
	{"tensile", 1000, 1000},
	{"belady", 1000, 1000},
	{"tensile:effort=0", 10000, 5000},
};

static void must(sl_status st, const char *what)
{
	if (st == SL_OK)
		return;
	fprintf(stderr, "%s: %s\n", what, sl_last_error());
	_Exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double ms[ROUNDS])
{
	qsort(ms, ROUNDS, sizeof(*ms), by_value);
	return ms[ROUNDS / 2];
}

/* Whether the row's bar is kept, by the process's own time. */
static bool measure(const struct row *row)
{
	struct gen g = gen_training(row->ops / OPS_A_BLOCK, 256, 512, 1ull << 40);
	struct sl_policy_choice policy;
	struct sl_plan_price price = {0};
	double wall[ROUNDS], own[ROUNDS], wall_ms, own_ms;
	uint64_t peak;

	must(gen_end(&g), "a trace");
	must(sl_policy_least(sl_policy_find("keep"), &g.t, &peak), "keep");
	must(sl_policy_parse(row->policy, &policy), row->policy);
	for (int i = 0; i < ROUNDS; i++) {
		struct sl_plan plan = SL_PLAN_INIT;
		sl_ns began = sl_clock_now();
		clock_t own_began = clock();

		must(sl_policy_apply(&policy, &g.t, peak / 2, &plan), row->policy);
		wall[i] = (double)(sl_clock_now() - began) / 1e6;
		own[i] = (double)(clock() - own_began) * 1e3 / CLOCKS_PER_SEC;
		must(sl_plan_price(&g.t, &plan, &price), "a price");
		sl_plan_finish(&plan);
	}
	wall_ms = median(wall);
	own_ms = median(own);
	printf("%-18s %6u %7u %10.1f %10.1f %10.0f   +%.1f %%\n", row->policy, g.t.n_ops,
		g.t.n_values, wall_ms, own_ms, row->bar_ms,
		100 * ((double)price.iter_ns / (double)price.base_iter_ns - 1));
	fflush(stdout);
	sl_trace_finish(&g.t);
	return own_ms <= row->bar_ms;
}

int main(void)
{
	bool kept = true;

	printf("%-18s %6s %7s %10s %10s %10s   %s\n", "policy", "ops", "values",
		"wall ms", "own ms", "at most", "slowdown");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		kept &= measure(&rows[i]);
	return kept ? 0 : 1;
}
