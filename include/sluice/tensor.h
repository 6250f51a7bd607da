/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_TENSOR_H
#define SLUICE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/* Element types. X(name, bytes, safetensors name) */
#define SL_DTYPE_TABLE(X) \
	X(F32, 4, "F32") \
	X(F64, 8, "F64") \
	X(I32, 4, "I32") \
	X(I64, 8, "I64") \
	X(U8, 1, "U8") \
	X(BF16, 2, "BF16")

enum sl_dtype {
#define X(name, bytes, text) SL_##name,
	SL_DTYPE_TABLE(X)
#undef X
		SL_DTYPE_COUNT
};

#define SL_MAX_RANK 8

/* Row-major dense shape; rank 0 is a scalar with one element; a dim may be zero. */
struct sl_shape {
	int rank;
	int64_t dim[SL_MAX_RANK];
};

/* Element type and shape: all that a shape rule sees of a value. */
struct sl_type {
	enum sl_dtype dtype;
	struct sl_shape shape;
};

size_t sl_dtype_bytes(enum sl_dtype t);
const char *sl_dtype_name(enum sl_dtype t); /* "f32" */
bool sl_dtype_is_float(enum sl_dtype t);
SL_NODISCARD sl_status sl_dtype_parse(const char *text, enum sl_dtype *out);

#define SL_SHAPE(...) \
	((struct sl_shape){ \
		.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
		.dim = {__VA_ARGS__}})
#define SL_SCALAR ((struct sl_shape){0})

bool sl_shape_equal(const struct sl_shape *a, const struct sl_shape *b);
/* Elements; shapes in a graph were checked not to overflow, so this cannot fail. */
int64_t sl_shape_count(const struct sl_shape *s);
/* Elements with overflow and negative dims refused (limit 2^48). */
SL_NODISCARD sl_status sl_shape_check(const struct sl_shape *s, int64_t *out_count);
/* NumPy broadcasting; SL_E_SHAPE names both shapes. */
SL_NODISCARD sl_status sl_shape_broadcast(
	const struct sl_shape *a, const struct sl_shape *b, struct sl_shape *out);
/* Product of dims [from, to). */
int64_t sl_shape_span(const struct sl_shape *s, int from, int to);
/* "[2, 3]" into text; returns text. SL_SHAPE_TEXT bytes suffice. */
#define SL_SHAPE_TEXT 192
char *sl_shape_print(const struct sl_shape *s, char text[SL_SHAPE_TEXT]);
size_t sl_type_bytes(const struct sl_type *t);

#endif
