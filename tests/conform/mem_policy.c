/* SPDX-License-Identifier: Apache-2.0 */
/* What every memory policy owes: sound plans, the same each time, that survive their text
 * form, and whose peak a script of a few lines finds too. Iterates the table of policies
 * over traces of the corpus. */
#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "harness/again_plan.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

static const char *const corpus[] = {
	"gap", "layers", "split", "stream", "update", "views", "weights"};

#define SLACK ((uint64_t)1 << 18) /* for runs again */
#define MAX_POLICIES 64
#define N_TRACES (SL_COUNT(corpus) + 6)

static void load(size_t i, struct sl_trace *t)
{
	if (i < SL_COUNT(corpus)) {
		struct sl_buf text = SL_BUF_INIT;
		char path[128];

		(void)snprintf(path, sizeof(path), "tests/corpus/%s.trace", corpus[i]);
		sl_assert_ok(sl_fs_read(path, 1 << 20, &text));
		sl_assert_ok(sl_trace_parse(path, text.data, text.len, t));
		sl_buf_finish(&text);
	} else {
		struct gen g =
			i % 2 ? gen_random(i, 20) : gen_training(3, 32, 16, 1 << 24);

		sl_assert_ok(gen_end(&g));
		*t = g.t;
	}
}

typedef void (*law_fn)(
	const struct sl_mem_policy *p, const struct sl_trace *t, uint64_t least);

/* Found once a policy and trace: most of the time goes into them. */
static uint64_t least_of(size_t policy, size_t trace, const struct sl_trace *t)
{
	static uint64_t known[MAX_POLICIES][N_TRACES];

	assert_true(policy < MAX_POLICIES);
	if (known[policy][trace] == 0)
		sl_assert_ok(
			sl_policy_least(sl_policy_at(policy), t, &known[policy][trace]));
	return known[policy][trace];
}

static void for_all(law_fn law)
{
	for (size_t k = 0; sl_policy_at(k); k++) {
		for (size_t i = 0; i < N_TRACES; i++) {
			struct sl_trace t = SL_TRACE_INIT;

			load(i, &t);
			law(sl_policy_at(k), &t, least_of(k, i, &t));
			sl_trace_finish(&t);
		}
	}
}

static void law_unlimited(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t least)
{
	struct sl_plan p = SL_PLAN_INIT;
	(void)least;

	sl_assert_ok(sl_policy_plan(policy, t, UINT64_MAX, &p));
	assert_int_equal(p.n_actions, 0);
	assert_int_equal(p.stall_ns, 0);
	sl_plan_finish(&p);
}

static void without_a_limit_a_plan_does_nothing(void **state)
{
	(void)state;
	for_all(law_unlimited);
}

static void law_more(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t least)
{
	for (uint64_t k = 0; k < 12; k++) {
		struct sl_plan p = SL_PLAN_INIT;
		uint64_t budget = least + k * (least / 8 + 1);

		sl_assert_ok(sl_policy_plan(policy, t, budget, &p));
		sl_assert_ok(sl_plan_check(t, &p, budget, NULL));
		sl_plan_finish(&p);
	}
}

static void more_budget_is_never_infeasible(void **state)
{
	(void)state;
	for_all(law_more);
}

static void law_text(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t least)
{
	struct sl_plan p = SL_PLAN_INIT, again = SL_PLAN_INIT, back = SL_PLAN_INIT;
	struct sl_buf text[3] = {SL_BUF_INIT, SL_BUF_INIT, SL_BUF_INIT};

	sl_assert_ok(sl_policy_plan(policy, t, least, &p));
	sl_assert_ok(sl_policy_plan(policy, t, least, &again));
	sl_assert_ok(sl_plan_print(&p, t, &text[0]));
	sl_assert_ok(sl_plan_print(&again, t, &text[1]));
	assert_string_equal(sl_buf_text(&text[0]), sl_buf_text(&text[1]));
	sl_assert_ok(sl_plan_parse("printed", text[0].data, text[0].len, t, &back));
	sl_assert_ok(sl_plan_check(t, &back, least, NULL));
	sl_assert_ok(sl_plan_print(&back, t, &text[2]));
	assert_string_equal(sl_buf_text(&text[0]), sl_buf_text(&text[2]));
	for (int i = 0; i < 3; i++)
		sl_buf_finish(&text[i]);
	sl_plan_finish(&p);
	sl_plan_finish(&again);
	sl_plan_finish(&back);
}

static void plans_repeat_and_survive_their_text(void **state)
{
	(void)state;
	for_all(law_text);
}

/* The number that the script prints, or -1 with its message on the test's output. */
static long long run_script(const char *trace, const char *plan)
{
	char out[256] = "";
	int ends[2];
	int status = 0;
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		execlp("python3", "python3", "tests/tools/peak.py", trace, plan,
			(char *)NULL);
		_exit(127);
	}
	assert_true(child > 0);
	(void)close(ends[1]);
	n = read(ends[0], out, sizeof(out) - 1);
	(void)close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		sl_test_skip("python3 is missing");
	return n > 0 && status == 0 ? strtoll(out, NULL, 10) : -1;
}

static void write_text(const char *path, const struct sl_buf *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text->data, 1, text->len, f), text->len);
	assert_int_equal(fclose(f), 0);
}

static void law_peak(
	const struct sl_mem_policy *policy, const struct sl_trace *t, uint64_t least)
{
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_buf text = SL_BUF_INIT, trace = SL_BUF_INIT;
	struct sl_rng rng = {.key = {.seed = least}};
	const char *trace_path = sl_test_path("peak.trace");
	const char *plan_path = sl_test_path("peak.plan");

	sl_assert_ok(sl_policy_plan(policy, t, least, &p));
	sl_assert_ok(sl_again_plan(&rng, t, least + SLACK, 10, &p));
	sl_assert_ok(sl_trace_print(t, &trace));
	sl_assert_ok(sl_plan_print(&p, t, &text));
	write_text(trace_path, &trace);
	write_text(plan_path, &text);
	assert_int_equal(run_script(trace_path, plan_path), p.peak);
	sl_buf_finish(&trace);
	sl_buf_finish(&text);
	sl_plan_finish(&p);
}

/* Also with runs again woven in. */
static void a_script_of_a_few_lines_finds_the_same_peak(void **state)
{
	(void)state;
	for_all(law_peak);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(without_a_limit_a_plan_does_nothing),
		SL_TEST(more_budget_is_never_infeasible),
		SL_TEST(plans_repeat_and_survive_their_text),
		SL_TEST(a_script_of_a_few_lines_finds_the_same_peak),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
