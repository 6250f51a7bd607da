/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel found wrong with the data it was given, in the words of the references.
 */
#include "kernel/cuda/launch.h"

#include <inttypes.h>

#include "base/compiler.h"

static sl_status index_fault(const struct sl_cuda_report *r)
{
	return SL_FAIL(SL_E_INVALID,
		"index %" PRId64 " at position %" PRId64 " is outside of [%" PRId64
		", %" PRId64 ")",
		(int64_t)r->value, (int64_t)r->at, (int64_t)(r->wraps ? -r->bound : 0),
		(int64_t)r->bound);
}

static sl_status label_fault(const struct sl_cuda_report *r)
{
	return SL_FAIL(SL_E_INVALID,
		"label %" PRId64 " at position %" PRId64
		" is not one of the classes 0 to %" PRId64
		"; check the data or set an ignored label",
		(int64_t)r->value, (int64_t)r->at, (int64_t)r->bound - 1);
}

static sl_status (*const faults[])(const struct sl_cuda_report *r) = {
	[SL_CUDA_FAULT_INDEX] = index_fault,
	[SL_CUDA_FAULT_LABEL] = label_fault,
};

sl_status sl_cuda_report_read(void *note)
{
	struct sl_cuda_report r = *(struct sl_cuda_report *)note;

	if (r.fault <= SL_CUDA_FAULT_NONE || (size_t)r.fault >= SL_COUNT(faults))
		return SL_OK;
	*(struct sl_cuda_report *)note = (struct sl_cuda_report){0};
	return faults[r.fault](&r);
}
