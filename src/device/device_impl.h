/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_DEVICE_IMPL_H
#define SL_DEVICE_DEVICE_IMPL_H

#include "device/device.h"

/*
 * The implementer's view. The base is the first member of an implementation's struct. All
 * slots are required (asserted by sl_device_init); arguments were checked by the wrappers
 * of device.c.
 */
struct sl_device_impl {
	const char *name;
	bool host_sees;
	void (*destroy)(struct sl_device *d);
	sl_status (*arena_create)(
		struct sl_device *d, uint64_t bytes, struct sl_device_arena *out);
	void (*arena_destroy)(struct sl_device *d, struct sl_device_arena *a);
	sl_status (*stream_create)(struct sl_device *d, struct sl_stream **out);
	void (*stream_destroy)(struct sl_device *d, struct sl_stream *s);
	sl_status (*submit)(
		struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx);
	sl_status (*copy)(struct sl_device *d, struct sl_stream *s, void *dst,
		const void *src, uint64_t bytes);
	sl_status (*fill)(struct sl_device *d, struct sl_stream *s, void *dst,
		uint8_t byte, uint64_t bytes);
	sl_status (*stream_wait)(
		struct sl_device *d, struct sl_stream *s, struct sl_fence *f);
	sl_status (*sync)(struct sl_device *d, struct sl_stream *s);
	sl_status (*fence_create)(struct sl_device *d, struct sl_fence **out);
	void (*fence_destroy)(struct sl_device *d, struct sl_fence *f);
	sl_status (*fence_record)(
		struct sl_device *d, struct sl_fence *f, struct sl_stream *s);
	sl_status (*fence_wait)(struct sl_device *d, struct sl_fence *f);
	sl_status (*fence_query)(
		struct sl_device *d, struct sl_fence *f, bool *out_passed);
	sl_status (*pinned_create)(struct sl_device *d, uint64_t bytes, void **out);
	void (*pinned_destroy)(struct sl_device *d, void *p);
};

struct sl_device {
	const struct sl_device_impl *impl;
	uint64_t bytes;
	const struct sl_plugin *plugin; /* that it came from; NULL: built in */
};

void sl_device_init(
	struct sl_device *d, const struct sl_device_impl *impl, uint64_t bytes);

/* One creator a row of devices.def. */
#define SL_DEVICE(name, summary) \
	sl_status sl_device_create_##name(struct sl_device **out);
#include "device/devices.def"
#undef SL_DEVICE

#endif
