/* SPDX-License-Identifier: Apache-2.0 */
/* Inference that streams its weights gives the bits of one that holds them. */
#include "harness/harness.h"

#include <string.h>

#include "session/session_int.h"

#define SAMPLES 8
#define FEATURES 64
#define CLASSES 10

static struct sl_session_config config_of(const char *policy, uint64_t budget)
{
	return (struct sl_session_config){
		.model = "mlp:sizes=64-512-512-512-512-10",
		.data = "synthetic:64",
		.batch = SAMPLES,
		.weight_decay = -1,
		.threads = 1,
		.seed = 5,
		.infer_only = true,
		.valid_ratio = -1,
		.policy = policy,
		.budget_bytes = budget,
	};
}

static void read_samples(float *x)
{
	struct sl_data_opts opts = {.classes = CLASSES, .seed = 5, .valid = -1};
	struct sl_data_request r = {.count = SAMPLES, .seed = 5, .as_stored = true};
	int64_t y[SAMPLES];
	struct sl_data *d;

	sl_assert_ok(sl_data_open("synthetic:64", &opts, &d));
	sl_assert_ok(sl_data_batch(d, &r, x, y));
	sl_data_close(d);
}

/* Every weight comes in and goes, in each pass. */
static void want_streamed(const struct sl_instance *x)
{
	uint64_t held = 0, came = 0, budget = x->plan.budget;

	for (uint32_t v = 0; v < x->trace.n_values; v++)
		if (x->trace.values[v].cls == SL_CLASS_PARAM)
			held += x->trace.values[v].bytes;
	for (uint32_t i = 0; i < x->plan.n_actions; i++) {
		const struct sl_action *a = &x->plan.actions[i];

		assert_true(a->kind == SL_ACTION_IN || a->kind == SL_ACTION_DROP_CLEAN);
		if (a->kind == SL_ACTION_IN)
			came += x->trace.values[a->value].bytes;
	}
	assert_int_equal(came, held);
	assert_true(held > budget);
	assert_true(x->plan.peak <= budget);
}

static void predict(const char *policy, uint64_t budget, float *out)
{
	struct sl_session_config config = config_of(policy, budget);
	float x[SAMPLES * FEATURES];
	struct sl_session *s;

	read_samples(x);
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	if (budget > 0) {
		assert_string_equal(s->instances[SL_EVAL].plan.policy, "demand");
		want_streamed(&s->instances[SL_EVAL]);
	}
	for (int i = 0; i < 3; i++)
		sl_assert_ok(sl_session_predict(s, x, SAMPLES, out));
	sl_session_close(s);
}

/* 3.3 MB of weights, 1 MB the largest. */
static void streamed_weights_give_the_bits_of_those_that_stay(void **state)
{
	(void)state;
	static const struct {
		const char *policy;
		uint64_t budget;
	} runs[] = {{"demand:pipeline=0", 1450000}, {"demand:pipeline=1", 2600000},
		{"demand", 1450000}, {"demand", 2000000}, {"demand", 2600000}};
	float want[SAMPLES * CLASSES], got[SAMPLES * CLASSES];

	predict(NULL, 0, want);
	for (size_t i = 0; i < SL_COUNT(runs); i++) {
		memset(got, 0, sizeof(got));
		predict(runs[i].policy, runs[i].budget, got);
		assert_memory_equal(got, want, sizeof(want));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(streamed_weights_give_the_bits_of_those_that_stay),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
