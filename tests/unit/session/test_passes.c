/* SPDX-License-Identifier: Apache-2.0 */
/* Inference by graphs that passes changed says what the model's own graph says, whatever
 * the budget. */
#include "harness/harness.h"

#include <math.h>
#include <string.h>

#include "session/session_int.h"
#include "sluice/session.h"

#define BATCH 3
#define CLASSES 10
#define FEATURES (3 * 32 * 32)

static struct sl_session_config config_of(bool as_built, double budget)
{
	return (struct sl_session_config){
		.model = "resnet18:input=3x32x32,classes=10",
		.data = "synthetic:3x32x32",
		.batch = BATCH,
		.threads = 2,
		.seed = 7,
		.infer_only = true,
		.logits_only = true,
		.as_built = as_built,
		.budget_ratio = budget,
		.disk_folder = budget > 0 ? sl_test_path("") : NULL,
		.valid_ratio = -1,
	};
}

/* Two batches, the second one of other samples. */
static sl_status predict(const struct sl_session_config *config, float *out)
{
	static float x[BATCH * FEATURES];
	struct sl_session *s = NULL;
	sl_status st;

	SL_TRY_OUT(sl_session_open(config, &s));
	SL_TRY_OUT(sl_session_prepare(s, NULL));
	for (int batch = 0; batch < 2; batch++) {
		for (int i = 0; i < BATCH * FEATURES; i++)
			x[i] = (float)sin(0.37 * i * (batch + 1));
		SL_TRY_OUT(
			sl_session_predict(s, x, BATCH, out + batch * BATCH * CLASSES));
	}
out:
	sl_session_close(s);
	return st;
}

static void folded_graphs_say_what_the_models_graph_says(void **state)
{
	struct sl_session_config passes = config_of(false, 0);
	struct sl_session_config plain = config_of(true, 0);
	float got[2 * BATCH * CLASSES], want[2 * BATCH * CLASSES];
	float largest = 0;

	(void)state;
	sl_assert_ok(predict(&passes, got));
	sl_assert_ok(predict(&plain, want));
	for (size_t i = 0; i < SL_COUNT(want); i++)
		largest = fmaxf(largest, fabsf(want[i]));
	assert_true(largest > 0);
	for (size_t i = 0; i < SL_COUNT(want); i++)
		assert_true(fabsf(got[i] - want[i]) <= 1e-5f * largest);
}

static void a_budget_changes_no_bit(void **state)
{
	struct sl_session_config free = config_of(false, 0);
	struct sl_session_config tight = config_of(false, 0.6);
	float want[2 * BATCH * CLASSES], got[2 * BATCH * CLASSES];

	(void)state;
	sl_assert_ok(predict(&free, want));
	sl_assert_ok(predict(&tight, got));
	assert_memory_equal(got, want, sizeof(want));
}

static void batch_norms_are_gone_and_weights_are_prepared_once(void **state)
{
	struct sl_session_config config = config_of(false, 0);
	struct sl_session *s;
	const struct sl_program *p;
	float out[BATCH * CLASSES];
	static const float x[BATCH * FEATURES];

	(void)state;
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	assert_non_null(s->instances[SL_PROLOGUE].program);
	p = s->instances[SL_EVAL].program;
	for (uint32_t i = 0; i < p->n_ops; i++)
		assert_string_not_equal(p->ops[i].info.op->name, "batch_norm_infer");
	assert_false(s->weights_ready);
	for (int i = 0; i < 2; i++) {
		sl_assert_ok(sl_session_predict(s, x, BATCH, out));
		assert_true(s->weights_ready);
	}
	sl_session_close(s);
}

static void training_sessions_evaluate_the_models_graph(void **state)
{
	struct sl_session_config config = config_of(false, 0);
	struct sl_session *s;

	(void)state;
	config.infer_only = config.logits_only = false;
	config.eval = true;
	config.steps = 1;
	config.optim = "sgd";
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	assert_null(s->instances[SL_PROLOGUE].program);
	sl_session_close(s);
}

static sl_status open_small(void *ctx)
{
	struct sl_session_config config = config_of(false, 0);
	struct sl_session *s = NULL;
	sl_status st;

	(void)ctx;
	config.model = "convnet";
	config.data = "synthetic:3x32x32";
	st = sl_session_open(&config, &s);
	sl_session_close(s);
	return st;
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	assert_true(sl_torture(open_small, NULL) > 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(folded_graphs_say_what_the_models_graph_says),
		SL_TEST(a_budget_changes_no_bit),
		SL_TEST(batch_norms_are_gone_and_weights_are_prepared_once),
		SL_TEST(training_sessions_evaluate_the_models_graph),
		SL_TEST(every_allocation_may_fail),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
