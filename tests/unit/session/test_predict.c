/* SPDX-License-Identifier: Apache-2.0 */
/* Samples handed in are predicted as those of a data set are. */
#include "harness/harness.h"

#include "sluice/data.h"
#include "sluice/session.h"

#define SAMPLES 24
#define FEATURES 20
#define CLASSES 10

static struct sl_session_config infer_config(int64_t batch)
{
	return (struct sl_session_config){
		.model = "mlp:sizes=20-16-10",
		.data = "synthetic:20",
		.batch = batch,
		.weight_decay = -1,
		.threads = 1,
		.seed = 5,
		.infer_only = true,
		.valid_ratio = -1,
	};
}

struct seen {
	int64_t labels[SAMPLES];
	int64_t n;
};

static sl_status keep(void *ctx, const struct sl_prediction *p)
{
	struct seen *seen = ctx;

	if (seen->n < SAMPLES)
		seen->labels[seen->n++] = p->label;
	return SL_OK;
}

static void read_samples(float *x)
{
	struct sl_data_opts opts = {.classes = CLASSES, .seed = 5, .valid = -1};
	struct sl_data_request r = {.count = SAMPLES, .seed = 5, .as_stored = true};
	int64_t y[SAMPLES];
	struct sl_data *d;

	sl_assert_ok(sl_data_open("synthetic:20", &opts, &d));
	sl_assert_ok(sl_data_batch(d, &r, x, y));
	sl_data_close(d);
}

static struct sl_session *ready(const struct sl_session_config *config)
{
	struct sl_session *s;

	sl_assert_ok(sl_session_open(config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	return s;
}

static int64_t best(const float *row)
{
	int64_t at = 0;

	for (int64_t i = 1; i < CLASSES; i++)
		at = row[i] > row[at] ? i : at;
	return at;
}

static void samples_handed_in_are_predicted_as_those_of_a_set(void **state)
{
	struct sl_session_config config = infer_config(SAMPLES);
	struct sl_session *s = ready(&config);
	float x[SAMPLES * FEATURES], out[SAMPLES * CLASSES];
	struct seen seen = {.n = 0};

	(void)state;
	read_samples(x);
	sl_assert_ok(sl_session_infer(s, &seen, keep));
	sl_assert_ok(sl_session_predict(s, x, SAMPLES, out));
	for (int64_t i = 0; i < SAMPLES; i++)
		assert_int_equal(best(out + i * CLASSES), seen.labels[i]);
	sl_session_close(s);
}

static void a_part_of_a_batch_gives_the_bits_of_the_whole(void **state)
{
	struct sl_session_config config = infer_config(8);
	struct sl_session *s = ready(&config);
	float x[SAMPLES * FEATURES], whole[8 * CLASSES], part[3 * CLASSES];

	(void)state;
	read_samples(x);
	sl_assert_ok(sl_session_predict(s, x, 8, whole));
	sl_assert_ok(sl_session_predict(s, x, 3, part));
	assert_memory_equal(part, whole, sizeof(part));
	sl_session_close(s);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct sl_session_config config = infer_config(8);
	struct sl_session *s = ready(&config);
	int32_t tokens[2 * 8] = {0, 1, 300};
	struct sl_predict_info info;
	float x[FEATURES] = {0}, out[8 * 256];

	(void)state;
	sl_assert_ok(sl_session_predict_info(s, &info));
	assert_int_equal(info.sample_bytes, FEATURES * 4);
	assert_int_equal(info.outputs, CLASSES);
	assert_int_equal(info.batch, 8);
	sl_assert_fails(sl_session_predict(s, x, 0, out), SL_E_INVALID, "1 to 8");
	sl_assert_fails(sl_session_predict(s, x, 9, out), SL_E_INVALID, "1 to 8");
	sl_session_close(s);
	config.model = "gpt2:layers=1,width=64,heads=1,context=8,vocab=256";
	config.data = "synthetic:8";
	config.batch = 2;
	s = ready(&config);
	sl_assert_fails(sl_session_predict(s, tokens, 1, out), SL_E_INVALID, "token 300");
	tokens[2] = 2;
	sl_assert_ok(sl_session_predict(s, tokens, 2, out));
	sl_session_close(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(samples_handed_in_are_predicted_as_those_of_a_set),
		SL_TEST(a_part_of_a_batch_gives_the_bits_of_the_whole),
		SL_TEST(what_does_not_fit_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
