/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Five hundred random graphs of at most twelve ops, each in a random budget that some
 * recomputation makes work, and the least time there is: by relaxing all sets of values
 * on the device until nothing changes. A policy is held to it, `optimal` or what
 * SL_TINY_POLICY says: equal in so many of a hundred cases (SL_TINY_EQUAL, 99), and never
 * over so many percent more time (SL_TINY_WORST, 5).
 */
#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

#define CASES (int)setting("SL_TINY_CASES", 500)
#define MAX_OPS 12
#define SETS (1u << MAX_OPS)
#define PAGE ((uint64_t)4096)

static long setting(const char *name, long usual)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : usual;
}

/* Op i reads the values of `reads` and bears value i. */
struct graph {
	uint32_t n;
	uint32_t reads[MAX_OPS];
	uint64_t bytes[MAX_OPS], workspace[MAX_OPS], ns[MAX_OPS];
};

static struct graph random_graph(struct sl_rng *rng)
{
	struct graph g = {.n = 6 + (uint32_t)sl_rng_below(rng, MAX_OPS - 5)};

	for (uint32_t i = 0; i < g.n; i++) {
		g.bytes[i] = PAGE * (1 + sl_rng_below(rng, 16));
		g.workspace[i] = sl_rng_below(rng, 3) ? 0 : PAGE * sl_rng_below(rng, 8);
		g.ns[i] = 100 + sl_rng_below(rng, 1000);
		for (uint64_t k = 1 + sl_rng_below(rng, 3); i > 0 && k > 0; k--)
			g.reads[i] |= 1u << sl_rng_below(rng, i);
	}
	return g;
}

static struct gen trace_of(const struct graph *g)
{
	struct gen t = {.t = SL_TRACE_INIT};

	for (uint32_t i = 0; i < g->n; i++)
		(void)gen_value(&t, SL_CLASS_ACT, g->bytes[i]);
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t in[8], n = 0;

		for (uint32_t v = 0; v < i; v++) {
			if (g->reads[i] >> v & 1)
				in[n++] = v;
		}
		in[n] = SL_NO_ID;
		gen_op(&t, "op", g->workspace[i], in, GEN_L(i, GEN_E), GEN_NONE);
	}
	sl_assert_ok(gen_end(&t));
	for (uint32_t i = 0; i < g->n; i++)
		t.t.ops[i].dur_ns = g->ns[i];
	return t;
}

static uint64_t bytes_of(const struct graph *g, uint32_t set)
{
	uint64_t sum = 0;

	for (uint32_t v = 0; v < g->n; v++)
		sum += (set >> v & 1) ? g->bytes[v] : 0;
	return sum;
}

static bool can_run(const struct graph *g, uint32_t op, uint32_t set, uint64_t budget)
{
	return (g->reads[op] & ~set) == 0 &&
	       bytes_of(g, set | 1u << op) + g->workspace[op] <= budget;
}

static bool lower(uint64_t *ns, uint64_t to)
{
	if (to >= *ns)
		return false;
	*ns = to;
	return true;
}

/* One round over all sets before op `next`; whether anything became less. */
static bool relax(const struct graph *g, uint32_t next, uint64_t budget, uint64_t *ns)
{
	bool changed = false;

	for (uint32_t set = 0; set < 1u << next; set++) {
		for (uint32_t v = 0; v < next && ns[set] != UINT64_MAX; v++) {
			uint32_t bit = 1u << v;

			if (set & bit)
				changed |= lower(&ns[set & ~bit], ns[set]);
			else if (can_run(g, v, set, budget))
				changed |= lower(&ns[set | bit], ns[set] + g->ns[v]);
		}
	}
	return changed;
}

/* The least time of runs again; UINT64_MAX: there is no way. */
static uint64_t least_ns(const struct graph *g, uint64_t budget)
{
	static uint64_t ns[MAX_OPS + 1][SETS];
	uint64_t best = UINT64_MAX;

	memset(ns, 0xff, sizeof(ns));
	ns[0][0] = 0;
	for (uint32_t next = 0; next < g->n; next++) {
		while (relax(g, next, budget, ns[next]))
			;
		for (uint32_t set = 0; set < 1u << next; set++) {
			if (ns[next][set] != UINT64_MAX && can_run(g, next, set, budget))
				(void)lower(
					&ns[next + 1][set | 1u << next], ns[next][set]);
		}
	}
	for (uint32_t set = 0; set < SETS; set++)
		(void)lower(&best, ns[g->n][set]);
	return best;
}

struct tally {
	int equal, failed;
	double worst;
};

static void compare(const struct sl_policy_choice *c, const struct graph *g,
	uint64_t budget, uint64_t best, struct tally *n)
{
	struct gen t = trace_of(g);
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price = {0};
	sl_status st = sl_policy_apply(c, &t.t, budget, &p);

	if (st == SL_E_INFEASIBLE) {
		n->failed++;
	} else {
		double ratio;

		sl_assert_ok(st);
		sl_assert_ok(sl_plan_price(&t.t, &p, &price));
		assert_true(price.iter_ns >= price.base_iter_ns + best);
		ratio = (double)price.iter_ns / (double)(price.base_iter_ns + best);
		n->equal += price.iter_ns == price.base_iter_ns + best;
		n->worst = ratio > n->worst ? ratio : n->worst;
	}
	sl_plan_finish(&p);
	sl_trace_finish(&t.t);
}

/* A budget below what keeping everything takes. */
static uint64_t random_budget(struct sl_rng *rng, const struct graph *g)
{
	struct gen t = trace_of(g);
	struct sl_least_budget b = {0};
	uint64_t pages;

	sl_assert_ok(sl_trace_least_budget(&t.t, &b));
	sl_trace_finish(&t.t);
	pages = (b.live_peak_bytes - b.bytes) / PAGE;
	return pages == 0 ? 0 : b.bytes + PAGE * sl_rng_below(rng, pages);
}

static void tiny_graphs_take_the_least_time_there_is(void **state)
{
	const char *name = getenv("SL_TINY_POLICY");
	struct sl_policy_choice c;
	struct sl_rng rng = {.key = {.seed = 4}};
	struct tally n = {.worst = 1};
	int cases = 0;
	(void)state;

	sl_assert_ok(sl_policy_parse(name ? name : "optimal", &c));
	while (cases < CASES) {
		struct graph g = random_graph(&rng);
		uint64_t budget = random_budget(&rng, &g);
		uint64_t best = budget > 0 ? least_ns(&g, budget) : UINT64_MAX;

		if (best == UINT64_MAX)
			continue;
		compare(&c, &g, budget, best, &n);
		cases++;
	}
	printf("# %s: %d of %d equal, worst %.4f, %d without a plan\n",
		name ? name : "optimal", n.equal, CASES, n.worst, n.failed);
	assert_true(n.equal * 100 >= CASES * setting("SL_TINY_EQUAL", 99));
	assert_true(n.worst * 100 <= (double)(100 + setting("SL_TINY_WORST", 5)));
	assert_true(n.failed * 100 <= CASES * (100 - setting("SL_TINY_EQUAL", 99)));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(tiny_graphs_take_the_least_time_there_is),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
