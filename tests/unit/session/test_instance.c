/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/instance.c: gradient accumulation. */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "session/session_int.h"

/* Plain SGD with rate 1: a step changes each parameter by its gradient. */
static struct sl_session_config plain(const char *model, const char *data, int64_t batch)
{
	return (struct sl_session_config){
		.model = model,
		.data = data,
		.batch = batch,
		.steps = 1,
		.optim = "sgd",
		.lr = 1,
		.threads = 1,
		.seed = 3,
	};
}

/* All parameters of the session, one after the other. */
static sl_status read_params(struct sl_session *s, float **out, size_t *count)
{
	const struct sl_program *p = s->machine.adopted->program;
	size_t n = 0;

	for (uint32_t v = 0; v < p->n_params; v++)
		n += p->storages[v].used_bytes / sizeof(float);
	*out = sl_calloc(n, sizeof(**out));
	*count = n;
	assert_non_null(*out);
	n = 0;
	for (uint32_t v = 0; v < p->n_params; v++) {
		SL_TRY(sl_engine_read(s->machine.engine, v, 0, *out + n,
			(size_t)p->storages[v].used_bytes));
		n += p->storages[v].used_bytes / sizeof(float);
	}
	return SL_OK;
}

struct gradients {
	float *d;
	size_t n;
	double loss, accuracy;
};

static void on_step(void *ctx, const struct sl_step_report *r)
{
	struct gradients *g = ctx;

	g->loss = r->loss;
	g->accuracy = r->accuracy;
}

static struct gradients gradients_of(struct sl_session_config config, int64_t parts)
{
	struct gradients g = {0};
	const struct sl_session_events events = {.ctx = &g, .step = on_step};
	struct sl_session *s = NULL;
	struct sl_summary summary;
	float *before;

	config.accumulate = parts;
	sl_assert_ok(sl_session_open(&config, &s));
	assert_int_equal(s->instances[SL_TRAIN].parts, parts);
	sl_assert_ok(sl_session_prepare(s, &events));
	sl_assert_ok(read_params(s, &before, &g.n));
	sl_assert_ok(sl_session_train(s, &summary));
	sl_assert_ok(read_params(s, &g.d, &g.n));
	for (size_t i = 0; i < g.n; i++)
		g.d[i] = before[i] - g.d[i];
	sl_free(before);
	sl_session_close(s);
	return g;
}

/* Largest difference, and the largest gradient. */
static double difference(
	const struct gradients *a, const struct gradients *b, double *largest)
{
	double most = 0;

	assert_int_equal(a->n, b->n);
	*largest = 0;
	for (size_t i = 0; i < a->n; i++) {
		most = fmax(most, fabs((double)a->d[i] - (double)b->d[i]));
		*largest = fmax(*largest, fabs((double)a->d[i]));
	}
	return most;
}

static void check_parts(const struct sl_session_config *config, int64_t parts)
{
	struct gradients one = gradients_of(*config, 1);
	struct gradients many = gradients_of(*config, parts);
	double largest, most = difference(&one, &many, &largest);

	print_message("%s, %lld parts: gradients differ by %.2g of up to %.2g\n",
		config->model, (long long)parts, most, largest);
	assert_true(most < 1e-5);
	assert_true(largest > 1e-3);
	assert_true(fabs(one.loss - many.loss) < 1e-5);
	assert_true(one.accuracy == many.accuracy);
	sl_free(one.d);
	sl_free(many.d);
}

/* With other masks the gradients would be far apart: half of all units are dropped. */
static void parts_have_the_gradients_and_masks_of_the_whole(void **state)
{
	struct sl_session_config config =
		plain("mlp:sizes=30-64-64-10,dropout=0.5", "synthetic:30", 16);

	(void)state;
	check_parts(&config, 4);
	check_parts(&config, 16);
}

static void unequal_parts_are_weighted_by_their_samples(void **state)
{
	struct sl_session_config config =
		plain("mlp:sizes=30-64-10,dropout=0.5", "synthetic:30", 14);

	(void)state;
	check_parts(&config, 4);
}

/* Dropout inside attention is keyed by sample, head, query and key. */
static void parts_of_a_transformer_have_the_gradients_of_the_whole(void **state)
{
	struct sl_session_config config =
		plain("gpt2:layers=2,width=32,heads=2,context=12,vocab=50,dropout=0.4",
			NULL, 8);

	(void)state;
	check_parts(&config, 4);
}

static void masks_do_change_gradients(void **state)
{
	struct sl_session_config config =
		plain("mlp:sizes=30-64-10,dropout=0.5", "synthetic:30", 16);
	struct gradients a, b;
	double largest;

	(void)state;
	a = gradients_of(config, 1);
	config.no_dropout = true;
	b = gradients_of(config, 1);
	assert_true(difference(&a, &b, &largest) > 1e-2);
	sl_free(a.d);
	sl_free(b.d);
}

static void more_parts_than_samples_are_as_many_as_samples(void **state)
{
	struct sl_session_config config = plain("mlp:sizes=30-8-10", "synthetic:30", 3);
	struct sl_session *s = NULL;

	(void)state;
	config.accumulate = 7;
	sl_assert_ok(sl_session_open(&config, &s));
	assert_int_equal(s->instances[SL_TRAIN].parts, 3);
	sl_session_close(s);
}

static void parts_differ_by_one_sample_and_cover_the_batch(void **state)
{
	const struct sl_instance x = {.batch = 14, .parts = 4};
	int64_t sum = 0;

	(void)state;
	assert_int_equal(sl_instance_part_begin(&x, 0), 0);
	for (int64_t i = 0; i < 4; i++) {
		int64_t n =
			sl_instance_part_begin(&x, i + 1) - sl_instance_part_begin(&x, i);

		assert_true(n == 3 || n == 4);
		sum += n;
	}
	assert_int_equal(sum, 14);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(parts_have_the_gradients_and_masks_of_the_whole),
		SL_TEST(unequal_parts_are_weighted_by_their_samples),
		SL_TEST(parts_of_a_transformer_have_the_gradients_of_the_whole),
		SL_TEST(masks_do_change_gradients),
		SL_TEST(more_parts_than_samples_are_as_many_as_samples),
		SL_TEST(parts_differ_by_one_sample_and_cover_the_batch),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
