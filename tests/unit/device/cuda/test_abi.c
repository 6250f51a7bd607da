/* SPDX-License-Identifier: Apache-2.0 */
/* driver_abi.h and driver.def against NVIDIA's own header, where that is installed. */
#include "harness/harness.h"

#include "device/cuda/driver_abi.h"

#if defined(__has_include) && __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>

#define SAME_NUMBER(name, value) \
	_Static_assert((int)CUDA_##name == (value), "CUDA_" #name);
SL_CU_RESULTS(SAME_NUMBER, SAME_NUMBER)
#undef SAME_NUMBER
#define SAME_NUMBER(name, value) _Static_assert((int)CU_##name == (value), "CU_" #name);
SL_CU_NUMBERS(SAME_NUMBER)
#undef SAME_NUMBER

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs);
SAME_SIZE(sl_cu_mem, CUmemGenericAllocationHandle)
SAME_SIZE(struct sl_cu_uuid, CUuuid)
SAME_SIZE(struct sl_cu_mem_location, CUmemLocation)
SAME_SIZE(struct sl_cu_mem_prop, CUmemAllocationProp)
SAME_SIZE(struct sl_cu_mem_access, CUmemAccessDesc)

#define SAME_PLACE(ours, a, theirs, b) \
	_Static_assert(offsetof(struct ours, a) == offsetof(theirs, b), #theirs "." #b);
SAME_PLACE(sl_cu_mem_location, id, CUmemLocation, id)
SAME_PLACE(sl_cu_mem_prop, handle_types, CUmemAllocationProp, requestedHandleTypes)
SAME_PLACE(sl_cu_mem_prop, location, CUmemAllocationProp, location)
SAME_PLACE(sl_cu_mem_prop, win32, CUmemAllocationProp, win32HandleMetaData)
SAME_PLACE(sl_cu_mem_prop, flags.usage, CUmemAllocationProp, allocFlags.usage)
SAME_PLACE(sl_cu_mem_access, flags, CUmemAccessDesc, flags)

/* From here on the rows name the header's structs: then whole prototypes can be equal. */
#define sl_cu_uuid CUuuid_st
#define sl_cu_mem_prop CUmemAllocationProp_st
#define sl_cu_mem_access CUmemAccessDesc_st
#define SL_CU(name, args) \
	_Static_assert( \
		__builtin_types_compatible_p(__typeof__(&name), sl_cu_result(*) args), \
		#name);
#include "device/cuda/driver.def"
#undef SL_CU
#define SL_NVRTC(name, args) \
	_Static_assert( \
		__builtin_types_compatible_p(__typeof__(&name), unsigned(*) args), \
		#name);
#include "device/cuda/nvrtc.def"
#undef SL_NVRTC

static void the_interface_is_the_drivers(void **state)
{
	(void)state;
	/* All was asserted while compiling. */
	assert_true(CUDA_VERSION >= 12000);
}
#else
static void the_interface_is_the_drivers(void **state)
{
	(void)state;
	sl_test_skip("cuda.h is not installed");
}
#endif

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_interface_is_the_drivers),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
