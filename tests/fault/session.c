/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions when host memory runs out or files fail: each run ends with a status and a
 * message, nothing leaks, and a checkpoint that was there stays whole.
 */
#include "harness/graph_rig.h"
#include "harness/harness.h"
#include "harness/random_graph.h"
#include "harness/session_run.h"

#include <errno.h>

#include "base/fs.h"
#include "memory/policy/policy.h"

/* The harness's loop, and how often it ran. */
static void torture(const char *what, sl_torture_fn fn, void *ctx)
{
	long runs = sl_torture(fn, ctx);

	print_message("%s: each of %ld allocations failed once\n", what, runs);
	assert_true(runs > 20);
}

static void torture_fs(const char *what, sl_torture_fn fn, void *ctx, int err)
{
	long runs = sl_torture_fs(fn, ctx, err);

	print_message("%s: each of %ld system calls failed once\n", what, runs);
	assert_true(runs > 0);
}

static sl_status build_and_seal(void *ctx)
{
	const struct sl_random_graph_opts opts = {.seed = *(uint64_t *)ctx, .moves = 8};
	struct sl_graph *g = NULL;
	struct sl_program *p = NULL;
	sl_status st;

	SL_TRY_OUT(sl_random_graph(&opts, &g));
	SL_TRY_OUT(sl_program_seal(g, 2, &p));
out:
	sl_program_destroy(p);
	sl_graph_destroy(g);
	return st;
}

static void building_and_sealing_survive_every_failed_allocation(void **state)
{
	(void)state;
	for (uint64_t seed = 2; seed <= 4; seed++)
		torture("build and seal", build_and_seal, &seed);
}

static sl_status plan_program(void *ctx)
{
	const struct sl_program_tier tier = sl_graph_rig_tier(SL_RIG_HOST);
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_least_budget least;
	sl_status st;

	SL_TRY_OUT(sl_program_trace(ctx, &tier, 1, NULL, &t));
	SL_TRY_OUT(sl_trace_least_budget(&t, &least));
	SL_TRY_OUT(sl_policy_plan(sl_policy_find("belady"), &t, least.bytes, &plan));
	SL_TRY_OUT(sl_program_select_lines(ctx, &plan));
out:
	sl_plan_finish(&plan);
	sl_trace_finish(&t);
	return st;
}

/* One thread alone, but half a minute for the thread sanitizer. */
#if defined(__SANITIZE_THREAD__)
#define PLANNED_MOVES 2
#else
#define PLANNED_MOVES 6
#endif

static void tracing_and_planning_survive_every_failed_allocation(void **state)
{
	const struct sl_random_graph_opts opts = {.seed = 7, .moves = PLANNED_MOVES};
	struct sl_graph *g = NULL;
	struct sl_program *p = NULL;

	(void)state;
	sl_assert_ok(sl_random_graph(&opts, &g));
	sl_assert_ok(sl_program_seal(g, 2, &p));
	torture("trace and plan", plan_program, p);
	sl_program_destroy(p);
	sl_graph_destroy(g);
}

static sl_status train(void *ctx)
{
	struct sl_session_run run;

	return sl_session_run_all(ctx, &run);
}

static struct sl_session_config tiny(void)
{
	return (struct sl_session_config){
		.model = "mlp:sizes=8-6-4",
		.data = "synthetic:8",
		.batch = 500,
		.steps = 1,
		.weight_decay = -1,
		.threads = 1,
		.policy = "tensile:effort=0", /* the search has a torture of its own */
	};
}

static uint64_t least_of(const struct sl_session_config *config)
{
	uint64_t peak, least;

	sl_assert_ok(sl_session_bounds(config, &peak, &least));
	return least;
}

static void a_step_survives_every_failed_allocation(void **state)
{
	struct sl_session_config config = tiny();

	(void)state;
	torture("one step", train, &config);
	config.budget_bytes = least_of(&config);
	torture("one step under a budget", train, &config);
	config.host_bytes = 4096;
	config.device = "queue";
	torture("one step on queues", train, &config);
}

static void other_models_survive_every_failed_allocation(void **state)
{
	const char *const models[] = {"convnet:input=1x8x8",
		"gpt2:layers=1,width=16,heads=2,context=8,vocab=32"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(models); i++) {
		struct sl_session_config config = tiny();

		config.model = models[i];
		config.data = NULL;
		config.batch = 4;
		config.clip = 1;
		torture(models[i], train, &config);
	}
}

static void saving_and_resuming_survive_every_failed_allocation(void **state)
{
	struct sl_session_config config = tiny();
	struct sl_session_run whole, rest;

	(void)state;
	config.steps = 2;
	sl_assert_ok(sl_session_run_all(&config, &whole));
	config.steps = 1;
	config.save_path = sl_test_path("saved");
	torture("save", train, &config);
	/* The last run was whole. */
	config.resume_path = config.save_path;
	config.save_path = NULL;
	config.steps = 2;
	torture("resume", train, &config);
	sl_assert_ok(sl_session_run_all(&config, &rest));
	assert_string_equal(rest.summary.digest, whole.summary.digest);
}

static void evaluation_survives_every_failed_allocation(void **state)
{
	struct sl_session_config config = tiny();

	(void)state;
	config.valid_ratio = 0.5;
	config.eval = true;
	torture("evaluation", train, &config);
}

/* A failed save leaves the checkpoint that was there. */
static sl_status save_over(void *ctx)
{
	struct sl_session_config *config = ctx, look = *config;
	struct sl_session_run run, check;
	sl_status st = sl_session_run_all(config, &run);
	bool failed = sl_fs_failed();

	if (!failed || st == SL_OK)
		return st;
	sl_fs_fail_at(0, 0);
	look.resume_path = config->save_path;
	look.save_path = NULL;
	sl_assert_ok(sl_session_run_all(&look, &check));
	/* Again, as the harness looks whether the failure came. */
	sl_fs_fail_at(1, EIO);
	assert_int_equal(sl_session_run_all(config, &run), SL_E_IO);
	return st;
}

static void failed_system_calls_end_with_a_status_and_keep_the_checkpoint(void **state)
{
	const int errors[] = {EIO, ENOSPC};
	struct sl_session_config config = tiny();
	struct sl_session_run run;

	(void)state;
	config.save_path = sl_test_path("kept");
	sl_assert_ok(sl_session_run_all(&config, &run));
	for (size_t i = 0; i < SL_COUNT(errors); i++)
		torture_fs("save", save_over, &config, errors[i]);
	config.resume_path = config.save_path;
	config.save_path = sl_test_path("next");
	config.steps = 2;
	torture_fs("resume and save", train, &config, EIO);
}

static void failed_system_calls_of_opening_end_with_a_status(void **state)
{
	struct sl_session_config config = tiny();

	(void)state;
	config.budget_bytes = least_of(&config);
	torture_fs("open under a budget", train, &config, EIO);
	config.record_path = sl_test_path("trace");
	torture_fs("record", train, &config, ENOSPC);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(building_and_sealing_survive_every_failed_allocation),
		SL_TEST(tracing_and_planning_survive_every_failed_allocation),
		SL_TEST(a_step_survives_every_failed_allocation),
		SL_TEST(other_models_survive_every_failed_allocation),
		SL_TEST(saving_and_resuming_survive_every_failed_allocation),
		SL_TEST(evaluation_survives_every_failed_allocation),
		SL_TEST(failed_system_calls_end_with_a_status_and_keep_the_checkpoint),
		SL_TEST(failed_system_calls_of_opening_end_with_a_status),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
