/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_DEVICE_H
#define SL_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * Where jobs compute: memory of an exact size, streams of work in order, fences between
 * them. This is the user's view; device_impl.h is the implementer's. Objects belong to
 * the device that made them and are destroyed before it. Any thread may call; one object
 * is used by one thread at a time, but a fence may be waited for by many.
 */
struct sl_device;
struct sl_plugin;
struct sl_stream;
struct sl_fence;

/* Work of a stream; what it returns other than SL_OK stops the stream until it is synced.
 */
typedef sl_status (*sl_stream_fn)(void *ctx);

/* By the name of devices.def; SL_E_USAGE with the names if there is none such. */
SL_NODISCARD sl_status sl_device_create(const char *name, struct sl_device **out);
void sl_device_destroy(struct sl_device *d); /* NULL is fine */
const char *sl_device_name(const struct sl_device *d);
uint64_t sl_device_bytes(const struct sl_device *d); /* memory it has in all */
/* Whether the host may touch an arena's bytes; if not, base is an address of the device's
 * and bytes move by copies only. */
bool sl_device_host_sees(const struct sl_device *d);

/* The plug-in that brought the device, with its kernels (device/plugin.h); NULL if it is
 * built in. */
const struct sl_plugin *sl_device_plugin(const struct sl_device *d);

/* Memory of exactly `bytes`, a multiple of 4096, at a 4096-aligned base. */
struct sl_device_arena {
	uint8_t *base;
	uint64_t bytes;
};
/*
 * All bytes are there when this returns (touched once): running out is known now and not
 * in the middle of a step. SL_E_NOMEM_DEVICE if the device has not as much, SL_E_INVALID
 * for a size of 0 or not a multiple of 4096.
 */
SL_NODISCARD sl_status sl_device_arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out);
void sl_device_arena_destroy(
	struct sl_device *d, struct sl_device_arena *a); /* zeroed: fine */

SL_NODISCARD sl_status sl_device_stream_create(
	struct sl_device *d, struct sl_stream **out);
void sl_device_stream_destroy(
	struct sl_device *d, struct sl_stream *s); /* waits; NULL: fine */
/* Runs fn(ctx), on the host, after everything submitted before. fn calls no device. */
SL_NODISCARD sl_status sl_device_submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx);
/*
 * Copies and fills in the stream's order. Each end lies in an arena of the device or in
 * memory of sl_device_pinned_create, and stays until the stream is past the copy; dst and
 * src do not overlap. 0 bytes: nothing is submitted.
 */
SL_NODISCARD sl_status sl_device_copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes);
SL_NODISCARD sl_status sl_device_fill(struct sl_device *d, struct sl_stream *s, void *dst,
	uint8_t byte, uint64_t bytes);
/*
 * Waits until the stream is empty and gives its first failure since the last sync, with
 * its message; work behind a failure was not run.
 */
SL_NODISCARD sl_status sl_device_sync(struct sl_device *d, struct sl_stream *s);

SL_NODISCARD sl_status sl_device_fence_create(struct sl_device *d, struct sl_fence **out);
void sl_device_fence_destroy(struct sl_device *d, struct sl_fence *f); /* NULL is fine */
/* The fence is passed when what was submitted to s before is done, even if that failed.
 */
SL_NODISCARD sl_status sl_device_fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s);
/* What is submitted to s from now on starts when the fence is passed as of now: records
 * made later do not count. The host does not wait. */
SL_NODISCARD sl_status sl_device_stream_wait(
	struct sl_device *d, struct sl_stream *s, struct sl_fence *f);
/* Waits without spinning; a fence never recorded is passed. */
SL_NODISCARD sl_status sl_device_fence_wait(struct sl_device *d, struct sl_fence *f);
SL_NODISCARD sl_status sl_device_fence_query(
	struct sl_device *d, struct sl_fence *f, bool *out_passed);

/*
 * Host memory that copies to and from the device reach at full speed, at a 4096-aligned
 * address. SL_E_NOMEM if the host has not as much or the device's cap on such memory is
 * reached; SL_E_INVALID for 0 bytes.
 */
SL_NODISCARD sl_status sl_device_pinned_create(
	struct sl_device *d, uint64_t bytes, void **out);
void sl_device_pinned_destroy(struct sl_device *d, void *p); /* NULL is fine */

/* The table of devices.def. */
struct sl_device_kind {
	const char *name;
	const char *summary;
	sl_status (*create)(struct sl_device **out);
};
const struct sl_device_kind *sl_device_kind_at(size_t i); /* NULL past the end */

#endif
