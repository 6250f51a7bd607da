/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's calls, found at run time, and its results as statuses. */
#include <dlfcn.h>
#include <stdlib.h>

#include "device/cuda/cuda_int.h"

#define FILE_NAME "libcuda.so.1"

static bool find_all(struct sl_cuda_driver *cu, const char **what)
{
	bool ok = true;

#define SL_CU(name, args) \
	ok = sl_cuda_library_find(cu->lib, #name, &cu->name, what) && ok;
#include "device/cuda/driver.def"
#undef SL_CU
	return ok;
}

sl_status sl_cuda_driver_open(struct sl_cuda_driver *out)
{
	const char *named = getenv("SLUICE_CUDA_DRIVER"), *what = NULL;
	struct sl_cuda_driver cu = {0};

	if (!sl_cuda_library_open(named != NULL ? named : FILE_NAME, &cu.lib, &what))
		return SL_FAIL(SL_E_UNSUPPORTED,
			"no CUDA driver: %s; install NVIDIA's driver, or use --device "
			"cpu",
			what);
	if (!find_all(&cu, &what)) {
		(void)dlclose(cu.lib);
		return SL_FAIL(SL_E_UNSUPPORTED,
			"the CUDA driver is too old: it has no %s; install one of CUDA "
			"12 or later",
			what);
	}
	*out = cu;
	return SL_OK;
}

bool sl_cuda_is_sticky(sl_cu_result r)
{
	static const sl_cu_result sticky[] = {
#define NOT(name, value)
#define YES(name, value) value,
		SL_CU_RESULTS(NOT, YES)
#undef NOT
#undef YES
	};

	for (size_t i = 0; i < SL_COUNT(sticky); i++)
		if (sticky[i] == r)
			return true;
	return false;
}

static sl_status status_of(sl_cu_result r)
{
	if (sl_cuda_is_sticky(r))
		return SL_E_LOST;
	return r == SL_CU_ERROR_OUT_OF_MEMORY ? SL_E_NOMEM_DEVICE : SL_E_UNSUPPORTED;
}

sl_status sl_cuda_result(
	const struct sl_cuda_driver *cu, sl_cu_result r, const char *call)
{
	const char *text = NULL, *name = NULL;

	if (r == SL_CU_SUCCESS)
		return SL_OK;
	if (cu->cuGetErrorString(r, &text) != SL_CU_SUCCESS || text == NULL)
		text = "unknown to this driver";
	if (cu->cuGetErrorName(r, &name) != SL_CU_SUCCESS || name == NULL)
		name = "a result";
	return SL_FAIL(status_of(r), "%s: %s (%s, %u)", call, text, name, r);
}
