/* SPDX-License-Identifier: Apache-2.0 */
/* Training in virtual time: what was predicted is measured, and the bits are the CPU's.
 */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "sluice/memory.h"

#define MODELS SL_SMALL_MODELS

static void predict(const struct sl_session_config *c, struct sl_plan_report *out)
{
	const struct sl_planner_device device = {0};
	struct sl_planner *p = NULL;

	sl_assert_ok(sl_planner_open(c, &device, &p));
	sl_assert_ok(sl_planner_plan(p, c->policy, c->budget_bytes, out, NULL));
	assert_true(out->feasible);
	sl_planner_close(p);
}

/* One model, one budget: price, peak and stall as planned; the same each time. */
static void check(const struct sl_session_config *c, const char *digest)
{
	struct sl_plan_report plan;
	struct sl_session_run run, again;
	double ms, stall;

	predict(c, &plan);
	ms = (double)plan.iter_ns / 1e6;
	sl_assert_ok(sl_session_run_all(c, &run));
	assert_string_equal(run.summary.digest, digest);
	assert_int_equal(run.summary.peak_device_bytes, plan.peak_bytes);
	/* The bar is 2 %; a float keeps seven digits of the time. */
	assert_true(fabs(run.summary.iter_ms_median - ms) <= 1e-6 * ms);
	stall = (double)plan.stall_ns / 1e6 * run.n;
	assert_true(fabs(run.summary.stall_ms - stall) <= 1e-6 * ms + 1e-9);
	sl_assert_ok(sl_session_run_all(c, &again));
	assert_memory_equal(&again.summary.iter_ms_median, &run.summary.iter_ms_median,
		sizeof(double));
}

static void steps_take_the_time_that_was_predicted(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < MODELS; i++) {
		struct sl_session_run cpu;
		uint64_t peak, least;

		assert_true(sl_session_small(i, &config));
		sl_assert_ok(sl_session_bounds(&config, &peak, &least));
		sl_assert_ok(sl_session_run_all(&config, &cpu));
		config.device = "sim";
		check(&config, cpu.summary.digest);
		for (uint64_t quarters = 4; quarters >= 1; quarters--) {
			uint64_t budget = peak / 4 * quarters / 4096 * 4096;

			config.budget_bytes =
				budget > least && quarters > 1 ? budget : least;
			config.host_bytes = quarters == 3 ? peak / 4 : 0;
			check(&config, cpu.summary.digest);
		}
	}
}

static void every_policy_is_measured_as_predicted(void **state)
{
	struct sl_session_config config;
	const char *name;

	(void)state;
	for (size_t k = 0; (name = sl_policy_name_at(k, NULL)) != NULL; k++) {
		struct sl_session_run cpu;
		struct sl_planner_device device = {0};
		struct sl_planner *p = NULL;
		struct sl_plan_report r;

		assert_true(sl_session_small(3, &config));
		sl_assert_ok(sl_session_run_all(&config, &cpu));
		config.policy = name;
		config.device = "sim";
		config.budget_bytes = 1;
		sl_assert_ok(sl_planner_open(&config, &device, &p));
		sl_assert_ok(sl_planner_plan(p, name, 0, &r, NULL));
		sl_planner_close(p);
		config.budget_bytes = sl_align_up(
			(r.least_budget_bytes + r.unbudgeted_peak_bytes) / 2, 4096);
		check(&config, cpu.summary.digest);
	}
}

static void an_unknown_device_is_refused(void **state)
{
	struct sl_session_config config;
	struct sl_session_run run;

	(void)state;
	assert_true(sl_session_small(0, &config));
	config.device = "gpu";
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_USAGE, "sim");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(steps_take_the_time_that_was_predicted),
		SL_TEST(every_policy_is_measured_as_predicted),
		SL_TEST(an_unknown_device_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
