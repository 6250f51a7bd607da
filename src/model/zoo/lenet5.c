/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LeNet-5 as it is built today: two 5 x 5 convolutions (6 and 16 channels, the first
 * padded by 2) with 2 x 2 maximum pooling and ReLU, then 120-84-classes. 61,706
 * parameters for 1 x 28 x 28. Largest and ReLU commute, so ReLU comes where there is a
 * quarter of the elements.
 *
 * Source: LeCun et al., Gradient-based learning applied to document recognition, 1998;
 * ReLU and maximum pooling stand for its tanh and trainable averages.
 */
#include "model/zoo/zoo.h"

static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 12);
}

static sl_val block(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_conv *a)
{
	sl_graph_scope(l->g, name);
	x = sl_layer_max_pool(l, sl_layer_conv(l, name, x, a), 2, 2, 0);
	return sl_relu(l->g, x);
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	int64_t h = (c->input[1] / 2 - 4) / 2;
	int64_t w = (c->input[2] / 2 - 4) / 2;

	x = block(l, "conv1", x,
		&(struct sl_layer_conv){.in = c->input[0],
			.out = 6,
			.kernel = 5,
			.pad = 2,
			.bias = true});
	x = block(l, "conv2", x,
		&(struct sl_layer_conv){.in = 6, .out = 16, .kernel = 5, .bias = true});
	sl_graph_scope(l->g, "fc");
	x = sl_layer_flatten(l, x);
	x = sl_relu(l->g, sl_layer_linear(l, "fc1", x, 16 * h * w, 120));
	x = sl_relu(l->g, sl_layer_linear(l, "fc2", x, 120, 84));
	return sl_layer_linear(l, "fc3", x, 84, c->classes);
}

const struct sl_model sl_model_lenet5 = {
	.name = "lenet5",
	.help = "LeNet-5 with ReLU and maximum pooling: input=1x28x28, classes=10",
	.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES,
	.default_batch = 64,
	.defaults = {.input = {1, 28, 28}, .classes = 10},
	.finish = finish,
	.build = build,
};
