/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts copied between values: slice and its adjoint slice_dx, concat, split, pad.
 *
 * slice   per axis [begin, end) by step, negative ones counted from the end, both cut to
 * the axis (NumPy) concat  inputs of one type and of equal dims off the axis; gradient:
 * slices pad     before and after each axis with a value; gradient: a slice
 */
#include "op/op_util.h"

#include <inttypes.h>

#include "base/compiler.h"

/* A slice with everything resolved: element (i, j, ...) of the part is x[start + sum i *
 * stride]. */
struct part {
	struct sl_shape shape;
	int64_t stride[SL_MAX_RANK];
	int64_t start;
};

static int64_t cut(int64_t at, int64_t dim)
{
	if (at < 0)
		at += dim;
	return at < 0 ? 0 : at > dim ? dim : at;
}

static sl_status resolve(
	const struct sl_slice_attr *a, const struct sl_shape *x, struct part *out)
{
	struct part p = {.shape = *x};
	int64_t own[SL_MAX_RANK] = {0};

	sl_strides(x, own);
	for (int i = 0; i < x->rank; i++) {
		int64_t step = a->step[i] ? a->step[i] : 1;
		int64_t begin = cut(a->begin[i], x->dim[i]);
		int64_t end = cut(a->end[i], x->dim[i]);
		if (step < 0)
			return SL_FAIL(SL_E_INVALID,
				"axis %d: step %" PRId64 "; it must be positive", i,
				step);
		/* Not begin + step - 1: the step may be huge. */
		p.shape.dim[i] = end > begin ? (end - begin - 1) / step + 1 : 0;
		p.stride[i] = p.shape.dim[i] > 1 ? own[i] * step : own[i];
		p.start += begin * own[i];
	}
	*out = p;
	return SL_OK;
}

static sl_status slice_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct part p;

	SL_TRY(resolve(n->attr, &n->in[0].shape, &p));
	out[0] = (struct sl_type){n->in[0].dtype, p.shape};
	return SL_OK;
}

static sl_status slice_grad(struct sl_grad *c)
{
	c->din[0] = sl_slice_dx(c->g, c->dout[0], c->node->attr, &c->node->in[0].shape);
	return SL_OK;
}

static sl_status slice_ref(const struct sl_call *c)
{
	struct part p;
	struct sl_walk w;

	SL_TRY(resolve(c->node->attr, &c->node->in[0].shape, &p));
	sl_walk_init(&w, &p.shape);
	int from = sl_walk_strided(&w, p.stride, p.start);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		sl_move(c->out[0], w.i, c->in[0], w.at[from], c->node->in[0].dtype);
	return SL_OK;
}

/* Reads only what it writes. */
static void slice_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	*out = (struct sl_cost){.bytes = 2 * (double)sl_type_bytes(&n->out[0])};
}

static const struct sl_attr_field slice_fields[] = {
	SL_ATTR(struct sl_slice_attr, begin, I64, SL_MAX_RANK),
	SL_ATTR(struct sl_slice_attr, end, I64, SL_MAX_RANK),
	SL_ATTR(struct sl_slice_attr, step, I64, SL_MAX_RANK),
};

const struct sl_op sl_op_slice = {
	.name = "slice",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_slice_attr),
	.fields = slice_fields,
	.n_fields = SL_COUNT(slice_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = slice_infer,
	.grad = slice_grad,
	.cost = slice_cost,
	.ref = slice_ref,
};

sl_val sl_slice(struct sl_graph *g, sl_val x, const struct sl_slice_attr *attr)
{
	return sl_op_add1(g, &sl_op_slice, attr, x);
}

static sl_status slice_dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_slice_dx_attr *a = n->attr;
	struct sl_shape x = sl_shape_from_attr(&a->shape);
	struct part p;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_shape_check(&x, NULL));
	SL_TRY(resolve(&a->slice, &x, &p));
	SL_TRY(sl_check_shape(n, 0, &p.shape));
	out[0] = (struct sl_type){n->in[0].dtype, x};
	return SL_OK;
}

static sl_status slice_dx_grad(struct sl_grad *c)
{
	const struct sl_slice_dx_attr *a = c->node->attr;

	c->din[0] = sl_slice(c->g, c->dout[0], &a->slice);
	return SL_OK;
}

