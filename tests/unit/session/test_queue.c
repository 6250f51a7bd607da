/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions on a device whose arena the host does not see: the bits are those of the CPU,
 * whatever the plan does and in whatever order the streams go.
 */
#include "harness/harness.h"
#include "harness/lazy_device.h"
#include "harness/session_run.h"

#include <string.h>

#include "base/alloc.h"
#include "device/wrap/wrap.h"
#include "session/session_int.h"

/* The session's own device gives way to d, which it takes. */
static sl_status run_on(const struct sl_session_config *config, struct sl_device *d,
	struct sl_session_run *out)
{
	struct sl_session_config on = *config;
	struct sl_session *s = NULL;
	sl_status st;

	*out = (struct sl_session_run){0};
	on.device = "queue";
	st = sl_session_open(&on, &s);
	if (st != SL_OK) {
		sl_device_destroy(d);
		return st;
	}
	sl_device_destroy(s->machine.device);
	s->machine.device = d;
	SL_TRY_OUT(sl_session_prepare(s, NULL));
	SL_TRY_OUT(sl_session_train(s, &out->summary));
out:
	sl_session_close(s);
	return st;
}

static void tight(int model, int quarters, struct sl_session_config *config)
{
	uint64_t peak, least;

	assert_true(sl_session_small(model, config));
	sl_assert_ok(sl_session_bounds(config, &peak, &least));
	config->budget_bytes =
		(least + (peak - least) / 4 * (uint64_t)quarters) / 4096 * 4096;
}

static void same(const struct sl_session_config *config)
{
	struct sl_session_config other = *config;
	struct sl_session_run cpu, queue;

	other.device = "queue";
	sl_assert_ok(sl_session_run_all(config, &cpu));
	sl_assert_ok(sl_session_run_all(&other, &queue));
	assert_string_equal(queue.summary.digest, cpu.summary.digest);
	assert_memory_equal(queue.losses, cpu.losses, sizeof(cpu.losses));
	assert_memory_equal(queue.accuracy, cpu.accuracy, sizeof(cpu.accuracy));
	if (config->budget_bytes > 0)
		assert_true(queue.summary.peak_device_bytes <= config->budget_bytes);
}

static void training_on_queues_gives_the_bits_of_the_cpu(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; sl_session_small(i, &config); i++) {
		config.steps = i < SL_SMALL_MODELS ? 3 : 2;
		same(&config);
		tight(i, 1, &config);
		config.steps = i < SL_SMALL_MODELS ? 3 : 2;
		config.policy = i < SL_SMALL_MODELS ? NULL : "belady";
		same(&config);
		config.host_bytes = config.budget_bytes / 2;
		same(&config);
		config.disk_folder = "none";
		config.host_bytes = 4 * config.budget_bytes;
		same(&config);
	}
}

static void every_policys_plan_is_carried_out_by_queues(void **state)
{
	static const struct {
		const char *name;
		bool swaps;
	} rows[] = {
		{"belady", true},
		{"capuchin", true},
		{"chen", false},
		{"dtr", false},
		{"g10", true},
		{"tensile", true},
		{"vdnn", true},
	};
	struct sl_session_config config;
	struct sl_session_run cpu, queue;
	uint64_t again = 0, swapped = 0;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(rows); i++) {
		tight(3, 3, &config);
		config.policy = rows[i].name;
		config.host_bytes = config.budget_bytes;
		if (!rows[i].swaps) {
			config.budget_bytes = config.host_bytes = 0;
			config.budget_ratio = 0.97;
			config.disk_folder = "none";
		}
		sl_assert_ok(sl_session_run_all(&config, &cpu));
		config.device = "queue";
		sl_assert_ok(sl_session_run_all(&config, &queue));
		assert_string_equal(queue.summary.digest, cpu.summary.digest);
		again += queue.summary.recompute_ops;
		swapped += queue.summary.swap_in_bytes;
	}
	assert_true(again > 0);
	assert_true(swapped > 0);
}

static void any_order_of_the_streams_gives_the_same_bits(void **state)
{
	struct sl_session_config config;
	struct sl_session_run cpu, lazy;
	struct sl_device *d = NULL;

	(void)state;
	for (int i = 0; i < SL_SMALL_MODELS; i++) {
		tight(i, 1, &config);
		config.host_bytes = config.budget_bytes / 4;
		config.steps = 2;
		config.policy = "belady";
		config.no_replan = true;
		sl_assert_ok(sl_session_run_all(&config, &cpu));
		for (uint64_t seed = 0; seed < 8; seed++) {
			sl_assert_ok(lazy_device_create(seed, &d));
			sl_assert_ok(run_on(&config, d, &lazy));
			assert_string_equal(lazy.summary.digest, cpu.summary.digest);
			assert_true(lazy.summary.swap_in_bytes > 0);
			assert_int_equal(lazy_device_live(), 0);
		}
	}
}

