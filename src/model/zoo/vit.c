/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ViT-B/16 with torchvision's names: patches of 16 x 16 pixels as tokens, a class token,
 * learned positions, layer norm before attention and before the MLP (eps 1e-6, GELU with
 * erf), one linear layer on the class token. 86,567,656 parameters unless told.
 *
 * Source: Dosovitskiy et al., An image is worth 16x16 words, 2020, equations 1 to 4 and
 * table 1; first values as in torchvision (uniform of Glorot and Bengio 2010, the last
 * layer zero).
 */
#include <math.h>
#include <stdio.h>

#include "model/zoo/heads.h"

#define PATCH 16
#define LAYER_NORM_EPS 1e-6

static const struct sl_init zero = {.kind = SL_INIT_ZERO};

static struct sl_init normal(double deviation)
{
	return (struct sl_init){.kind = SL_INIT_NORMAL, .value = deviation};
}

/* Glorot and Bengio's bound. */
static struct sl_init uniform(int64_t in, int64_t out)
{
	return (struct sl_init){
		.kind = SL_INIT_UNIFORM, .value = sqrt(6 / (double)(in + out))};
}

static sl_status finish(struct sl_model_config *c)
{
	if (c->input[1] % PATCH || c->input[2] % PATCH)
		return SL_FAIL(SL_E_USAGE,
			"input=%lldx%lldx%lld: height and width must be multiples of %d",
			(long long)c->input[0], (long long)c->input[1],
			(long long)c->input[2], PATCH);
	return sl_heads_finish(c);
}

static sl_val param(struct sl_layers *l, const char *name, const struct sl_shape *shape,
	struct sl_init init)
{
	struct sl_type type = {.dtype = SL_F32, .shape = *shape};

	return sl_param(l->g, name, &type, init);
}

static const char *name_of(char text[SL_LAYER_NAME], int64_t block, const char *part)
{
	snprintf(text, SL_LAYER_NAME, "encoder.layers.encoder_layer_%lld.%s",
		(long long)block, part);
	return text;
}

struct linear {
	const char *weight, *bias;
	int64_t in, out;
	struct sl_init init[2]; /* of weight and bias */
};

static sl_val linear(struct sl_layers *l, int64_t block, sl_val x, const struct linear *a)
{
	char name[SL_LAYER_NAME];
	sl_val w = param(
		l, name_of(name, block, a->weight), &SL_SHAPE(a->out, a->in), a->init[0]);
	sl_val b = param(l, name_of(name, block, a->bias), &SL_SHAPE(a->out), a->init[1]);

	return sl_matmul(l->g, x, w, b, &(struct sl_matmul_attr){.trans_b = true});
}

static sl_val attention(
	struct sl_layers *l, const struct sl_model_config *c, int64_t block, sl_val x)
{
	int64_t width = c->width;
	const struct sl_init bound = {
		.kind = SL_INIT_UNIFORM, .value = 1 / sqrt((double)width)};

	x = linear(l, block, x,
		&(struct linear){"self_attention.in_proj_weight",
			"self_attention.in_proj_bias", width, 3 * width,
			{uniform(width, 3 * width), zero}});
	x = sl_heads_attend_packed(l, x, c);
	x = linear(l, block, x,
		&(struct linear){"self_attention.out_proj.weight",
			"self_attention.out_proj.bias", width, width, {bound, zero}});
	return sl_layer_dropout(l, x);
}

static sl_val mlp(
	struct sl_layers *l, const struct sl_model_config *c, int64_t block, sl_val x)
{
	const struct sl_init bias = normal(1e-6);
	int64_t in = c->width;
	int64_t out = 4 * c->width;

	x = linear(l, block, x,
		&(struct linear){
			"mlp.0.weight", "mlp.0.bias", in, out, {uniform(in, out), bias}});
	x = sl_layer_dropout(l, sl_gelu(l->g, x, false));
	x = linear(l, block, x,
		&(struct linear){
			"mlp.3.weight", "mlp.3.bias", out, in, {uniform(out, in), bias}});
	return sl_layer_dropout(l, x);
}

