/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/eval.c: which samples are looked at, and when that is refused. */
#include "harness/harness.h"
#include "harness/session_run.h"

#include "sluice/session.h"

/* 1024 samples. */
static const struct sl_session_config mlp = {
	.model = "mlp:sizes=20-16-10,dropout=0.3",
	.data = "synthetic:20",
	.batch = 100,
	.clip = 1,
	.weight_decay = -1,
	.threads = 1,
	.seed = 5,
};

static void evaluation_gives_the_same_numbers_under_a_budget(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session_run a, b;
	uint64_t peak, least;

	(void)state;
	config.steps = 3;
	config.valid_ratio = 0.25;
	config.eval = true;
	sl_assert_ok(sl_session_run_all(&config, &a));
	sl_assert_ok(sl_session_bounds(&config, &peak, &least));
	config.budget_bytes = least;
	sl_assert_ok(sl_session_run_all(&config, &b));
	assert_true(a.summary.eval.loss == b.summary.eval.loss);
	assert_true(a.summary.eval.accuracy == b.summary.eval.accuracy);
	assert_int_equal(a.summary.eval.samples, 256);
}

static void a_limit_above_the_batches_there_are_takes_the_tail_too(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_session_run run;

	(void)state;
	config.steps = 1;
	config.eval = true;
	config.valid_ratio = 0.24; /* 245 samples: two batches and 45 */
	config.eval_steps = 3;
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_int_equal(run.summary.eval.samples, 245);
	config.eval_steps = 2;
	sl_assert_ok(sl_session_run_all(&config, &run));
	assert_int_equal(run.summary.eval.samples, 200);
}

static void what_a_session_was_not_prepared_for_is_refused(void **state)
{
	struct sl_session_config config = mlp;
	struct sl_eval_report report;
	struct sl_summary summary;
	struct sl_session *s = NULL;

	(void)state;
	config.model = NULL;
	sl_assert_fails(sl_session_open(&config, &s), SL_E_USAGE, "no model");
	config.model = mlp.model;
	config.steps = 1;
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_fails(sl_session_train(s, &summary), SL_E_INVALID, "prepare");
	sl_assert_ok(sl_session_prepare(s, NULL));
	sl_assert_fails(sl_session_eval(s, &report), SL_E_INVALID, "eval");
	sl_assert_fails(sl_session_infer(s, NULL, NULL), SL_E_INVALID, "eval");
	sl_session_close(s);
	config.infer_only = true;
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	sl_assert_fails(sl_session_train(s, &summary), SL_E_INVALID, "infer_only");
	sl_session_close(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(evaluation_gives_the_same_numbers_under_a_budget),
		SL_TEST(a_limit_above_the_batches_there_are_takes_the_tail_too),
		SL_TEST(what_a_session_was_not_prepared_for_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
