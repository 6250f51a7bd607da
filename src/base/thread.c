/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool for data-parallel loops.
 *
 * 1. Fields of a run (fn, ctx, chunks) are written and read under the lock; chunks are
 * handed out by one atomic counter.
 * 2. A worker joins a run only while it is open; the caller closes it when the chunks are
 *    handed out and then waits only for those who joined, never for a sleeper.
 */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"

struct sl_pool {
	int width;
	int started; /* threads that run */
	pthread_mutex_t lock;
	pthread_cond_t work; /* a run opened, or stop */
	pthread_cond_t idle; /* joined fell to zero */
	bool open;
	bool stop;
	int joined;
	uint64_t run; /* number of the run, so that a worker joins each once */
	sl_chunk_fn fn;
	void *ctx;
	int64_t chunks;
	atomic_llong next;
	pthread_t thread[SL_POOL_WIDTH_MAX];
};

static void take_chunks(struct sl_pool *p, sl_chunk_fn fn, void *ctx, int64_t chunks)
{
	for (;;) {
		int64_t chunk =
			atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
		if (chunk >= chunks)
			return;
		fn(ctx, chunk);
	}
}

static void *worker(void *arg)
{
	struct sl_pool *p = arg;
	uint64_t seen = 0;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->stop && (!p->open || p->run == seen))
			pthread_cond_wait(&p->work, &p->lock);
		if (p->stop)
			break;
		seen = p->run;
		p->joined++;
		sl_chunk_fn fn = p->fn;
		void *ctx = p->ctx;
		int64_t chunks = p->chunks;
		pthread_mutex_unlock(&p->lock);
		take_chunks(p, fn, ctx, chunks);
		pthread_mutex_lock(&p->lock);
		if (--p->joined == 0)
			pthread_cond_signal(&p->idle);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

sl_status sl_pool_create(int width, struct sl_pool **out)
{
	if (width < 1 || width > SL_POOL_WIDTH_MAX)
		return SL_FAIL(SL_E_INVALID, "%d threads; a pool has 1 to %d", width,
			SL_POOL_WIDTH_MAX);
	struct sl_pool *p = sl_calloc(1, sizeof(*p));
	if (!p)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for a pool of %d threads", width);
	p->width = width;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->idle, NULL);
	for (; p->started < width - 1; p->started++) {
		int err = pthread_create(&p->thread[p->started], NULL, worker, p);
		if (err) {
			int made = p->started;
			sl_pool_destroy(p);
			return SL_FAIL(SL_E_NOMEM,
				"thread %d of %d did not start: %s; try fewer", made + 2,
				width, strerror(err));
		}
	}
	*out = p;
	return SL_OK;
}

void sl_pool_destroy(struct sl_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < pool->started; i++)
		pthread_join(pool->thread[i], NULL);
	pthread_cond_destroy(&pool->idle);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	sl_free(pool);
}

int sl_pool_width(const struct sl_pool *pool)
{
	return pool ? pool->width : 1;
}

void sl_pool_run(struct sl_pool *pool, int64_t chunks, sl_chunk_fn fn, void *ctx)
{
	if (!pool || pool->width == 1 || chunks <= 1) {
		for (int64_t i = 0; i < chunks; i++)
			fn(ctx, i);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	SL_BUG(pool->open || pool->joined); /* two callers, or a run inside a run */
	pool->fn = fn;
	pool->ctx = ctx;
	pool->chunks = chunks;
	atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
	pool->run++;
	pool->open = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);

	take_chunks(pool, fn, ctx, chunks);

	pthread_mutex_lock(&pool->lock);
	pool->open = false;
	while (pool->joined)
		pthread_cond_wait(&pool->idle, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

int sl_cpu_count(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return CPU_COUNT(&set);
	/* More cores than the set holds. */
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (int)n : 1;
}
