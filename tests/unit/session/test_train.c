/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/train.c: epochs, tails, evaluation between, freezing, stopping. */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "session/session_int.h"

/* 1024 samples: an epoch is eleven steps, the last of them with 24 samples. */
static const struct sl_session_config mlp = {
	.model = "mlp:sizes=20-16-10,dropout=0.3",
	.data = "synthetic:20",
	.batch = 100,
	.clip = 1,
	.weight_decay = -1,
	.threads = 1,
	.seed = 5,
};

static void an_epoch_ends_with_a_partial_batch(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session_run run;

	(void)state;
	config.epochs = 2;
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_int_equal(run.n, 22);
	assert_int_equal(run.epochs[10], 1);
	assert_int_equal(run.epochs[11], 2);
	assert_true(run.summary.loss_first == run.losses[0]);
	assert_true(run.summary.loss_last == run.losses[21]);
	/* Accuracy is a count over 24 samples there. */
	for (int i = 10; i < 22; i += 11)
		assert_true(
			fabs(run.accuracy[i] * 24 - round(run.accuracy[i] * 24)) < 1e-6);
	assert_true(run.losses[10] > 1 && run.losses[10] < 5);
}

static void a_partial_batch_is_the_same_under_a_budget(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session_run a, b;
	uint64_t peak, least;

	(void)state;
	config.epochs = 1;
	config.accumulate = 3;
	sl_assert_ok(sl_session_run_all(&config, &a));
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	config.budget_bytes = least;
	sl_assert_ok(sl_session_run_all(&config, &b));
	assert_string_equal(a.summary.digest, b.summary.digest);
	assert_true(b.summary.swap_in_bytes > 0);
	assert_true(b.summary.peak_device_bytes <= least);
	assert_int_equal(b.summary.peak_device_bytes, b.summary.predicted_peak_bytes);
}

static void a_batch_larger_than_the_set_is_the_set(void **state)
{
	struct sl_session_config config = mlp, exact = mlp;
	struct sl_session_run a, b;

	(void)state;
	config.batch = 5000;
	config.steps = exact.steps = 2;
	exact.batch = 1024;
	sl_assert_ok(sl_session_run_all(&config, &a));
	sl_assert_ok(sl_session_run_all(&exact, &b));
	assert_string_equal(a.summary.digest, b.summary.digest);
}

/* The convnet is a quarter of a minute for the thread sanitizer. */
#if defined(__SANITIZE_THREAD__)
#define EVALUATED 1
#else
#define EVALUATED 3
#endif

static void evaluation_between_epochs_changes_no_bit_of_training(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < EVALUATED;
		i += 2) { /* mlp; convnet with its running statistics */
		struct sl_session_run plain, with;
		uint64_t peak, least;

		assert_true(sl_session_small(i, &config));
		config.batch = 150;
		config.steps = 13; /* an epoch is seven */
		config.valid_ratio = 0.1;
		sl_assert_ok(sl_session_run_all(&config, &plain));
		config.eval = true;
		sl_assert_ok(sl_session_run_all(&config, &with));
		assert_int_equal(plain.evals, 0);
		assert_int_equal(with.evals, 2);
		assert_int_equal(with.summary.eval.samples, 102);
		assert_true(isfinite(with.summary.eval.loss));
		assert_string_equal(plain.summary.digest, with.summary.digest);
		sl_assert_ok(sl_session_bounds(&config, &peak, &least));
		config.budget_bytes = (peak + least) / 2 / 4096 * 4096;
		sl_assert_ok(sl_session_run_all(&config, &with));
		assert_string_equal(plain.summary.digest, with.summary.digest);
	}
}

