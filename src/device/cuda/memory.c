/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the CUDA device.
 *
 * An arena is one range of addresses and one piece of physical memory mapped into it, so
 * that no allocator stands between a budget and the card, and its physical side can be
 * given to another process. Physical memory comes in whole granules (2 MiB on today's
 * cards): what an arena has beyond its bytes is never used.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/units.h"
#include "device/cuda/cuda_int.h"
#include "device/plugin.h"

struct sl_cuda_arena {
	struct sl_cuda_arena *next;
	sl_cu_ptr base;
	size_t size; /* whole granules */
	sl_cu_mem mem;
	bool has_mem, mapped;
};

struct sl_cuda_pinned {
	struct sl_cuda_pinned *next;
	void *p;
	uint64_t bytes;
};

static struct sl_cu_mem_prop prop_of(const struct sl_cuda *c)
{
	return (struct sl_cu_mem_prop){.type = SL_CU_MEM_ALLOCATION_TYPE_PINNED,
		.handle_types = c->exports ? SL_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
					   : SL_CU_MEM_HANDLE_TYPE_NONE,
		.location = {SL_CU_MEM_LOCATION_TYPE_DEVICE, c->dev}};
}

/* What there is of it, in the reverse order of making. */
static void release(struct sl_cuda *c, struct sl_cuda_arena *a)
{
	if (a->mapped)
		sl_cuda_release(c, c->cu.cuMemUnmap(a->base, a->size));
	if (a->has_mem)
		sl_cuda_release(c, c->cu.cuMemRelease(a->mem));
	if (a->base != 0)
		sl_cuda_release(c, c->cu.cuMemAddressFree(a->base, a->size));
	sl_free(a);
}

static sl_status take_memory(struct sl_cuda *c, struct sl_cuda_arena *a)
{
	struct sl_cu_mem_prop prop = prop_of(c);
	char wanted[SL_SIZE_TEXT], left[SL_SIZE_TEXT];
	size_t free_bytes = 0, total = 0;
	sl_status st = SL_CUDA(c, cuMemCreate, &a->mem, a->size, &prop, 0);

	a->has_mem = st == SL_OK;
	if (st != SL_E_NOMEM_DEVICE ||
		c->cu.cuMemGetInfo_v2(&free_bytes, &total) != SL_CU_SUCCESS)
		return st;
	return sl_fail_prefix(st,
		"the card has %s free, %s were asked for; give a smaller --budget or end "
		"other programs",
		sl_size_print(free_bytes, left), sl_size_print(a->size, wanted));
}