static sl_status slice_dx_ref(const struct sl_call *c)
{
	const struct sl_slice_dx_attr *a = c->node->attr;
	int64_t count = sl_shape_count(&c->node->out[0].shape);
	struct part p;
	struct sl_walk w;

	SL_TRY(resolve(&a->slice, &c->node->out[0].shape, &p));
	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, 0);
	sl_walk_init(&w, &p.shape);
	int to = sl_walk_strided(&w, p.stride, p.start);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		sl_move(c->out[0], w.at[to], c->in[0], w.i, c->node->in[0].dtype);
	return SL_OK;
}

static const struct sl_attr_field slice_dx_fields[] = {
	{"begin", SL_ATTR_I64, offsetof(struct sl_slice_dx_attr, slice.begin),
		SL_MAX_RANK},
	{"end", SL_ATTR_I64, offsetof(struct sl_slice_dx_attr, slice.end), SL_MAX_RANK},
	{"step", SL_ATTR_I64, offsetof(struct sl_slice_dx_attr, slice.step), SL_MAX_RANK},
	{"rank", SL_ATTR_I64, offsetof(struct sl_slice_dx_attr, shape.rank), 1},
	{"dim", SL_ATTR_I64, offsetof(struct sl_slice_dx_attr, shape.dim), SL_MAX_RANK},
};

const struct sl_op sl_op_slice_dx = {
	.name = "slice_dx",
	.nhwc_in = 1,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_slice_dx_attr),
	.fields = slice_dx_fields,
	.n_fields = SL_COUNT(slice_dx_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = slice_dx_infer,
	.grad = slice_dx_grad,
	.cost = sl_cost_move,
	.ref = slice_dx_ref,
};

sl_val sl_slice_dx(struct sl_graph *g, sl_val dy, const struct sl_slice_attr *attr,
	const struct sl_shape *x_shape)
{
	struct sl_slice_dx_attr a = {.slice = *attr, .shape = sl_shape_to_attr(x_shape)};

	return sl_op_add1(g, &sl_op_slice_dx, &a, dy);
}

static sl_status concat_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_axis_attr *a = n->attr;
	struct sl_type t = n->in[0];

	SL_TRY(sl_check_axis_attr(a->axis, t.shape.rank));
	for (int i = 1; i < n->n_in; i++) {
		struct sl_shape want = n->in[0].shape;
		SL_TRY(sl_check_dtype_as(n, i, 0));
		SL_TRY(sl_check_rank(n, i, want.rank));
		want.dim[a->axis] = n->in[i].shape.dim[a->axis];
		SL_TRY(sl_check_shape(n, i, &want));
		t.shape.dim[a->axis] += want.dim[a->axis];
		/* Each step, so that the sum cannot overflow. */
		SL_TRY(sl_shape_check(&t.shape, NULL));
	}
	out[0] = t;
	return SL_OK;
}

/* All of x but [begin, end) of one axis. */
static sl_val narrow(
	struct sl_graph *g, sl_val x, int64_t axis, int64_t begin, int64_t end)
{
	struct sl_slice_attr a = {{0}, {0}, {0}};

	for (int i = 0; i < SL_MAX_RANK; i++)
		a.end[i] = INT64_MAX;
	a.begin[axis] = begin;
	a.end[axis] = end;
	return sl_slice(g, x, &a);
}

static sl_status concat_grad(struct sl_grad *c)
{
	const struct sl_axis_attr *a = c->node->attr;
	int64_t begin = 0;

	for (int i = 0; i < c->node->n_in; i++) {
		int64_t end = begin + c->node->in[i].shape.dim[a->axis];
		if (c->need[i])
			c->din[i] = narrow(c->g, c->dout[0], a->axis, begin, end);
		begin = end;
	}
	return SL_OK;
}

static sl_status concat_ref(const struct sl_call *c)
{
	const struct sl_axis_attr *a = c->node->attr;
	struct sl_around to = sl_around_axis(&c->node->out[0].shape, (int)a->axis);
	int64_t row = to.n * to.inner;
	int64_t start = 0;

	for (int k = 0; k < c->node->n_in; k++) {
		int64_t own_row = c->node->in[k].shape.dim[a->axis] * to.inner;
		for (int64_t i = 0; i < to.outer * own_row; i++)
			sl_move(c->out[0], i / own_row * row + start + i % own_row,
				c->in[k], i, c->node->in[k].dtype);
		start += own_row;
	}
	return SL_OK;
}

const struct sl_op sl_op_concat = {
	.name = "concat",
	.nhwc_in = UINT32_MAX,
	.nhwc_out = 1,
	.attr_bytes = sizeof(struct sl_axis_attr),
	.fields = sl_axis_fields,
	.n_fields = 1,
	.min_in = 1,
	.max_in = SL_OP_MAX_IN,
	.n_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = UINT32_MAX,
	.infer = concat_infer,
	.grad = concat_grad,
	.cost = sl_cost_move,
	.ref = concat_ref,
};

