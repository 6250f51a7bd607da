/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MODEL_LAYERS_H
#define SL_MODEL_LAYERS_H

#include "sluice/ops.h"

/*
 * Layers out of operators, with PyTorch's names and first values. `name` is the module's
 * ("layer1.0.conv1"); parameters are name.weight and name.bias. Failures poison the
 * graph, so nothing is looked at on the way. Shapes of weights come from the arguments,
 * never from the batch, so that a template can be bound to other batches.
 */
struct sl_layers {
	struct sl_graph *g;
	bool training; /* else no dropout, and running statistics */
	double dropout;
	double norm_eps; /* of the norms; 0: 1e-5 */
	uint32_t stream; /* of the latest random operator; each gets one of its own */
};

#define SL_LAYER_NAME 128

/* x [..., in] -> [..., out]; weight [out, in]; both uniform below 1 / sqrt(in)
 * (nn.Linear). */
sl_val sl_layer_linear(
	struct sl_layers *l, const char *name, sl_val x, int64_t in, int64_t out);
/* The same with other first values: weight normal with deviation std (0: uniform as
 * above), bias 0 if zero_bias. */
struct sl_layer_linear {
	int64_t in, out;
	double std;
	bool zero_bias;
};
sl_val sl_layer_linear_as(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_linear *a);
/* x [..., in] -> [..., out]; weight [in, out] normal with deviation std, bias 0 (GPT-2's
 * Conv1D). */
struct sl_layer_dense {
	int64_t in, out;
	double std;
};
sl_val sl_layer_dense(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_dense *a);

/* The first weights are uniform below 1 / sqrt(fan in), as nn.Conv2d does, or normal with
 * deviation std, or with fan_out normal with deviation sqrt(2 / fan out) and no bias but
 * 0, as torchvision's ResNets and VGGs do. */
struct sl_layer_conv {
	int64_t in, out, kernel;
	int64_t width; /* of the kernel; 0: square */
	int64_t stride; /* 0: 1 */
	int64_t pad, pad_w; /* pad_w: left and right, with a width only */
	int64_t groups; /* 0: 1 */
	bool bias, fan_out;
	double std; /* 0: none */
};
sl_val sl_layer_conv(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_conv *a);
/* Momentum 0.1, eps 1e-5; training also moves name.running_mean and name.running_var. */
sl_val sl_layer_batch_norm(
	struct sl_layers *l, const char *name, sl_val x, int64_t channels);
/* The same and ReLU; with z, which may be none, added before it. */
sl_val sl_layer_batch_norm_relu(
	struct sl_layers *l, const char *name, sl_val x, sl_val z, int64_t channels);
sl_val sl_layer_layer_norm(
	struct sl_layers *l, const char *name, sl_val x, int64_t width);
/* x [N, channels, ...] in `groups` equal groups (nn.GroupNorm). */
sl_val sl_layer_group_norm(struct sl_layers *l, const char *name, sl_val x,
	int64_t channels, int64_t groups);
/* x [..., width]; name.weight alone (nn.RMSNorm). */
sl_val sl_layer_rms_norm(struct sl_layers *l, const char *name, sl_val x, int64_t width);
/* x [T, N, in] to [T, N, width] from zero state: layer `layer` of nn.LSTM, so that
 * weights are name.weight_ih_l0, name.weight_hh_l0, name.bias_ih_l0 and name.bias_hh_l0,
 * all uniform below 1 / sqrt(width). */
struct sl_layer_lstm {
	int64_t in, width, layer;
};
sl_val sl_layer_lstm(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_lstm *a);
/* x itself when not training or without a ratio. */
sl_val sl_layer_dropout(struct sl_layers *l, sl_val x);
sl_val sl_layer_max_pool(
	struct sl_layers *l, sl_val x, int64_t kernel, int64_t stride, int64_t pad);
/* [N, ...] -> [N, the rest]. */
sl_val sl_layer_flatten(struct sl_layers *l, sl_val x);
/* Names the outputs "logits", "loss" and "correct"; labels are the input "y". */
void sl_layer_outputs(struct sl_layers *l, sl_val logits, sl_val labels);
/* The same, the loss a mean over labels that are not -1. */
void sl_layer_masked_outputs(struct sl_layers *l, sl_val logits, sl_val labels);
/* The same of logits [N, classes, H, W] with labels [N]: the loss is the mean over all
 * pixels, each with the label of its image; "logits" is the mean over an image's pixels.
 */
void sl_layer_pixel_outputs(
	struct sl_layers *l, sl_val logits, sl_val labels, int64_t pixels);

#endif
