/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VGG-16 and VGG-19 with torchvision's names: five stages of 3 x 3 convolutions with
 * maximum pooling, three linear layers on 7 x 7 features. 138,357,544 and 143,667,240
 * parameters with 1000 classes.
 *
 * Source: Simonyan and Zisserman, Very deep convolutional networks for large-scale image
 * recognition, 2014, table 1, columns D and E; first values as in torchvision. Images of
 * other sizes: adaptive average pooling to 7 x 7, as there.
 */
#include <stdio.h>

#include "model/zoo/zoo.h"

#define STAGES 5
#define FEATURES 7
#define HIDDEN 4096

static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 32);
}

/*
 * Adaptive average pooling of one axis: part i is the mean of [floor(i size / 7), ceil((i
 * + 1) size / 7)), as PyTorch has it. An axis at a time, since the mean of a rectangle is
 * the mean of its rows' means.
 */
static sl_val adapt(struct sl_layers *l, sl_val x, int axis, int64_t size)
{
	sl_val part[FEATURES];

	if (size == FEATURES)
		return x;
	for (int64_t i = 0; i < FEATURES; i++) {
		struct sl_slice_attr a = {0};
		for (int k = 0; k < 4; k++)
			a.end[k] = INT64_MAX;
		a.begin[axis] = i * size / FEATURES;
		a.end[axis] = ((i + 1) * size + FEATURES - 1) / FEATURES;
		part[i] = sl_mean(l->g, sl_slice(l->g, x, &a),
			&(struct sl_reduce_attr){.axes = 1u << axis, .keep_dims = true});
	}
	return sl_concat(l->g, part, FEATURES, axis);
}

static sl_val classifier(
	struct sl_layers *l, const struct sl_model_config *c, sl_val x, int64_t channels)
{
	const int64_t width[] = {
		channels * FEATURES * FEATURES, HIDDEN, HIDDEN, c->classes};

	sl_graph_scope(l->g, "classifier");
	x = sl_layer_flatten(l, x);
	for (int i = 0; i < 3; i++) {
		char name[SL_LAYER_NAME];
		snprintf(name, sizeof(name), "classifier.%d", 3 * i);
		x = sl_layer_linear_as(l, name, x,
			&(struct sl_layer_linear){.in = width[i],
				.out = width[i + 1],
				.std = 0.01,
				.zero_bias = true});
		if (i < 2)
			x = sl_layer_dropout(l, sl_relu(l->g, x));
	}
	return x;
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	static const int64_t channels[STAGES] = {64, 128, 256, 512, 512};
	const int *convs = c->model->plan;
	int64_t in = c->input[0];
	int at = 0; /* in torchvision's sequence of convolutions, ReLUs and poolings */

	for (int stage = 0; stage < STAGES; stage++, at++) {
		for (int i = 0; i < convs[stage]; i++, at += 2) {
			char name[SL_LAYER_NAME];
			snprintf(name, sizeof(name), "features.%d", at);
			sl_graph_scope(l->g, name);
			x = sl_relu(l->g, sl_layer_conv(l, name, x,
						  &(struct sl_layer_conv){.in = in,
							  .out = channels[stage],
							  .kernel = 3,
							  .pad = 1,
							  .bias = true,
							  .fan_out = true}));
			in = channels[stage];
		}
		x = sl_layer_max_pool(l, x, 2, 2, 0);
	}
	sl_graph_scope(l->g, "avgpool");
	x = adapt(l, x, 2, c->input[1] >> STAGES);
	x = adapt(l, x, 3, c->input[2] >> STAGES);
	return classifier(l, c, x, in);
}

#define VGG(depth, ...) \
	static const int convs##depth[STAGES] = {__VA_ARGS__}; \
	const struct sl_model sl_model_vgg##depth = { \
		.name = "vgg" #depth, \
		.help = "VGG-" #depth \
			" of torchvision: input=3x224x224, classes=1000, dropout=0.5", \
		.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES | \
			   SL_MODEL_SET_DROPOUT, \
		.default_batch = 8, \
		.defaults = {.input = {3, 224, 224}, .classes = 1000, .dropout = 0.5}, \
		.finish = finish, \
		.build = build, \
		.plan = convs##depth, \
	};

VGG(16, 2, 2, 3, 3, 3)
VGG(19, 2, 2, 4, 4, 4)
