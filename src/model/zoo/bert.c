/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BERT's base model with the head of its masked language model: layer norm behind each
 * residual sum (eps 1e-12, GELU with erf), learned positions, sentences all of type 0,
 * the decoder tied to the token embedding. 109,514,298 parameters unless told: the
 * published 109,482,240 without the pooler (590,592), which a masked language model has
 * no use for, and the head (622,650).
 *
 * It learns from any source of tokens: part of them are hidden when they are read
 * (data/mask.c) and those are what the loss is about. Names are those of the published
 * files, read as Transformers does (LayerNorm.weight, not .gamma).
 *
 * Source: Devlin et al., BERT: pre-training of deep bidirectional transformers, 2018,
 * sections 3 and A.1; first values: normal with deviation 0.02. Departure: a hidden token
 * always becomes [MASK].
 */
#include <stdio.h>

#include "model/zoo/heads.h"

#define DEVIATION 0.02
#define LAYER_NORM_EPS 1e-12
#define SENTENCES 2

static const struct sl_init zero = {.kind = SL_INIT_ZERO};
static const struct sl_init normal = {.kind = SL_INIT_NORMAL, .value = DEVIATION};

static const char *name_of(char text[SL_LAYER_NAME], int64_t layer, const char *part)
{
	snprintf(text, SL_LAYER_NAME, "bert.encoder.layer.%lld.%s", (long long)layer,
		part);
	return text;
}

static sl_val linear(
	struct sl_layers *l, const char *name, sl_val x, int64_t in, int64_t out)
{
	return sl_layer_linear_as(l, name, x,
		&(struct sl_layer_linear){
			.in = in, .out = out, .std = DEVIATION, .zero_bias = true});
}

static sl_val attention(
	struct sl_layers *l, const struct sl_model_config *c, int64_t layer, sl_val x)
{
	static const char *const part[3] = {
		"attention.self.query", "attention.self.key", "attention.self.value"};
	char name[SL_LAYER_NAME];
	sl_val qkv[3];

	for (int i = 0; i < 3; i++)
		qkv[i] = linear(l, name_of(name, layer, part[i]), x, c->width, c->width);
	x = linear(l, name_of(name, layer, "attention.output.dense"),
		sl_heads_attend(l, qkv, c), c->width, c->width);
	return sl_layer_dropout(l, x);
}

static sl_val mlp(
	struct sl_layers *l, const struct sl_model_config *c, int64_t layer, sl_val x)
{
	char name[SL_LAYER_NAME];

	x = linear(
		l, name_of(name, layer, "intermediate.dense"), x, c->width, 4 * c->width);
	x = linear(l, name_of(name, layer, "output.dense"), sl_gelu(l->g, x, false),
		4 * c->width, c->width);
	return sl_layer_dropout(l, x);
}

static sl_val encoder_layer(
	struct sl_layers *l, const struct sl_model_config *c, int64_t layer, sl_val x)
{
	char name[SL_LAYER_NAME];

	sl_graph_scope(l->g, name_of(name, layer, "attention"));
	x = sl_add(l->g, attention(l, c, layer, x), x);
	x = sl_layer_layer_norm(
		l, name_of(name, layer, "attention.output.LayerNorm"), x, c->width);
	sl_graph_scope(l->g, name_of(name, layer, "output"));
	x = sl_add(l->g, mlp(l, c, layer, x), x);
	return sl_layer_layer_norm(
		l, name_of(name, layer, "output.LayerNorm"), x, c->width);
}

static sl_val table(struct sl_layers *l, const char *name, int64_t rows, int64_t width)
{
	struct sl_type type = {.dtype = SL_F32, .shape = SL_SHAPE(rows, width)};

	return sl_param(l->g, name, &type, normal);
}

/* Positions are an input: see gpt2.c. */
static sl_val embed(
	struct sl_layers *l, const struct sl_model_config *c, sl_val words, sl_val x)
{
	static const uint8_t symbol[SL_MAX_RANK] = {1 + SL_DIM_SEQ};
	const struct sl_slice_attr first = {.end = {1, INT64_MAX}};
	struct sl_type index = {.dtype = SL_I32, .shape = SL_SHAPE(sl_model_sequence(c))};
	sl_val places = table(
		l, "bert.embeddings.position_embeddings.weight", c->context, c->width);
	sl_val kinds = table(
		l, "bert.embeddings.token_type_embeddings.weight", SENTENCES, c->width);

	sl_val at = sl_embedding(l->g, places, sl_input(l->g, "pos", &index, symbol));
	at = sl_add(l->g, at, sl_slice(l->g, kinds, &first));
	x = sl_add(l->g, sl_embedding(l->g, words, x), at);
	x = sl_layer_layer_norm(l, "bert.embeddings.LayerNorm", x, c->width);
	return sl_layer_dropout(l, x);
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	struct sl_type flat = {.dtype = SL_F32, .shape = SL_SHAPE(c->vocab)};

	l->norm_eps = LAYER_NORM_EPS;
	sl_graph_scope(l->g, "embeddings");
	sl_val words =
		table(l, "bert.embeddings.word_embeddings.weight", c->vocab, c->width);
	x = embed(l, c, words, x);
	for (int64_t i = 0; i < c->layers; i++)
		x = encoder_layer(l, c, i, x);
	sl_graph_scope(l->g, "predictions");
	x = linear(l, "cls.predictions.transform.dense", x, c->width, c->width);
	x = sl_layer_layer_norm(l, "cls.predictions.transform.LayerNorm",
		sl_gelu(l->g, x, false), c->width);
	sl_val bias = sl_param(l->g, "cls.predictions.bias", &flat, zero);
	return sl_matmul(l->g, x, words, bias, &(struct sl_matmul_attr){.trans_b = true});
}

const struct sl_model sl_model_bert_base = {
	.name = "bert-base",
	.help = "BERT as a masked language model: layers=12, width=768, heads=width/64, "
		"context=512, vocab=30522 (257 for text:), dropout=0.1",
	.options = SL_MODEL_SET_LAYERS | SL_MODEL_SET_WIDTH | SL_MODEL_SET_HEADS |
		   SL_MODEL_SET_CONTEXT | SL_MODEL_SET_VOCAB | SL_MODEL_SET_DROPOUT,
	.tokens = true,
	.masked = true,
	.default_batch = 4,
	.defaults = {.layers = 12,
		.width = 768,
		.context = 512,
		.vocab = 30522,
		.dropout = 0.1},
	.finish = sl_heads_finish,
	.build = build,
};
