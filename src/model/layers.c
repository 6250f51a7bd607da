/* SPDX-License-Identifier: Apache-2.0 */
/* Layers out of operators, with PyTorch's names and first values. */
#include "model/layers.h"

#include <math.h>
#include <stdio.h>

#define BN_MOMENTUM 0.1
#define NORM_EPS 1e-5

static const struct sl_init zero = {.kind = SL_INIT_ZERO};
static const struct sl_init one = {.kind = SL_INIT_CONST, .value = 1};

static struct sl_init uniform(double bound)
{
	return (struct sl_init){.kind = SL_INIT_UNIFORM, .value = bound};
}

static struct sl_init normal(double deviation)
{
	return (struct sl_init){.kind = SL_INIT_NORMAL, .value = deviation};
}

static const char *join(char text[SL_LAYER_NAME], const char *name, const char *part)
{
	snprintf(text, SL_LAYER_NAME, "%s.%s", name, part);
	return text;
}

static sl_val param(struct sl_layers *l, const char *name, const char *part,
	const struct sl_shape *shape, struct sl_init init)
{
	char text[SL_LAYER_NAME];
	struct sl_type type = {.dtype = SL_F32, .shape = *shape};

	return sl_param(l->g, join(text, name, part), &type, init);
}

static sl_val state(struct sl_layers *l, const char *name, const char *part, int64_t n,
	struct sl_init init)
{
	char text[SL_LAYER_NAME];
	struct sl_type type = {.dtype = SL_F32, .shape = SL_SHAPE(n)};

	return sl_state(l->g, join(text, name, part), &type, init);
}

static double norm_eps(const struct sl_layers *l)
{
	return l->norm_eps > 0 ? l->norm_eps : NORM_EPS;
}

sl_val sl_layer_linear(
	struct sl_layers *l, const char *name, sl_val x, int64_t in, int64_t out)
{
	return sl_layer_linear_as(
		l, name, x, &(struct sl_layer_linear){.in = in, .out = out});
}

sl_val sl_layer_linear_as(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_linear *a)
{
	struct sl_init init = uniform(1 / sqrt((double)a->in));
	sl_val w = param(l, name, "weight", &SL_SHAPE(a->out, a->in),
		a->std > 0 ? normal(a->std) : init);
	sl_val b = param(l, name, "bias", &SL_SHAPE(a->out), a->zero_bias ? zero : init);

	return sl_matmul(l->g, x, w, b, &(struct sl_matmul_attr){.trans_b = true});
}

sl_val sl_layer_dense(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_dense *a)
{
	sl_val w = param(l, name, "weight", &SL_SHAPE(a->in, a->out), normal(a->std));
	sl_val b = param(l, name, "bias", &SL_SHAPE(a->out), zero);

	return sl_matmul(l->g, x, w, b, &(struct sl_matmul_attr){0});
}

sl_val sl_layer_conv(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_conv *a)
{
	int64_t width = a->width ? a->width : a->kernel;
	int64_t pad_w = a->width ? a->pad_w : a->pad;
	int64_t stride = a->stride ? a->stride : 1;
	int64_t groups = a->groups ? a->groups : 1;
	int64_t in = a->in / groups;
	double area = (double)(a->kernel * width);
	struct sl_init bound = uniform(1 / sqrt((double)in * area));
	double std = a->fan_out ? sqrt(2 / ((double)a->out * area)) : a->std;
	struct sl_conv_attr attr = {.stride = {stride, stride},
		.pad = {a->pad, pad_w, a->pad, pad_w},
		.groups = groups};
	sl_val w = param(l, name, "weight", &SL_SHAPE(a->out, in, a->kernel, width),
		std > 0 ? normal(std) : bound);
	sl_val b = SL_VAL_NONE;

	if (a->bias)
		b = param(l, name, "bias", &SL_SHAPE(a->out), a->fan_out ? zero : bound);
	return sl_conv2d(l->g, x, w, b, &attr);
}

/* relu: with ReLU, and z before it if there is one. */
static sl_val batch_norm(struct sl_layers *l, const char *name, sl_val x, sl_val z,
	int64_t channels, bool relu)
{
	sl_val gamma = param(l, name, "weight", &SL_SHAPE(channels), one);
	sl_val beta = param(l, name, "bias", &SL_SHAPE(channels), zero);
	sl_val mean = state(l, name, "running_mean", channels, zero);
	sl_val var = state(l, name, "running_var", channels, one);
	double eps = norm_eps(l);
	const sl_val with_z[] = {x, gamma, beta, z};
	sl_val out[3];

	if (!l->training) {
		x = sl_batch_norm_infer(l->g, x, gamma, beta, mean, var, eps);
		x = sl_val_is_none(z) ? x : sl_add(l->g, x, z);
		return relu ? sl_relu(l->g, x) : x;
	}
	if (!relu)
		sl_batch_norm(l->g, x, gamma, beta, eps, out);
	else if (sl_val_is_none(z))
		sl_batch_norm_relu(l->g, x, gamma, beta, eps, out);
	else
		sl_batch_norm_add_relu(l->g, with_z, eps, out);
	/* Count 0: taken from x, whatever the batch is when the template is bound. */
	(void)sl_stats_update(l->g, mean, var, out[1], out[2], BN_MOMENTUM, 0);
	return out[0];
}

