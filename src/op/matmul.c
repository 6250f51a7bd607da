/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product: a [..., M, K] x b [..., K, N] (+ bias [N]) = [..., M, N]; trans_a and
 * trans_b say that the last two axes of the stored operand are the other way round.
 *
 * 1. The axes before the last two are batch axes and broadcast; b of rank 2 serves all
 * batches.
 * 2. K = 0 is a sum of nothing: zeros, or the bias.
 * 3. The gradient is made of products again: da = dy b^T and db = a^T dy, summed over the
 * batch axes that were broadcast. Where b has rank 2, a and dy are folded to rank 2
 * first, so that db is one product with its sum inside instead of one product a batch.
 * 4. A product of bf16 (sl_matmul_attr) has gradients that are such products too, each of
 * its operand's type: weights are f32, and so are their gradients, added up in f32.
 */
#include "op/op_util.h"

static const struct sl_attr_field fields[] = {
	SL_ATTR(struct sl_matmul_attr, trans_a, BOOL, 1),
	SL_ATTR(struct sl_matmul_attr, trans_b, BOOL, 1),
	SL_ATTR(struct sl_matmul_attr, low, BOOL, 1),
	SL_ATTR(struct sl_matmul_attr, wide, BOOL, 1),
};

/* Sizes and element strides of one node's matrices. */
struct mat {
	int64_t m, n, k;
	int64_t a_row, a_col; /* step of m, of k */
	int64_t b_row, b_col; /* step of k, of n */
};

static struct mat mat_of(const struct sl_node_info *n)
{
	const struct sl_matmul_attr *attr = n->attr;
	const struct sl_shape *a = &n->in[0].shape;
	const struct sl_shape *b = &n->in[1].shape;
	int64_t a0 = a->dim[a->rank - 2];
	int64_t a1 = a->dim[a->rank - 1];
	int64_t b0 = b->dim[b->rank - 2];
	int64_t b1 = b->dim[b->rank - 1];

	return (struct mat){
		.m = attr->trans_a ? a1 : a0,
		.k = attr->trans_a ? a0 : a1,
		.n = attr->trans_b ? b0 : b1,
		.a_row = attr->trans_a ? 1 : a1,
		.a_col = attr->trans_a ? a1 : 1,
		.b_row = attr->trans_b ? 1 : b1,
		.b_col = attr->trans_b ? b1 : 1,
	};
}

/* Depth of b, which must be that of a. */
static int64_t b_depth(const struct sl_node_info *n)
{
	const struct sl_matmul_attr *attr = n->attr;
	const struct sl_shape *b = &n->in[1].shape;

	return b->dim[b->rank - (attr->trans_b ? 1 : 2)];
}

static struct sl_shape batch_of(const struct sl_shape *s)
{
	struct sl_shape batch = *s;

	batch.rank = s->rank - 2;
	return batch;
}

static bool is_low(const struct sl_node_info *n)
{
	const struct sl_matmul_attr *attr = n->attr;

	return attr->low || n->in[0].dtype == SL_BF16 || n->in[1].dtype == SL_BF16;
}

/* Element types of a, b and bias, and the result's. */
static sl_status infer_dtype(const struct sl_node_info *n, enum sl_dtype *out)
{
	const struct sl_matmul_attr *attr = n->attr;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_float(n, 1));
	*out = attr->wide ? SL_F32 : SL_BF16;
	if (!is_low(n)) {
		*out = n->in[0].dtype;
		SL_TRY(sl_check_dtype_as(n, 1, 0));
		return sl_node_has(n, 2) ? sl_check_dtype_as(n, 2, 0) : SL_OK;
	}
	for (int i = 0; i < n->n_in; i++) {
		bool fits =
			n->in[i].dtype == SL_F32 || (i < 2 && n->in[i].dtype == SL_BF16);
		if (sl_node_has(n, i) && !fits)
			return SL_FAIL(SL_E_DTYPE,
				"input %d is %s; in a product of bf16 it must be f32%s "
				"(use cast)",
				i, sl_dtype_name(n->in[i].dtype),
				i < 2 ? " or bf16" : "");
	}
	return SL_OK;
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	char text_a[SL_SHAPE_TEXT];
	char text_b[SL_SHAPE_TEXT];

	struct sl_type r = {0};

	SL_TRY(infer_dtype(n, &r.dtype));
	SL_TRY(sl_check_min_rank(n, 0, 2));
	SL_TRY(sl_check_min_rank(n, 1, 2));
	struct mat mat = mat_of(n);
	if (mat.k != b_depth(n)) {
		const struct sl_matmul_attr *attr = n->attr;
		return SL_FAIL(SL_E_SHAPE,
			"inner sizes differ: %s%s has %lld, %s%s has %lld; set trans_a "
			"or trans_b "
			"if an operand is stored the other way round",
			sl_shape_print(&n->in[0].shape, text_a),
			attr->trans_a ? " transposed" : "", (long long)mat.k,
			sl_shape_print(&n->in[1].shape, text_b),
			attr->trans_b ? " transposed" : "", (long long)b_depth(n));
	}
	if (sl_node_has(n, 2))
		SL_TRY(sl_check_shape(n, 2, &SL_SHAPE(mat.n)));
	struct sl_shape batch_a = batch_of(&n->in[0].shape);
	struct sl_shape batch_b = batch_of(&n->in[1].shape);
	SL_TRY(sl_shape_broadcast(&batch_a, &batch_b, &r.shape));
	r.shape.dim[r.shape.rank++] = mat.m;
	r.shape.dim[r.shape.rank++] = mat.n;
	out[0] = r;
	return SL_OK;
}

static const struct sl_shape *shape_of(const struct sl_grad *c, sl_val v)
{
	return &sl_val_type(c->g, v)->shape;
}

