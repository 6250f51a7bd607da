/* SPDX-License-Identifier: Apache-2.0 */
/* A queue between those who ask and the session that answers in batches. */
#include "session/service.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "session/session_int.h"
#include "share/batch.h"

#define LOOK_NS ((sl_ns)100 * 1000000) /* how often stop is looked at */
#define LINGER_NS ((sl_ns)2 * 1000000) /* who was just answered may ask again */
#define WITHIN_USUAL ((sl_ns)100 * 1000000)

struct held {
	uint64_t id;
	sl_ns at_ns, due_ns;
	uint8_t *sample; /* NULL: the slot is free */
};

struct sl_service {
	struct sl_session *session;
	struct sl_service_opts opts;
	struct sl_predict_info info;
	pthread_mutex_t lock; /* over what follows, but for x, out and taken */
	pthread_cond_t more;
	bool ended;
	struct sl_batcher batcher; /* its ids are slots */
	struct held *slots; /* [SL_BATCH_QUEUE] */
	struct sl_service_stats stats;
	uint8_t *x; /* of a batch */
	float *out;
	struct sl_batch_request *taken;
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left for a service");
}

static sl_status make_room(struct sl_service *v)
{
	size_t batch = (size_t)v->info.batch;

	v->x = sl_alloc(batch * v->info.sample_bytes);
	v->out = sl_calloc(batch * v->info.outputs, sizeof(*v->out));
	v->taken = sl_calloc(batch, sizeof(*v->taken));
	return v->x && v->out && v->taken ? SL_OK : no_memory();
}

static sl_status make_lock(struct sl_service *v)
{
	pthread_condattr_t attr;
	int err = pthread_mutex_init(&v->lock, NULL);

	if (err)
		return no_memory();
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = pthread_cond_init(&v->more, &attr);
	(void)pthread_condattr_destroy(&attr);
	if (err == 0)
		return SL_OK;
	(void)pthread_mutex_destroy(&v->lock);
	return no_memory();
}

/* What a batch takes is measured first: objectives are kept from the first request on. */
static sl_status warm_up(struct sl_service *v)
{
	sl_ns begin;

	memset(v->x, 0, v->info.sample_bytes);
	SL_TRY(sl_session_predict(v->session, v->x, 1, v->out));
	begin = sl_clock_now();
	SL_TRY(sl_session_predict(v->session, v->x, 1, v->out));
	(void)pthread_mutex_lock(&v->lock);
	v->batcher.most = (uint32_t)v->info.batch;
	v->batcher.run_ns = sl_clock_now() - begin;
	(void)pthread_mutex_unlock(&v->lock);
	return SL_OK;
}

sl_status sl_service_create(const struct sl_service_opts *opts, struct sl_service **out)
{
	struct sl_service *v = sl_calloc(1, sizeof(*v));
	sl_status st = SL_E_NOMEM;

	if (!v)
		return no_memory();
	v->opts = *opts;
	v->slots = sl_calloc(SL_BATCH_QUEUE, sizeof(*v->slots));
	st = v->slots ? make_lock(v) : no_memory();
	if (st != SL_OK) {
		sl_free(v->slots);
		sl_free(v);
		return st;
	}
	sl_batcher_init(&v->batcher, 1, 0);
	*out = v;
	return SL_OK;
}

sl_status sl_service_begin(struct sl_service *v, struct sl_session *s)
{
	v->session = s;
	SL_TRY(sl_session_predict_info(s, &v->info));
	SL_TRY(make_room(v));
	return warm_up(v);
}

static void refuse(struct sl_service *v, uint64_t id, sl_status st)
{
	v->opts.answer(v->opts.ctx, &(struct sl_service_answer){.id = id, .status = st});
}

void sl_service_end(struct sl_service *v)
{
	(void)pthread_mutex_lock(&v->lock);
	v->ended = true;
	(void)pthread_mutex_unlock(&v->lock);
	for (uint32_t i = 0; i < SL_BATCH_QUEUE; i++) {
		if (!v->slots[i].sample)
			continue;
		refuse(v, v->slots[i].id, SL_E_LOST);
		sl_free(v->slots[i].sample);
		v->slots[i].sample = NULL;
	}
}

void sl_service_destroy(struct sl_service *v)
{
	if (!v)
		return;
	(void)pthread_cond_destroy(&v->more);
	(void)pthread_mutex_destroy(&v->lock);
	sl_batcher_finish(&v->batcher);
	sl_free(v->slots);
	sl_free(v->x);
	sl_free(v->out);
	sl_free(v->taken);
	sl_free(v);
}

/* The first free slot; the batcher's limit says that there is one. */
static uint32_t free_slot(const struct sl_service *v)
{
	uint32_t i = 0;

	while (i < SL_BATCH_QUEUE && v->slots[i].sample)
		i++;
	return i;
}

static sl_status enqueue(struct sl_service *v, const struct held *h)
{
	uint32_t slot = free_slot(v);
	struct sl_batch_request r = {.id = slot, .at_ns = h->at_ns, .due_ns = h->due_ns};

	if (slot == SL_BATCH_QUEUE)
		return SL_FAIL(SL_E_BUSY, "%u requests wait already", SL_BATCH_QUEUE);
	SL_TRY(sl_batcher_add(&v->batcher, &r));
	v->slots[slot] = *h;
	return SL_OK;
}

