/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MobileNetV2 with torchvision's names: blocks that widen by 1 x 1, convolve each channel
 * by itself, and narrow without a function behind; ReLU6; global average pooling, dropout
 * and one linear layer. 3,504,872 parameters with 1000 classes.
 *
 * Source: Sandler et al., MobileNetV2: inverted residuals and linear bottlenecks, 2018,
 * table 2; first values as in torchvision.
 */
#include <stdio.h>

#include "base/compiler.h"
#include "model/zoo/zoo.h"

#define FIRST_CHANNELS 32
#define LAST_CHANNELS 1280

/* Table 2: `count` blocks of `out` channels, widened `widen` times, the first of
 * `stride`. */
static const struct stage {
	int64_t widen, out, count, stride;
} stages[] = {
	{1, 16, 1, 1},
	{6, 24, 2, 2},
	{6, 32, 3, 2},
	{6, 64, 4, 2},
	{6, 96, 3, 1},
	{6, 160, 3, 2},
	{6, 320, 1, 1},
};

struct block {
	int64_t in, widen, out, stride;
	char name[32]; /* "features.3.conv" */
};

static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 16);
}

/* Convolution `conv` and batch norm `norm`, names behind `prefix`. */
static sl_val conv_norm(struct sl_layers *l, const char *const names[3], sl_val x,
	const struct sl_layer_conv *a)
{
	char name[SL_LAYER_NAME];

	snprintf(name, sizeof(name), "%s.%s", names[0], names[1]);
	x = sl_layer_conv(l, name, x, a);
	snprintf(name, sizeof(name), "%s.%s", names[0], names[2]);
	return sl_layer_batch_norm(l, name, x, a->out);
}

static sl_val block(struct sl_layers *l, const struct block *b, sl_val x)
{
	int64_t wide = b->in * b->widen;
	int at = b->widen > 1; /* the first one has nothing to widen */
	char part[4][8];
	sl_val y = x;

	sl_graph_scope(l->g, b->name);
	if (b->widen > 1)
		y = sl_relu6(l->g,
			conv_norm(l, (const char *const[]){b->name, "0.0", "0.1"}, y,
				&(struct sl_layer_conv){.in = b->in,
					.out = wide,
					.kernel = 1,
					.fan_out = true}));
	snprintf(part[0], sizeof(part[0]), "%d.0", at);
	snprintf(part[1], sizeof(part[1]), "%d.1", at);
	snprintf(part[2], sizeof(part[2]), "%d", at + 1);
	snprintf(part[3], sizeof(part[3]), "%d", at + 2);
	y = sl_relu6(
		l->g, conv_norm(l, (const char *const[]){b->name, part[0], part[1]}, y,
			      &(struct sl_layer_conv){.in = wide,
				      .out = wide,
				      .kernel = 3,
				      .stride = b->stride,
				      .pad = 1,
				      .groups = wide,
				      .fan_out = true}));
	y = conv_norm(l, (const char *const[]){b->name, part[2], part[3]}, y,
		&(struct sl_layer_conv){
			.in = wide, .out = b->out, .kernel = 1, .fan_out = true});
	return b->stride == 1 && b->in == b->out ? sl_add(l->g, x, y) : y;
}

static sl_val blocks(struct sl_layers *l, sl_val x, int *index, int64_t channels)
{
	struct block b = {.out = channels};

	for (size_t s = 0; s < SL_COUNT(stages); s++)
		for (int64_t i = 0; i < stages[s].count; i++) {
			b.in = b.out;
			b.widen = stages[s].widen;
			b.out = stages[s].out;
			b.stride = i ? 1 : stages[s].stride;
			snprintf(b.name, sizeof(b.name), "features.%d.conv", (*index)++);
			x = block(l, &b, x);
		}
	return x;
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	int index = 1;
	char last[32];

	sl_graph_scope(l->g, "stem");
	x = conv_norm(l, (const char *const[]){"features.0", "0", "1"}, x,
		&(struct sl_layer_conv){.in = c->input[0],
			.out = FIRST_CHANNELS,
			.kernel = 3,
			.stride = 2,
			.pad = 1,
			.fan_out = true});
	x = blocks(l, sl_relu6(l->g, x), &index, FIRST_CHANNELS);
	sl_graph_scope(l->g, "head");
	snprintf(last, sizeof(last), "features.%d", index);
	x = conv_norm(l, (const char *const[]){last, "0", "1"}, x,
		&(struct sl_layer_conv){.in = stages[SL_COUNT(stages) - 1].out,
			.out = LAST_CHANNELS,
			.kernel = 1,
			.fan_out = true});
	x = sl_layer_flatten(l, sl_global_avg_pool2d(l->g, sl_relu6(l->g, x)));
	return sl_layer_linear_as(l, "classifier.1", sl_layer_dropout(l, x),
		&(struct sl_layer_linear){.in = LAST_CHANNELS,
			.out = c->classes,
			.std = 0.01,
			.zero_bias = true});
}

const struct sl_model sl_model_mobilenetv2 = {
	.name = "mobilenetv2",
	.help = "MobileNetV2 of torchvision: input=3x224x224, classes=1000, dropout=0.2",
	.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES | SL_MODEL_SET_DROPOUT,
	.default_batch = 32,
	.defaults = {.input = {3, 224, 224}, .classes = 1000, .dropout = 0.2},
	.finish = finish,
	.build = build,
};
