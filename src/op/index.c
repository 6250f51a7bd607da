/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather: rows of x along an axis, picked by an index of any shape.
 *
 * x [outer.., n, inner..], index [..] i32 or i64 -> [outer.., index.., inner..]. Negative
 * indices count from the end; one outside of [-n, n) is SL_E_INVALID when the node runs.
 * The gradient adds up duplicates in index order, so it always gives the same bits.
 */
#include "op/op_util.h"

#include "base/compiler.h"

static sl_status gather_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_axis_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;
	const struct sl_shape *index = &n->in[1].shape;
	struct sl_shape s = {.rank = x->rank - 1 + index->rank};
	int k = 0;

	SL_TRY(sl_check_index(n, 1));
	SL_TRY(sl_check_axis_attr(a->axis, x->rank));
	if (s.rank > SL_MAX_RANK)
		return SL_FAIL(SL_E_SHAPE,
			"the result has %d dimensions; at most %d are possible", s.rank,
			SL_MAX_RANK);
	for (int i = 0; i < a->axis; i++)
		s.dim[k++] = x->dim[i];
	for (int i = 0; i < index->rank; i++)
		s.dim[k++] = index->dim[i];
	for (int i = (int)a->axis + 1; i < x->rank; i++)
		s.dim[k++] = x->dim[i];
	out[0] = (struct sl_type){n->in[0].dtype, s};
	return SL_OK;
}

static sl_status gather_grad(struct sl_grad *c)
{
	const struct sl_axis_attr *a = c->node->attr;

	c->din[0] = sl_gather_dx(
		c->g, c->in[1], c->dout[0], (int)a->axis, &c->node->in[0].shape);
	return SL_OK;
}

static sl_status gather_ref(const struct sl_call *c)
{
	const struct sl_axis_attr *a = c->node->attr;
	struct sl_around x = sl_around_axis(&c->node->in[0].shape, (int)a->axis);
	int64_t picks = sl_shape_count(&c->node->in[1].shape);

	for (int64_t p = 0; p < picks; p++) {
		int64_t row;
		SL_TRY(sl_index_at(c, 1, p, x.n, true, &row));
		for (int64_t i = 0; i < x.outer * x.inner; i++) {
			int64_t o = i / x.inner;
			int64_t j = i % x.inner;
			sl_move(c->out[0], (o * picks + p) * x.inner + j, c->in[0],
				(o * x.n + row) * x.inner + j, c->node->in[0].dtype);
		}
	}
	return SL_OK;
}

static void gather_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_pick(n, 1, out);
}

const struct sl_op sl_op_gather = {
	.name = "gather",
	.attr_bytes = sizeof(struct sl_axis_attr),
	.fields = sl_axis_fields,
	.n_fields = 1,
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.infer = gather_infer,
	.grad = gather_grad,
	.cost = gather_cost,
	.ref = gather_ref,
};

sl_val sl_gather(struct sl_graph *g, sl_val x, sl_val index, int axis)
{
	struct sl_axis_attr a = sl_op_axis(g, x, axis);

	return sl_op_add2(g, &sl_op_gather, &a, x, index);
}

/* dy must be what gather gives for x and index. */
static sl_status gather_dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_gather_dx_attr *a = n->attr;
	struct sl_axis_attr axis = {.axis = a->axis};
	const struct sl_type forward_in[2] = {
		{n->in[1].dtype, sl_shape_from_attr(&a->shape)}, n->in[0]};
	const struct sl_node_info forward = {.op = &sl_op_gather,
		.attr = &axis,
		.n_in = 2,
		.n_out = 1,
		.in = forward_in};
	struct sl_type y;

	SL_TRY(sl_check_float(n, 1));
	SL_TRY(sl_shape_check(&forward_in[0].shape, NULL));
	SL_TRY(sl_check_index(n, 0));
	SL_TRY(gather_infer(&forward, &y));
	SL_TRY(sl_check_shape(n, 1, &y.shape));
	out[0] = forward_in[0];
	return SL_OK;
}

static sl_status gather_dx_grad(struct sl_grad *c)
{
	const struct sl_gather_dx_attr *a = c->node->attr;

	if (c->need[1])
		c->din[1] = sl_gather(c->g, c->dout[0], c->in[0], (int)a->axis);
	return SL_OK;
}

static sl_status gather_dx_ref(const struct sl_call *c)
{
	const struct sl_gather_dx_attr *a = c->node->attr;
	struct sl_around x = sl_around_axis(&c->node->out[0].shape, (int)a->axis);
	int64_t picks = sl_shape_count(&c->node->in[0].shape);
	enum sl_dtype t = c->node->out[0].dtype;

	for (int64_t i = 0; i < x.outer * x.n * x.inner; i++)
		sl_put(c, 0, i, 0);
	for (int64_t p = 0; p < picks; p++) {
		int64_t row;
		SL_TRY(sl_index_at(c, 0, p, x.n, true, &row));
		for (int64_t i = 0; i < x.outer * x.inner; i++) {
			int64_t o = i / x.inner;
			int64_t j = i % x.inner;
			int64_t at = (o * x.n + row) * x.inner + j;
			double dy = sl_in(c, 1, (o * picks + p) * x.inner + j);
			sl_put(c, 0, at, sl_get(c->out[0], t, at) + dy);
		}
	}
	return SL_OK;
}

static const struct sl_attr_field gather_dx_fields[] = {
	SL_ATTR(struct sl_gather_dx_attr, axis, I64, 1),
	{"rank", SL_ATTR_I64, offsetof(struct sl_gather_dx_attr, shape.rank), 1},
	{"dim", SL_ATTR_I64, offsetof(struct sl_gather_dx_attr, shape.dim), SL_MAX_RANK},
};

const struct sl_op sl_op_gather_dx = {
	.name = "gather_dx",
	.attr_bytes = sizeof(struct sl_gather_dx_attr),
	.fields = gather_dx_fields,
	.n_fields = SL_COUNT(gather_dx_fields),
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.infer = gather_dx_infer,
	.grad = gather_dx_grad,
	.ref = gather_dx_ref,
};

sl_val sl_gather_dx(struct sl_graph *g, sl_val index, sl_val dy, int axis,
	const struct sl_shape *x_shape)
{
	struct sl_gather_dx_attr a = {.axis = axis < 0 ? axis + x_shape->rank : axis,
		.shape = sl_shape_to_attr(x_shape)};

	return sl_op_add2(g, &sl_op_gather_dx, &a, index, dy);
}
