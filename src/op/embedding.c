/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedding: rows of a table [V, C] by an index [..] i32 or i64 -> [.., C].
 *
 * An index outside of [0, V) is SL_E_INVALID when the node runs, with index, position and
 * bound. The gradient of the table adds up duplicates in index order, so it always gives
 * the same bits; given a sum to add to (a table used twice, as a tied output layer does),
 * it touches only the rows of the index.
 */
#include "op/op_util.h"

#include <inttypes.h>

#include "base/compiler.h"

static sl_status embedding_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_shape s = n->in[1].shape;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_rank(n, 0, 2));
	SL_TRY(sl_check_index(n, 1));
	if (s.rank == SL_MAX_RANK)
		return SL_FAIL(SL_E_SHAPE,
			"an index with %d dimensions leaves none for the rows", s.rank);
	s.dim[s.rank++] = n->in[0].shape.dim[1];
	out[0] = (struct sl_type){n->in[0].dtype, s};
	return SL_OK;
}

static sl_status embedding_grad(struct sl_grad *c)
{
	c->din[0] =
		sl_embedding_dw(c->g, c->in[1], c->dout[0], c->node->in[0].shape.dim[0]);
	return SL_OK;
}

static sl_status embedding_ref(const struct sl_call *c)
{
	int64_t vocab = c->node->in[0].shape.dim[0];
	int64_t width = c->node->in[0].shape.dim[1];
	int64_t count = sl_shape_count(&c->node->in[1].shape);

	for (int64_t i = 0; i < count; i++) {
		int64_t row;
		SL_TRY(sl_index_at(c, 1, i, vocab, false, &row));
		for (int64_t j = 0; j < width; j++)
			sl_move(c->out[0], i * width + j, c->in[0], row * width + j,
				c->node->in[0].dtype);
	}
	return SL_OK;
}

static void embedding_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_pick(n, 1, out);
}

const struct sl_op sl_op_embedding = {
	.name = "embedding",
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.low = SL_LOW_RESULT,
	.infer = embedding_infer,
	.grad = embedding_grad,
	.cost = embedding_cost,
	.ref = embedding_ref,
};

sl_val sl_embedding(struct sl_graph *g, sl_val table, sl_val index)
{
	return sl_op_add2(g, &sl_op_embedding, NULL, table, index);
}

static sl_status embedding_dw_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_vocab_attr *a = n->attr;
	struct sl_shape want = n->in[0].shape;
	const struct sl_shape *dy = &n->in[1].shape;

	SL_TRY(sl_check_index(n, 0));
	SL_TRY(sl_check_float(n, 1));
	SL_TRY(sl_check_rank(n, 1, want.rank + 1));
	want.dim[want.rank] = dy->dim[want.rank];
	want.rank++;
	SL_TRY(sl_check_shape(n, 1, &want));
	if (a->vocab < 0)
		return SL_FAIL(SL_E_INVALID, "a table of %" PRId64 " rows", a->vocab);
	struct sl_type dw = {n->in[1].dtype, SL_SHAPE(a->vocab, want.dim[want.rank - 1])};
	if (sl_node_has(n, 2)) {
		SL_TRY(sl_check_dtype_as(n, 2, 1));
		SL_TRY(sl_check_shape(n, 2, &dw.shape));
	}
	out[0] = dw;
	return SL_OK;
}

static sl_status embedding_dw_grad(struct sl_grad *c)
{
	if (c->need[1])
		c->din[1] = sl_embedding(c->g, c->dout[0], c->in[0]);
	if (c->node->n_in > 2 && c->need[2])
		c->din[2] = c->dout[0];
	return SL_OK;
}

static sl_status embedding_dw_ref(const struct sl_call *c)
{
	const struct sl_shape *dw = &c->node->out[0].shape;
	enum sl_dtype t = c->node->out[0].dtype;
	int64_t width = dw->dim[1];
	int64_t count = sl_shape_count(&c->node->in[0].shape);

	for (int64_t i = 0; i < dw->dim[0] * width; i++)
		sl_put(c, 0, i, sl_node_has(c->node, 2) ? sl_in(c, 2, i) : 0);
	for (int64_t i = 0; i < count; i++) {
		int64_t row;
		SL_TRY(sl_index_at(c, 0, i, dw->dim[0], false, &row));
		for (int64_t j = 0; j < width; j++) {
			int64_t at = row * width + j;
			double dy = sl_in(c, 1, i * width + j);
			sl_put(c, 0, at, sl_get(c->out[0], t, at) + dy);
		}
	}
	return SL_OK;
}

static const struct sl_attr_field vocab_fields[] = {
	SL_ATTR(struct sl_vocab_attr, vocab, I64, 1),
};

static sl_val embedding_dw_plus(
	struct sl_graph *g, const struct sl_node_info *n, const sl_val *in, sl_val sum)
{
	const sl_val with[] = {in[0], in[1], sum};

	if (sl_node_has(n, 2))
		return SL_VAL_NONE;
	return sl_graph_add(g, n->op, n->attr, with, 3, NULL);
}

/* With a sum it reads and writes the rows of the index; else it writes all. */
static void embedding_dw_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	double dy = (double)sl_type_bytes(&n->in[1]);

	out->flops = (double)sl_shape_count(&n->in[1].shape);
	out->bytes = (double)sl_type_bytes(&n->in[0]) + 3 * dy;
	if (!sl_node_has(n, 2))
		out->bytes += (double)sl_type_bytes(&n->out[0]);
}

const struct sl_op sl_op_embedding_dw = {
	.name = "embedding_dw",
	.attr_bytes = sizeof(struct sl_vocab_attr),
	.fields = vocab_fields,
	.n_fields = SL_COUNT(vocab_fields),
	.min_in = 2,
	.max_in = 3,
	.n_out = 1,
	.optional_in = 1u << 2,
	.inplace_in = 1u << 2,
	.infer = embedding_dw_infer,
	.grad = embedding_dw_grad,
	.plus = embedding_dw_plus,
	.cost = embedding_dw_cost,
	.ref = embedding_dw_ref,
};

sl_val sl_embedding_dw(struct sl_graph *g, sl_val index, sl_val dy, int64_t vocab)
{
	struct sl_vocab_attr a = {.vocab = vocab};

	return sl_op_add2(g, &sl_op_embedding_dw, &a, index, dy);
}
