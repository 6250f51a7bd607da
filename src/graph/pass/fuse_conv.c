/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows a convolution on channels-last values is done while its result is in
 * registers: the addition of a residual, then relu. It runs where the last of them was.
 */
#include "graph/pass/pass_ops.h"
#include "graph/pass/rewrite.h"

/* A convolution and what it takes over. */
struct chain {
	const struct sl_ir_node *conv;
	sl_val residual; /* old value; NONE: none */
	bool relu;
	uint32_t last; /* node that the result stands for */
};

/* The convolution whose result v is, if nobody but `user` sees it. */
static const struct sl_ir_node *free_conv(
	const struct sl_rewrite *r, sl_val v, uint32_t user)
{
	uint32_t at = sl_rewrite_producer(r, v);
	const struct sl_conv_last_attr *attr;

	if (at == SL_REWRITE_NO_NODE || sl_rewrite_only_user(r, v) != user ||
		r->from->nodes[at].op != &sl_op_conv2d_last)
		return NULL;
	attr = r->from->nodes[at].attr;
	return attr->relu || !sl_val_is_none(r->from->nodes[at].in[3])
		       ? NULL
		       : &r->from->nodes[at];
}

static bool same_type(const struct sl_type *a, const struct sl_type *b)
{
	return a->dtype == b->dtype && sl_shape_equal(&a->shape, &b->shape);
}

/* The convolution that an addition goes into; of two the first. */
static const struct sl_ir_node *conv_of_add(
	const struct sl_rewrite *r, uint32_t add, sl_val *residual)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, add), *conv;

	if (n->op != &sl_op_add || n->in[0].index == n->in[1].index ||
		!same_type(sl_rewrite_type(r, n->in[0]), sl_rewrite_type(r, n->in[1])))
		return NULL;
	for (int i = 0; i < 2; i++) {
		conv = free_conv(r, n->in[i], add);
		*residual = n->in[1 - i];
		if (conv != NULL)
			return conv;
	}
	return NULL;
}

/* The chain that ends at this node or goes through it. */
static bool chain_at(const struct sl_rewrite *r, uint32_t at, struct chain *out)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, at);
	uint32_t before;

	*out = (struct chain){.residual = SL_VAL_NONE, .last = at};
	if (n->op == &sl_op_relu) {
		out->relu = true;
		out->conv = free_conv(r, n->in[0], at);
		before = sl_rewrite_producer(r, n->in[0]);
		if (out->conv == NULL && before != SL_REWRITE_NO_NODE &&
			sl_rewrite_only_user(r, n->in[0]) == at)
			out->conv = conv_of_add(r, before, &out->residual);
		return out->conv != NULL;
	}
	out->conv = conv_of_add(r, at, &out->residual);
	return out->conv != NULL;
}

static void build(struct sl_rewrite *r, const struct chain *c)
{
	struct sl_conv_last_attr attr = *(const struct sl_conv_last_attr *)c->conv->attr;

	attr.relu = c->relu;
	sl_rewrite_out(r, c->last, 0,
		sl_conv2d_last(r->to,
			(const sl_val[]){sl_rewrite_in(r, c->conv->in[0]),
				sl_rewrite_in(r, c->conv->in[1]),
				sl_rewrite_in(r, c->conv->in[2]),
				sl_rewrite_in(r, c->residual)},
			&attr));
}

/* Whether the value is taken over by a node behind it. */
static bool goes_on(const struct sl_rewrite *r, uint32_t at)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, at);
	uint32_t user = sl_rewrite_only_user(r, n->out[0]);
	struct chain c;

	if (user == SL_REWRITE_NO_NODE || !chain_at(r, user, &c))
		return false;
	return n == c.conv || n->op == &sl_op_add;
}

static bool node(struct sl_rewrite *r, uint32_t at)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, at);
	struct chain c;

	if (n->op == &sl_op_conv2d_last)
		return goes_on(r, at);
	if (n->op != &sl_op_add && n->op != &sl_op_relu)
		return false;
	if (!chain_at(r, at, &c))
		return false;
	if (n->op != &sl_op_add || !goes_on(r, at))
		build(r, &c);
	return true;
}

const struct sl_pass sl_pass_fuse_conv = {
	.name = "fuse_conv",
	.help = "a residual and relu are added while a convolution writes its result",
	.node = node,
};
