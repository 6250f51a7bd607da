/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: whatever image is loaded, its functions are the emulated kernels. */
#include "cuda/driver/driver_int.h"

#include <stdlib.h>
#include <string.h>

/* A fat binary, an ELF file, the text of PTX; and that of a source, which no card takes.
 */
static bool is_image(const void *image)
{
	static const char fat[] = {0x50, (char)0xed, 0x55, (char)0xba};
	return memcmp(image, fat, 4) == 0 || memcmp(image, "\177ELF", 4) == 0 ||
	       memcmp(image, "//", 2) == 0 || memcmp(image, "/*", 2) == 0 ||
	       memcmp(image, ".ver", 4) == 0;
}

sl_cu_result cuModuleLoadData(sl_cu_module *out, const void *image)
{
	ENTER("cuModuleLoadData");
	if (!is_image(image))
		return fake_leave(SL_CU_ERROR_INVALID_IMAGE);
	struct CUmod_st *m = calloc(1, sizeof *m);
	if (m == NULL)
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	fake.modules++;
	*out = m;
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuModuleUnload(sl_cu_module m)
{
	sl_cu_result r = fake_enter("cuModuleUnload", CALL_ENDS);
	while (m->functions != NULL) {
		struct CUfunc_st *next = m->functions->next;
		free(m->functions);
		m->functions = next;
	}
	free(m);
	fake.modules--;
	return fake_leave(r);
}

sl_cu_result cuModuleGetFunction(sl_cu_function *out, sl_cu_module m, const char *name)
{
	ENTER("cuModuleGetFunction");
	for (struct CUfunc_st *f = m->functions; f != NULL; f = f->next) {
		if (strcmp(f->entry->name, name) == 0) {
			*out = f;
			return fake_leave(SL_CU_SUCCESS);
		}
	}
	const struct emu_entry *e = emu_find(name);
	if (e == NULL)
		return fake_leave(SL_CU_ERROR_NOT_FOUND);
	struct CUfunc_st *f = calloc(1, sizeof *f);
	if (f == NULL)
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	*f = (struct CUfunc_st){e, EMU_STATIC_SHARED, m->functions};
	m->functions = f;
	*out = f;
	return fake_leave(SL_CU_SUCCESS);
}

sl_cu_result cuFuncSetAttribute(sl_cu_function f, unsigned attribute, int value)
{
	ENTER("cuFuncSetAttribute");
	if (attribute != SL_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
		value < 0 || value > 227 << 10)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	f->dynamic_most = (unsigned)value;
	return fake_leave(SL_CU_SUCCESS);
}
