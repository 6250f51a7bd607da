/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions read weights in blocks of 16 output channels. The prologue puts them into
 * that order once, in their own bytes, where one convolution alone uses them.
 */
#include "graph/pass/pass_ops.h"
#include "graph/pass/rewrite.h"

static bool node(struct sl_rewrite *r, uint32_t at)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, at);
	struct sl_conv_last_attr attr;
	sl_val in[4];

	if (n->op != &sl_op_conv2d_last || !sl_rewrite_is_own_weight(r, n->in[1]))
		return false;
	attr = *(const struct sl_conv_last_attr *)n->attr;
	if (attr.packed ||
		!sl_conv_packs(&attr.conv, &sl_rewrite_type(r, n->in[1])->shape))
		return false;
	attr.packed = true;
	sl_graph_scope(r->prologue, n->scope);
	(void)sl_conv_pack(r->prologue, sl_rewrite_weight(r, n->in[1]));
	for (int i = 0; i < 4; i++)
		in[i] = sl_rewrite_in(r, n->in[i]);
	sl_rewrite_out(r, at, 0, sl_conv2d_last(r->to, in, &attr));
	return true;
}

const struct sl_pass sl_pass_pack_conv = {
	.name = "pack_conv",
	.help = "weights of convolutions lie in the order in which they are read",
	.weights = true,
	.node = node,
};
