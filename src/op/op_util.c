/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators' files share: elements, index walks, shape checks, short builders.
 */
#include "op/op_util.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/bf16.h"
#include "graph/ir.h"

double sl_get(const void *data, enum sl_dtype t, int64_t i)
{
	if (t == SL_F32)
		return (double)((const float *)data)[i];
	if (t == SL_F64)
		return ((const double *)data)[i];
	if (t == SL_BF16)
		return (double)sl_bf16_to_f32(((const uint16_t *)data)[i]);
	return (double)sl_get_i64(data, t, i);
}

void sl_set(void *data, enum sl_dtype t, int64_t i, double v)
{
	if (t == SL_F32)
		((float *)data)[i] = (float)v;
	else if (t == SL_F64)
		((double *)data)[i] = v;
	else if (t == SL_BF16)
		((uint16_t *)data)[i] = sl_bf16_from_f32((float)v);
	else if (t == SL_I32)
		((int32_t *)data)[i] = (int32_t)v;
	else if (t == SL_I64)
		((int64_t *)data)[i] = (int64_t)v;
	else
		((uint8_t *)data)[i] = (uint8_t)v;
}

int64_t sl_get_i64(const void *data, enum sl_dtype t, int64_t i)
{
	if (t == SL_I64)
		return ((const int64_t *)data)[i];
	if (t == SL_I32)
		return ((const int32_t *)data)[i];
	SL_ASSERT(t == SL_U8);
	return ((const uint8_t *)data)[i];
}

void sl_move(void *dst, int64_t i, const void *src, int64_t j, enum sl_dtype t)
{
	size_t size = sl_dtype_bytes(t);

	memcpy((char *)dst + (size_t)i * size, (const char *)src + (size_t)j * size,
		size);
}

void sl_strides(const struct sl_shape *s, int64_t stride[SL_MAX_RANK])
{
	int64_t step = 1;

	for (int i = s->rank - 1; i >= 0; i--) {
		stride[i] = step;
		step *= s->dim[i];
	}
}

void sl_walk_init(struct sl_walk *w, const struct sl_shape *shape)
{
	*w = (struct sl_walk){.rank = shape->rank, .count = sl_shape_count(shape)};
	memcpy(w->dim, shape->dim, sizeof(w->dim));
}

int sl_walk_broadcast(struct sl_walk *w, const struct sl_shape *operand)
{
	int64_t own[SL_MAX_RANK] = {0};
	int64_t stride[SL_MAX_RANK] = {0};
	int lead = w->rank - operand->rank;

	SL_ASSERT(lead >= 0);
	sl_strides(operand, own);
	for (int i = 0; i < operand->rank; i++)
		stride[lead + i] = operand->dim[i] == 1 ? 0 : own[i];
	return sl_walk_strided(w, stride, 0);
}

int sl_walk_strided(struct sl_walk *w, const int64_t stride[SL_MAX_RANK], int64_t start)
{
	int k = w->n_operands++;

	SL_ASSERT(k < SL_WALK_MAX);
	memcpy(w->stride[k], stride, (size_t)w->rank * sizeof(*stride));
	w->at[k] = start;
	return k;
}

void sl_walk_next(struct sl_walk *w)
{
	w->i++;
	for (int axis = w->rank - 1; axis >= 0; axis--) {
		for (int k = 0; k < w->n_operands; k++)
			w->at[k] += w->stride[k][axis];
		if (++w->index[axis] < w->dim[axis])
			return;
		for (int k = 0; k < w->n_operands; k++)
			w->at[k] -= w->stride[k][axis] * w->dim[axis];
		w->index[axis] = 0;
	}
}

struct sl_around sl_around_axis(const struct sl_shape *s, int axis)
{
	return (struct sl_around){
		.outer = sl_shape_span(s, 0, axis),
		.n = s->dim[axis],
		.inner = sl_shape_span(s, axis + 1, s->rank),
	};
}

