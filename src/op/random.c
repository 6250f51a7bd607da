/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dropout: y = x / (1 - ratio) where kept, else 0 (a dropped NaN gives 0).
 *
 * Element e is kept iff the unit number of (seed, stream, step, base + e) is at least the
 * ratio: no mask is stored, and the gradient is dropout of dy with the same attributes.
 * Splitting a batch keeps the numbers, because sl_graph_bind sets base to the elements of
 * the samples before; that needs the samples on axis 0.
 */
#include "op/op_util.h"

#include "base/compiler.h"
#include "base/rng.h"

static sl_status dropout_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_dropout_attr *a = n->attr;

	if (!(a->ratio >= 0 && a->ratio <= 1))
		return SL_FAIL(SL_E_INVALID, "ratio %g; it must be in [0, 1]", a->ratio);
	return sl_infer_same_float(n, out);
}

static sl_status dropout_grad(struct sl_grad *c)
{
	c->din[0] = sl_dropout(c->g, c->dout[0], c->node->attr);
	return SL_OK;
}

static sl_status dropout_ref(const struct sl_call *c)
{
	const struct sl_dropout_attr *a = c->node->attr;
	const struct sl_rng_key key = {.seed = c->run->seed,
		.stream = a->stream,
		.step = (uint32_t)c->run->step};
	int64_t count = sl_shape_count(&c->node->out[0].shape);
	double scale = a->ratio < 1 ? 1 / (1 - a->ratio) : 0;

	for (int64_t e = 0; e < count; e++) {
		uint32_t word = sl_rng_u32(&key, a->base + (uint64_t)e);
		bool kept = (double)sl_rng_unit(word) >= a->ratio;
		sl_put(c, 0, e, kept ? sl_in(c, 0, e) * scale : 0);
	}
	return SL_OK;
}

static void dropout_rebind(
	void *attr, const struct sl_type *in0, const struct sl_bind *bind)
{
	struct sl_dropout_attr *a = attr;
	const struct sl_shape *x = &in0->shape;
	int64_t sample = x->rank > 0 ? sl_shape_span(x, 1, x->rank) : 0;

	a->base = (uint64_t)bind->batch_offset * (uint64_t)sample;
}

/* Ten Philox rounds for four elements, a compare and a product each. */
static void dropout_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 20 * (double)sl_shape_count(&n->out[0].shape);
}

static const struct sl_attr_field dropout_fields[] = {
	SL_ATTR(struct sl_dropout_attr, ratio, F64, 1),
	SL_ATTR(struct sl_dropout_attr, stream, U32, 1),
	SL_ATTR(struct sl_dropout_attr, base, U64, 1),
};

const struct sl_op sl_op_dropout = {
	.name = "dropout",
	.attr_bytes = sizeof(struct sl_dropout_attr),
	.fields = dropout_fields,
	.n_fields = SL_COUNT(dropout_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.inplace_in = 1,
	.low = SL_LOW_FOLLOWS,
	.low_in = 1,
	.infer = dropout_infer,
	.grad = dropout_grad,
	.cost = dropout_cost,
	.ref = dropout_ref,
	.rebind = dropout_rebind,
};

sl_val sl_dropout(struct sl_graph *g, sl_val x, const struct sl_dropout_attr *attr)
{
	return sl_op_add1(g, &sl_op_dropout, attr, x);
}
