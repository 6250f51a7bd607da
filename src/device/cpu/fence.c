/* SPDX-License-Identifier: Apache-2.0 */
/* Fences of the CPU device: a count of records under way, and a condition to wait on. */
#include <pthread.h>

#include "base/alloc.h"
#include "device/cpu/cpu_int.h"

struct sl_fence {
	pthread_mutex_t lock;
	pthread_cond_t passed;
	unsigned under_way;
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

/* A record still under way would come back to freed memory. */
void sl_cpu_fence_destroy(struct sl_device *d, struct sl_fence *f)
{
	if (sl_cpu_fence_wait(d, f) != SL_OK)
		return;
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->passed);
	sl_free(f);
}

static sl_status pass(void *ctx)
{
	struct sl_fence *f = ctx;

	pthread_mutex_lock(&f->lock);
	f->under_way--;
	pthread_cond_broadcast(&f->passed);
	pthread_mutex_unlock(&f->lock);
	return SL_OK;
}

sl_status sl_cpu_fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s)
{
	sl_status st;

	(void)d;
	pthread_mutex_lock(&f->lock);
	f->under_way++;
	pthread_mutex_unlock(&f->lock);
	st = sl_cpu_submit_always(s, pass, f);
	if (st != SL_OK)
		(void)pass(f);
	return st;
}

sl_status sl_cpu_fence_wait(struct sl_device *d, struct sl_fence *f)
{
	(void)d;
	pthread_mutex_lock(&f->lock);
	while (f->under_way > 0)
		pthread_cond_wait(&f->passed, &f->lock);
	pthread_mutex_unlock(&f->lock);
	return SL_OK;
}

sl_status sl_cpu_fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed)
{
	(void)d;
	pthread_mutex_lock(&f->lock);
	*out_passed = f->under_way == 0;
	pthread_mutex_unlock(&f->lock);
	return SL_OK;
}