static sl_val encoder_block(
	struct sl_layers *l, const struct sl_model_config *c, int64_t block, sl_val x)
{
	char name[SL_LAYER_NAME];

	sl_graph_scope(l->g, name_of(name, block, "self_attention"));
	sl_val y = sl_layer_layer_norm(l, name_of(name, block, "ln_1"), x, c->width);
	x = sl_add(l->g, x, attention(l, c, block, y));
	sl_graph_scope(l->g, name_of(name, block, "mlp"));
	y = sl_layer_layer_norm(l, name_of(name, block, "ln_2"), x, c->width);
	return sl_add(l->g, x, mlp(l, c, block, y));
}

/*
 * Image to tokens [N, 1 + patches, C]. The class token comes in by addition to a row of
 * zeros before the patches: a concat would have to know the batch.
 */
static sl_val embed(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	static const int tokens_first[SL_MAX_RANK] = {0, 2, 1};
	const struct sl_conv_attr conv = {.stride = {PATCH, PATCH}};
	int64_t patches = c->input[1] / PATCH * (c->input[2] / PATCH);
	double fan_in = (double)(c->input[0] * PATCH * PATCH);
	sl_val token = param(l, "class_token", &SL_SHAPE(1, 1, c->width), zero);
	sl_val w = param(l, "conv_proj.weight",
		&SL_SHAPE(c->width, c->input[0], PATCH, PATCH), normal(sqrt(1 / fan_in)));
	sl_val b = param(l, "conv_proj.bias", &SL_SHAPE(c->width), zero);
	sl_val place = param(l, "encoder.pos_embedding",
		&SL_SHAPE(1, patches + 1, c->width), normal(0.02));

	x = sl_reshape(
		l->g, sl_conv2d(l->g, x, w, b, &conv), &SL_SHAPE(0, c->width, patches));
	x = sl_pad(l->g, sl_transpose(l->g, x, tokens_first),
		&(struct sl_pad_attr){.before = {0, 1}});
	token = sl_pad(l->g, token, &(struct sl_pad_attr){.after = {0, patches}});
	return sl_layer_dropout(l, sl_add(l->g, x, sl_add(l->g, place, token)));
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	const struct sl_slice_attr first = {
		.end = {INT64_MAX, 1, INT64_MAX}}; /* the class token */

	l->norm_eps = LAYER_NORM_EPS;
	sl_graph_scope(l->g, "embed");
	x = embed(l, c, x);
	for (int64_t i = 0; i < c->layers; i++)
		x = encoder_block(l, c, i, x);
	sl_graph_scope(l->g, "head");
	x = sl_reshape(l->g, sl_slice(l->g, x, &first), &SL_SHAPE(0, c->width));
	x = sl_layer_layer_norm(l, "encoder.ln", x, c->width);
	sl_val w = param(l, "heads.head.weight", &SL_SHAPE(c->classes, c->width), zero);
	sl_val b = param(l, "heads.head.bias", &SL_SHAPE(c->classes), zero);
	return sl_matmul(l->g, x, w, b, &(struct sl_matmul_attr){.trans_b = true});
}

const struct sl_model sl_model_vit_b16 = {
	.name = "vit-b16",
	.help = "ViT-B/16 of torchvision: input=3x224x224, classes=1000, layers=12, "
		"width=768, heads=width/64, dropout=0",
	.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES | SL_MODEL_SET_LAYERS |
		   SL_MODEL_SET_WIDTH | SL_MODEL_SET_HEADS | SL_MODEL_SET_DROPOUT,
	.default_batch = 8,
	.defaults = {.input = {3, 224, 224}, .classes = 1000, .layers = 12, .width = 768},
	.finish = finish,
	.build = build,
};
