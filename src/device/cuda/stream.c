/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of the CUDA device. What the driver has taken cannot be taken back: behind a
 * failed host function no other host function runs, but copies and kernels do, and sync
 * reports the failure all the same.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cuda/cuda_int.h"

#define NOTE_BYTES 64

/* All that was made of it. */
static void free_stream(struct sl_stream *s)
{
	struct sl_cuda *c = s->c;

	if (s->note != NULL)
		sl_cuda_release(c, c->cu.cuMemFreeHost(s->note));
	if (s->done != NULL)
		sl_cuda_release(c, c->cu.cuEventDestroy_v2(s->done));
	if (s->handle != NULL)
		sl_cuda_release(c, c->cu.cuStreamDestroy_v2(s->handle));
	while (s->all != NULL) {
		struct sl_cuda_call *call = s->all;

		s->all = call->all;
		sl_free(call);
	}
	pthread_mutex_destroy(&s->lock);
	sl_free(s);
}

static sl_status make_handles(struct sl_stream *s)
{
	struct sl_cuda *c = s->c;

	SL_TRY(sl_cuda_enter(c));
	SL_TRY(SL_CUDA(c, cuStreamCreate, &s->handle, SL_CU_STREAM_NON_BLOCKING));
	SL_TRY(SL_CUDA(c, cuEventCreate, &s->done,
		SL_CU_EVENT_BLOCKING_SYNC | SL_CU_EVENT_DISABLE_TIMING));
	SL_TRY(SL_CUDA(
		c, cuMemHostAlloc, &s->note, NOTE_BYTES, SL_CU_MEMHOSTALLOC_PORTABLE));
	memset(s->note, 0, NOTE_BYTES);
	return SL_OK;
}

sl_status sl_cuda_stream_create(struct sl_device *d, struct sl_stream **out)
{
	struct sl_stream *s = sl_calloc(1, sizeof(*s));
	sl_status st;

	if (s == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for a stream");
	s->c = sl_cuda_of(d);
	(void)pthread_mutex_init(&s->lock, NULL);
	st = make_handles(s);
	if (st != SL_OK)
		free_stream(s);
	else
		*out = s;
	return st;
}

void sl_cuda_stream_destroy(struct sl_device *d, struct sl_stream *s)
{
	struct sl_cuda *c = sl_cuda_of(d);

	sl_cuda_release(c, c->cu.cuCtxSetCurrent(c->ctx));
	/* The driver would go on with what is in it, and call back to freed memory. */
	sl_cuda_release(c, c->cu.cuStreamSynchronize(s->handle));
	free_stream(s);
}

static void keep_failure(struct sl_stream *s, sl_status st)
{
	if (s->failed != SL_OK)
		return;
	s->failed = st;
	snprintf(s->why, sizeof(s->why), "%s", sl_last_error());
}

static void give_back(struct sl_cuda_call *call)
{
	call->next = call->s->free;
	call->s->free = call;
}

/* On a thread of the driver's. */
static void run_call(void *ctx)
{
	struct sl_cuda_call *call = ctx;
	struct sl_stream *s = call->s;
	bool skip;
	sl_status st;

	pthread_mutex_lock(&s->lock);
	skip = s->failed != SL_OK;
	pthread_mutex_unlock(&s->lock);
	st = skip ? SL_OK : call->fn(call->ctx);
	pthread_mutex_lock(&s->lock);
	if (st != SL_OK)
		keep_failure(s, st);
	give_back(call);
	pthread_mutex_unlock(&s->lock);
}

static struct sl_cuda_call *take_call(struct sl_stream *s)
{
	struct sl_cuda_call *call;

	pthread_mutex_lock(&s->lock);
	call = s->free;
	if (call != NULL) {
		s->free = call->next;
	} else {
		call = sl_calloc(1, sizeof(*call));
		if (call != NULL) {
			call->s = s;
			call->all = s->all;
			s->all = call;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return call;
}

sl_status sl_cuda_submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx)
{
	struct sl_cuda *c = sl_cuda_of(d);
	struct sl_cuda_call *call;
	sl_status st;

	SL_TRY(sl_cuda_enter(c));
	call = take_call(s);
	if (call == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for a function of a stream");
	call->fn = fn;
	call->ctx = ctx;
	st = SL_CUDA(c, cuLaunchHostFunc, s->handle, run_call, call);
	if (st == SL_OK)
		return SL_OK;
	pthread_mutex_lock(&s->lock);
	give_back(call);
	pthread_mutex_unlock(&s->lock);
	return st;
}

sl_status sl_cuda_copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes)
{
	struct sl_cuda *c = sl_cuda_of(d);

	SL_TRY(sl_cuda_enter(c));
	return SL_CUDA(
		c, cuMemcpyAsync, (uintptr_t)dst, (uintptr_t)src, bytes, s->handle);
}

sl_status sl_cuda_fill(
	struct sl_device *d, struct sl_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	struct sl_cuda *c = sl_cuda_of(d);

	SL_TRY(sl_cuda_enter(c));
	return SL_CUDA(c, cuMemsetD8Async, (uintptr_t)dst, byte, bytes, s->handle);
}

sl_status sl_cuda_stream_wait(
	struct sl_device *d, struct sl_stream *s, struct sl_fence *f)
{
	struct sl_cuda *c = sl_cuda_of(d);

	SL_TRY(sl_cuda_enter(c));
	return SL_CUDA(c, cuStreamWaitEvent, s->handle, f->handle, 0);
}

sl_status sl_cuda_sync(struct sl_device *d, struct sl_stream *s)
{
	struct sl_cuda *c = sl_cuda_of(d);
	sl_status st;

	SL_TRY(sl_cuda_enter(c));
	SL_TRY(SL_CUDA(c, cuEventRecord, s->done, s->handle));
	SL_TRY(SL_CUDA(c, cuEventSynchronize, s->done));
	if (s->read != NULL)
		SL_TRY(s->read(s->note));
	pthread_mutex_lock(&s->lock);
	st = s->failed == SL_OK ? SL_OK : SL_FAIL(s->failed, "%s", s->why);
	s->failed = SL_OK;
	pthread_mutex_unlock(&s->lock);
	return st;
}

sl_cu_stream sl_cuda_stream_handle(const struct sl_stream *s)
{
	return s->handle;
}

void *sl_cuda_stream_note(struct sl_stream *s, sl_cuda_note_fn read)
{
	s->read = read;
	return s->note;
}

struct sl_device *sl_cuda_stream_device(const struct sl_stream *s)
{
	return &s->c->base;
}
