/* SPDX-License-Identifier: Apache-2.0 */
/* Fences of the CUDA device are its events, without times. */
#include "base/alloc.h"
#include "device/cuda/cuda_int.h"

sl_status sl_cuda_fence_create(struct sl_device *d, struct sl_fence **out)
{
	struct sl_cuda *c = sl_cuda_of(d);
	struct sl_fence *f;
	sl_status st;

	SL_TRY(sl_cuda_enter(c));
	f = sl_calloc(1, sizeof(*f));
	if (f == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for a fence");
	f->c = c;
	st = SL_CUDA(c, cuEventCreate, &f->handle,
		SL_CU_EVENT_BLOCKING_SYNC | SL_CU_EVENT_DISABLE_TIMING);
	if (st != SL_OK)
		sl_free(f);
	else
		*out = f;
	return st;
}

/* The driver keeps what is still waited for. */
void sl_cuda_fence_destroy(struct sl_device *d, struct sl_fence *f)
{
	struct sl_cuda *c = sl_cuda_of(d);

	sl_cuda_release(c, c->cu.cuCtxSetCurrent(c->ctx));
	sl_cuda_release(c, c->cu.cuEventDestroy_v2(f->handle));
	sl_free(f);
}

sl_status sl_cuda_fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s)
{
	struct sl_cuda *c = sl_cuda_of(d);

	SL_TRY(sl_cuda_enter(c));
	return SL_CUDA(c, cuEventRecord, f->handle, s->handle);
}

sl_status sl_cuda_fence_wait(struct sl_device *d, struct sl_fence *f)
{
	struct sl_cuda *c = sl_cuda_of(d);

	SL_TRY(sl_cuda_enter(c));
	return SL_CUDA(c, cuEventSynchronize, f->handle);
}

sl_status sl_cuda_fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed)
{
	struct sl_cuda *c = sl_cuda_of(d);
	sl_cu_result r;

	SL_TRY(sl_cuda_enter(c));
	r = c->cu.cuEventQuery(f->handle);
	if (r != SL_CU_ERROR_NOT_READY)
		SL_TRY(sl_cuda_check(c, r, "cuEventQuery"));
	*out_passed = r == SL_CU_SUCCESS;
	return SL_OK;
}