void sl_service_push(struct sl_service *v, uint64_t id, sl_ns age_ns, sl_ns within_ns,
	const void *sample, size_t bytes)
{
	sl_ns usual = v->opts.within_ns > 0 ? v->opts.within_ns : WITHIN_USUAL;
	struct held h = {.id = id, .at_ns = sl_clock_now() - age_ns};
	sl_status st = SL_OK;

	h.due_ns = h.at_ns + (within_ns > 0 ? within_ns : usual);
	h.sample = sl_alloc(bytes > 0 ? bytes : 1);
	if (h.sample)
		memcpy(h.sample, sample, bytes);
	(void)pthread_mutex_lock(&v->lock);
	if (!h.sample)
		st = SL_E_NOMEM;
	else if (v->ended)
		st = SL_E_BUSY;
	else if (bytes != v->opts.sample_bytes)
		st = SL_E_INVALID;
	else
		st = enqueue(v, &h);
	v->stats.requests++;
	v->stats.refused += st != SL_OK;
	(void)pthread_cond_signal(&v->more);
	(void)pthread_mutex_unlock(&v->lock);
	if (st != SL_OK) {
		sl_free(h.sample);
		refuse(v, id, st);
	}
}

static bool stopped(const struct sl_service *v)
{
	return v->opts.stop && *v->opts.stop != 0;
}

static void wait_until(struct sl_service *v, sl_ns at)
{
	struct timespec t = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};

	(void)pthread_cond_timedwait(&v->more, &v->lock, &t);
}

static sl_status rest(struct sl_service *v)
{
	sl_status st = SL_OK;

	(void)pthread_mutex_unlock(&v->lock);
	if (v->opts.idle)
		st = v->opts.idle(v->opts.ctx);
	(void)pthread_mutex_lock(&v->lock);
	return st;
}

/* Waits until it is time for a batch; false: the end was asked for. Under the lock. */
static sl_status await_batch(struct sl_service *v, bool *out)
{
	sl_ns now, start, linger = sl_clock_now() + LINGER_NS;

	*out = false;
	while (!stopped(v)) {
		now = sl_clock_now();
		start = sl_batcher_start(&v->batcher, now);
		if (start >= 0 && start <= now) {
			*out = true;
			return SL_OK;
		}
		if (start < 0 && now < linger) {
			start = linger;
		} else if (start < 0) {
			SL_TRY(rest(v));
			start = v->batcher.n > 0 ? now : now + LOOK_NS;
		}
		if (start > now)
			wait_until(v, start < now + LOOK_NS ? start : now + LOOK_NS);
	}
	return SL_OK;
}

/* Who comes while the turn is waited for is in the batch, too. Slots that were taken are
 * this thread's until they are free. */
static size_t gather(struct sl_service *v)
{
	size_t n;

	(void)pthread_mutex_lock(&v->lock);
	n = sl_batcher_take(&v->batcher, v->taken);
	v->stats.batches++;
	for (size_t i = 0; i < n; i++)
		memcpy(v->x + i * v->info.sample_bytes, v->slots[v->taken[i].id].sample,
			v->info.sample_bytes);
	(void)pthread_mutex_unlock(&v->lock);
	return n;
}

static void answer_all(struct sl_service *v, size_t n, sl_ns began, sl_ns ended)
{
	for (size_t i = 0; i < n; i++) {
		struct held *h = &v->slots[v->taken[i].id];
		struct sl_service_answer a = {.id = h->id,
			.waited_ns = began - h->at_ns,
			.ran_ns = ended - began,
			.batch = (uint32_t)n,
			.outputs = v->out + i * v->info.outputs,
			.count = v->info.outputs};
		sl_ns took = ended - h->at_ns;

		v->opts.answer(v->opts.ctx, &a);
		(void)pthread_mutex_lock(&v->lock);
		v->stats.late += ended > h->due_ns;
		if (took > v->stats.longest_ns)
			v->stats.longest_ns = took;
		sl_free(h->sample);
		h->sample = NULL;
		(void)pthread_mutex_unlock(&v->lock);
	}
}

static sl_status run_batch(struct sl_service *v)
{
	sl_ns asked = sl_clock_now(), began, ended;
	size_t n;

	SL_TRY(sl_machine_enter(&v->session->machine));
	began = sl_clock_now();
	n = gather(v);
	SL_TRY(sl_session_predict(v->session, v->x, (int64_t)n, v->out));
	ended = sl_clock_now();
	answer_all(v, n, began, ended);
	(void)pthread_mutex_lock(&v->lock);
	sl_batcher_measured(&v->batcher, ended - asked, began - asked);
	(void)pthread_mutex_unlock(&v->lock);
	return SL_OK;
}

sl_status sl_service_run(struct sl_service *v)
{
	for (;;) {
		sl_status st;
		bool any;

		(void)pthread_mutex_lock(&v->lock);
		st = await_batch(v, &any);
		(void)pthread_mutex_unlock(&v->lock);
		if (st != SL_OK || !any)
			return st;
		SL_TRY(run_batch(v));
	}
}

void sl_service_stats(struct sl_service *v, struct sl_service_stats *out)
{
	(void)pthread_mutex_lock(&v->lock);
	*out = v->stats;
	(void)pthread_mutex_unlock(&v->lock);
}