static sl_status measure(struct sl_cuda *c, uint64_t bytes, struct sl_cuda_arena *a)
{
	struct sl_cu_mem_prop prop = prop_of(c);
	size_t granule = 0;

	SL_TRY(SL_CUDA(c, cuMemGetAllocationGranularity, &granule, &prop,
		SL_CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	if (granule == 0 || (granule & (granule - 1)) != 0)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"the CUDA driver gives memory in pieces of %zu bytes", granule);
	a->size = sl_align_up(bytes, granule);
	return SL_OK;
}

/* Its physical memory under addresses of its own. */
static sl_status map(struct sl_cuda *c, struct sl_cuda_arena *a)
{
	struct sl_cu_mem_access access = {
		prop_of(c).location, SL_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

	SL_TRY(SL_CUDA(c, cuMemAddressReserve, &a->base, a->size, 0, 0, 0));
	SL_TRY(SL_CUDA(c, cuMemMap, a->base, a->size, 0, a->mem, 0));
	a->mapped = true;
	return SL_CUDA(c, cuMemSetAccess, a->base, a->size, &access, 1);
}

/* fd -1: memory of its own. */
static sl_status build(struct sl_cuda *c, int fd, uint64_t bytes, struct sl_cuda_arena *a)
{
	SL_TRY(measure(c, bytes, a));
	if (fd < 0) {
		SL_TRY(take_memory(c, a));
	} else {
		SL_TRY(SL_CUDA(c, cuMemImportFromShareableHandle, &a->mem,
			(void *)(intptr_t)fd,
			SL_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
		a->has_mem = true;
	}
	return map(c, a);
}

static sl_status make(
	struct sl_cuda *c, int fd, uint64_t bytes, struct sl_device_arena *out)
{
	struct sl_cuda_arena *a;
	sl_status st;

	SL_TRY(sl_cuda_enter(c));
	a = sl_calloc(1, sizeof(*a));
	if (a == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for an arena");
	st = build(c, fd, bytes, a);
	if (st != SL_OK) {
		release(c, a);
		return st;
	}
	pthread_mutex_lock(&c->lock);
	a->next = c->arenas;
	c->arenas = a;
	pthread_mutex_unlock(&c->lock);
	/* An address of the device's, never followed here. */
	*out = (struct sl_device_arena){
		.base = (uint8_t *)(uintptr_t)a->base, .bytes = bytes};
	return SL_OK;
}

sl_status sl_cuda_arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out)
{
	return make(sl_cuda_of(d), -1, bytes, out);
}

static sl_status check_exports(const struct sl_cuda *c)
{
	return c->exports ? SL_OK
			  : SL_FAIL(SL_E_UNSUPPORTED,
				    "this card or system cannot hand device memory to "
				    "other processes");
}

static sl_status memory_create(struct sl_device *d, uint64_t bytes, int *out_fd)
{
	struct sl_cuda *c = sl_cuda_of(d);
	struct sl_cuda_arena a = {0};
	int fd = -1;
	sl_status st;

	SL_TRY(check_exports(c));
	SL_TRY(sl_cuda_enter(c));
	SL_TRY(measure(c, bytes, &a));
	SL_TRY(take_memory(c, &a));
	st = SL_CUDA(c, cuMemExportToShareableHandle, &fd, a.mem,
		SL_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	/* The descriptor holds it from now on. */
	sl_cuda_release(c, c->cu.cuMemRelease(a.mem));
	if (st == SL_OK)
		*out_fd = fd;
	return st;
}

static sl_status memory_open(
	struct sl_device *d, int fd, uint64_t bytes, struct sl_device_arena *out)
{
	SL_TRY(check_exports(sl_cuda_of(d)));
	return make(sl_cuda_of(d), fd, bytes, out);
}

const struct sl_plugin_memory sl_cuda_memory = {
	.create = memory_create,
	.open = memory_open,
};

void sl_cuda_arena_destroy(struct sl_device *d, struct sl_device_arena *arena)
{
	struct sl_cuda *c = sl_cuda_of(d);
	struct sl_cuda_arena *a, **at;

	pthread_mutex_lock(&c->lock);
	at = &c->arenas;
	while (*at != NULL && (*at)->base != (uintptr_t)arena->base)
		at = &(*at)->next;
	a = *at;
	if (a != NULL)
		*at = a->next;
	pthread_mutex_unlock(&c->lock);
	if (a == NULL)
		return;
	sl_cuda_release(c, c->cu.cuCtxSetCurrent(c->ctx));
	/* After a failed step something may still be under way. */
	sl_cuda_release(c, c->cu.cuCtxSynchronize());
	release(c, a);
}

static sl_status count_pinned(struct sl_cuda *c, uint64_t bytes)
{
	char used[SL_SIZE_TEXT], most[SL_SIZE_TEXT], wanted[SL_SIZE_TEXT];
	uint64_t sum;
	bool fits;

	pthread_mutex_lock(&c->lock);
	fits = sl_add_u64(c->pinned_bytes, bytes, &sum) && sum <= c->pinned_most;
	if (fits)
		c->pinned_bytes = sum;
	pthread_mutex_unlock(&c->lock);
	if (fits)
		return SL_OK;
	return SL_FAIL(SL_E_NOMEM,
		"%s more pinned memory: %s of the %s are in use; give a smaller --host, "
		"or "
		"SLUICE_PINNED=SIZE for a higher cap",
		sl_size_print(bytes, wanted), sl_size_print(c->pinned_bytes, used),
		sl_size_print(c->pinned_most, most));
}

static void uncount_pinned(struct sl_cuda *c, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	c->pinned_bytes -= bytes;
	pthread_mutex_unlock(&c->lock);
}

sl_status sl_cuda_pinned_create(struct sl_device *d, uint64_t bytes, void **out)
{
	struct sl_cuda *c = sl_cuda_of(d);
	struct sl_cuda_pinned *p;
	sl_status st;

	SL_TRY(sl_cuda_enter(c));
	p = sl_calloc(1, sizeof(*p));
	if (p == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for a pinned block");
	p->bytes = bytes;
	st = count_pinned(c, bytes);
	if (st != SL_OK) {
		sl_free(p);
		return st;
	}
	st = SL_CUDA(c, cuMemHostAlloc, &p->p, bytes, SL_CU_MEMHOSTALLOC_PORTABLE);
	if (st != SL_OK) {
		uncount_pinned(c, bytes);
		sl_free(p);
		/* It is the host that has no more. */
		return st == SL_E_NOMEM_DEVICE ? SL_E_NOMEM : st;
	}
	pthread_mutex_lock(&c->lock);
	p->next = c->pinned;
	c->pinned = p;
	pthread_mutex_unlock(&c->lock);
	*out = p->p;
	return SL_OK;
}

void sl_cuda_pinned_destroy(struct sl_device *d, void *p)
{
	struct sl_cuda *c = sl_cuda_of(d);
	struct sl_cuda_pinned *block, **at;

	pthread_mutex_lock(&c->lock);
	at = &c->pinned;
	while (*at != NULL && (*at)->p != p)
		at = &(*at)->next;
	block = *at;
	if (block != NULL)
		*at = block->next;
	pthread_mutex_unlock(&c->lock);
	if (block == NULL)
		return;
	uncount_pinned(c, block->bytes);
	sl_cuda_release(c, c->cu.cuCtxSetCurrent(c->ctx));
	sl_cuda_release(c, c->cu.cuMemFreeHost(p));
	sl_free(block);
}
