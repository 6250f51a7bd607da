/* SPDX-License-Identifier: Apache-2.0 */
/* What transformer encoders share: attention without a mask, heads of 64 unless told. */
#include "model/zoo/heads.h"

#define HEAD_WIDTH 64

sl_status sl_heads_finish(struct sl_model_config *c)
{
	if (!(c->set & SL_MODEL_SET_HEADS))
		c->heads = c->width < HEAD_WIDTH ? 1 : c->width / HEAD_WIDTH;
	if (c->width % c->heads)
		return SL_FAIL(SL_E_USAGE,
			"width=%lld does not divide into heads=%lld (width / %d unless "
			"set); set heads to a divisor of width",
			(long long)c->width, (long long)c->heads, HEAD_WIDTH);
	return SL_OK;
}

sl_val sl_heads_attend(
	struct sl_layers *l, const sl_val qkv[3], const struct sl_model_config *c)
{
	static const int perm[SL_MAX_RANK] = {0, 2, 1, 3};
	struct sl_shape split = SL_SHAPE(0, 0, c->heads, c->width / c->heads);
	struct sl_attention_attr attr = {0};
	sl_val own[3];
	sl_val out[2];

	if (l->training && l->dropout > 0) {
		attr.dropout = l->dropout;
		attr.stream = ++l->stream;
	}
	for (int i = 0; i < 3; i++)
		own[i] = sl_transpose(l->g, sl_reshape(l->g, qkv[i], &split), perm);
	sl_attention(l->g, own[0], own[1], own[2], SL_VAL_NONE, &attr, out);
	return sl_reshape(
		l->g, sl_transpose(l->g, out[0], perm), &SL_SHAPE(0, 0, c->width));
}
