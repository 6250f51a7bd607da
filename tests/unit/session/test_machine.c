/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/machine.c: budgets, peaks, stored plans, tiers, threads. */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/units.h"
#include "session/session_int.h"
#include "sluice/memory.h"

/* The thread sanitizer takes a minute for the last model alone. */
#if defined(__SANITIZE_THREAD__)
#define MODELS SL_SMALL_MODELS
#else
#define MODELS (SL_SMALL_MODELS + 1)
#endif

static void the_number_of_threads_changes_no_bit(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < MODELS; i++) {
		struct sl_session_run one, many;

		assert_true(sl_session_small(i, &config));
		config.threads = 1;
		sl_assert_ok(sl_session_run_all(&config, &one));
		for (config.threads = 2; config.threads <= 4; config.threads += 2) {
			sl_assert_ok(sl_session_run_all(&config, &many));
			assert_memory_equal(one.losses, many.losses, sizeof(one.losses));
			assert_string_equal(one.summary.digest, many.summary.digest);
		}
	}
}

static void budgets_change_no_bit_and_peaks_are_as_planned(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < MODELS; i++) {
		struct sl_session_run free_run, run;
		uint64_t peak, least;

		assert_true(sl_session_small(i, &config));
		sl_assert_ok(sl_session_bounds(&config, &peak, &least));
		sl_assert_ok(sl_session_run_all(&config, &free_run));
		assert_int_equal(
			sl_align_up(free_run.summary.peak_device_bytes, 4096), peak);
		for (int part = 0; part <= 2; part++) {
			config.budget_bytes =
				(least + (peak - least) * (uint64_t)part / 3) / 4096 *
				4096;
			config.host_bytes = part == 1 ? peak / 4 : 0;
			sl_assert_ok(sl_session_run_all(&config, &run));
			assert_string_equal(free_run.summary.digest, run.summary.digest);
			assert_true(run.summary.peak_device_bytes <= config.budget_bytes);
			assert_int_equal(run.summary.peak_device_bytes,
				run.summary.predicted_peak_bytes);
		}
	}
}

static void a_share_of_the_peak_is_a_budget(void **state)
{
	struct sl_session_config config;
	struct sl_session_run bytes, share;
	uint64_t peak, least;

	(void)state;
	assert_true(sl_session_small(1, &config));
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	config.budget_ratio = 0.8;
	sl_assert_ok(sl_session_run_all(&config, &share));
	config.budget_ratio = 0;
	config.budget_bytes = peak * 8 / 10 / 4096 * 4096;
	sl_assert_ok(sl_session_run_all(&config, &bytes));
	assert_int_equal(share.summary.budget_bytes, config.budget_bytes);
	assert_string_equal(share.summary.digest, bytes.summary.digest);
	assert_string_equal(share.summary.policy, bytes.summary.policy);
}

static void a_budget_below_the_least_is_refused_with_figures(void **state)
{
	struct sl_session_config config;
	struct sl_session_run run;
	uint64_t peak, least;

	(void)state;
	assert_true(sl_session_small(0, &config));
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	config.budget_bytes = least - 4096;
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_INFEASIBLE, "needs");
}

/* The bound of contracts 1, at the published sizes. */
static void the_unbudgeted_peak_is_near_the_live_peak(void **state)
{
	const char *const models[] = {"mlp", "lenet5", "convnet", "resnet18", "gpt2",
		"resnet50", "densenet121", "vgg16", "vgg19", "inceptionv3",
		"inceptionv4"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(models); i++) {
		const struct sl_session_config config = {
			.model = models[i], .weight_decay = -1};
		struct sl_session *s = NULL;
		struct sl_trace t = SL_TRACE_INIT;
		struct sl_least_budget least;
		uint64_t peak;

		sl_assert_ok(sl_session_open(&config, &s));
		sl_assert_ok(sl_machine_unbudgeted_peak(&s->instances[SL_TRAIN], &peak));
		sl_assert_ok(sl_program_trace(
			s->instances[SL_TRAIN].program, NULL, 0, NULL, &t));
		sl_assert_ok(sl_trace_least_budget(&t, &least));
		print_message("%s, batch %lld: peak %llu, live %llu, ratio %.4f\n",
			models[i], (long long)s->batch, (unsigned long long)peak,
			(unsigned long long)least.live_peak_bytes,
			(double)peak / (double)least.live_peak_bytes);
		assert_true((double)peak <= 1.03 * (double)least.live_peak_bytes);
		assert_true(least.immovable_bytes <= 65536);
		sl_trace_finish(&t);
		sl_session_close(s);
	}
}

