/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResNet-18 and ResNet-50 with torchvision's names: 7 x 7 stem, maximum pooling, four
 * stages of residual blocks, global average pooling, one linear layer. 11,689,512 and
 * 25,557,032 parameters with 1000 classes.
 *
 * Source: He et al., Deep residual learning for image recognition, 2015, figures 3 and 5,
 * table 1; first values and the bias-free convolutions as in torchvision. Departure, also
 * torchvision's ("v1.5"): the bottleneck's stride is in its 3 x 3 convolution.
 */
#include <stdio.h>

#include "model/zoo/zoo.h"

#define STAGES 4
#define FIRST_CHANNELS 64

/* A block: convolutions of these sizes, one of them strided, the last one wider. */
struct plan {
	int convs, kernel[3], strided, widen;
	int blocks[STAGES];
};

struct block {
	const struct plan *plan;
	int64_t in, width, out, stride;
	char name[32]; /* "layer2.0" */
};

static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 16);
}

/* Convolution "layer2.0.conv1", batch norm "layer2.0.bn1" and ReLU. */
static sl_val conv_norm(struct sl_layers *l, const char *const name[2], sl_val x,
	sl_val skip, const struct sl_layer_conv *a)
{
	x = sl_layer_conv(l, name[0], x, a);
	return sl_layer_batch_norm_relu(l, name[1], x, skip, a->out);
}

/* All of a block, with what passes it by. */
static sl_val residual(struct sl_layers *l, const struct block *b, sl_val x, sl_val skip)
{
	const struct plan *p = b->plan;
	int64_t channels = b->in;

	for (int i = 0; i < p->convs; i++) {
		char conv[SL_LAYER_NAME], norm[SL_LAYER_NAME];
		struct sl_layer_conv a = {.in = channels,
			.out = i + 1 < p->convs ? b->width : b->out,
			.kernel = p->kernel[i],
			.stride = i == p->strided ? b->stride : 1,
			.pad = p->kernel[i] / 2,
			.fan_out = true};
		snprintf(conv, sizeof(conv), "%s.conv%d", b->name, i + 1);
		snprintf(norm, sizeof(norm), "%s.bn%d", b->name, i + 1);
		x = conv_norm(l, (const char *const[]){conv, norm}, x,
			i + 1 < p->convs ? SL_VAL_NONE : skip, &a);
		channels = a.out;
	}
	return x;
}

static sl_val block(struct sl_layers *l, const struct block *b, sl_val x)
{
	char conv[SL_LAYER_NAME], norm[SL_LAYER_NAME];
	sl_val skip = x;

	sl_graph_scope(l->g, b->name);
	snprintf(conv, sizeof(conv), "%s.downsample.0", b->name);
	snprintf(norm, sizeof(norm), "%s.downsample.1", b->name);
	if (b->stride != 1 || b->in != b->out) {
		skip = sl_layer_conv(l, conv, x,
			&(struct sl_layer_conv){.in = b->in,
				.out = b->out,
				.kernel = 1,
				.stride = b->stride,
				.fan_out = true});
		skip = sl_layer_batch_norm(l, norm, skip, b->out);
	}
	return residual(l, b, x, skip);
}

static sl_val stem(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	sl_graph_scope(l->g, "stem");
	x = conv_norm(l, (const char *const[]){"conv1", "bn1"}, x, SL_VAL_NONE,
		&(struct sl_layer_conv){.in = c->input[0],
			.out = FIRST_CHANNELS,
			.kernel = 7,
			.stride = 2,
			.pad = 3,
			.fan_out = true});
	return sl_layer_max_pool(l, x, 3, 2, 1);
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	const struct plan *p = c->model->plan;
	struct block b = {.plan = p, .out = FIRST_CHANNELS};

	x = stem(l, c, x);
	for (int stage = 0; stage < STAGES; stage++) {
		b.width = (int64_t)FIRST_CHANNELS << stage;
		for (int i = 0; i < p->blocks[stage]; i++) {
			b.in = b.out;
			b.out = b.width * p->widen;
			b.stride = i == 0 && stage > 0 ? 2 : 1;
			snprintf(b.name, sizeof(b.name), "layer%d.%d", stage + 1, i);
			x = block(l, &b, x);
		}
	}
	sl_graph_scope(l->g, "fc");
	x = sl_layer_flatten(l, sl_global_avg_pool2d(l->g, x));
	return sl_layer_linear(l, "fc", x, b.out, c->classes);
}

#define RESNET(depth, batch, ...) \
	static const struct plan plan##depth = {__VA_ARGS__}; \
	const struct sl_model sl_model_resnet##depth = { \
		.name = "resnet" #depth, \
		.help = "ResNet-" #depth \
			" of torchvision: input=3x224x224, classes=1000", \
		.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES, \
		.default_batch = batch, \
		.defaults = {.input = {3, 224, 224}, .classes = 1000}, \
		.finish = finish, \
		.build = build, \
		.plan = &plan##depth, \
	};

RESNET(18, 32, .convs = 2, .kernel = {3, 3}, .strided = 0, .widen = 1,
	.blocks = {2, 2, 2, 2})
RESNET(50, 16, .convs = 3, .kernel = {1, 3, 1}, .strided = 1, .widen = 4,
	.blocks = {3, 4, 6, 3})
