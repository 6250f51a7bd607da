/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_CPU_CPU_INT_H
#define SL_DEVICE_CPU_CPU_INT_H

#include "device/device_impl.h"

/* arena.c */
sl_status sl_cpu_arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out);
void sl_cpu_arena_destroy(struct sl_device *d, struct sl_device_arena *a);

/* stream.c */
sl_status sl_cpu_stream_create(struct sl_device *d, struct sl_stream **out);
void sl_cpu_stream_destroy(struct sl_device *d, struct sl_stream *s);
sl_status sl_cpu_submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx);
sl_status sl_cpu_copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes);
sl_status sl_cpu_fill(struct sl_device *d, struct sl_stream *s, void *dst, uint8_t byte,
	uint64_t bytes);
sl_status sl_cpu_sync(struct sl_device *d, struct sl_stream *s);
/* What a stream does next; `run` gets the item itself. */
struct sl_cpu_item {
	sl_status (*run)(const struct sl_cpu_item *it);
	void *to; /* or the context of fn, or a fence */
	const void *from;
	uint64_t n; /* bytes, or the number of a fence's record */
	sl_stream_fn fn;
	uint8_t byte;
	bool always; /* even behind a failure: fences pass whatever happened */
};
sl_status sl_cpu_enqueue(struct sl_stream *s, const struct sl_cpu_item *it);

/* fence.c */
sl_status sl_cpu_fence_create(struct sl_device *d, struct sl_fence **out);
void sl_cpu_fence_destroy(struct sl_device *d, struct sl_fence *f);
sl_status sl_cpu_fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s);
sl_status sl_cpu_fence_wait(struct sl_device *d, struct sl_fence *f);
sl_status sl_cpu_fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed);
sl_status sl_cpu_stream_wait(
	struct sl_device *d, struct sl_stream *s, struct sl_fence *f);

#endif