sl_status sl_check_float(const struct sl_node_info *n, int i)
{
	if (sl_dtype_is_float(n->in[i].dtype))
		return SL_OK;
	return SL_FAIL(SL_E_DTYPE,
		"input %d is %s; it must be f32, bf16 or f64 (use cast)", i,
		sl_dtype_name(n->in[i].dtype));
}

sl_status sl_check_index(const struct sl_node_info *n, int i)
{
	if (n->in[i].dtype == SL_I32 || n->in[i].dtype == SL_I64)
		return SL_OK;
	return SL_FAIL(SL_E_DTYPE, "input %d is %s; indices and labels are i32 or i64", i,
		sl_dtype_name(n->in[i].dtype));
}

sl_status sl_check_rank(const struct sl_node_info *n, int i, int rank)
{
	char text[SL_SHAPE_TEXT];

	if (n->in[i].shape.rank == rank)
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE, "input %d is %s; it must have %d dimensions", i,
		sl_shape_print(&n->in[i].shape, text), rank);
}

sl_status sl_check_min_rank(const struct sl_node_info *n, int i, int rank)
{
	char text[SL_SHAPE_TEXT];

	if (n->in[i].shape.rank >= rank)
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE, "input %d is %s; it must have at least %d dimension%s",
		i, sl_shape_print(&n->in[i].shape, text), rank, rank == 1 ? "" : "s");
}

sl_status sl_check_dtype_as(const struct sl_node_info *n, int i, int j)
{
	if (n->in[i].dtype == n->in[j].dtype)
		return SL_OK;
	return SL_FAIL(SL_E_DTYPE,
		"input %d is %s but input %d is %s; they must agree (use cast)", i,
		sl_dtype_name(n->in[i].dtype), j, sl_dtype_name(n->in[j].dtype));
}

sl_status sl_check_shape_as(const struct sl_node_info *n, int i, int j)
{
	char text_i[SL_SHAPE_TEXT];
	char text_j[SL_SHAPE_TEXT];

	if (sl_shape_equal(&n->in[i].shape, &n->in[j].shape))
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE, "input %d is %s but input %d is %s; they must agree",
		i, sl_shape_print(&n->in[i].shape, text_i), j,
		sl_shape_print(&n->in[j].shape, text_j));
}

sl_status sl_check_type_as(const struct sl_node_info *n, int i, int j)
{
	SL_TRY(sl_check_dtype_as(n, i, j));
	return sl_check_shape_as(n, i, j);
}

sl_status sl_check_shape(const struct sl_node_info *n, int i, const struct sl_shape *want)
{
	char text[SL_SHAPE_TEXT];
	char text_want[SL_SHAPE_TEXT];

	if (sl_shape_equal(&n->in[i].shape, want))
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE, "input %d is %s; here it must be %s", i,
		sl_shape_print(&n->in[i].shape, text), sl_shape_print(want, text_want));
}

enum sl_dtype sl_dtype_wide(enum sl_dtype t)
{
	return t == SL_BF16 ? SL_F32 : t;
}

sl_status sl_check_wide(const struct sl_node_info *n, int i)
{
	enum sl_dtype want = sl_dtype_wide(n->in[0].dtype);

	if (n->in[i].dtype == want)
		return SL_OK;
	return SL_FAIL(SL_E_DTYPE,
		"input %d is %s; it must be %s where input 0 is %s (use cast)", i,
		sl_dtype_name(n->in[i].dtype), sl_dtype_name(want),
		sl_dtype_name(n->in[0].dtype));
}

sl_val sl_grad_as(const struct sl_grad *c, int i, sl_val v)
{
	enum sl_dtype want = c->node->in[i].dtype;

	if (v.index >= c->g->n_values || c->g->values[v.index].type.dtype == want)
		return v;
	return sl_cast(c->g, v, want);
}

sl_status sl_infer_same(const struct sl_node_info *n, struct sl_type *out)
{
	out[0] = n->in[0];
	return SL_OK;
}

sl_status sl_infer_same_float(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_check_float(n, 0));
	return sl_infer_same(n, out);
}

sl_status sl_infer_pair_float(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_type_as(n, 1, 0));
	return sl_infer_same(n, out);
}

