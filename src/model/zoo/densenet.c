/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DenseNet-121 with torchvision's names: 7 x 7 stem, four blocks whose layers each read
 * all features before them and add 32, transitions that halve channels and sides, global
 * average pooling, one linear layer. 7,978,856 parameters with 1000 classes.
 *
 * Source: Huang et al., Densely connected convolutional networks, 2017, table 1; first
 * values as in torchvision. Each layer's input is concatenated from the one before and
 * the new features: the same values as from all parts, with fewer copies backward.
 */
#include <math.h>
#include <stdio.h>

#include "base/compiler.h"
#include "model/zoo/zoo.h"

#define GROWTH 32
#define BOTTLENECK (4 * GROWTH)
#define FIRST_CHANNELS 64

/* 29: the last transition still has two rows. */
static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 29);
}

/* Kaiming's first values for the fan in. */
static sl_val conv(
	struct sl_layers *l, const char *name, sl_val x, struct sl_layer_conv a)
{
	a.std = sqrt(2 / (double)(a.in * a.kernel * a.kernel));
	return sl_layer_conv(l, name, x, &a);
}

/* Batch norm `norm`, ReLU and convolution `conv` of module `name`, sides kept. */
static sl_val norm_conv(struct sl_layers *l, const char *const name[3], sl_val x,
	const struct sl_layer_conv *a)
{
	char text[SL_LAYER_NAME];

	snprintf(text, sizeof(text), "%s.%s", name[0], name[1]);
	x = sl_layer_batch_norm_relu(l, text, x, SL_VAL_NONE, a->in);
	snprintf(text, sizeof(text), "%s.%s", name[0], name[2]);
	return conv(l, text, x, *a);
}

static sl_val dense_layer(
	struct sl_layers *l, const char *name, sl_val x, int64_t channels)
{
	sl_graph_scope(l->g, name);
	sl_val y = norm_conv(l, (const char *const[]){name, "norm1", "conv1"}, x,
		&(struct sl_layer_conv){.in = channels, .out = BOTTLENECK, .kernel = 1});
	y = norm_conv(l, (const char *const[]){name, "norm2", "conv2"}, y,
		&(struct sl_layer_conv){
			.in = BOTTLENECK, .out = GROWTH, .kernel = 3, .pad = 1});
	return sl_concat(l->g, (sl_val[]){x, y}, 2, 1);
}

static sl_val transition(
	struct sl_layers *l, const char *name, sl_val x, int64_t channels)
{
	sl_graph_scope(l->g, name);
	x = norm_conv(l, (const char *const[]){name, "norm", "conv"}, x,
		&(struct sl_layer_conv){
			.in = channels, .out = channels / 2, .kernel = 1});
	return sl_avg_pool2d(l->g, x, &(struct sl_pool_attr){.kernel = {2, 2}});
}

static sl_val stem(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	sl_graph_scope(l->g, "stem");
	x = conv(l, "features.conv0", x,
		(struct sl_layer_conv){.in = c->input[0],
			.out = FIRST_CHANNELS,
			.kernel = 7,
			.stride = 2,
			.pad = 3});
	x = sl_layer_batch_norm_relu(l, "features.norm0", x, SL_VAL_NONE, FIRST_CHANNELS);
	return sl_layer_max_pool(l, x, 3, 2, 1);
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	static const int layers[] = {6, 12, 24, 16};
	int64_t channels = FIRST_CHANNELS;
	char name[SL_LAYER_NAME];

	x = stem(l, c, x);
	for (int i = 0; i < (int)SL_COUNT(layers); i++) {
		if (i > 0) {
			snprintf(name, sizeof(name), "features.transition%d", i);
			x = transition(l, name, x, channels);
			channels /= 2;
		}
		for (int k = 0; k < layers[i]; k++, channels += GROWTH) {
			snprintf(name, sizeof(name), "features.denseblock%d.denselayer%d",
				i + 1, k + 1);
			x = dense_layer(l, name, x, channels);
		}
	}
	sl_graph_scope(l->g, "classifier");
	x = sl_layer_batch_norm_relu(l, "features.norm5", x, SL_VAL_NONE, channels);
	x = sl_layer_flatten(l, sl_global_avg_pool2d(l->g, x));
	return sl_layer_linear_as(l, "classifier", x,
		&(struct sl_layer_linear){
			.in = channels, .out = c->classes, .zero_bias = true});
}

const struct sl_model sl_model_densenet121 = {
	.name = "densenet121",
	.help = "DenseNet-121 of torchvision: input=3x224x224, classes=1000",
	.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES,
	.default_batch = 8,
	.defaults = {.input = {3, 224, 224}, .classes = 1000},
	.finish = finish,
	.build = build,
};
