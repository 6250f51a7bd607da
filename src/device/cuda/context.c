/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device: the first card that the driver shows, through its primary context. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/units.h"
#include "device/cuda/cuda_int.h"

sl_status sl_cuda_check(struct sl_cuda *c, sl_cu_result r, const char *call)
{
	unsigned none = 0;

	if (SL_LIKELY(r == SL_CU_SUCCESS))
		return SL_OK;
	if (sl_cuda_is_sticky(r))
		(void)atomic_compare_exchange_strong(&c->lost, &none, r);
	return sl_cuda_result(&c->cu, r, call);
}

sl_status sl_cuda_enter(struct sl_cuda *c)
{
	unsigned lost = atomic_load(&c->lost);

	if (SL_UNLIKELY(lost != SL_CU_SUCCESS))
		return sl_cuda_result(
			&c->cu, lost, "the device was lost before this call");
	return SL_CUDA(c, cuCtxSetCurrent, c->ctx);
}

void sl_cuda_release(struct sl_cuda *c, sl_cu_result r)
{
	unsigned none = 0;

	if (sl_cuda_is_sticky(r))
		(void)atomic_compare_exchange_strong(&c->lost, &none, r);
}

static sl_status ask(struct sl_cuda *c, unsigned attribute, int *out)
{
	return SL_CUDA(c, cuDeviceGetAttribute, out, attribute, c->dev);
}

/* Everything but the context. */
static sl_status meet(struct sl_cuda *c)
{
	int n = 0, major = 0, minor = 0, maps = 0, exports = 0;
	size_t bytes = 0;

	SL_TRY(sl_cuda_driver_open(&c->cu));
	SL_TRY(SL_CUDA(c, cuInit, 0));
	SL_TRY(SL_CUDA(c, cuDeviceGetCount, &n));
	if (n == 0)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"the CUDA driver shows no card; see CUDA_VISIBLE_DEVICES");
	SL_TRY(SL_CUDA(c, cuDeviceGet, &c->dev, 0));
	SL_TRY(SL_CUDA(c, cuDeviceTotalMem_v2, &bytes, c->dev));
	SL_TRY(ask(c, SL_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major));
	SL_TRY(ask(c, SL_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor));
	SL_TRY(ask(c, SL_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &c->multiprocessors));
	SL_TRY(ask(c, SL_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
		&c->shared_most));
	SL_TRY(ask(c, SL_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &maps));
	SL_TRY(ask(c, SL_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
		&exports));
	c->arch = major * 10 + minor;
	c->exports = exports != 0;
	c->base.bytes = bytes;
	if (maps == 0)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"this card or system cannot map its memory at chosen addresses, "
			"which the arena needs");
	return SL_OK;
}

static void part(struct sl_cuda *c)
{
	if (c->cu.lib != NULL)
		(void)dlclose(c->cu.lib);
}

sl_status sl_cuda_probe(char *text, size_t size)
{
	struct sl_cuda c = {0};
	char name[128] = "", memory[SL_SIZE_TEXT];
	int version = 0;
	sl_status st = meet(&c);

	if (st == SL_OK)
		st = SL_CUDA(&c, cuDeviceGetName, name, (int)sizeof(name), c.dev);
	if (st == SL_OK)
		st = SL_CUDA(&c, cuDriverGetVersion, &version);
	if (st == SL_OK)
		snprintf(text, size, "%s, %s, sm_%d, driver of CUDA %d.%d", name,
			sl_size_print(c.base.bytes, memory), c.arch, version / 1000,
			version % 1000 / 10);
	part(&c);
	return st;
}

static void destroy(struct sl_device *d)
{
	struct sl_cuda *c = sl_cuda_of(d);

	sl_cuda_release(c, c->cu.cuCtxSetCurrent(c->ctx));
	sl_cuda_modules_destroy(c);
	/* Or the thread keeps a context that may be no more. */
	sl_cuda_release(c, c->cu.cuCtxSetCurrent(NULL));
	sl_cuda_release(c, c->cu.cuDevicePrimaryCtxRelease_v2(c->dev));
	part(c);
	pthread_mutex_destroy(&c->lock);
	sl_free(c);
}

static const struct sl_device_impl impl = {
	.name = "cuda",
	.host_sees = false,
	.destroy = destroy,
	.arena_create = sl_cuda_arena_create,
	.arena_destroy = sl_cuda_arena_destroy,
	.stream_create = sl_cuda_stream_create,
	.stream_destroy = sl_cuda_stream_destroy,
	.submit = sl_cuda_submit,
	.copy = sl_cuda_copy,
	.fill = sl_cuda_fill,
	.stream_wait = sl_cuda_stream_wait,
	.sync = sl_cuda_sync,
	.fence_create = sl_cuda_fence_create,
	.fence_destroy = sl_cuda_fence_destroy,
	.fence_record = sl_cuda_fence_record,
	.fence_wait = sl_cuda_fence_wait,
	.fence_query = sl_cuda_fence_query,
	.pinned_create = sl_cuda_pinned_create,
	.pinned_destroy = sl_cuda_pinned_destroy,
};

/* Pinned memory is lost to everybody else: half of the machine's, or what was said. */
static sl_status read_cap(uint64_t *out)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const char *said = getenv("SLUICE_PINNED");

	if (said != NULL)
		return sl_size_parse("SLUICE_PINNED", said, out);
	*out = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : UINT64_MAX;
	return SL_OK;
}

sl_status sl_cuda_create(struct sl_device **out)
{
	struct sl_cuda *c = sl_calloc(1, sizeof(*c));
	sl_status st;

	if (c == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for a device");
	SL_TRY_OUT(read_cap(&c->pinned_most));
	SL_TRY_OUT(meet(c));
	SL_TRY_OUT(SL_CUDA(c, cuDevicePrimaryCtxRetain, &c->ctx, c->dev));
	sl_device_init(&c->base, &impl, c->base.bytes);
	(void)pthread_mutex_init(&c->lock, NULL);
	*out = &c->base;
	return SL_OK;
out:
	part(c);
	sl_free(c);
	return st;
}

int sl_cuda_arch(const struct sl_device *d)
{
	return sl_cuda_of(d)->arch;
}

int sl_cuda_multiprocessors(const struct sl_device *d)
{
	return sl_cuda_of(d)->multiprocessors;
}
