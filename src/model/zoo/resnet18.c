/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResNet-18 with torchvision's names: 7 x 7 stem, maximum pooling, four stages of two
 * basic blocks, global average pooling, one linear layer. 11,689,512 parameters with 1000
 * classes.
 *
 * Source: He et al., Deep residual learning for image recognition, 2015, figure 3 and
 * table 1; first values and the bias-free convolutions as in torchvision.
 */
#include <stdio.h>

#include "model/zoo/zoo.h"

#define STAGES 4
#define BLOCKS 2
#define FIRST_CHANNELS 64

struct block {
	int64_t in, out, stride;
	char name[32]; /* "layer2.0" */
};

static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 16);
}

/* Convolution and batch norm of a block. */
static sl_val conv_norm(struct sl_layers *l, const struct block *b,
	const char *const part[2], sl_val x, const struct sl_layer_conv *a)
{
	char name[SL_LAYER_NAME];

	snprintf(name, sizeof(name), "%s.%s", b->name, part[0]);
	x = sl_layer_conv(l, name, x, a);
	snprintf(name, sizeof(name), "%s.%s", b->name, part[1]);
	return sl_layer_batch_norm(l, name, x, a->out);
}

static sl_val basic_block(struct sl_layers *l, const struct block *b, sl_val x)
{
	static const char *const first[] = {"conv1", "bn1"};
	static const char *const second[] = {"conv2", "bn2"};
	static const char *const side[] = {"downsample.0", "downsample.1"};
	sl_val skip = x;

	sl_graph_scope(l->g, b->name);
	sl_val y = conv_norm(l, b, first, x,
		&(struct sl_layer_conv){.in = b->in,
			.out = b->out,
			.kernel = 3,
			.stride = b->stride,
			.pad = 1,
			.fan_out = true});
	y = conv_norm(l, b, second, sl_relu(l->g, y),
		&(struct sl_layer_conv){.in = b->out,
			.out = b->out,
			.kernel = 3,
			.pad = 1,
			.fan_out = true});
	if (b->stride != 1 || b->in != b->out)
		skip = conv_norm(l, b, side, x,
			&(struct sl_layer_conv){.in = b->in,
				.out = b->out,
				.kernel = 1,
				.stride = b->stride,
				.fan_out = true});
	return sl_relu(l->g, sl_add(l->g, y, skip));
}

static sl_val stem(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	sl_graph_scope(l->g, "stem");
	x = sl_layer_conv(l, "conv1", x,
		&(struct sl_layer_conv){.in = c->input[0],
			.out = FIRST_CHANNELS,
			.kernel = 7,
			.stride = 2,
			.pad = 3,
			.fan_out = true});
	x = sl_relu(l->g, sl_layer_batch_norm(l, "bn1", x, FIRST_CHANNELS));
	return sl_layer_max_pool(l, x, 3, 2, 1);
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	int64_t channels = FIRST_CHANNELS;

	x = stem(l, c, x);
	for (int i = 0; i < STAGES * BLOCKS; i++) {
		int stage = i / BLOCKS;
		bool first = i % BLOCKS == 0;
		struct block b = {.in = channels,
			.out = (int64_t)FIRST_CHANNELS << stage,
			.stride = first && stage > 0 ? 2 : 1};
		snprintf(b.name, sizeof(b.name), "layer%d.%d", stage + 1, i % BLOCKS);
		x = basic_block(l, &b, x);
		channels = b.out;
	}
	sl_graph_scope(l->g, "fc");
	x = sl_layer_flatten(l, sl_global_avg_pool2d(l->g, x));
	return sl_layer_linear(l, "fc", x, channels, c->classes);
}

const struct sl_model sl_model_resnet18 = {
	.name = "resnet18",
	.help = "ResNet-18 of torchvision: input=3x224x224, classes=1000",
	.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES,
	.default_batch = 32,
	.defaults = {.input = {3, 224, 224}, .classes = 1000},
	.finish = finish,
	.build = build,
};
