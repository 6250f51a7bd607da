/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/rig/rig.h"

#include <string.h>

static const struct sl_cu_mem_prop prop = {
	.type = SL_CU_MEM_ALLOCATION_TYPE_PINNED,
	.handle_types = SL_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	.location = {SL_CU_MEM_LOCATION_TYPE_DEVICE, 0},
};

#define TRY(call) \
	do { \
		sl_cu_result r_ = (call); \
		if (r_ != SL_CU_SUCCESS) \
			return r_; \
	} while (0)

static sl_cu_result map(struct rig *r)
{
	struct sl_cu_mem_access access = {{SL_CU_MEM_LOCATION_TYPE_DEVICE, 0},
		SL_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	sl_cu_ptr p = 0;
	TRY(cuMemAddressReserve(&p, RIG_BYTES, 0, 0, 0));
	sl_cu_result e = cuMemMap(p, RIG_BYTES, 0, r->mem, 0);
	if (e != SL_CU_SUCCESS) {
		cuMemAddressFree(p, RIG_BYTES);
		return e;
	}
	r->card = p;
	return cuMemSetAccess(p, RIG_BYTES, &access, 1);
}

sl_cu_result rig_build(struct rig *r)
{
	memset(r, 0, sizeof *r);
	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&r->ctx, 0));
	TRY(cuCtxSetCurrent(r->ctx));
	TRY(cuMemCreate(&r->mem, RIG_BYTES, &prop, 0));
	TRY(map(r));
	void *pinned = NULL;
	TRY(cuMemHostAlloc(&pinned, RIG_PINNED, 0));
	r->pinned = pinned;
	for (int i = 0; i < RIG_STREAMS; i++)
		TRY(cuStreamCreate(&r->stream[i], SL_CU_STREAM_NON_BLOCKING));
	TRY(cuEventCreate(&r->event, SL_CU_EVENT_DISABLE_TIMING));
	return cuModuleLoadData(&r->module, "// kernels of the samples");
}

sl_cu_result rig_open(struct rig *r, uint64_t seed)
{
	struct fake_options o = {.seed = seed, .keep = true};
	fake_reset(&o);
	return rig_build(r);
}

void rig_close(struct rig *r)
{
	for (int i = 0; i < RIG_STREAMS; i++) {
		if (r->stream[i] == NULL)
			continue;
		cuStreamSynchronize(r->stream[i]);
		cuStreamDestroy_v2(r->stream[i]);
	}
	if (r->event != NULL)
		cuEventDestroy_v2(r->event);
	if (r->module != NULL)
		cuModuleUnload(r->module);
	if (r->pinned != NULL)
		cuMemFreeHost(r->pinned);
	if (r->card != 0) {
		cuMemUnmap(r->card, RIG_BYTES);
		cuMemAddressFree(r->card, RIG_BYTES);
	}
	if (r->mem != 0)
		cuMemRelease(r->mem);
	if (r->ctx != NULL)
		cuDevicePrimaryCtxRelease_v2(0);
	cuCtxSetCurrent(NULL);
}

sl_cu_result rig_order(struct rig *r, sl_cu_stream from, sl_cu_stream to)
{
	TRY(cuEventRecord(r->event, from));
	return cuStreamWaitEvent(to, r->event, 0);
}

sl_cu_result rig_launch(struct rig *r, const char *name, unsigned blocks,
	unsigned threads, sl_cu_stream s, void **params)
{
	sl_cu_function f = NULL;
	TRY(cuModuleGetFunction(&f, r->module, name));
	return cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, s, params, NULL);
}