static void new_plans_change_no_bit_on_queues(void **state)
{
	struct sl_session_config config;
	struct sl_session_run cpu, queue;
	uint64_t replans = 0;

	(void)state;
	for (int i = 0; i < SL_SMALL_MODELS; i++) {
		tight(i, 1, &config);
		config.steps = 24;
		config.no_replan = true;
		sl_assert_ok(sl_session_run_all(&config, &cpu));
		config.no_replan = false;
		config.replan_drift = 0.01;
		config.device = "queue";
		sl_assert_ok(sl_session_run_all(&config, &queue));
		assert_string_equal(queue.summary.digest, cpu.summary.digest);
		replans += queue.summary.replans;
	}
	assert_true(replans > 0);
}

static void a_checkpoint_of_one_device_goes_on_on_the_other(void **state)
{
	struct sl_session_config config;
	struct sl_session_run whole, half, rest;

	(void)state;
	tight(1, 1, &config);
	config.steps = 4;
	config.eval = true;
	config.valid_ratio = 0.25;
	sl_assert_ok(sl_session_run_all(&config, &whole));
	for (int first_on_queue = 0; first_on_queue < 2; first_on_queue++) {
		config.steps = 2;
		config.save_path = sl_test_path("half");
		config.resume_path = NULL;
		config.device = first_on_queue ? "queue" : "cpu";
		sl_assert_ok(sl_session_run_all(&config, &half));
		config.steps = 4;
		config.save_path = NULL;
		config.resume_path = sl_test_path("half");
		config.device = first_on_queue ? "cpu" : "queue";
		sl_assert_ok(sl_session_run_all(&config, &rest));
		assert_string_equal(rest.summary.digest, whole.summary.digest);
		assert_true(rest.summary.eval.loss == whole.summary.eval.loss);
	}
}

static sl_status run_failing(const struct sl_session_config *config, long n)
{
	struct sl_device *inner = NULL, *d = NULL;
	struct sl_session_run run;
	long before = sl_alloc_live();
	sl_status st;

	sl_assert_ok(sl_device_create("queue", &inner));
	sl_assert_ok(sl_device_fault_create(inner, n, SL_E_LOST, &d));
	st = run_on(config, d, &run);
	if (st != SL_OK)
		sl_assert_fails(st, SL_E_LOST, "injected");
	assert_int_equal(sl_alloc_live(), before);
	return st;
}

static void every_failed_call_of_the_device_ends_the_run_cleanly(void **state)
{
	struct sl_session_config config;
	long n = 1;

	(void)state;
	tight(0, 1, &config);
	config.host_bytes = config.budget_bytes / 4;
	config.steps = 2;
	while (run_failing(&config, n) != SL_OK)
		n += n < 100 ? 1 : 11;
	assert_true(n > 200);
}

static sl_status give_up(const struct sl_call *c)
{
	(void)c;
	return SL_FAIL(SL_E_NUMERIC, "this kernel gives up");
}

/* Its failure comes out of the stream later, and still says whose it is. */
static void a_kernel_that_fails_is_named(void **state)
{
	struct sl_session_config config;
	struct sl_session *s = NULL;
	struct sl_program_op *op;
	struct sl_summary summary;

	(void)state;
	assert_true(sl_session_small(1, &config));
	config.device = "queue";
	sl_assert_ok(sl_session_open(&config, &s));
	op = &s->instances[SL_TRAIN].program->ops[5];
	struct sl_kernel bad = *op->kernel;
	bad.run = give_up;
	op->kernel = &bad;
	sl_assert_ok(sl_session_prepare(s, NULL));
	sl_assert_fails(
		sl_session_train(s, &summary), SL_E_NUMERIC, "this kernel gives up");
	assert_non_null(strstr(sl_last_error(), "op 5 ("));
	sl_session_close(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(training_on_queues_gives_the_bits_of_the_cpu),
		SL_TEST(every_policys_plan_is_carried_out_by_queues),
		SL_TEST(any_order_of_the_streams_gives_the_same_bits),
		SL_TEST(new_plans_change_no_bit_on_queues),
		SL_TEST(a_checkpoint_of_one_device_goes_on_on_the_other),
		SL_TEST(every_failed_call_of_the_device_ends_the_run_cleanly),
		SL_TEST(a_kernel_that_fails_is_named),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
