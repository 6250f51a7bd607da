/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: size, name, kind. */
#include "sluice/tensor.h"

#include <strings.h>

#include "base/assert.h"

static const size_t sizes[SL_DTYPE_COUNT] = {
#define X(name, bytes, text) [SL_##name] = bytes,
	SL_DTYPE_TABLE(X)
#undef X
};

static const char *const names[] = {
	[SL_F32] = "f32",
	[SL_F64] = "f64",
	[SL_I32] = "i32",
	[SL_I64] = "i64",
	[SL_U8] = "u8",
	[SL_BF16] = "bf16",
};
_Static_assert(SL_COUNT(names) == SL_DTYPE_COUNT, "each element type has a name");

size_t sl_dtype_bytes(enum sl_dtype t)
{
	SL_ASSERT((unsigned)t < SL_DTYPE_COUNT);
	return sizes[t];
}

const char *sl_dtype_name(enum sl_dtype t)
{
	return (unsigned)t < SL_DTYPE_COUNT ? names[t] : "unknown";
}

bool sl_dtype_is_float(enum sl_dtype t)
{
	return t == SL_F32 || t == SL_F64 || t == SL_BF16;
}

sl_status sl_dtype_parse(const char *text, enum sl_dtype *out)
{
	/* Either case: safetensors writes "F32", our texts "f32". */
	for (int i = 0; i < SL_DTYPE_COUNT; i++) {
		if (strcasecmp(text, names[i]) == 0) {
			*out = (enum sl_dtype)i;
			return SL_OK;
		}
	}
	return SL_FAIL(SL_E_DTYPE,
		"'%s' is no element type of this build; it has f32 f64 i32 i64 u8 bf16",
		text);
}
