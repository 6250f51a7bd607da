/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries of the system, opened when they are needed. */
#include <dlfcn.h>
#include <string.h>

#include "device/cuda/cuda_int.h"

/* It stays mapped: neither the driver nor NVIDIA's libraries survive dlclose. */
bool sl_cuda_library_open(const char *file, void **lib, const char **what)
{
	*lib = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (*lib == NULL)
		*what = dlerror();
	return *lib != NULL;
}

/* ISO C converts no object pointer to a function's; POSIX says the bits fit. */
bool sl_cuda_library_find(void *lib, const char *name, void *fn, const char **what)
{
	void *sym = dlsym(lib, name);

	if (sym != NULL)
		memcpy(fn, &sym, sizeof(sym));
	else if (*what == NULL)
		*what = name;
	return sym != NULL;
}