/* Reads persistent value `name` of a session after so many steps. */
static void read_value(const struct sl_session_config *config, const char *name,
	float *out, size_t count)
{
	struct sl_session *s = NULL;
	const struct sl_program *p;
	struct sl_summary summary;
	uint32_t v = 0;

	sl_assert_ok(sl_session_open(config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	if (config->steps > 0)
		sl_assert_ok(sl_session_train(s, &summary));
	p = s->machine.adopted->program;
	while (v < p->n_persistent && strcmp(p->storages[v].name, name) != 0)
		v++;
	assert_true(v < p->n_persistent);
	sl_assert_ok(sl_engine_read(s->machine.engine, v, 0, out, count * sizeof(*out)));
	sl_session_close(s);
}

static void frozen_parameters_stay_as_they_were(void **state)
{
	struct sl_session_config config = mlp;
	float before[160], after[160];

	(void)state;
	config.freeze = "fc1";
	read_value(&config, "fc1.weight", before, 160);
	config.steps = 3;
	read_value(&config, "fc1.weight", after, 160);
	assert_memory_equal(before, after, sizeof(before));
	config.steps = 0;
	read_value(&config, "fc2.weight", before, 160);
	config.steps = 3;
	read_value(&config, "fc2.weight", after, 160);
	assert_memory_not_equal(before, after, sizeof(before));
}

static void freezing_everything_is_refused(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session *s = NULL;

	(void)state;
	config.freeze = "fc";
	sl_assert_fails(sl_session_open(&config, &s), SL_E_USAGE, "leaves no parameter");
	assert_null(s);
}

static volatile sig_atomic_t stop;

static void stop_now(void *ctx, const struct sl_step_report *r)
{
	int *steps = ctx;

	(void)r;
	++*steps;
	stop = 1;
}

static void a_stop_ends_after_the_step_and_saves(void **state)
{
	struct sl_session_config config = mlp, rest = mlp;
	struct sl_session_run whole, after;
	struct sl_session *s = NULL;
	struct sl_summary summary;
	int steps = 0;
	const struct sl_session_events events = {.ctx = &steps, .step = stop_now};

	(void)state;
	config.steps = rest.steps = 4;
	sl_assert_ok(sl_session_run_all(&config, &whole));
	stop = 0;
	config.stop = &stop;
	config.save_path = sl_test_path("stopped");
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_ok(sl_session_prepare(s, &events));
	sl_assert_fails(
		sl_session_train(s, &summary), SL_E_INTERRUPTED, "after step 1 of 4");
	sl_session_close(s);
	assert_int_equal(steps, 1);
	assert_int_equal(summary.steps, 1);
	rest.resume_path = config.save_path;
	sl_assert_ok(sl_session_run_all(&rest, &after));
	assert_string_equal(after.summary.digest, whole.summary.digest);
}

static void a_stop_before_the_first_step_saves_nothing(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session *s = NULL;
	struct sl_summary summary;

	(void)state;
	stop = 0;
	config.stop = &stop;
	config.save_path = sl_test_path("unstarted");
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	stop = 1;
	sl_assert_fails(
		sl_session_train(s, &summary), SL_E_INTERRUPTED, "after step 0 of");
	sl_session_close(s);
	assert_int_not_equal(access(config.save_path, F_OK), 0);
	assert_true(isnan(summary.loss_first));
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_fails(
		sl_session_prepare(s, NULL), SL_E_INTERRUPTED, "before the first");
	sl_session_close(s);
}

static void a_loss_that_is_not_finite_ends_the_run(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session_run run;

	(void)state;
	config.steps = 20;
	config.optim = "sgd";
	config.clip = 0;
	config.lr = 1e30;
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_NUMERIC, "--allow-nan");
	config.allow_nan = true;
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_int_equal(run.n, 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(an_epoch_ends_with_a_partial_batch),
		SL_TEST(a_partial_batch_is_the_same_under_a_budget),
		SL_TEST(a_batch_larger_than_the_set_is_the_set),
		SL_TEST(evaluation_between_epochs_changes_no_bit_of_training),
		SL_TEST(frozen_parameters_stay_as_they_were),
		SL_TEST(freezing_everything_is_refused),
		SL_TEST(a_stop_ends_after_the_step_and_saves),
		SL_TEST(a_stop_before_the_first_step_saves_nothing),
		SL_TEST(a_loss_that_is_not_finite_ends_the_run),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
