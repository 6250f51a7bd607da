/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next batch, read while this one is computed.
 *
 * States of the staging buffer: EMPTY -> WANTED (sl_prefetch_batch asks) -> READY (the
 * thread is done) -> EMPTY (handed out or dropped). The set belongs to the thread while
 * WANTED and to the caller otherwise; the state is read and written under the lock.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "data/source.h"

#define STAGING_MAX ((size_t)8 << 20)
#define MESSAGE 512

enum state { EMPTY, WANTED, READY };

struct sl_prefetch {
	struct sl_data *data;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum state state;
	bool stop;
	struct sl_data_request request; /* of the staging buffer */
	size_t x_bytes, y_bytes;
	size_t cap;
	char *staging; /* x, then y, 64-byte aligned */
	sl_status result;
	char message[MESSAGE];
};

static bool same_request(const struct sl_data_request *a, const struct sl_data_request *b)
{
	return a->split == b->split && a->seed == b->seed && a->epoch == b->epoch &&
	       a->first == b->first && a->count == b->count && a->augment == b->augment &&
	       a->as_stored == b->as_stored;
}

static void *run(void *arg)
{
	struct sl_prefetch *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->state != WANTED && !p->stop)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->stop)
			break;
		pthread_mutex_unlock(&p->lock);
		sl_status st = sl_data_batch(p->data, &p->request, p->staging,
			(int64_t *)(void *)(p->staging + sl_align_up(p->x_bytes, 64)));
		pthread_mutex_lock(&p->lock);
		p->result = st;
		/* The message is this thread's: carry it to the one that asks. */
		if (st != SL_OK)
			snprintf(p->message, sizeof(p->message), "%s", sl_last_error());
		p->state = READY;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

sl_status sl_prefetch_create(struct sl_data *d, struct sl_prefetch **out)
{
	struct sl_prefetch *p = sl_calloc(1, sizeof(*p));
	pthread_condattr_t attr;

	if (!p)
		return SL_FAIL(SL_E_NOMEM, "no host memory to read ahead");
	p->data = d;
	pthread_mutex_init(&p->lock, NULL);
	(void)pthread_condattr_init(&attr); /* none of these fails on Linux */
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	int err = pthread_create(&p->thread, NULL, run, p);
	if (err) {
		pthread_cond_destroy(&p->changed);
		pthread_mutex_destroy(&p->lock);
		sl_free(p);
		return SL_FAIL(SL_E_NOMEM, "the reading thread did not start: %s",
			strerror(err));
	}
	*out = p;
	return SL_OK;
}

void sl_prefetch_destroy(struct sl_prefetch *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	sl_free_aligned(p->staging);
	sl_free(p);
}

/* Waits until the set is the caller's again. */
static enum state settle(struct sl_prefetch *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->state == WANTED)
		pthread_cond_wait(&p->changed, &p->lock);
	enum state state = p->state;
	p->state = EMPTY;
	pthread_mutex_unlock(&p->lock);
	return state;
}

/* Sizes the staging buffer for a request; false: too large, or no memory, so no reading
 * ahead. */
static bool make_room(struct sl_prefetch *p, const struct sl_data_request *r)
{
	const struct sl_data_info *info = sl_data_info(p->data);
	size_t elements = (size_t)sl_shape_count(&info->sample);
	size_t labels = info->tokens ? elements : 1;
	size_t one = elements * sizeof(float) + labels * sizeof(int64_t);

	if (r->count <= 0 || (uint64_t)r->count > (STAGING_MAX - 64) / one)
		return false;
	p->x_bytes = elements * sizeof(float) * (size_t)r->count;
	p->y_bytes = labels * sizeof(int64_t) * (size_t)r->count;
	size_t need = sl_align_up(p->x_bytes, 64) + p->y_bytes;
	if (need <= p->cap)
		return true;
	sl_free_aligned(p->staging);
	p->staging = sl_alloc_aligned(64, need);
	p->cap = p->staging ? need : 0;
	return p->staging != NULL;
}

static void begin(struct sl_prefetch *p, const struct sl_data_request *next)
{
	if (!next || !make_room(p, next))
		return;
	p->request = *next;
	pthread_mutex_lock(&p->lock);
	p->state = WANTED;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

sl_status sl_prefetch_batch(struct sl_prefetch *p, const struct sl_data_request *r,
	const struct sl_data_request *next, void *x, int64_t *y)
{
	if (settle(p) == READY && same_request(r, &p->request)) {
		if (p->result != SL_OK)
			return SL_FAIL(p->result, "%s", p->message);
		memcpy(x, p->staging, p->x_bytes);
		memcpy(y, p->staging + sl_align_up(p->x_bytes, 64), p->y_bytes);
	} else {
		SL_TRY(sl_data_batch(p->data, r, x, y));
	}
	begin(p, next);
	return SL_OK;
}

bool sl_prefetch_is_busy(struct sl_prefetch *p)
{
	bool busy;

	pthread_mutex_lock(&p->lock);
	busy = p->state == WANTED;
	pthread_mutex_unlock(&p->lock);
	return busy;
}

bool sl_prefetch_wait(struct sl_prefetch *p, int64_t most_ns)
{
	sl_ns at = sl_clock_now() + (most_ns > 0 ? most_ns : 0);
	struct timespec t = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
	int err = 0;
	bool idle;

	pthread_mutex_lock(&p->lock);
	while (p->state == WANTED && err == 0)
		err = most_ns < 0 ? pthread_cond_wait(&p->changed, &p->lock)
				  : pthread_cond_timedwait(&p->changed, &p->lock, &t);
	idle = p->state != WANTED;
	pthread_mutex_unlock(&p->lock);
	return idle;
}
