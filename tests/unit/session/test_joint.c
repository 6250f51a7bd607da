/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/joint.c and src/share/client/plan.c: plans that the daemon made
 * for several jobs; only sound ones within the job's memory are taken. */
#include "harness/fake_daemon.h"
#include "harness/harness.h"
#include "harness/session_run.h"

#include <string.h>

#define STEPS 16

/* A training that swaps, alone and as a job of a daemon that plans like this. */
static void train(
	struct sl_fake_opts opts, struct sl_session_run *out, struct sl_fake_seen *seen)
{
	struct sl_fake_daemon *d = sl_fake_start(&opts);
	struct sl_session_config config;
	struct sl_session_run alone;
	uint64_t peak, least;

	assert_true(sl_session_small(0, &config));
	config.steps = STEPS;
	config.threads = 1;
	config.replan_drift = 1e9;
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	config.budget_bytes = (least + peak) / 2 / 4096 * 4096;
	sl_assert_ok(sl_session_run_all(&config, &alone));
	assert_true(alone.summary.swap_out_bytes > 0);
	config.shared = true;
	config.socket = sl_fake_socket(d);
	sl_assert_ok(sl_session_run_all(&config, out));
	sl_fake_seen(d, seen);
	sl_fake_stop(d);
	assert_string_equal(out->summary.digest, alone.summary.digest);
	assert_memory_equal(out->losses, alone.losses, STEPS * sizeof(alone.losses[0]));
	assert_true(out->summary.peak_device_bytes <= config.budget_bytes);
	assert_true(seen->traces >= 1);
}

static void a_good_plan_is_taken(void **state)
{
	struct sl_session_run run;
	struct sl_fake_seen seen;

	(void)state;
	train((struct sl_fake_opts){.plan = SL_FAKE_PLAN_GOOD}, &run, &seen);
	assert_true(seen.plans >= 1);
	assert_true(run.summary.shared.joint_plans >= 1);
	assert_true(run.summary.shared.joint_plans <= seen.plans);
}

static void refuses(enum sl_fake_plan kind)
{
	struct sl_session_run run;
	struct sl_fake_seen seen;

	train((struct sl_fake_opts){.plan = kind}, &run, &seen);
	assert_true(seen.plans >= 1);
	assert_int_equal(run.summary.shared.joint_plans, 0);
	assert_non_null(strstr(run.note, "was not taken"));
}

static void garbage_is_dropped(void **state)
{
	(void)state;
	refuses(SL_FAKE_PLAN_GARBAGE);
}

static void a_plan_above_the_memory_is_dropped(void **state)
{
	(void)state;
	refuses(SL_FAKE_PLAN_LARGE);
}

static void a_plan_of_another_trace_is_dropped(void **state)
{
	(void)state;
	refuses(SL_FAKE_PLAN_OTHER);
}

static void an_unsound_plan_is_dropped(void **state)
{
	(void)state;
	refuses(SL_FAKE_PLAN_UNSOUND);
}

static void a_daemon_that_comes_back_gets_the_trace_again(void **state)
{
	struct sl_session_run run;
	struct sl_fake_seen seen;

	(void)state;
	train((struct sl_fake_opts){.plan = SL_FAKE_PLAN_GOOD, .drop_every = 5}, &run,
		&seen);
	assert_true(seen.attaches >= 2);
	assert_true(seen.traces >= seen.attaches);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_good_plan_is_taken),
		SL_TEST(garbage_is_dropped),
		SL_TEST(a_plan_above_the_memory_is_dropped),
		SL_TEST(a_plan_of_another_trace_is_dropped),
		SL_TEST(an_unsound_plan_is_dropped),
		SL_TEST(a_daemon_that_comes_back_gets_the_trace_again),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