sl_val sl_layer_batch_norm(
	struct sl_layers *l, const char *name, sl_val x, int64_t channels)
{
	return batch_norm(l, name, x, SL_VAL_NONE, channels, false);
}

sl_val sl_layer_batch_norm_relu(
	struct sl_layers *l, const char *name, sl_val x, sl_val z, int64_t channels)
{
	return batch_norm(l, name, x, z, channels, true);
}

sl_val sl_layer_layer_norm(struct sl_layers *l, const char *name, sl_val x, int64_t width)
{
	sl_val gamma = param(l, name, "weight", &SL_SHAPE(width), one);
	sl_val beta = param(l, name, "bias", &SL_SHAPE(width), zero);
	sl_val out[3];

	return sl_layer_norm(l->g, x, gamma, beta, norm_eps(l), out);
}

sl_val sl_layer_group_norm(
	struct sl_layers *l, const char *name, sl_val x, int64_t channels, int64_t groups)
{
	sl_val gamma = param(l, name, "weight", &SL_SHAPE(channels), one);
	sl_val beta = param(l, name, "bias", &SL_SHAPE(channels), zero);
	sl_val out[3];

	return sl_group_norm(l->g, x, gamma, beta,
		&(struct sl_group_norm_attr){.eps = norm_eps(l), .groups = groups}, out);
}

sl_val sl_layer_rms_norm(struct sl_layers *l, const char *name, sl_val x, int64_t width)
{
	sl_val gamma = param(l, name, "weight", &SL_SHAPE(width), one);
	sl_val out[2];

	return sl_rms_norm(l->g, x, gamma, norm_eps(l), out);
}

sl_val sl_layer_lstm(
	struct sl_layers *l, const char *name, sl_val x, const struct sl_layer_lstm *a)
{
	static const char *const parts[4] = {
		"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
	const struct sl_shape shapes[4] = {SL_SHAPE(4 * a->width, a->in),
		SL_SHAPE(4 * a->width, a->width), SL_SHAPE(4 * a->width),
		SL_SHAPE(4 * a->width)};
	char part[32];
	sl_val p[4];

	for (int i = 0; i < 4; i++) {
		snprintf(part, sizeof(part), "%s_l%lld", parts[i], (long long)a->layer);
		p[i] = param(
			l, name, part, &shapes[i], uniform(1 / sqrt((double)a->width)));
	}
	p[2] = sl_add(l->g, p[2], p[3]);
	return sl_lstm(l->g, x, p, NULL);
}

sl_val sl_layer_dropout(struct sl_layers *l, sl_val x)
{
	if (!l->training || !(l->dropout > 0))
		return x;
	return sl_dropout(l->g, x,
		&(struct sl_dropout_attr){.ratio = l->dropout, .stream = ++l->stream});
}

sl_val sl_layer_max_pool(
	struct sl_layers *l, sl_val x, int64_t kernel, int64_t stride, int64_t pad)
{
	return sl_max_pool2d(l->g, x,
		&(struct sl_pool_attr){
			.kernel = {kernel, kernel},
			.stride = {stride, stride},
			.pad = {pad, pad, pad, pad},
		});
}

sl_val sl_layer_flatten(struct sl_layers *l, sl_val x)
{
	return sl_reshape(l->g, x, &SL_SHAPE(0, -1));
}

static void outputs(struct sl_layers *l, sl_val logits, sl_val labels, sl_val loss)
{
	sl_output(l->g, "logits", logits);
	sl_output(l->g, "loss", loss);
	sl_output(l->g, "correct", sl_count_correct(l->g, logits, labels));
}

void sl_layer_outputs(struct sl_layers *l, sl_val logits, sl_val labels)
{
	sl_graph_scope(l->g, "loss");
	outputs(l, logits, labels, sl_cross_entropy(l->g, logits, labels, NULL));
}

void sl_layer_masked_outputs(struct sl_layers *l, sl_val logits, sl_val labels)
{
	const struct sl_cross_entropy_attr attr = {
		.ignore_index = -1, .has_ignore = true};

	sl_graph_scope(l->g, "loss");
	outputs(l, logits, labels, sl_cross_entropy(l->g, logits, labels, &attr));
}

void sl_layer_pixel_outputs(
	struct sl_layers *l, sl_val logits, sl_val labels, int64_t pixels)
{
	static const int classes_last[SL_MAX_RANK] = {0, 2, 3, 1};

	sl_graph_scope(l->g, "loss");
	sl_val each = sl_reshape(
		l->g, sl_transpose(l->g, logits, classes_last), &SL_SHAPE(0, pixels, -1));
	sl_val label = sl_expand(
		l->g, sl_reshape(l->g, labels, &SL_SHAPE(0, 1)), &SL_SHAPE(-1, pixels));
	sl_val mean = sl_mean(l->g, logits, &(struct sl_reduce_attr){.axes = 0xc});
	outputs(l, mean, labels, sl_cross_entropy(l->g, each, label, NULL));
}
