/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPT-2: learned positions, layer norm before attention and before the MLP, GELU in its
 * tanh form, the output layer tied to the token embedding. 124,439,808 parameters unless
 * told. Names and the [in, out] weights are those of the published files.
 *
 * Source: Radford et al., Language models are unsupervised multitask learners, 2019;
 * first values: normal with deviation 0.02, those that end a residual branch 0.02 /
 * sqrt(2 layers).
 */
#include <math.h>
#include <stdio.h>

#include "model/zoo/zoo.h"

#define DEVIATION 0.02
#define HEAD_WIDTH 64

static sl_status finish(struct sl_model_config *c)
{
	if (!(c->set & SL_MODEL_SET_HEADS))
		c->heads = c->width < HEAD_WIDTH ? 1 : c->width / HEAD_WIDTH;
	if (c->width % c->heads)
		return SL_FAIL(SL_E_USAGE,
			"width=%lld does not divide into heads=%lld (width / %d unless "
			"set); set "
			"heads to a divisor of width",
			(long long)c->width, (long long)c->heads, HEAD_WIDTH);
	return SL_OK;
}

static const char *name_of(char text[SL_LAYER_NAME], int64_t block, const char *part)
{
	snprintf(text, SL_LAYER_NAME, "h.%lld.%s", (long long)block, part);
	return text;
}

static double residual_deviation(const struct sl_model_config *c)
{
	return DEVIATION / sqrt(2 * (double)c->layers);
}

static sl_val attention(
	struct sl_layers *l, const struct sl_model_config *c, int64_t block, sl_val x)
{
	struct sl_attention_attr attr = {.causal = true, .heads = c->heads};
	char name[SL_LAYER_NAME];
	sl_val out[2];

	x = sl_layer_dense(l, name_of(name, block, "attn.c_attn"), x,
		&(struct sl_layer_dense){c->width, 3 * c->width, DEVIATION});
	if (l->training && l->dropout > 0) {
		attr.dropout = l->dropout;
		attr.stream = ++l->stream;
	}
	x = sl_attention_packed(l->g, x, SL_VAL_NONE, &attr, out);
	x = sl_layer_dense(l, name_of(name, block, "attn.c_proj"), x,
		&(struct sl_layer_dense){c->width, c->width, residual_deviation(c)});
	return sl_layer_dropout(l, x);
}

static sl_val mlp(
	struct sl_layers *l, const struct sl_model_config *c, int64_t block, sl_val x)
{
	char name[SL_LAYER_NAME];

	x = sl_layer_dense(l, name_of(name, block, "mlp.c_fc"), x,
		&(struct sl_layer_dense){c->width, 4 * c->width, DEVIATION});
	x = sl_gelu(l->g, x, true);
	x = sl_layer_dense(l, name_of(name, block, "mlp.c_proj"), x,
		&(struct sl_layer_dense){4 * c->width, c->width, residual_deviation(c)});
	return sl_layer_dropout(l, x);
}

static sl_val transformer_block(
	struct sl_layers *l, const struct sl_model_config *c, int64_t block, sl_val x)
{
	char name[SL_LAYER_NAME];

	sl_graph_scope(l->g, name_of(name, block, "attn"));
	sl_val y = sl_layer_layer_norm(l, name_of(name, block, "ln_1"), x, c->width);
	x = sl_add(l->g, x, attention(l, c, block, y));
	sl_graph_scope(l->g, name_of(name, block, "mlp"));
	y = sl_layer_layer_norm(l, name_of(name, block, "ln_2"), x, c->width);
	return sl_add(l->g, x, mlp(l, c, block, y));
}

/*
 * Positions are an input: a slice of the table would have to know the sequence's length,
 * which is not fixed until the template is bound.
 */
static sl_val embed(
	struct sl_layers *l, const struct sl_model_config *c, sl_val wte, sl_val x)
{
	static const struct sl_init init = {.kind = SL_INIT_NORMAL, .value = DEVIATION};
	static const uint8_t symbol[SL_MAX_RANK] = {1 + SL_DIM_SEQ};
	struct sl_type table = {.dtype = SL_F32, .shape = SL_SHAPE(c->context, c->width)};
	struct sl_type index = {.dtype = SL_I32, .shape = SL_SHAPE(sl_model_sequence(c))};

	sl_val wpe = sl_param(l->g, "wpe.weight", &table, init);
	sl_val positions = sl_embedding(l->g, wpe, sl_input(l->g, "pos", &index, symbol));
	return sl_layer_dropout(l, sl_add(l->g, sl_embedding(l->g, wte, x), positions));
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	static const struct sl_init init = {.kind = SL_INIT_NORMAL, .value = DEVIATION};
	struct sl_type table = {.dtype = SL_F32, .shape = SL_SHAPE(c->vocab, c->width)};

	sl_graph_scope(l->g, "embed");
	sl_val wte = sl_param(l->g, "wte.weight", &table, init);
	x = embed(l, c, wte, x);
	for (int64_t i = 0; i < c->layers; i++)
		x = transformer_block(l, c, i, x);
	sl_graph_scope(l->g, "head");
	x = sl_layer_layer_norm(l, "ln_f", x, c->width);
	return sl_matmul(
		l->g, x, wte, SL_VAL_NONE, &(struct sl_matmul_attr){.trans_b = true});
}

const struct sl_model sl_model_gpt2 = {
	.name = "gpt2",
	.help = "GPT-2: layers=12, width=768, heads=width/64, context=1024, vocab=50257 "
		"(256 for "
		"text:), dropout=0.1",
	.options = SL_MODEL_SET_LAYERS | SL_MODEL_SET_WIDTH | SL_MODEL_SET_HEADS |
		   SL_MODEL_SET_CONTEXT | SL_MODEL_SET_VOCAB | SL_MODEL_SET_DROPOUT,
	.tokens = true,
	.default_batch = 4,
	.defaults = {.layers = 12,
		.width = 768,
		.context = 1024,
		.vocab = 50257,
		.dropout = 0.1},
	.finish = finish,
	.build = build,
};
