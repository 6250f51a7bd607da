/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_OP_ATTENTION_H
#define SL_GRAPH_OP_ATTENTION_H

#include "graph/op.h"
#include "sluice/attrs.h"

/*
 * Where the parts of an attention node lie, for the operators and for kernels. Valid once
 * the node's shapes were checked. Three forms: heads apart (q [B, H, T, D], k and v [B,
 * H, S, D]), heads within rows (q [B, T, H D], k and v [B, S, H D]; attribute heads), and
 * packed ([B, T, 3 H D], rows of q, k and v behind one another).
 */
enum sl_attention_part {
	SL_ATT_Q,
	SL_ATT_K,
	SL_ATT_V,
	SL_ATT_MASK,
	SL_ATT_Y,
	SL_ATT_LSE,
	SL_ATT_DY,
	SL_ATT_PARTS
};

/* Elements from one to the next. */
struct sl_attention_steps {
	int64_t batch, head, row;
};

struct sl_attention_layout {
	int64_t b, h, t, s, d;
	bool packed;
	int in[SL_ATT_PARTS]; /* number of the input; y, lse and dy of gradients */
	int64_t first[3]; /* element of q, k, v in their inputs */
	struct sl_attention_steps q, k; /* of v as of k; gradients lie alike */
	struct sl_attention_steps y; /* and dy */
};

static inline int64_t sl_attention_at(const struct sl_attention_layout *l,
	const struct sl_attention_steps *s, int64_t head)
{
	return head / l->h * s->batch + head % l->h * s->head;
}

static inline struct sl_attention_steps sl_attention_apart(
	const struct sl_attention_layout *l, int64_t rows)
{
	return (struct sl_attention_steps){l->h * rows * l->d, rows * l->d, l->d};
}

static inline struct sl_attention_steps sl_attention_within(
	const struct sl_attention_layout *l, int64_t rows, int64_t width)
{
	return (struct sl_attention_steps){rows * width, l->d, width};
}

static inline struct sl_attention_layout sl_attention_split_layout(
	const struct sl_node_info *n)
{
	int64_t heads = ((const struct sl_attention_attr *)n->attr)->heads;
	const int64_t *q = n->in[0].shape.dim;
	const int64_t *k = n->in[1].shape.dim;
	struct sl_attention_layout l = {.b = q[0],
		.h = heads > 0 ? heads : q[1],
		.t = heads > 0 ? q[1] : q[2],
		.s = heads > 0 ? k[1] : k[2],
		.d = heads > 0 ? q[2] / heads : q[3]};

	for (int i = 0; i < SL_ATT_PARTS; i++)
		l.in[i] = i;
	l.q = heads > 0 ? sl_attention_within(&l, l.t, q[2])
			: sl_attention_apart(&l, l.t);
	l.k = heads > 0 ? sl_attention_within(&l, l.s, q[2])
			: sl_attention_apart(&l, l.s);
	l.y = l.q;
	return l;
}

/* Inputs qkv, mask, y, lse, dy. */
static inline struct sl_attention_layout sl_attention_packed_layout(
	const struct sl_node_info *n)
{
	int64_t heads = ((const struct sl_attention_attr *)n->attr)->heads;
	const int64_t *dim = n->in[0].shape.dim;
	int64_t width = dim[2] / 3;
	struct sl_attention_layout l = {.b = dim[0],
		.h = heads,
		.t = dim[1],
		.s = dim[1],
		.d = width / heads,
		.packed = true,
		.in = {0, 0, 0, 1, 2, 3, 4},
		.first = {0, width, 2 * width}};

	l.q = sl_attention_within(&l, l.t, 3 * width);
	l.k = l.q;
	l.y = sl_attention_within(&l, l.t, width);
	return l;
}

/* Split nodes have k and v beside q. */
static inline struct sl_attention_layout sl_attention_layout_of(
	const struct sl_node_info *n)
{
	return n->n_in == 4 || n->n_in == 7 ? sl_attention_split_layout(n)
					    : sl_attention_packed_layout(n);
}

#endif
