/* SPDX-License-Identifier: Apache-2.0 */
/* The slots that all decorators share; see wrap_int.h. */
#include "device/wrap/wrap.h"

#include "base/alloc.h"
#include "device/wrap/wrap_int.h"

static struct sl_wrap *wrap_of(struct sl_device *d)
{
	return (struct sl_wrap *)d;
}

static sl_status ask(struct sl_device *d, const char *call, uint64_t arg)
{
	struct sl_wrap *w = wrap_of(d);
	sl_status st;

	pthread_mutex_lock(&w->lock);
	st = w->ask(w, call, arg);
	pthread_mutex_unlock(&w->lock);
	return st;
}

static void undo(struct sl_device *d, uint64_t arg)
{
	struct sl_wrap *w = wrap_of(d);

	if (!w->undo)
		return;
	pthread_mutex_lock(&w->lock);
	w->undo(w, arg);
	pthread_mutex_unlock(&w->lock);
}

static void destroy(struct sl_device *d)
{
	struct sl_wrap *w = wrap_of(d);

	sl_device_destroy(w->inner);
	pthread_mutex_destroy(&w->lock);
	sl_free(w);
}

static sl_status arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out)
{
	sl_status st;

	SL_TRY(ask(d, "arena_create", bytes));
	st = sl_device_arena_create(wrap_of(d)->inner, bytes, out);
	if (st != SL_OK)
		undo(d, bytes);
	return st;
}

static void arena_destroy(struct sl_device *d, struct sl_device_arena *a)
{
	undo(d, a->bytes);
	sl_device_arena_destroy(wrap_of(d)->inner, a);
}

static sl_status stream_create(struct sl_device *d, struct sl_stream **out)
{
	SL_TRY(ask(d, "stream_create", 0));
	return sl_device_stream_create(wrap_of(d)->inner, out);
}

static void stream_destroy(struct sl_device *d, struct sl_stream *s)
{
	sl_device_stream_destroy(wrap_of(d)->inner, s);
}

static sl_status submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx)
{
	SL_TRY(ask(d, "submit", 0));
	return sl_device_submit(wrap_of(d)->inner, s, fn, ctx);
}

static sl_status copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes)
{
	SL_TRY(ask(d, "copy", 0));
	return sl_device_copy(wrap_of(d)->inner, s, dst, src, bytes);
}

static sl_status fill(
	struct sl_device *d, struct sl_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	SL_TRY(ask(d, "fill", 0));
	return sl_device_fill(wrap_of(d)->inner, s, dst, byte, bytes);
}

static sl_status stream_wait(struct sl_device *d, struct sl_stream *s, struct sl_fence *f)
{
	SL_TRY(ask(d, "stream_wait", 0));
	return sl_device_stream_wait(wrap_of(d)->inner, s, f);
}

static sl_status sync_stream(struct sl_device *d, struct sl_stream *s)
{
	SL_TRY(ask(d, "sync", 0));
	return sl_device_sync(wrap_of(d)->inner, s);
}

static sl_status fence_create(struct sl_device *d, struct sl_fence **out)
{
	SL_TRY(ask(d, "fence_create", 0));
	return sl_device_fence_create(wrap_of(d)->inner, out);
}

static void fence_destroy(struct sl_device *d, struct sl_fence *f)
{
	sl_device_fence_destroy(wrap_of(d)->inner, f);
}

static sl_status fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s)
{
	SL_TRY(ask(d, "fence_record", 0));
	return sl_device_fence_record(wrap_of(d)->inner, f, s);
}

static sl_status fence_wait(struct sl_device *d, struct sl_fence *f)
{
	SL_TRY(ask(d, "fence_wait", 0));
	return sl_device_fence_wait(wrap_of(d)->inner, f);
}

static sl_status fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed)
{
	SL_TRY(ask(d, "fence_query", 0));
	return sl_device_fence_query(wrap_of(d)->inner, f, out_passed);
}

static sl_status pinned_create(struct sl_device *d, uint64_t bytes, void **out)
{
	SL_TRY(ask(d, "pinned_create", 0));
	return sl_device_pinned_create(wrap_of(d)->inner, bytes, out);
}

static void pinned_destroy(struct sl_device *d, void *p)
{
	sl_device_pinned_destroy(wrap_of(d)->inner, p);
}

static const struct sl_device_impl wrap_impl = {
	.destroy = destroy,
	.arena_create = arena_create,
	.arena_destroy = arena_destroy,
	.stream_create = stream_create,
	.stream_destroy = stream_destroy,
	.submit = submit,
	.copy = copy,
	.fill = fill,
	.stream_wait = stream_wait,
	.sync = sync_stream,
	.fence_create = fence_create,
	.fence_destroy = fence_destroy,
	.fence_record = fence_record,
	.fence_wait = fence_wait,
	.fence_query = fence_query,
	.pinned_create = pinned_create,
	.pinned_destroy = pinned_destroy,
};

void *sl_wrap_alloc(size_t size, struct sl_device *inner, uint64_t bytes)
{
	struct sl_wrap *w = sl_calloc(1, size);

	if (!w)
		return NULL;
	(void)pthread_mutex_init(&w->lock, NULL);
	w->impl = wrap_impl;
	w->impl.name = sl_device_name(inner);
	w->impl.host_sees = sl_device_host_sees(inner);
	w->inner = inner;
	sl_device_init(&w->base, &w->impl, bytes);
	w->base.plugin = sl_device_plugin(inner);
	return w;
}