sl_val sl_op_add1(struct sl_graph *g, const struct sl_op *op, const void *attr, sl_val a)
{
	return sl_graph_add(g, op, attr, &a, 1, NULL);
}

sl_val sl_op_add2(
	struct sl_graph *g, const struct sl_op *op, const void *attr, sl_val a, sl_val b)
{
	const sl_val in[] = {a, b};

	return sl_graph_add(g, op, attr, in, 2, NULL);
}

sl_val sl_op_add3(struct sl_graph *g, const struct sl_op *op, const void *attr, sl_val a,
	sl_val b, sl_val c)
{
	const sl_val in[] = {a, b, c};

	return sl_graph_add(g, op, attr, in, 3, NULL);
}

struct sl_shape_attr sl_shape_to_attr(const struct sl_shape *s)
{
	struct sl_shape_attr a = {.rank = s->rank};

	/* An impossible rank is kept for the shape rule to refuse. */
	for (int i = 0; i < s->rank && i < SL_MAX_RANK; i++)
		a.dim[i] = s->dim[i];
	return a;
}

struct sl_shape sl_shape_from_attr(const struct sl_shape_attr *a)
{
	struct sl_shape s = {.rank = (int)a->rank};

	for (int i = 0; i < s.rank && i < SL_MAX_RANK; i++)
		s.dim[i] = a->dim[i];
	return s;
}

void sl_rebind_dim0(struct sl_shape_attr *a, const struct sl_type *in0)
{
	if (a->rank > 0 && in0->shape.rank > 0)
		a->dim[0] = in0->shape.dim[0];
}

const struct sl_shape *sl_op_shape(const struct sl_graph *g, sl_val v)
{
	return v.index < g->n_values ? &g->values[v.index].type.shape : NULL;
}

struct sl_axis_attr sl_op_axis(const struct sl_graph *g, sl_val x, int axis)
{
	const struct sl_shape *s = sl_op_shape(g, x);

	return (struct sl_axis_attr){.axis = s && axis < 0 ? axis + s->rank : axis};
}

sl_status sl_check_axis_attr(int64_t axis, int rank)
{
	if (axis >= 0 && axis < rank)
		return SL_OK;
	return SL_FAIL(SL_E_INVALID,
		"axis %" PRId64 " counted from the start; the value has %d dimension%s",
		axis, rank, rank == 1 ? "" : "s");
}

sl_status sl_index_at(
	const struct sl_call *c, int k, int64_t i, int64_t n, bool wrap, int64_t *out)
{
	int64_t given = sl_get_i64(c->in[k], c->node->in[k].dtype, i);
	int64_t v = wrap && given < 0 ? given + n : given;

	if (v >= 0 && v < n) {
		*out = v;
		return SL_OK;
	}
	return SL_FAIL(SL_E_INVALID,
		"index %" PRId64 " at position %" PRId64 " is outside of [%" PRId64
		", %" PRId64 ")",
		given, i, wrap ? -n : 0, n);
}

void sl_cost_pick(const struct sl_node_info *n, int index, struct sl_cost *out)
{
	*out = (struct sl_cost){.bytes = (double)sl_type_bytes(&n->in[index]) +
					 2 * (double)sl_type_bytes(&n->out[0])};
}

const struct sl_attr_field sl_axis_fields[1] = {
	SL_ATTR(struct sl_axis_attr, axis, I64, 1)};

sl_val sl_op_again(struct sl_graph *g, const struct sl_node_info *n, const sl_val *in,
	const sl_val *out)
{
	(void)out;
	return sl_graph_add(g, n->op, n->attr, in, n->n_in, NULL);
}

void sl_cost_move(const struct sl_node_info *n, struct sl_cost *out)
{
	*out = (struct sl_cost){0};
	for (int i = 0; i < n->n_in; i++)
		if (sl_node_has(n, i))
			out->bytes += (double)sl_type_bytes(&n->in[i]);
	for (int i = 0; i < n->n_out; i++)
		out->bytes += (double)sl_type_bytes(&n->out[i]);
}
