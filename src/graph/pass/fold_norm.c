/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch norm with fixed statistics behind a convolution is the convolution with other
 * weights: w gamma / sqrt(var + eps), and as bias beta + (bias - mean) gamma / sqrt(var +
 * eps). The prologue writes both over w and beta, which nobody else may use.
 */
#include "graph/pass/pass_ops.h"
#include "graph/pass/rewrite.h"

/* The convolution that the batch norm at this node can go into; NULL: none. */
static const struct sl_ir_node *conv_of(const struct sl_rewrite *r, uint32_t norm)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, norm), *conv;
	uint32_t at = sl_rewrite_producer(r, n->in[0]);

	if (n->op != &sl_op_batch_norm_infer || at == SL_REWRITE_NO_NODE ||
		sl_rewrite_only_user(r, n->in[0]) != norm)
		return NULL;
	conv = sl_rewrite_node(r, at);
	if (conv->op != &sl_op_conv2d || !sl_rewrite_is_own_weight(r, conv->in[1]) ||
		!sl_rewrite_is_own_weight(r, n->in[2]))
		return NULL;
	if (!sl_val_is_none(conv->in[2]) && !sl_rewrite_is_weight(r, conv->in[2]))
		return NULL;
	for (int i = 1; i < 5; i++)
		if (!sl_rewrite_is_weight(r, n->in[i]))
			return NULL;
	return conv;
}

static void fold(struct sl_rewrite *r, const struct sl_ir_node *conv,
	const struct sl_ir_node *norm)
{
	const struct sl_eps_attr *attr = norm->attr;
	sl_val in[6];

	in[0] = sl_rewrite_weight(r, conv->in[1]);
	in[1] = sl_rewrite_weight(r, norm->in[2]);
	in[2] = sl_rewrite_weight(r, norm->in[1]);
	in[3] = sl_rewrite_weight(r, norm->in[3]);
	in[4] = sl_rewrite_weight(r, norm->in[4]);
	in[5] = sl_val_is_none(conv->in[2]) ? SL_VAL_NONE
					    : sl_rewrite_weight(r, conv->in[2]);
	sl_graph_scope(r->prologue, norm->scope);
	(void)sl_fold_norm(r->prologue, in, attr->eps);
}

static bool node(struct sl_rewrite *r, uint32_t at)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, at), *conv = conv_of(r, at);
	uint32_t user;

	if (conv != NULL) {
		fold(r, conv, n);
		sl_rewrite_out(r, at, 0,
			sl_conv2d(r->to, sl_rewrite_in(r, conv->in[0]),
				sl_rewrite_in(r, conv->in[1]), sl_rewrite_in(r, n->in[2]),
				conv->attr));
		return true;
	}
	if (n->op != &sl_op_conv2d)
		return false;
	user = sl_rewrite_only_user(r, n->out[0]);
	return user != SL_REWRITE_NO_NODE && conv_of(r, user) == n;
}

const struct sl_pass sl_pass_fold_norm = {
	.name = "fold_norm",
	.help = "batch norm goes into the weights of the convolution before it",
	.weights = true,
	.node = node,
};
