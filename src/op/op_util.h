/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_OP_OP_UTIL_H
#define SL_OP_OP_UTIL_H

#include "graph/op.h"
#include "graph/op_attr.h"
#include "sluice/ops.h"

/*
 * What the operators' files share: elements, index walks, shape checks, short builders.
 * Messages of checks need not name the operator: sl_graph_add puts scope and name before.
 */

/* Element i of dense data as a double; i64 beyond 2^53 rounds. */
double sl_get(const void *data, enum sl_dtype t, int64_t i);
/* Rounds once (bf16: to f32 first, as kernels do); for integers v must be in range. */
void sl_set(void *data, enum sl_dtype t, int64_t i, double v);
/* Element i of integer data, exactly. */
int64_t sl_get_i64(const void *data, enum sl_dtype t, int64_t i);
/* dst[i] = src[j], any type, bits kept. */
void sl_move(void *dst, int64_t i, const void *src, int64_t j, enum sl_dtype t);

/* Element of an input or output of a running node. */
static inline double sl_in(const struct sl_call *c, int k, int64_t i)
{
	return sl_get(c->in[k], c->node->in[k].dtype, i);
}
static inline void sl_put(const struct sl_call *c, int k, int64_t i, double v)
{
	sl_set(c->out[k], c->node->out[k].dtype, i, v);
}

/*
 * Visits a shape in row-major order and keeps the element offset of up to SL_WALK_MAX
 * operands:
 *
 *	struct sl_walk w;
 *	sl_walk_init(&w, &out_shape);
 *	int a = sl_walk_broadcast(&w, &a_shape);     operand 0, 1, ... in order of adding
 *	for (; sl_walk_more(&w); sl_walk_next(&w))
 *		... w.i is the row-major index in the shape, w.index[axis] the
 *		... coordinates, w.at[a] the offset in the operand
 */
#define SL_WALK_MAX 4
struct sl_walk {
	int rank, n_operands;
	int64_t i, count;
	int64_t dim[SL_MAX_RANK];
	int64_t index[SL_MAX_RANK];
	int64_t stride[SL_WALK_MAX][SL_MAX_RANK]; /* elements */
	int64_t at[SL_WALK_MAX];
};
void sl_walk_init(struct sl_walk *w, const struct sl_shape *shape);
/* An operand that broadcasts to the walked shape (NumPy). Returns its number. */
int sl_walk_broadcast(struct sl_walk *w, const struct sl_shape *operand);
/* An operand with strides of its own, one an axis of the walked shape, and a start
 * offset. */
int sl_walk_strided(struct sl_walk *w, const int64_t stride[SL_MAX_RANK], int64_t start);
static inline bool sl_walk_more(const struct sl_walk *w)
{
	return w->i < w->count;
}
void sl_walk_next(struct sl_walk *w);
/* Row-major strides in elements of a dense shape. */
void sl_strides(const struct sl_shape *s, int64_t stride[SL_MAX_RANK]);

/* A shape seen as [outer, n, inner] around an axis. */
struct sl_around {
	int64_t outer, n, inner;
};
struct sl_around sl_around_axis(const struct sl_shape *s, int axis);

/* Shape rules' checks. Input numbers i and j count from 0 and are present. */
SL_NODISCARD sl_status sl_check_float(const struct sl_node_info *n, int i);
SL_NODISCARD sl_status sl_check_index(
	const struct sl_node_info *n, int i); /* i32 or i64 */
SL_NODISCARD sl_status sl_check_rank(const struct sl_node_info *n, int i, int rank);
SL_NODISCARD sl_status sl_check_min_rank(const struct sl_node_info *n, int i, int rank);
SL_NODISCARD sl_status sl_check_dtype_as(const struct sl_node_info *n, int i, int j);
SL_NODISCARD sl_status sl_check_shape_as(const struct sl_node_info *n, int i, int j);
/* dtype and shape of input i equal those of input j. */
SL_NODISCARD sl_status sl_check_type_as(const struct sl_node_info *n, int i, int j);
SL_NODISCARD sl_status sl_check_shape(
	const struct sl_node_info *n, int i, const struct sl_shape *want);

