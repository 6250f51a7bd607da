/* SPDX-License-Identifier: Apache-2.0 */
/* The card that the test driver shows, and its primary context. */
#include "cuda/driver/driver_int.h"

#include <stdio.h>
#include <string.h>

static char context_token;

/* A call that needs no context. */
#define BARE(name) \
	do { \
		sl_cu_result r_ = fake_enter(name, CALL_BARE); \
		if (r_ != SL_CU_SUCCESS) \
			return r_; \
	} while (0)

sl_cu_result cuInit(unsigned flags)
{
	BARE("cuInit");
	fake.initialised = true;
	return fake_leave(flags == 0 ? SL_CU_SUCCESS : SL_CU_ERROR_INVALID_VALUE);
}

sl_cu_result cuDriverGetVersion(int *version)
{
	BARE("cuDriverGetVersion");
	*version = 13000;
	return fake_leave(SL_CU_SUCCESS);
}

static const struct {
	sl_cu_result code;
	const char *name;
} results[] = {
#define RESULT(name, value) {value, "CUDA_" #name},
	SL_CU_RESULTS(RESULT, RESULT)
#undef RESULT
};

static sl_cu_result name_of(sl_cu_result e, const char **text)
{
	for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
		if (results[i].code == e) {
			*text = results[i].name;
			return SL_CU_SUCCESS;
		}
	}
	*text = NULL;
	return SL_CU_ERROR_INVALID_VALUE;
}

/* These two are no calls to the card: they neither count nor fail. */
sl_cu_result cuGetErrorName(sl_cu_result e, const char **text)
{
	return name_of(e, text);
}

sl_cu_result cuGetErrorString(sl_cu_result e, const char **text)
{
	return name_of(e, text);
}

sl_cu_result cuDeviceGetCount(int *count)
{
	BARE("cuDeviceGetCount");
	*count = 1;
	return fake_leave(fake.initialised ? SL_CU_SUCCESS : SL_CU_ERROR_NOT_INITIALIZED);
}

sl_cu_result cuDeviceGet(sl_cu_device *dev, int ordinal)
{
	BARE("cuDeviceGet");
	*dev = 0;
	return fake_leave(ordinal == 0 ? SL_CU_SUCCESS : SL_CU_ERROR_INVALID_DEVICE);
}

sl_cu_result cuDeviceGetName(char *name, int size, sl_cu_device dev)
{
	BARE("cuDeviceGetName");
	(void)dev;
	snprintf(name, (size_t)size, "test driver");
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuDeviceGetUuid_v2(struct sl_cu_uuid *uuid, sl_cu_device dev)
{
	BARE("cuDeviceGetUuid_v2");
	(void)dev;
	memcpy(uuid->bytes, "a card of tests", sizeof uuid->bytes);
	return fake_leave(SL_CU_SUCCESS);
}

static uint64_t card_bytes(void)
{
	return fake.options.bytes != 0 ? fake.options.bytes : UINT64_C(1) << 30;
}

sl_cu_result cuDeviceTotalMem_v2(size_t *bytes, sl_cu_device dev)
{
	BARE("cuDeviceTotalMem_v2");
	(void)dev;
	*bytes = card_bytes();
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuDeviceGetAttribute(int *value, unsigned attribute, sl_cu_device dev)
{
	static const struct {
		unsigned attribute;
		int value;
	} known[] = {
		{SL_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
		{SL_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
		{SL_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
		{SL_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
		{SL_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
		{SL_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
	};
	BARE("cuDeviceGetAttribute");
	(void)dev;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (known[i].attribute == attribute) {
			*value = known[i].value;
			return fake_leave(SL_CU_SUCCESS);
		}
	}
	return fake_leave(SL_CU_ERROR_INVALID_VALUE);
}

sl_cu_result cuDevicePrimaryCtxRetain(sl_cu_context *ctx, sl_cu_device dev)
{
	BARE("cuDevicePrimaryCtxRetain");
	(void)dev;
	if (!fake.initialised)
		return fake_leave(SL_CU_ERROR_NOT_INITIALIZED);
	fake.contexts++;
	*ctx = (sl_cu_context)(void *)&context_token;
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuDevicePrimaryCtxRelease_v2(sl_cu_device dev)
{
	sl_cu_result r = fake_enter("cuDevicePrimaryCtxRelease_v2", CALL_ENDS);
	(void)dev;
	if (fake.contexts == 0)
		return fake_leave(SL_CU_ERROR_INVALID_CONTEXT);
	char text[300];
	if (--fake.contexts == 0 && fake_alive(text, sizeof text) > 0)
		fake_complain("the context ends, and there are still %s", text);
	return fake_leave(r == SL_CU_ERROR_INVALID_CONTEXT ? SL_CU_SUCCESS : r);
}

sl_cu_result cuCtxSynchronize(void)
{
	sl_cu_result r = fake_enter("cuCtxSynchronize", CALL_ENDS);
	for (unsigned i = 1; i < FAKE_STREAMS; i++)
		if (fake.stream[i] != NULL)
			fake_wait_idle(fake.stream[i]);
	return fake_leave(r != SL_CU_SUCCESS ? r : fake.sticky);
}

sl_cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	sl_cu_result r = fake_enter("cuMemGetInfo_v2", CALL_ANY);
	if (r != SL_CU_SUCCESS)
		return r;
	*total_bytes = card_bytes();
	*free_bytes = card_bytes() - fake.used;
	return fake_leave(SL_CU_SUCCESS);
}
