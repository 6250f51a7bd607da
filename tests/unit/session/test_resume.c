/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/checkpoint.c: a resumed run is the run that was never interrupted.
 */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"

/* An epoch is eleven steps, the last of them partial. */
static const struct sl_session_config mlp = {
	.model = "mlp:sizes=20-16-10,dropout=0.3",
	.data = "synthetic:20",
	.batch = 100,
	.steps = 15,
	.clip = 1,
	.weight_decay = -1,
	.threads = 1,
	.seed = 5,
	.schedule = {.kind = SL_SCHEDULE_COSINE, .warmup = 3, .total = 15},
};

static void same_files(const char *a, const char *b)
{
	struct sl_buf x = SL_BUF_INIT, y = SL_BUF_INIT;

	sl_assert_ok(sl_fs_read(a, 1 << 28, &x));
	sl_assert_ok(sl_fs_read(b, 1 << 28, &y));
	assert_int_equal(x.len, y.len);
	assert_memory_equal(x.data, y.data, x.len);
	sl_buf_finish(&x);
	sl_buf_finish(&y);
}

/* Saves after `at` steps, resumes, and compares with one run. */
static void interrupt(const struct sl_session_config *config, int64_t at,
	uint64_t budget_before, uint64_t budget_after)
{
	struct sl_session_config whole = *config, first = *config, rest = *config;
	struct sl_session_run a, b, c;

	whole.save_path = sl_test_path("whole");
	sl_assert_ok(sl_session_run_all(&whole, &a));
	first.steps = at;
	first.budget_bytes = budget_before;
	first.save_path = sl_test_path("first");
	sl_assert_ok(sl_session_run_all(&first, &b));
	rest.budget_bytes = budget_after;
	rest.resume_path = first.save_path;
	rest.save_path = sl_test_path("rest");
	sl_assert_ok(sl_session_run_all(&rest, &c));
	assert_int_equal(b.n, at);
	assert_int_equal(c.n, config->steps - at);
	for (int i = 0; i < c.n; i++)
		assert_true(c.losses[i] == a.losses[at + i]);
	assert_string_equal(c.summary.digest, a.summary.digest);
	assert_string_not_equal(b.summary.digest, a.summary.digest);
	same_files(whole.save_path, rest.save_path);
}

static void resuming_in_any_part_of_an_epoch_continues_the_run(void **state)
{
	const int64_t at[] = {1, 7, 10, 11, 12, 14};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(at); i++)
		interrupt(&mlp, at[i], 0, 0);
}

static void models_resume_under_another_budget(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < SL_SMALL_MODELS; i++) {
		uint64_t peak, least;

		assert_true(sl_session_small(i, &config));
		config.seed = 11;
		sl_assert_ok(sl_session_bounds(&config, &peak, &least));
		assert_true(least < peak);
		interrupt(&config, 2, 0, least);
		interrupt(&config, 1, least, (least + peak) / 2 / 4096 * 4096);
	}
}

static void every_optimizer_resumes(void **state)
{
	const char *const optims[] = {"sgd", "momentum", "adam", "adamw"};
	struct sl_session_config config = mlp;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(optims); i++) {
		config.optim = optims[i];
		interrupt(&config, 4, 0, 0);
	}
}

static void accumulation_resumes(void **state)
{
	struct sl_session_config config = mlp;

	(void)state;
	config.accumulate = 3;
	interrupt(&config, 9, 0, 0);
}

/* The checkpoint's seed wins, and that is said. */
static void another_seed_is_said_and_not_taken(void **state)
{
	struct sl_session_config first = mlp, rest = mlp;
	struct sl_session_run whole, run;

	(void)state;
	first.steps = 4;
	first.save_path = sl_test_path("seed");
	sl_assert_ok(sl_session_run_all(&first, &run));
	assert_int_equal(run.notes, 0);
	rest.resume_path = first.save_path;
	rest.seed = 6;
	sl_assert_ok(sl_session_run_all(&rest, &run));
	assert_int_equal(run.notes, 1);
	assert_non_null(strstr(run.note, "--seed 5"));
	sl_assert_ok(sl_session_run_all(&mlp, &whole));
	assert_int_equal(run.n, whole.n - 4);
}

static void a_finished_checkpoint_asks_for_no_step(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session_run first, again;

	(void)state;
	config.save_path = sl_test_path("done");
	sl_assert_ok(sl_session_run_all(&config, &first));
	config.resume_path = config.save_path;
	config.save_path = NULL;
	sl_assert_ok(sl_session_run_all(&config, &again));
	assert_int_equal(again.n, 0);
	assert_non_null(strstr(again.note, "has 15 steps already"));
	assert_string_equal(again.summary.digest, first.summary.digest);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session_run run;

	(void)state;
	config.steps = 1;
	config.save_path = sl_test_path("other");
	sl_assert_ok(sl_session_run_all(&config, &run));
	config.resume_path = config.save_path;
	config.save_path = NULL;
	config.optim = "sgd";
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_FORMAT, "adamw");
	config.optim = NULL;
	config.model = "mlp:sizes=20-17-10";
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_FORMAT, "fc1");
	config.model = mlp.model;
	config.resume_path = sl_test_path("missing");
	sl_assert_fails(sl_session_run_all(&config, &run), SL_E_NOT_FOUND, "missing");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(resuming_in_any_part_of_an_epoch_continues_the_run),
		SL_TEST(models_resume_under_another_budget),
		SL_TEST(every_optimizer_resumes),
		SL_TEST(accumulation_resumes),
		SL_TEST(another_seed_is_said_and_not_taken),
		SL_TEST(a_finished_checkpoint_asks_for_no_step),
		SL_TEST(what_does_not_fit_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
