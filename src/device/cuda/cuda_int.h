/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_CUDA_CUDA_INT_H
#define SL_DEVICE_CUDA_CUDA_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/compiler.h"
#include "device/cuda/cuda.h"
#include "device/device_impl.h"

/* The calls of driver.def, by their names. */
struct sl_cuda_driver {
	void *lib;
#define SL_CU(name, args) sl_cu_result(*name) args;
#include "device/cuda/driver.def"
#undef SL_CU
};

struct sl_cuda_arena; /* memory.c */
struct sl_cuda_pinned;
struct sl_cuda_module; /* Code of a unit for one kind of card, from sl_alloc. */
struct sl_cuda_code {
	char *data;
	size_t bytes;
};
/* nvrtc.c: compiles; SL_E_UNSUPPORTED with what the compiler says. arch 0: only looks
 * whether it can, in a fraction of the time. */
SL_NODISCARD sl_status sl_cuda_compile(int arch, const struct sl_cuda_image *image,
	const struct sl_cuda_unit *u, struct sl_cuda_code *out);
/* cache.c: the same, kept for the next run; and no longer kept. */
SL_NODISCARD sl_status sl_cuda_code_take(int arch, const struct sl_cuda_image *image,
	const struct sl_cuda_unit *u, struct sl_cuda_code *out);
void sl_cuda_code_drop(
	int arch, const struct sl_cuda_image *image, const struct sl_cuda_unit *u);

/* module.c */

struct sl_cuda {
	struct sl_device base;
	struct sl_cuda_driver cu;
	sl_cu_device dev;
	sl_cu_context ctx;
	int arch, multiprocessors, shared_most;
	bool exports; /* memory can be handed to another process */
	atomic_uint lost; /* the first sticky result; 0: none */
	pthread_mutex_t lock; /* for what follows */
	struct sl_cuda_arena *arenas;
	struct sl_cuda_pinned *pinned;
	uint64_t pinned_bytes, pinned_most;
	struct sl_cuda_module *modules; /* NULL until the first launch */
};

/* A function for the host's side of a stream, kept to be used again. */
struct sl_cuda_call {
	struct sl_stream *s;
	sl_stream_fn fn;
	void *ctx;
	struct sl_cuda_call *next; /* free */
	struct sl_cuda_call *all;
};

struct sl_stream {
	struct sl_cuda *c;
	sl_cu_stream handle;
	sl_cu_event done; /* what sync waits for, without spinning */
	void *note; /* of sl_cuda_stream_note */
	sl_cuda_note_fn read;
	pthread_mutex_t lock;
	struct sl_cuda_call *free, *all;
	sl_status failed; /* first of its host functions since the last sync */
	char why[512];
};

struct sl_fence {
	struct sl_cuda *c;
	sl_cu_event handle;
};

static inline struct sl_cuda *sl_cuda_of(const struct sl_device *d)
{
	return (struct sl_cuda *)(uintptr_t)d;
}

/* library.c: a shared library of the system and functions of it; *lib is NULL and *what
 * names the first thing that is missing if not all is there. */
bool sl_cuda_library_open(const char *file, void **lib, const char **what);
bool sl_cuda_library_find(void *lib, const char *name, void *fn, const char **what);

/* driver.c: all calls of driver.def. SL_E_UNSUPPORTED if one is missing. */
SL_NODISCARD sl_status sl_cuda_driver_open(struct sl_cuda_driver *out);
/* A result as a status, with what was called and the driver's own text. */
SL_NODISCARD sl_status sl_cuda_result(
	const struct sl_cuda_driver *cu, sl_cu_result r, const char *call);
bool sl_cuda_is_sticky(sl_cu_result r);

/* context.c */
SL_NODISCARD sl_status sl_cuda_create(struct sl_device **out);
SL_NODISCARD sl_status sl_cuda_probe(char *text, size_t size);
/* The same for a call of the device: a sticky result makes it lost. */
SL_NODISCARD sl_status sl_cuda_check(struct sl_cuda *c, sl_cu_result r, const char *call);
/* Makes the context the thread's; fails at once if the device is lost. */
SL_NODISCARD sl_status sl_cuda_enter(struct sl_cuda *c);
/* cu->name(args) of device c as a status. */
#define SL_CUDA(c, name, ...) sl_cuda_check((c), (c)->cu.name(__VA_ARGS__), #name)
/* Where nothing can be done about a failure: when things are released. */
void sl_cuda_release(struct sl_cuda *c, sl_cu_result r);

/* memory.c */
SL_NODISCARD sl_status sl_cuda_arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out);
extern const struct sl_plugin_memory sl_cuda_memory;
void sl_cuda_arena_destroy(struct sl_device *d, struct sl_device_arena *a);
SL_NODISCARD sl_status sl_cuda_pinned_create(
	struct sl_device *d, uint64_t bytes, void **out);
void sl_cuda_pinned_destroy(struct sl_device *d, void *p);

/* stream.c */
SL_NODISCARD sl_status sl_cuda_stream_create(struct sl_device *d, struct sl_stream **out);
void sl_cuda_stream_destroy(struct sl_device *d, struct sl_stream *s);
SL_NODISCARD sl_status sl_cuda_submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx);
SL_NODISCARD sl_status sl_cuda_copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes);
SL_NODISCARD sl_status sl_cuda_fill(struct sl_device *d, struct sl_stream *s, void *dst,
	uint8_t byte, uint64_t bytes);
SL_NODISCARD sl_status sl_cuda_stream_wait(
	struct sl_device *d, struct sl_stream *s, struct sl_fence *f);
SL_NODISCARD sl_status sl_cuda_sync(struct sl_device *d, struct sl_stream *s);

/* fence.c */
SL_NODISCARD sl_status sl_cuda_fence_create(struct sl_device *d, struct sl_fence **out);
void sl_cuda_fence_destroy(struct sl_device *d, struct sl_fence *f);
SL_NODISCARD sl_status sl_cuda_fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s);
SL_NODISCARD sl_status sl_cuda_fence_wait(struct sl_device *d, struct sl_fence *f);
SL_NODISCARD sl_status sl_cuda_fence_query(
	struct sl_device *d, struct sl_fence *f, bool *out_passed);

/* module.c */
void sl_cuda_modules_destroy(struct sl_cuda *c);

#endif
