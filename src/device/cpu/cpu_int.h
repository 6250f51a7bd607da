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
sl_status sl_cpu_sync(struct sl_device *d, struct sl_stream *s);

/* fence.c */
sl_status sl_cpu_fence_create(struct sl_device *d, struct sl_fence **out);
void sl_cpu_fence_destroy(struct sl_device *d, struct sl_fence *f);
sl_status sl_cpu_fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s);
sl_status sl_cpu_fence_wait(struct sl_device *d, struct sl_fence *f);
sl_status sl_cpu_fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed);
/* Runs fn even behind a failure: fences are passed whatever happened. */
sl_status sl_cpu_submit_always(struct sl_stream *s, sl_stream_fn fn, void *ctx);

#endif
