/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device: this machine's memory; one thread a stream. */
#include <unistd.h>

#include "base/alloc.h"
#include "device/cpu/cpu_int.h"

#define PAGE 4096u

static void destroy(struct sl_device *d)
{
	sl_free(d);
}

static sl_status pinned_create(struct sl_device *d, uint64_t bytes, void **out)
{
	void *p = sl_alloc_aligned(PAGE, bytes);

	(void)d;
	if (!p)
		return SL_FAIL(SL_E_NOMEM, "no memory for %llu pinned bytes",
			(unsigned long long)bytes);
	*out = p;
	return SL_OK;
}

static void pinned_destroy(struct sl_device *d, void *p)
{
	(void)d;
	sl_free_aligned(p);
}

#define COMMON \
	.destroy = destroy, .arena_create = sl_cpu_arena_create, \
	.arena_destroy = sl_cpu_arena_destroy, .stream_create = sl_cpu_stream_create, \
	.stream_destroy = sl_cpu_stream_destroy, .submit = sl_cpu_submit, \
	.copy = sl_cpu_copy, .fill = sl_cpu_fill, .stream_wait = sl_cpu_stream_wait, \
	.sync = sl_cpu_sync, .fence_create = sl_cpu_fence_create, \
	.fence_destroy = sl_cpu_fence_destroy, .fence_record = sl_cpu_fence_record, \
	.fence_wait = sl_cpu_fence_wait, .fence_query = sl_cpu_fence_query, \
	.pinned_create = pinned_create, .pinned_destroy = pinned_destroy

static const struct sl_device_impl cpu_impl = {.name = "cpu", .host_sees = true, COMMON};
static const struct sl_device_impl queue_impl = {.name = "queue", COMMON};

static sl_status create(const struct sl_device_impl *impl, struct sl_device **out)
{
	struct sl_device *d = sl_calloc(1, sizeof(*d));
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	if (!d)
		return SL_FAIL(SL_E_NOMEM, "no memory for a device");
	sl_device_init(d, impl,
		pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX);
	*out = d;
	return SL_OK;
}

sl_status sl_device_create_cpu(struct sl_device **out)
{
	return create(&cpu_impl, out);
}

/* All is as on the CPU, but that the host leaves an arena's bytes to the streams. */
sl_status sl_device_create_queue(struct sl_device **out)
{
	return create(&queue_impl, out);
}
