/* SPDX-License-Identifier: Apache-2.0 */
/*
 * U-Net for images of any size from 16 pixels: four times two convolutions and maximum
 * pooling down to 16 x width channels, four times a transposed convolution up beside what
 * was pooled. 31,037,698 parameters with 3 channels in and 2 classes.
 *
 * Source: Ronneberger et al., U-Net: convolutional networks for biomedical image
 * segmentation, 2015, figure 1. Departures, those of the usual PyTorch versions, whose
 * names the parameters have: padding keeps the size, batch norm after each convolution.
 *
 * Data sets have one label an image: each pixel is trained on the label of its image, and
 * the image's logits are the mean over its pixels.
 */
#include <math.h>
#include <stdio.h>

#include "model/zoo/zoo.h"

#define LEVELS 4

static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 1 << LEVELS);
}

/* Twice convolution, batch norm and ReLU. */
static sl_val double_conv(
	struct sl_layers *l, const char *block, sl_val x, int64_t in, int64_t out)
{
	char name[SL_LAYER_NAME];

	sl_graph_scope(l->g, block);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s.double_conv.%d", block, 3 * i);
		x = sl_layer_conv(l, name, x,
			&(struct sl_layer_conv){
				.in = i ? out : in, .out = out, .kernel = 3, .pad = 1});
		snprintf(name, sizeof(name), "%s.double_conv.%d", block, 3 * i + 1);
		x = sl_layer_batch_norm_relu(l, name, x, SL_VAL_NONE, out);
	}
	return x;
}

/* Twice as high and wide, half the channels; a row or column of zeros where pooling
 * dropped one. */
static sl_val up(
	struct sl_layers *l, int number, sl_val x, int64_t out, const int64_t drop[2])
{
	struct sl_init init = {
		.kind = SL_INIT_UNIFORM, .value = 1 / sqrt(4.0 * (double)out)};
	struct sl_type w = {.dtype = SL_F32, .shape = SL_SHAPE(2 * out, out, 2, 2)};
	struct sl_type b = {.dtype = SL_F32, .shape = SL_SHAPE(out)};
	struct sl_conv_transpose_attr attr = {.conv = {.stride = {2, 2}}};
	struct sl_pad_attr behind = {.after = {0, 0, drop[0], drop[1]}};
	char name[SL_LAYER_NAME];

	snprintf(name, sizeof(name), "up%d.up.weight", number);
	sl_graph_scope(l->g, name);
	sl_val weight = sl_param(l->g, name, &w, init);
	snprintf(name, sizeof(name), "up%d.up.bias", number);
	x = sl_conv_transpose2d(l->g, x, weight, sl_param(l->g, name, &b, init), &attr);
	return drop[0] || drop[1] ? sl_pad(l->g, x, &behind) : x;
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	sl_val skip[LEVELS];
	char name[SL_LAYER_NAME];

	x = double_conv(l, "inc", x, c->input[0], c->width);
	for (int i = 0; i < LEVELS; i++) {
		skip[i] = x;
		snprintf(name, sizeof(name), "down%d.maxpool_conv.1", i + 1);
		x = double_conv(l, name, sl_layer_max_pool(l, x, 2, 2, 0), c->width << i,
			c->width << (i + 1));
	}
	for (int i = LEVELS; i-- > 0;) {
		const int64_t drop[] = {c->input[1] >> i & 1, c->input[2] >> i & 1};
		int64_t out = c->width << i;
		const sl_val both[] = {skip[i], up(l, LEVELS - i, x, out, drop)};
		snprintf(name, sizeof(name), "up%d.conv", LEVELS - i);
		x = double_conv(l, name, sl_concat(l->g, both, 2, 1), 2 * out, out);
	}
	sl_graph_scope(l->g, "outc");
	return sl_layer_conv(l, "outc.conv", x,
		&(struct sl_layer_conv){
			.in = c->width, .out = c->classes, .kernel = 1, .bias = true});
}

const struct sl_model sl_model_unet = {
	.name = "unet",
	.help = "U-Net with batch norm, each pixel trained on its image's label: "
		"input=3x224x224, classes=2, width=64",
	.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES | SL_MODEL_SET_WIDTH,
	.pixels = true,
	.default_batch = 2,
	.defaults = {.input = {3, 224, 224}, .classes = 2, .width = 64},
	.finish = finish,
	.build = build,
};
