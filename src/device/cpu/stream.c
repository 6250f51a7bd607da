/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of the CPU device: a queue and one thread.
 *
 * 1. Work runs in the order of submission, each item after the one before has returned.
 * 2. After a failure, items are taken from the queue but not run, until sync has reported
 * it; fences are run all the same, so that nobody waits for ever.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/cpu_int.h"

#define MAX_ITEMS ((size_t)1 << 20)

struct sl_stream {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct sl_cpu_item *items; /* [first, n) wait */
	size_t first, n, cap;
	bool busy;
	bool stop;
	sl_status failed;
	char why[512];
};

static void run_item(struct sl_stream *s, const struct sl_cpu_item *it)
{
	bool skip = s->failed != SL_OK && !it->always;
	sl_status st = SL_OK;

	s->busy = true;
	pthread_mutex_unlock(&s->lock);
	if (!skip)
		st = it->run(it);
	pthread_mutex_lock(&s->lock);
	s->busy = false;
	if (st == SL_OK || s->failed != SL_OK)
		return;
	s->failed = st;
	(void)snprintf(s->why, sizeof(s->why), "%s", sl_last_error());
}

static void *stream_main(void *arg)
{
	struct sl_stream *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (s->first == s->n && !s->stop)
			pthread_cond_wait(&s->changed, &s->lock);
		if (s->first == s->n)
			break;
		struct sl_cpu_item it = s->items[s->first++];
		if (s->first == s->n)
			s->first = s->n = 0;
		run_item(s, &it);
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void free_stream(struct sl_stream *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	sl_free(s->items);
	sl_free(s);
}

sl_status sl_cpu_stream_create(struct sl_device *d, struct sl_stream **out)
{
	struct sl_stream *s = sl_calloc(1, sizeof(*s));

	(void)d;
	if (!s)
		return SL_FAIL(SL_E_NOMEM, "no memory for a stream");
	/* Default mutexes and conditions cannot fail to initialise on Linux. */
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->changed, NULL);
	if (pthread_create(&s->thread, NULL, stream_main, s) != 0) {
		free_stream(s);
		return SL_FAIL(SL_E_NOMEM,
			"the system gives no thread for a stream; end other "
			"programs or raise `ulimit -u`");
	}
	*out = s;
	return SL_OK;
}

void sl_cpu_stream_destroy(struct sl_device *d, struct sl_stream *s)
{
	(void)d;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->thread, NULL);
	free_stream(s);
}

sl_status sl_cpu_enqueue(struct sl_stream *s, const struct sl_cpu_item *it)
{
	sl_status st = SL_OK;

	pthread_mutex_lock(&s->lock);
	if (sl_grow((void **)&s->items, &s->cap, s->n + 1, sizeof(*it), MAX_ITEMS) != 0) {
		st = SL_FAIL(SL_E_NOMEM, "no memory for %zu items of a stream", s->n + 1);
	} else {
		s->items[s->n++] = *it;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return st;
}

static sl_status run_fn(const struct sl_cpu_item *it)
{
	return it->fn(it->to);
}

sl_status sl_cpu_submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx)
{
	(void)d;
	return sl_cpu_enqueue(s, &(struct sl_cpu_item){run_fn, .to = ctx, .fn = fn});
}

static sl_status run_copy(const struct sl_cpu_item *it)
{
	memcpy(it->to, it->from, it->n);
	return SL_OK;
}

sl_status sl_cpu_copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes)
{
	(void)d;
	return sl_cpu_enqueue(
		s, &(struct sl_cpu_item){run_copy, .to = dst, .from = src, .n = bytes});
}

static sl_status run_fill(const struct sl_cpu_item *it)
{
	memset(it->to, it->byte, it->n);
	return SL_OK;
}

sl_status sl_cpu_fill(
	struct sl_device *d, struct sl_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	(void)d;
	return sl_cpu_enqueue(
		s, &(struct sl_cpu_item){run_fill, .to = dst, .byte = byte, .n = bytes});
}

sl_status sl_cpu_sync(struct sl_device *d, struct sl_stream *s)
{
	sl_status st;

	(void)d;
	pthread_mutex_lock(&s->lock);
	while (s->first != s->n || s->busy)
		pthread_cond_wait(&s->changed, &s->lock);
	st = s->failed == SL_OK ? SL_OK : SL_FAIL(s->failed, "%s", s->why);
	s->failed = SL_OK;
	pthread_mutex_unlock(&s->lock);
	return st;
}
