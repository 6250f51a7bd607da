/* SPDX-License-Identifier: Apache-2.0 */
/* The integer program of `optimal`: what is made of a solver's answers, good and bad; and
 * the real solver's, where it is installed. */
#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "memory/policy/optimal_int.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

#define PAGE ((uint64_t)4096)

/* Eighteen ops, which no search looks at, and no chain: two skips cross. Op 0 bears a
 * value that the last op reads, too; in the middle there is little room. */
#define OPS 18u
#define SKIP_FROM 3
#define SKIP_TO 7
#define CROSS_FROM 5
#define CROSS_TO 8

static struct gen wide(void)
{
	struct gen g = {.t = SL_TRACE_INIT};

	for (uint32_t i = 0; i < OPS; i++)
		(void)gen_value(&g, SL_CLASS_ACT, i == 0 ? 4 * PAGE : PAGE);
	for (uint32_t i = 0; i < OPS; i++)
		gen_op(&g, "op", i == OPS / 2 ? 4 * PAGE : 0,
			i == 0		? GEN_NONE
			: i == OPS - 1	? GEN_L(0, i - 1, GEN_E)
			: i == SKIP_TO	? GEN_L(SKIP_FROM, i - 1, GEN_E)
			: i == CROSS_TO ? GEN_L(CROSS_FROM, i - 1, GEN_E)
					: GEN_L(i - 1, GEN_E),
			GEN_L(i, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	for (uint32_t i = 0; i < OPS; i++)
		g.t.ops[i].dur_ns = 100 + i;
	return g;
}

/* A program of this name and text comes first on the path, or nothing does. */
static void put_on_path(const char *script)
{
	const char *path = sl_test_path("cbc");
	char *slash;
	char folder[512];

	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	assert_non_null(slash);
	*slash = '\0';
	(void)remove(path);
	if (script) {
		sl_assert_ok(sl_fs_write(path, script, strlen(script)));
		assert_int_equal(chmod(path, 0700), 0);
	}
	assert_int_equal(setenv("PATH", folder, 1), 0);
}

static sl_status plan_wide(const struct sl_trace *t, struct sl_plan *p)
{
	struct sl_policy_choice c;

	sl_assert_ok(sl_policy_parse("optimal:ilp=60,effort=0", &c));
	return sl_policy_apply(&c, t, 7 * PAGE, p);
}

/* $6 is the file for the answer. */
#define ANSWER(text) "#!/bin/sh\nexec /bin/cat >$6 <<END\n" text "\nEND\n"

static void an_answer_becomes_a_plan(void **state)
{
	struct gen g = wide();
	struct sl_plan p = SL_PLAN_INIT;
	(void)state;

	put_on_path(ANSWER("Optimal - objective value 100\n"
			   "   1 r_0_0 1 0\n  90 r_17_0 1 100\n 91 r_16_3 0 0\n"));
	sl_assert_ok(plan_wide(&g.t, &p));
	assert_int_equal(p.n_actions, 2);
	assert_int_equal(p.actions[1].again, 0);
	assert_int_equal(p.actions[1].op, OPS - 1);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void an_answer_that_is_wrong_or_none_makes_no_plan(void **state)
{
	static const char *const scripts[] = {
		ANSWER("Infeasible - objective value 0\n 90 r_17_0 1 100"),
		ANSWER("Optimal - objective value 100\n 90 r_17_5 1 100"),
		ANSWER("Optimal - objective value 100\n 90 r_9_0 1 100"),
		ANSWER("Optimal - objective value 100\n 90 r_99999_0 1 1\n r_ r_1 r_1_ "
		       "r_1_1 r_3_7"),
		ANSWER(""),
		"#!/bin/sh\nexit 0\n",
		"#!/bin/sh\nexit 3\n",
	};
	struct gen g = wide();
	(void)state;

	for (size_t i = 0; i < SL_COUNT(scripts); i++) {
		struct sl_plan p = SL_PLAN_INIT;

		put_on_path(scripts[i]);
		sl_assert_fails(plan_wide(&g.t, &p), SL_E_INFEASIBLE, "without a tier");
		assert_null(p.value_offset);
	}
	sl_trace_finish(&g.t);
}

static void without_the_solver_it_says_what_is_missing(void **state)
{
	struct gen g = wide();
	struct sl_plan p = SL_PLAN_INIT;
	(void)state;

	put_on_path(NULL);
	sl_assert_fails(plan_wide(&g.t, &p), SL_E_UNSUPPORTED, "coinor-cbc");
	sl_trace_finish(&g.t);
}

static sl_status plan_tight(void *ctx)
{
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st = plan_wide(ctx, &p);

	sl_plan_finish(&p);
	return st;
}

static void asking_survives_every_failing_allocation(void **state)
{
	struct gen g = wide();
	(void)state;

	put_on_path(ANSWER("Optimal - objective value 100\n  90 r_17_0 1 100\n"));
	assert_true(sl_torture(plan_tight, &g.t) > 60);
	sl_trace_finish(&g.t);
}

static char *path_before;

static void the_real_solver_finds_it(void **state)
{
	struct gen g = wide();
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	sl_status st;
	(void)state;

	assert_int_equal(setenv("PATH", path_before, 1), 0);
	st = plan_wide(&g.t, &p);
	if (st == SL_E_UNSUPPORTED) {
		sl_trace_finish(&g.t);
		sl_test_skip("cbc is missing");
	}
	sl_assert_ok(st);
	sl_assert_ok(sl_plan_price(&g.t, &p, &price));
	assert_int_equal(price.recompute_ns, 100);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(an_answer_becomes_a_plan),
		SL_TEST(an_answer_that_is_wrong_or_none_makes_no_plan),
		SL_TEST(without_the_solver_it_says_what_is_missing),
		SL_TEST(asking_survives_every_failing_allocation),
		SL_TEST(the_real_solver_finds_it),
	};
	const char *path = getenv("PATH");
	char text[4096];

	(void)snprintf(text, sizeof(text), "%s", path ? path : "/usr/bin:/bin");
	path_before = text;
	return sl_test_run(tests, SL_COUNT(tests));
}
