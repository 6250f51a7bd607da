/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small convolutional net: three times 3 x 3 convolution (32, 64, 128 channels), batch
 * norm, 2 x 2 maximum pooling and ReLU (which commute: fewer elements last), then one
 * linear layer.
 */
#include <stdio.h>

#include "model/zoo/zoo.h"

#define BLOCKS 3
#define FIRST_CHANNELS 32

static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 1 << BLOCKS);
}

static sl_val block(struct sl_layers *l, int i, sl_val x, int64_t in, int64_t out)
{
	char conv[SL_LAYER_NAME];
	char norm[SL_LAYER_NAME];

	snprintf(conv, sizeof(conv), "conv%d", i + 1);
	snprintf(norm, sizeof(norm), "bn%d", i + 1);
	sl_graph_scope(l->g, conv);
	x = sl_layer_conv(l, conv, x,
		&(struct sl_layer_conv){.in = in, .out = out, .kernel = 3, .pad = 1});
	x = sl_layer_max_pool(l, sl_layer_batch_norm(l, norm, x, out), 2, 2, 0);
	return sl_relu(l->g, x);
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	int64_t channels = c->input[0];

	for (int i = 0; i < BLOCKS; i++) {
		int64_t out = (int64_t)FIRST_CHANNELS << i;
		x = block(l, i, x, channels, out);
		channels = out;
	}
	sl_graph_scope(l->g, "fc");
	x = sl_layer_dropout(l, sl_layer_flatten(l, x));
	int64_t area = (c->input[1] >> BLOCKS) * (c->input[2] >> BLOCKS);
	return sl_layer_linear(l, "fc", x, channels * area, c->classes);
}

const struct sl_model sl_model_convnet = {
	.name = "convnet",
	.help = "three convolutions with batch norm: input=1x28x28, classes=10, "
		"dropout=0.25",
	.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES | SL_MODEL_SET_DROPOUT,
	.default_batch = 64,
	.defaults = {.input = {1, 28, 28}, .classes = 10, .dropout = 0.25},
	.finish = finish,
	.build = build,
};