sl_val sl_concat(struct sl_graph *g, const sl_val *x, int n, int axis)
{
	struct sl_axis_attr a = sl_op_axis(g, n > 0 ? x[0] : SL_VAL_NONE, axis);

	return sl_graph_add(g, &sl_op_concat, &a, x, n, NULL);
}

static sl_status check_split(const struct sl_shape *x, int64_t axis, int n)
{
	char text[SL_SHAPE_TEXT];

	if (!x)
		return SL_FAIL(SL_E_INVALID, "split: the input is none or failed");
	SL_TRY(sl_check_axis_attr(axis, x->rank));
	if (n >= 1 && x->dim[axis] % n == 0)
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE, "split: axis %" PRId64 " of %s has no %d equal parts",
		axis, sl_shape_print(x, text), n);
}

sl_val sl_split(struct sl_graph *g, sl_val x, int axis, int n, sl_val *out)
{
	struct sl_axis_attr a = sl_op_axis(g, x, axis);
	const struct sl_shape *s = sl_op_shape(g, x);
	sl_status st = check_split(s, a.axis, n);

	if (st != SL_OK) {
		for (int i = 0; i < n; i++)
			out[i] = SL_VAL_POISON;
		return sl_graph_poison(g, st);
	}
	/* Read once: building moves the graph's table. */
	int64_t size = s->dim[a.axis] / n;
	for (int i = 0; i < n; i++)
		out[i] = narrow(g, x, a.axis, i * size, (i + 1) * size);
	return out[0];
}

static sl_status pad_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_pad_attr *a = n->attr;
	struct sl_type t = n->in[0];

	SL_TRY(sl_check_float(n, 0));
	for (int i = 0; i < t.shape.rank; i++) {
		int64_t most = INT64_MAX / 4;
		if (a->before[i] < 0 || a->after[i] < 0 || a->before[i] > most ||
			a->after[i] > most)
			return SL_FAIL(SL_E_INVALID,
				"axis %d: %" PRId64 " before and %" PRId64
				" after; padding is not negative (use slice to cut)",
				i, a->before[i], a->after[i]);
		t.shape.dim[i] += a->before[i] + a->after[i];
	}
	out[0] = t;
	return SL_OK;
}

static sl_status pad_grad(struct sl_grad *c)
{
	const struct sl_pad_attr *a = c->node->attr;
	struct sl_slice_attr inner = {{0}, {0}, {0}};

	for (int i = 0; i < c->node->in[0].shape.rank; i++) {
		inner.begin[i] = a->before[i];
		inner.end[i] = a->before[i] + c->node->in[0].shape.dim[i];
	}
	c->din[0] = sl_slice(c->g, c->dout[0], &inner);
	return SL_OK;
}

static sl_status pad_ref(const struct sl_call *c)
{
	const struct sl_pad_attr *a = c->node->attr;
	const struct sl_shape *x = &c->node->in[0].shape;
	const struct sl_shape *y = &c->node->out[0].shape;
	int64_t count = sl_shape_count(y);
	int64_t stride[SL_MAX_RANK] = {0};
	int64_t start = 0;
	struct sl_walk w;

	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, a->value);
	sl_strides(y, stride);
	for (int i = 0; i < y->rank; i++)
		start += a->before[i] * stride[i];
	sl_walk_init(&w, x);
	int to = sl_walk_strided(&w, stride, start);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		sl_move(c->out[0], w.at[to], c->in[0], w.i, c->node->in[0].dtype);
	return SL_OK;
}

static const struct sl_attr_field pad_fields[] = {
	SL_ATTR(struct sl_pad_attr, before, I64, SL_MAX_RANK),
	SL_ATTR(struct sl_pad_attr, after, I64, SL_MAX_RANK),
	SL_ATTR(struct sl_pad_attr, value, F64, 1),
};

const struct sl_op sl_op_pad = {
	.name = "pad",
	.attr_bytes = sizeof(struct sl_pad_attr),
	.fields = pad_fields,
	.n_fields = SL_COUNT(pad_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = pad_infer,
	.grad = pad_grad,
	.cost = sl_cost_move,
	.ref = pad_ref,
};

sl_val sl_pad(struct sl_graph *g, sl_val x, const struct sl_pad_attr *attr)
{
	return sl_op_add1(g, &sl_op_pad, attr, x);
}
