/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast: the same values as another element type. Float to integer truncates towards zero
 * and saturates, NaN gives 0 (C leaves both undefined); integer to integer keeps the low
 * bits (PyTorch). The gradient is the cast back; none flows into integers.
 */
#include "op/op_util.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "graph/op_attr.h"

static const struct sl_attr_field cast_fields[] = {
	SL_ATTR(struct sl_cast_attr, dtype, I64, 1),
};

static sl_status cast_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_cast_attr *a = n->attr;

	if (a->dtype < 0 || a->dtype >= SL_DTYPE_COUNT)
		return SL_FAIL(SL_E_DTYPE, "cast to element type %lld; there are %d",
			(long long)a->dtype, SL_DTYPE_COUNT);
	out[0] = n->in[0];
	out[0].dtype = (enum sl_dtype)a->dtype;
	return SL_OK;
}

static sl_status cast_grad(struct sl_grad *c)
{
	enum sl_dtype from = c->node->in[0].dtype;

	if (sl_dtype_is_float(from) && sl_dtype_is_float(c->node->out[0].dtype))
		c->din[0] = sl_cast(c->g, c->dout[0], from);
	return SL_OK;
}

static int64_t clamp_i64(double v, double low, double high)
{
	if (isnan(v))
		return 0;
	if (v <= low)
		return (int64_t)low;
	/* 2^63 - 1 is no double: compare with 2^63. */
	if (v >= high)
		return high >= 0x1p63 ? INT64_MAX : (int64_t)high;
	return (int64_t)v;
}

/* The low bits of v at element i. */
static void put_bits(void *data, enum sl_dtype t, int64_t i, int64_t v)
{
	size_t bytes = sl_dtype_bytes(t);

	/* Little-endian: the low bytes come first. */
	memcpy((char *)data + (size_t)i * bytes, &v, bytes);
}

static sl_status cast_ref(const struct sl_call *c)
{
	static const double low[SL_DTYPE_COUNT] = {
		[SL_I32] = INT32_MIN, [SL_I64] = -0x1p63, [SL_U8] = 0};
	static const double high[SL_DTYPE_COUNT] = {
		[SL_I32] = INT32_MAX, [SL_I64] = 0x1p63, [SL_U8] = UINT8_MAX};
	enum sl_dtype from = c->node->in[0].dtype;
	enum sl_dtype to = c->node->out[0].dtype;
	int64_t count = sl_shape_count(&c->node->out[0].shape);

	for (int64_t i = 0; i < count; i++) {
		if (sl_dtype_is_float(to))
			sl_put(c, 0, i, sl_in(c, 0, i));
		else if (sl_dtype_is_float(from))
			put_bits(c->out[0], to, i,
				clamp_i64(sl_in(c, 0, i), low[to], high[to]));
		else
			put_bits(c->out[0], to, i, sl_get_i64(c->in[0], from, i));
	}
	return SL_OK;
}

const struct sl_op sl_op_cast = {
	.name = "cast",
	.attr_bytes = sizeof(struct sl_cast_attr),
	.fields = cast_fields,
	.n_fields = SL_COUNT(cast_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = cast_infer,
	.grad = cast_grad,
	.ref = cast_ref,
};

sl_val sl_cast(struct sl_graph *g, sl_val x, enum sl_dtype dtype)
{
	struct sl_cast_attr a = {.dtype = (int64_t)dtype};
	return sl_op_add1(g, &sl_op_cast, &a, x);
}
