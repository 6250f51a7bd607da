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

static struct sl_attention_attr attr_of(
	struct sl_layers *l, const struct sl_model_config *c)
{
	struct sl_attention_attr attr = {.heads = c->heads};

	if (l->training && l->dropout > 0) {
		attr.dropout = l->dropout;
		attr.stream = ++l->stream;
	}
	return attr;
}

sl_val sl_heads_attend(
	struct sl_layers *l, const sl_val qkv[3], const struct sl_model_config *c)
{
	struct sl_attention_attr attr = attr_of(l, c);
	sl_val out[2];

	return sl_attention(l->g, qkv[0], qkv[1], qkv[2], SL_VAL_NONE, &attr, out);
}

sl_val sl_heads_attend_packed(
	struct sl_layers *l, sl_val qkv, const struct sl_model_config *c)
{
	struct sl_attention_attr attr = attr_of(l, c);
	sl_val out[2];

	return sl_attention_packed(l->g, qkv, SL_VAL_NONE, &attr, out);
}
