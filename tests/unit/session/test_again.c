/* SPDX-License-Identifier: Apache-2.0 */
/* Stored plans with runs again: training gives the same bits, and they are counted. */
#include "harness/again_plan.h"
#include "harness/harness.h"
#include "harness/session_run.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "sluice/memory.h"

#define TRIES 60

/* The plan of a policy for the model, with runs again; its groups and its peak. */
static uint32_t write_plan(const struct sl_session_config *config, uint64_t budget,
	const char *path, uint64_t *peak)
{
	const struct sl_planner_device device = {0};
	struct sl_planner *planner = NULL;
	struct sl_plan_report report;
	struct sl_buf text = SL_BUF_INIT, trace = SL_BUF_INIT, out = SL_BUF_INIT;
	struct sl_session_config planned = *config;
	struct sl_rng rng = {.key = {.seed = budget}};
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	uint32_t groups;

	planned.budget_bytes = budget;
	sl_assert_ok(sl_planner_open(&planned, &device, &planner));
	sl_assert_ok(sl_planner_plan(planner, NULL, budget, &report, &text));
	sl_assert_ok(sl_planner_trace(planner, &trace));
	sl_planner_close(planner);
	sl_assert_ok(sl_trace_parse("trace", trace.data, trace.len, &t));
	sl_assert_ok(sl_plan_parse("plan", text.data, text.len, &t, &p));
	sl_assert_ok(sl_again_plan(&rng, &t, 2 * p.peak, TRIES, &p));
	sl_assert_ok(sl_plan_price(&t, &p, &price));
	groups = sl_again_count(&t, &p, NULL);
	assert_int_equal(price.recompute_ops, groups);
	sl_assert_ok(sl_plan_print(&p, &t, &out));
	sl_assert_ok(sl_fs_write(path, out.data, out.len));
	*peak = p.peak;
	sl_plan_finish(&p);
	sl_trace_finish(&t);
	sl_buf_finish(&text);
	sl_buf_finish(&trace);
	sl_buf_finish(&out);
	return groups;
}

static void train_again(int model, bool swapping)
{
	struct sl_session_config config;
	struct sl_session_run plain, run;
	uint64_t peak, least, budget;
	uint32_t groups;

	assert_true(sl_session_small(model, &config));
	config.steps = 2;
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	sl_assert_ok(sl_session_run_all(&config, &plain));
	assert_int_equal(plain.summary.recompute_ops, 0);
	budget = swapping ? (least + peak) / 2 / 4096 * 4096 : 0;
	config.plan_path = sl_test_path("plan");
	groups = write_plan(&config, budget, config.plan_path, &peak);
	assert_true(groups > 5);
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_string_equal(plain.summary.digest, run.summary.digest);
	assert_int_equal(run.summary.recompute_ops, 2 * groups);
	assert_int_equal(run.summary.peak_device_bytes, peak);
	assert_true(!swapping || run.summary.swap_out_bytes > 0);
}

static void training_with_runs_again_gives_the_same_bits(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; sl_session_small(i, &config); i++)
		train_again(i, false);
}

static void runs_again_beside_swapping_give_the_same_bits(void **state)
{
	(void)state;
	train_again(2, true);
	train_again(3, true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(training_with_runs_again_gives_the_same_bits),
		SL_TEST(runs_again_beside_swapping_give_the_same_bits),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