/* The batch axes of v summed away where operand i had fewer or shorter ones. */
static sl_val sum_batch(const struct sl_grad *c, sl_val v, int i)
{
	const struct sl_type *operand = &c->node->in[i];
	sl_status st = sl_graph_status(c->g);

	if (st != SL_OK)
		return sl_graph_poison(c->g, st);
	if (sl_shape_equal(shape_of(c, v), &operand->shape))
		return v;
	return sl_grad_as(c, i, sl_sum_to(c->g, v, &operand->shape));
}

/* A product that is the gradient of operand i. */
static sl_val product(
	const struct sl_grad *c, int i, const sl_val ab[2], const bool trans[2])
{
	bool low = is_low(c->node);
	struct sl_matmul_attr attr = {.trans_a = trans[0],
		.trans_b = trans[1],
		.low = low,
		.wide = low && c->node->in[i].dtype == SL_F32};

	return sum_batch(c, sl_matmul(c->g, ab[0], ab[1], SL_VAL_NONE, &attr), i);
}

static sl_val grad_a(const struct sl_grad *c, sl_val dy)
{
	const struct sl_matmul_attr *attr = c->node->attr;
	sl_val b = c->in[1];

	if (attr->trans_a)
		return product(c, 0, (sl_val[]){b, dy}, (bool[]){attr->trans_b, true});
	return product(c, 0, (sl_val[]){dy, b}, (bool[]){false, !attr->trans_b});
}

/* [..., R, C] as [.. R, C]. */
static sl_val fold(struct sl_graph *g, sl_val v, const struct sl_shape *s)
{
	int64_t rows = sl_shape_span(s, 0, s->rank - 1);

	return sl_reshape(g, v, &SL_SHAPE(rows, s->dim[s->rank - 1]));
}

static sl_val grad_b(const struct sl_grad *c, sl_val dy)
{
	const struct sl_matmul_attr *attr = c->node->attr;
	const struct sl_shape *sa = &c->node->in[0].shape;
	const struct sl_shape *sy = &c->node->out[0].shape;
	sl_val a = c->in[0];

	/* Reshape reads a 0 as "keep", so empty operands take the way of the batches. */
	if (c->node->in[1].shape.rank == 2 && sa->rank > 2 && !attr->trans_a &&
		sl_shape_count(sa) > 0 && sl_shape_count(sy) > 0) {
		a = fold(c->g, a, sa);
		dy = fold(c->g, dy, sy);
	}
	if (attr->trans_b)
		return product(c, 1, (sl_val[]){dy, a}, (bool[]){true, attr->trans_a});
	return product(c, 1, (sl_val[]){a, dy}, (bool[]){!attr->trans_a, false});
}

static sl_status grad(struct sl_grad *c)
{
	sl_val dy = c->dout[0];

	if (c->need[0])
		c->din[0] = grad_a(c, dy);
	if (c->need[1])
		c->din[1] = grad_b(c, dy);
	if (sl_node_has(c->node, 2) && c->need[2])
		c->din[2] = sl_sum_to(c->g, dy, &c->node->in[2].shape);
	return SL_OK;
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 2.0 * (double)sl_shape_count(&n->out[0].shape) * (double)mat_of(n).k;
}

/* One matrix, at element a0 of a and b0 of b, into y0 of y. */
static void one(const struct sl_call *c, int64_t a0, int64_t b0, int64_t y0)
{
	struct mat mat = mat_of(c->node);

	for (int64_t i = 0; i < mat.m * mat.n; i++) {
		int64_t a = a0 + i / mat.n * mat.a_row;
		int64_t b = b0 + i % mat.n * mat.b_col;
		double sum = c->in[2] ? sl_in(c, 2, i % mat.n) : 0;
		for (int64_t k = 0; k < mat.k; k++)
			sum += sl_in(c, 0, a + k * mat.a_col) *
			       sl_in(c, 1, b + k * mat.b_row);
		sl_put(c, 0, y0 + i, sum);
	}
}

static sl_status ref(const struct sl_call *c)
{
	struct mat mat = mat_of(c->node);
	struct sl_shape batch = batch_of(&c->node->out[0].shape);
	struct sl_shape batch_a = batch_of(&c->node->in[0].shape);
	struct sl_shape batch_b = batch_of(&c->node->in[1].shape);
	struct sl_walk w;

	sl_walk_init(&w, &batch);
	int a = sl_walk_broadcast(&w, &batch_a);
	int b = sl_walk_broadcast(&w, &batch_b);
	for (; sl_walk_more(&w); sl_walk_next(&w))
		one(c, w.at[a] * mat.m * mat.k, w.at[b] * mat.k * mat.n,
			w.i * mat.m * mat.n);
	return SL_OK;
}

static void widen(void *attr)
{
	struct sl_matmul_attr *own = attr;

	own->wide = true;
}

const struct sl_op sl_op_matmul = {
	.name = "matmul",
	.attr_bytes = sizeof(struct sl_matmul_attr),
	.fields = fields,
	.n_fields = 4,
	.min_in = 3,
	.max_in = 3,
	.n_out = 1,
	.optional_in = 1u << 2,
	.low = SL_LOW_ALWAYS,
	.low_in = 3,
	.widen = widen,
	.infer = infer,
	.grad = grad,
	.cost = cost,
	.ref = ref,
};

sl_val sl_matmul(struct sl_graph *g, sl_val a, sl_val b, sl_val bias,
	const struct sl_matmul_attr *attr)
{
	struct sl_matmul_attr own = SL_ATTR_OR_ZERO(struct sl_matmul_attr, attr);

	return sl_op_add3(g, &sl_op_matmul, &own, a, b, bias);
}