static void write_plan(
	const struct sl_session_config *config, uint64_t budget, const char *path)
{
	const struct sl_planner_device device = {0};
	struct sl_session_config c = *config;
	struct sl_buf text = SL_BUF_INIT;
	struct sl_planner *p = NULL;
	struct sl_plan_report r;

	c.budget_bytes = budget;
	sl_assert_ok(sl_planner_open(&c, &device, &p));
	sl_assert_ok(sl_planner_plan(p, NULL, budget, &r, &text));
	assert_true(r.feasible);
	sl_assert_ok(sl_fs_write(path, sl_buf_text(&text), text.len));
	sl_buf_finish(&text);
	sl_planner_close(p);
}

static void a_stored_plan_runs_and_gives_the_same_bits(void **state)
{
	struct sl_session_config config;
	struct sl_session_run plain, run;
	uint64_t peak, least, budget;

	(void)state;
	assert_true(sl_session_small(2, &config));
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	budget = (least + peak) / 2 / 4096 * 4096;
	sl_assert_ok(sl_session_run_all(&config, &plain));
	config.plan_path = sl_test_path("plan");
	write_plan(&config, budget, config.plan_path);
	config.budget_bytes = budget;
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_string_equal(plain.summary.digest, run.summary.digest);
	assert_string_equal(run.summary.policy, "joint");
	assert_true(run.summary.swap_out_bytes > 0);
	assert_true(run.summary.peak_device_bytes <= budget);
	/* Without --budget the plan's own holds. */
	config.budget_bytes = 0;
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_string_equal(plain.summary.digest, run.summary.digest);
	assert_true(run.summary.swap_out_bytes > 0);
	/* More room than the plan needs is fine, less is not. */
	config.budget_bytes = peak;
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_true(run.summary.peak_device_bytes <= budget);
	config.budget_bytes = least;
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_FORMAT, "re-plan");
}

static void a_plan_without_swaps_needs_no_budget(void **state)
{
	struct sl_session_config config;
	struct sl_session_run plain, run;
	uint64_t peak, least;

	(void)state;
	assert_true(sl_session_small(0, &config));
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	sl_assert_ok(sl_session_run_all(&config, &plain));
	config.plan_path = sl_test_path("plan");
	write_plan(&config, 0, config.plan_path);
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_string_equal(plain.summary.digest, run.summary.digest);
	assert_int_equal(sl_align_up(run.summary.peak_device_bytes, 4096), peak);
	assert_int_equal(run.summary.swap_out_bytes, 0);
}

static void another_models_plan_is_refused(void **state)
{
	struct sl_session_config config, other;
	struct sl_session_run run;
	uint64_t peak, least;

	(void)state;
	assert_true(sl_session_small(0, &config));
	assert_true(sl_session_small(1, &other));
	sl_assert_ok(sl_session_bounds(&other, &peak, &least));
	config.plan_path = sl_test_path("plan");
	write_plan(&other,
		peak / 2 / 4096 * 4096 > least ? peak / 2 / 4096 * 4096 : least,
		config.plan_path);
	config.budget_bytes = peak;
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_FORMAT, "plan");
}

static void without_a_lower_tier_the_budget_is_the_peak(void **state)
{
	struct sl_session_config config;
	struct sl_session_run run;
	uint64_t peak, least;

	(void)state;
	assert_true(sl_session_small(0, &config));
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	config.disk_folder = "none";
	config.budget_bytes = peak;
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_int_equal(run.summary.swap_out_bytes, 0);
	config.budget_bytes = least;
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_INFEASIBLE, "");
}

static void a_recorded_trace_is_the_planners(void **state)
{
	struct sl_session_config config;
	struct sl_session_run run;
	struct sl_buf text = SL_BUF_INIT;
	struct sl_trace t = SL_TRACE_INIT;

	(void)state;
	assert_true(sl_session_small(0, &config));
	config.record_path = sl_test_path("trace");
	sl_assert_ok(sl_session_run_all(&config, &run));
	sl_assert_ok(sl_fs_read(config.record_path, 1 << 24, &text));
	sl_assert_ok(sl_trace_parse("trace", sl_buf_text(&text), text.len, &t));
	assert_true(t.n_ops > 10);
	sl_trace_finish(&t);
	sl_buf_finish(&text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_number_of_threads_changes_no_bit),
		SL_TEST(budgets_change_no_bit_and_peaks_are_as_planned),
		SL_TEST(a_share_of_the_peak_is_a_budget),
		SL_TEST(a_budget_below_the_least_is_refused_with_figures),
		SL_TEST(the_unbudgeted_peak_is_near_the_live_peak),
		SL_TEST(a_stored_plan_runs_and_gives_the_same_bits),
		SL_TEST(a_plan_without_swaps_needs_no_budget),
		SL_TEST(another_models_plan_is_refused),
		SL_TEST(without_a_lower_tier_the_budget_is_the_peak),
		SL_TEST(a_recorded_trace_is_the_planners),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