/* Input i is f32 where input 0 is bf16 (statistics, parameters), else of its type. */
SL_NODISCARD sl_status sl_check_wide(const struct sl_node_info *n, int i);
/* f32 for bf16, else t itself: what sums and statistics of t are kept in. */
enum sl_dtype sl_dtype_wide(enum sl_dtype t);
/* v as the element type of input i, for a gradient. */
sl_val sl_grad_as(const struct sl_grad *c, int i, sl_val v);

/* out[0] = type of in[0]; the second refuses integers. */
sl_status sl_infer_same(const struct sl_node_info *n, struct sl_type *out);
sl_status sl_infer_same_float(const struct sl_node_info *n, struct sl_type *out);
/* Two inputs of one float type and shape, which is the result's. */
sl_status sl_infer_pair_float(const struct sl_node_info *n, struct sl_type *out);

/* Appends a node with 1, 2 or 3 inputs; returns its first output. */
sl_val sl_op_add1(struct sl_graph *g, const struct sl_op *op, const void *attr, sl_val a);
sl_val sl_op_add2(
	struct sl_graph *g, const struct sl_op *op, const void *attr, sl_val a, sl_val b);
sl_val sl_op_add3(struct sl_graph *g, const struct sl_op *op, const void *attr, sl_val a,
	sl_val b, sl_val c);

/* sl_op.again by the same node a second time. */
sl_val sl_op_again(struct sl_graph *g, const struct sl_node_info *n, const sl_val *in,
	const sl_val *out);

/* A shape kept in attributes (for `_dx` operators): fields "rank" and "dim". */
#define SL_ATTR_SHAPE(type, member) \
	{.name = #member ".rank", \
		.kind = SL_ATTR_I64, \
		.offset = offsetof(type, member.rank), \
		.count = 1}, \
	{ \
		.name = #member ".dim", .kind = SL_ATTR_I64, \
		.offset = offsetof(type, member.dim), .count = SL_MAX_RANK \
	}
struct sl_shape_attr sl_shape_to_attr(const struct sl_shape *s);
struct sl_shape sl_shape_from_attr(const struct sl_shape_attr *a);

/* Shape of a value that a builder was given; NULL if it is none or poisoned. */
const struct sl_shape *sl_op_shape(const struct sl_graph *g, sl_val v);
/* The axis counted from the start where x is known; the shape rule refuses the rest. */
struct sl_axis_attr sl_op_axis(const struct sl_graph *g, sl_val x, int axis);
/* SL_E_INVALID unless 0 <= axis < rank: attributes keep no negative axes. */
SL_NODISCARD sl_status sl_check_axis_attr(int64_t axis, int rank);
/*
 * Element i of the index in input k as a row of [0, n); with wrap, negative ones count
 * from the end. SL_E_INVALID names index, position and bound.
 */
SL_NODISCARD sl_status sl_index_at(
	const struct sl_call *c, int k, int64_t i, int64_t n, bool wrap, int64_t *out);
extern const struct sl_attr_field sl_axis_fields[1];
/* Rows picked by an index: the index read, the result read and written. */
void sl_cost_pick(const struct sl_node_info *n, int index, struct sl_cost *out);
/* Nothing computed: all inputs read and outputs written once. */
void sl_cost_move(const struct sl_node_info *n, struct sl_cost *out);

/* The given attributes, or zeroed ones where a builder got NULL. */
#define SL_ATTR_OR_ZERO(type, attr) ((attr) ? *(attr) : (type){0})

/* For `_dx` operators under sl_graph_bind: takes dim 0 of a stored shape from in0's dim
 * 0. */
void sl_rebind_dim0(struct sl_shape_attr *a, const struct sl_type *in0);

#endif
