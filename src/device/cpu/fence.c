/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fences of the CPU device: the numbers of the records under way, and a condition to wait
 * on. A wait counts the records made before it and no later one, so every wait depends on
 * older submissions only and no order of calls can make a circle.
 */
#include <pthread.h>

#include "base/alloc.h"
#include "device/cpu/cpu_int.h"

#define MAX_RECORDS ((size_t)1 << 20)

struct sl_fence {
	pthread_mutex_t lock;
	pthread_cond_t passed;
	uint64_t *under_way; /* numbers of records, ascending */
	size_t n, cap;
	uint64_t records; /* made so far; the first is 1 */
	uint64_t awaited; /* by streams that are not past the wait */
};

sl_status sl_cpu_fence_create(struct sl_device *d, struct sl_fence **out)
{
	struct sl_fence *f = sl_calloc(1, sizeof(*f));

	(void)d;
	if (!f)
		return SL_FAIL(SL_E_NOMEM, "no memory for a fence");
	(void)pthread_mutex_init(&f->lock, NULL);
	(void)pthread_cond_init(&f->passed, NULL);
	*out = f;
	return SL_OK;
}

/* A record or a wait still under way would come back to freed memory. */
void sl_cpu_fence_destroy(struct sl_device *d, struct sl_fence *f)
{
	(void)d;
	pthread_mutex_lock(&f->lock);
	while (f->n > 0 || f->awaited > 0)
		pthread_cond_wait(&f->passed, &f->lock);
	pthread_mutex_unlock(&f->lock);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->passed);
	sl_free(f->under_way);
	sl_free(f);
}

static sl_status pass(const struct sl_cpu_item *it)
{
	struct sl_fence *f = it->to;
	size_t k = 0;

	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->n; i++)
		if (f->under_way[i] != it->n)
			f->under_way[k++] = f->under_way[i];
	f->n = k;
	pthread_cond_broadcast(&f->passed);
	pthread_mutex_unlock(&f->lock);
	return SL_OK;
}

sl_status sl_cpu_fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s)
{
	struct sl_cpu_item it = {pass, .to = f, .always = true};
	sl_status st;

	(void)d;
	pthread_mutex_lock(&f->lock);
	if (sl_grow((void **)&f->under_way, &f->cap, f->n + 1, sizeof(*f->under_way),
		    MAX_RECORDS) != 0) {
		pthread_mutex_unlock(&f->lock);
		return SL_FAIL(
			SL_E_NOMEM, "no memory for %zu records of a fence", f->n + 1);
	}
	it.n = f->under_way[f->n++] = ++f->records;
	pthread_mutex_unlock(&f->lock);
	st = sl_cpu_enqueue(s, &it);
	if (st != SL_OK)
		(void)pass(&it);
	return st;
}

/* Until no record up to number `last` is under way; the lock is held. */
static void await(struct sl_fence *f, uint64_t last)
{
	while (f->n > 0 && f->under_way[0] <= last)
		pthread_cond_wait(&f->passed, &f->lock);
}

static sl_status leave_wait(const struct sl_cpu_item *it)
{
	struct sl_fence *f = it->to;

	pthread_mutex_lock(&f->lock);
	f->awaited--;
	pthread_cond_broadcast(&f->passed);
	pthread_mutex_unlock(&f->lock);
	return SL_OK;
}

static sl_status run_wait(const struct sl_cpu_item *it)
{
	struct sl_fence *f = it->to;

	pthread_mutex_lock(&f->lock);
	await(f, it->n);
	pthread_mutex_unlock(&f->lock);
	return leave_wait(it);
}

sl_status sl_cpu_stream_wait(struct sl_device *d, struct sl_stream *s, struct sl_fence *f)
{
	struct sl_cpu_item it = {run_wait, .to = f, .always = true};
	sl_status st;

	(void)d;
	pthread_mutex_lock(&f->lock);
	it.n = f->records;
	f->awaited++;
	pthread_mutex_unlock(&f->lock);
	st = sl_cpu_enqueue(s, &it);
	if (st != SL_OK)
		(void)leave_wait(&it);
	return st;
}

sl_status sl_cpu_fence_wait(struct sl_device *d, struct sl_fence *f)
{
	(void)d;
	pthread_mutex_lock(&f->lock);
	await(f, f->records);
	pthread_mutex_unlock(&f->lock);
	return SL_OK;
}

sl_status sl_cpu_fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed)
{
	(void)d;
	pthread_mutex_lock(&f->lock);
	*out_passed = f->n == 0;
	pthread_mutex_unlock(&f->lock);
	return SL_OK;
}
