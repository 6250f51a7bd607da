/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers every caller goes through: checks live here, devices only do. A
 * plug-in has a copy. */
#include "device/device.h"

#include "base/assert.h"
#include "device/device_impl.h"

#define PAGE 4096u

void sl_device_init(
	struct sl_device *d, const struct sl_device_impl *impl, uint64_t bytes)
{
	SL_BUG(!impl->name || !impl->destroy || !impl->arena_create ||
		!impl->arena_destroy);
	SL_BUG(!impl->stream_create || !impl->stream_destroy || !impl->submit ||
		!impl->sync);
	SL_BUG(!impl->fence_create || !impl->fence_destroy || !impl->fence_record);
	SL_BUG(!impl->fence_wait || !impl->fence_query);
	SL_BUG(!impl->copy || !impl->fill || !impl->stream_wait);
	SL_BUG(!impl->pinned_create || !impl->pinned_destroy);
	d->impl = impl;
	d->bytes = bytes;
}

void sl_device_destroy(struct sl_device *d)
{
	if (d)
		d->impl->destroy(d);
}

const char *sl_device_name(const struct sl_device *d)
{
	return d->impl->name;
}

uint64_t sl_device_bytes(const struct sl_device *d)
{
	return d->bytes;
}

bool sl_device_host_sees(const struct sl_device *d)
{
	return d->impl->host_sees;
}

const struct sl_plugin *sl_device_plugin(const struct sl_device *d)
{
	return d->plugin;
}

sl_status sl_device_arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out)
{
	if (bytes == 0 || bytes % PAGE != 0)
		return SL_FAIL(SL_E_INVALID,
			"device memory of %llu bytes: must be a multiple of %u, not 0",
			(unsigned long long)bytes, PAGE);
	if (bytes > d->bytes)
		return SL_FAIL(SL_E_NOMEM_DEVICE,
			"the %s device has %llu bytes in all, %llu were asked for; give "
			"a smaller --budget (without one all lies in memory at once)",
			d->impl->name, (unsigned long long)d->bytes,
			(unsigned long long)bytes);
	return d->impl->arena_create(d, bytes, out);
}

void sl_device_arena_destroy(struct sl_device *d, struct sl_device_arena *a)
{
	if (a->base)
		d->impl->arena_destroy(d, a);
	*a = (struct sl_device_arena){0};
}

sl_status sl_device_stream_create(struct sl_device *d, struct sl_stream **out)
{
	return d->impl->stream_create(d, out);
}

void sl_device_stream_destroy(struct sl_device *d, struct sl_stream *s)
{
	if (s)
		d->impl->stream_destroy(d, s);
}

sl_status sl_device_submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx)
{
	SL_ASSERT(s && fn);
	return d->impl->submit(d, s, fn, ctx);
}

sl_status sl_device_copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes)
{
	SL_ASSERT(s && (bytes == 0 || (dst && src)));
	return bytes > 0 ? d->impl->copy(d, s, dst, src, bytes) : SL_OK;
}

sl_status sl_device_fill(
	struct sl_device *d, struct sl_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	SL_ASSERT(s && (bytes == 0 || dst));
	return bytes > 0 ? d->impl->fill(d, s, dst, byte, bytes) : SL_OK;
}

sl_status sl_device_stream_wait(
	struct sl_device *d, struct sl_stream *s, struct sl_fence *f)
{
	SL_ASSERT(s && f);
	return d->impl->stream_wait(d, s, f);
}

sl_status sl_device_sync(struct sl_device *d, struct sl_stream *s)
{
	SL_ASSERT(s);
	return d->impl->sync(d, s);
}

sl_status sl_device_fence_create(struct sl_device *d, struct sl_fence **out)
{
	return d->impl->fence_create(d, out);
}

void sl_device_fence_destroy(struct sl_device *d, struct sl_fence *f)
{
	if (f)
		d->impl->fence_destroy(d, f);
}

sl_status sl_device_fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s)
{
	SL_ASSERT(f && s);
	return d->impl->fence_record(d, f, s);
}

sl_status sl_device_fence_wait(struct sl_device *d, struct sl_fence *f)
{
	SL_ASSERT(f);
	return d->impl->fence_wait(d, f);
}

sl_status sl_device_fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed)
{
	SL_ASSERT(f && out_passed);
	return d->impl->fence_query(d, f, out_passed);
}

sl_status sl_device_pinned_create(struct sl_device *d, uint64_t bytes, void **out)
{
	if (bytes == 0)
		return SL_FAIL(SL_E_INVALID, "pinned memory of 0 bytes");
	return d->impl->pinned_create(d, bytes, out);
}

void sl_device_pinned_destroy(struct sl_device *d, void *p)
{
	if (p)
		d->impl->pinned_destroy(d, p);
}
