/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_CUDA_CUDA_H
#define SL_DEVICE_CUDA_CUDA_H

#include "device/cuda/driver_abi.h"
#include "device/device.h"

/*
 * What kernels of the CUDA plug-in need of its device: launches on a stream, and the
 * stream as the driver's libraries know it. Streams are those of sl_device_stream_create.
 */
struct sl_cuda_size {
	unsigned x, y, z;
};

/*
 * Runs entry number `entry` (of sl_cuda_image) after what the stream has. params[i]
 * points at argument i, which is read before this returns; more than 48 KiB of dynamic
 * shared memory are asked for as the card wants it. A failure names the entry; one that
 * the device meets later comes from sl_device_sync.
 */
SL_NODISCARD sl_status sl_cuda_launch(struct sl_stream *s, unsigned entry,
	struct sl_cuda_size grid, struct sl_cuda_size block, unsigned shared_bytes,
	void **params);

sl_cu_stream sl_cuda_stream_handle(const struct sl_stream *s);
/* The device of a stream, as sl_device_create gave it. */
struct sl_device *sl_cuda_stream_device(const struct sl_stream *s);
/* 80 for sm_80. */
int sl_cuda_arch(const struct sl_device *d);
int sl_cuda_multiprocessors(const struct sl_device *d);

/*
 * The kernels that a plug-in brings: its build defines this one. Entries are looked up by
 * name at their first launch. Either `fatbin` is there, or `sources` (pairs of a file's
 * name and its text, the first pair the unit that is compiled, NULL at the end).
 */
struct sl_cuda_image {
	const char *const *entries;
	size_t n_entries;
	const void *fatbin;
	const char *const *sources;
};
extern const struct sl_cuda_image sl_cuda_image;

#endif
