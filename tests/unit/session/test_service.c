/* SPDX-License-Identifier: Apache-2.0 */
/* A service answers every request once, with the bits of a session alone. */
#include "harness/harness.h"

#include <pthread.h>
#include <string.h>

#include "session/service.h"

#define FEATURES 20
#define SAMPLE (FEATURES * sizeof(float))
#define CLASSES 10
#define ASKERS 3
#define EACH 40
#define REQUESTS (ASKERS * EACH)

static const struct sl_session_config config = {
	.model = "mlp:sizes=20-16-10",
	.data = "synthetic:20",
	.batch = 8,
	.weight_decay = -1,
	.threads = 1,
	.seed = 5,
	.infer_only = true,
	.valid_ratio = -1,
};

struct desk {
	struct sl_service *service;
	pthread_mutex_t lock;
	float out[REQUESTS][CLASSES];
	uint32_t times[REQUESTS + 1];
	sl_status status[REQUESTS + 1];
	uint32_t answers, wanted, largest;
	volatile sig_atomic_t stop;
};

static void on_answer(void *ctx, const struct sl_service_answer *a)
{
	struct desk *d = ctx;

	(void)pthread_mutex_lock(&d->lock);
	d->times[a->id]++;
	d->status[a->id] = a->status;
	if (a->status == SL_OK && a->id < REQUESTS)
		memcpy(d->out[a->id], a->outputs, a->count * sizeof(float));
	d->largest = a->batch > d->largest ? a->batch : d->largest;
	if (++d->answers == d->wanted)
		d->stop = 1;
	(void)pthread_mutex_unlock(&d->lock);
}

static void sample_of(uint64_t id, float *x)
{
	for (uint64_t i = 0; i < FEATURES; i++)
		x[i] = (float)((id * 31 + i * 7) % 17) / 8 - 1;
}

static struct sl_session *ready(void)
{
	struct sl_session *s;

	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	return s;
}

struct asker {
	struct desk *desk;
	uint64_t first;
};

static void *ask(void *ctx)
{
	struct asker *a = ctx;
	float x[FEATURES];

	for (uint64_t id = a->first; id < a->first + EACH; id++) {
		sample_of(id, x);
		sl_service_push(a->desk->service, id, 0, 2000000, x, sizeof(x));
	}
	return NULL;
}

static void create_desk(struct desk *d, uint32_t wanted)
{
	struct sl_service_opts opts = {.ctx = d,
		.answer = on_answer,
		.sample_bytes = SAMPLE,
		.within_ns = 1000000,
		.stop = &d->stop};

	memset(d, 0, sizeof(*d));
	assert_int_equal(pthread_mutex_init(&d->lock, NULL), 0);
	d->wanted = wanted;
	sl_assert_ok(sl_service_create(&opts, &d->service));
}

static void open_desk(struct desk *d, struct sl_session *s, uint32_t wanted)
{
	create_desk(d, wanted);
	sl_assert_ok(sl_service_begin(d->service, s));
}

static void close_desk(struct desk *d)
{
	sl_service_end(d->service);
	sl_service_destroy(d->service);
	(void)pthread_mutex_destroy(&d->lock);
}

static void requests_of_many_threads_have_the_bits_of_one_alone(void **state)
{
	struct sl_session *s = ready(), *alone = ready();
	struct asker askers[ASKERS];
	pthread_t threads[ASKERS];
	struct sl_service_stats stats;
	static struct desk d;

	(void)state;
	open_desk(&d, s, REQUESTS);
	for (uint64_t i = 0; i < ASKERS; i++) {
		askers[i] = (struct asker){.desk = &d, .first = i * EACH};
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
	}
	sl_assert_ok(sl_service_run(d.service));
	for (uint64_t i = 0; i < ASKERS; i++)
		(void)pthread_join(threads[i], NULL);
	for (uint64_t id = 0; id < REQUESTS; id++) {
		float x[FEATURES], out[CLASSES];

		sample_of(id, x);
		sl_assert_ok(sl_session_predict(alone, x, 1, out));
		assert_int_equal(d.times[id], 1);
		assert_memory_equal(d.out[id], out, sizeof(out));
	}
	sl_service_stats(d.service, &stats);
	assert_int_equal(stats.requests, REQUESTS);
	assert_int_equal(stats.refused, 0);
	assert_true(stats.batches <= REQUESTS && d.largest <= 8);
	close_desk(&d);
	sl_session_close(s);
	sl_session_close(alone);
}

