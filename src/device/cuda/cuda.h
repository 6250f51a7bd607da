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

/*
 * 64 bytes that host and device see, zero at first, where kernels of the stream leave
 * what they found wrong with their data; `read` makes a failure of it and clears it, at
 * the next sl_device_sync. One reader a stream.
 */
typedef sl_status (*sl_cuda_note_fn)(void *note);
void *sl_cuda_stream_note(struct sl_stream *s, sl_cuda_note_fn read);
/* 80 for sm_80. */
int sl_cuda_arch(const struct sl_device *d);
int sl_cuda_multiprocessors(const struct sl_device *d);

/*
 * The kernels that a plug-in brings: its build writes this one (mk/cuda.mk), from the .cu
 * files of src/kernel/cuda and the rows of entries.def, in their order. A unit is loaded,
 * and without a fatbin compiled, at the first launch of one of its entries.
 */
struct sl_cuda_unit {
	const char *name; /* "softmax.cu" */
	const void *fatbin; /* NULL: only the source */
	const char *source;
};

struct sl_cuda_header {
	const char *name; /* as it is included */
	const char *text;
};

struct sl_cuda_entry {
	const char *name;
	unsigned unit;
};

struct sl_cuda_image {
	const struct sl_cuda_unit *units;
	const struct sl_cuda_header *headers;
	const struct sl_cuda_entry *entries;
	size_t n_units, n_headers, n_entries;
};
extern const struct sl_cuda_image sl_cuda_image;

#endif