static void a_request_of_the_wrong_size_is_refused_and_others_go_on(void **state)
{
	struct sl_session *s = ready();
	float x[FEATURES];
	static struct desk d;

	(void)state;
	open_desk(&d, s, 2);
	sample_of(0, x);
	sl_service_push(d.service, REQUESTS, 0, 0, x, sizeof(x) - 1);
	sl_service_push(d.service, 0, 0, 0, x, sizeof(x));
	sl_assert_ok(sl_service_run(d.service));
	assert_int_equal(d.status[REQUESTS], SL_E_INVALID);
	assert_int_equal(d.status[0], SL_OK);
	assert_int_equal(d.times[0], 1);
	close_desk(&d);
	sl_session_close(s);
}

static void what_waits_at_the_end_is_answered_as_lost(void **state)
{
	struct sl_session *s = ready();
	float x[FEATURES];
	static struct desk d;

	(void)state;
	open_desk(&d, s, 1);
	d.stop = 1;
	sample_of(0, x);
	sl_service_push(d.service, 0, 0, 0, x, sizeof(x));
	sl_assert_ok(sl_service_run(d.service));
	assert_int_equal(d.answers, 0);
	close_desk(&d);
	assert_int_equal(d.status[0], SL_E_LOST);
	sl_session_close(s);
}

static sl_status on_idle_failing(void *ctx)
{
	(void)ctx;
	return SL_FAIL(SL_E_LOST, "the memory is gone");
}

/* Whoever sees a service on the list may ask it. */
static void what_comes_before_it_begins_is_answered_when_it_has(void **state)
{
	struct sl_session *s = ready();
	struct sl_service_stats stats;
	float x[FEATURES + 1];
	static struct desk d;

	(void)state;
	create_desk(&d, 3);
	for (uint64_t id = 0; id < 2; id++) {
		sample_of(id, x);
		sl_service_push(d.service, id, 0, 0, x, SAMPLE);
	}
	sl_service_push(d.service, REQUESTS, 0, 0, x, SAMPLE + 1);
	assert_int_equal(d.answers, 1);
	assert_int_equal(d.status[REQUESTS], SL_E_INVALID);
	sl_assert_ok(sl_service_begin(d.service, s));
	sl_assert_ok(sl_service_run(d.service));
	assert_int_equal(d.status[0], SL_OK);
	assert_int_equal(d.status[1], SL_OK);
	assert_int_equal(d.times[0] + d.times[1], 2);
	sl_service_stats(d.service, &stats);
	assert_int_equal(stats.refused, 1);
	close_desk(&d);
	sl_session_close(s);
}

static void what_waits_for_a_service_that_never_began_is_answered_as_lost(void **state)
{
	float x[FEATURES];
	static struct desk d;

	(void)state;
	create_desk(&d, 1);
	sample_of(0, x);
	sl_service_push(d.service, 0, 0, 0, x, sizeof(x));
	assert_int_equal(d.answers, 0);
	close_desk(&d);
	assert_int_equal(d.status[0], SL_E_LOST);
}

static void it_takes_no_requests_after_its_end(void **state)
{
	static struct desk d;
	struct sl_service_opts opts = {.ctx = &d,
		.answer = on_answer,
		.sample_bytes = SAMPLE,
		.idle = on_idle_failing};
	struct sl_session *s = ready();
	float x[FEATURES];

	(void)state;
	memset(&d, 0, sizeof(d));
	assert_int_equal(pthread_mutex_init(&d.lock, NULL), 0);
	sample_of(0, x);
	sl_assert_ok(sl_service_create(&opts, &d.service));
	sl_assert_ok(sl_service_begin(d.service, s));
	sl_assert_fails(sl_service_run(d.service), SL_E_LOST, "gone");
	sl_service_end(d.service);
	sl_service_push(d.service, 1, 0, 0, x, sizeof(x));
	assert_int_equal(d.status[1], SL_E_BUSY);
	assert_int_equal(d.answers, 1);
	sl_service_destroy(d.service);
	(void)pthread_mutex_destroy(&d.lock);
	sl_session_close(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(requests_of_many_threads_have_the_bits_of_one_alone),
		SL_TEST(a_request_of_the_wrong_size_is_refused_and_others_go_on),
		SL_TEST(what_waits_at_the_end_is_answered_as_lost),
		SL_TEST(what_comes_before_it_begins_is_answered_when_it_has),
		SL_TEST(what_waits_for_a_service_that_never_began_is_answered_as_lost),
		SL_TEST(it_takes_no_requests_after_its_end),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
