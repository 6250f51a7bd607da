/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inception-v3 and Inception-v4: blocks of several branches side by side, written as
 * tables of convolutions. 23,834,568 and 42,679,816 parameters with 1000 classes.
 *
 * Sources: Szegedy et al., Rethinking the inception architecture for computer vision,
 * 2016, table 1; Szegedy et al., Inception-v4, Inception-ResNet and the impact of
 * residual connections on learning, 2017, figures 3 to 8. v3 has the names and first
 * values of torchvision's inception_v3 (a normal there cut at 20 deviations is not cut
 * here), without its auxiliary classifier of 3,326,696 parameters; v4 the names of the
 * PyTorch port with "features.0" to "features.21" and "last_linear", and PyTorch's first
 * values.
 */
#include <stdio.h>

#include "base/assert.h"
#include "model/zoo/zoo.h"

/* What a row reads: the row before, the block's input, or what the row before read. */
enum from { NEXT, START, FORK };
/* SAME keeps the sides; the others have no padding. */
enum fit { SAME, VALID, HALF };
/* INNER averages over what lies inside the image. */
enum kind { CONV, MAX, AVERAGE, INNER };

/*
 * A convolution with batch norm and ReLU, or a pooling. What no later row reads is part
 * of the block's result, in order of the rows. out 0: the block's own width.
 */
struct row {
	const char *name;
	uint8_t from, kernel, width, fit;
	int16_t out;
	uint8_t kind;
};
#define POOL(from, kind) \
	{ \
		"", from, 3, 3, (kind) == MAX ? HALF : SAME, 0, kind \
	}

struct block {
	const char *name;
	const struct row *rows;
	int64_t width;
};

struct plan {
	const struct block *blocks; /* until one without rows */
	const char *classifier;
	double std; /* of first weights, 0: PyTorch's */
};

/* A value and its channels. */
struct wide {
	sl_val v;
	int64_t channels;
};

static sl_status finish(struct sl_model_config *c)
{
	return sl_model_check_image(c, 75);
}

static struct wide pool(struct sl_layers *l, const struct row *r, struct wide x)
{
	int64_t stride = r->fit == HALF ? 2 : 1;
	int64_t pad = r->fit == SAME;
	struct sl_pool_attr a = {.kernel = {r->kernel, r->width},
		.stride = {stride, stride},
		.pad = {pad, pad, pad, pad},
		.count_include_pad = r->kind == AVERAGE};

	x.v = r->kind == MAX ? sl_max_pool2d(l->g, x.v, &a)
			     : sl_avg_pool2d(l->g, x.v, &a);
	return x;
}

static struct wide apply(struct sl_layers *l, const struct plan *p, const struct block *b,
	const struct row *r, struct wide x)
{
	const char *dot = *b->name && *r->name ? "." : "";
	bool same = r->fit == SAME;
	char name[SL_LAYER_NAME];
	struct sl_layer_conv a = {.in = x.channels,
		.out = r->out ? r->out : b->width,
		.kernel = r->kernel,
		.width = r->width,
		.stride = r->fit == HALF ? 2 : 1,
		.pad = same ? r->kernel / 2 : 0,
		.pad_w = same ? r->width / 2 : 0,
		.std = p->std};

	if (r->kind != CONV)
		return pool(l, r, x);
	snprintf(name, sizeof(name), "%s%s%s.conv", b->name, dot, r->name);
	x.v = sl_layer_conv(l, name, x.v, &a);
	snprintf(name, sizeof(name), "%s%s%s.bn", b->name, dot, r->name);
	x.v = sl_layer_batch_norm_relu(l, name, x.v, SL_VAL_NONE, a.out);
	x.channels = a.out;
	return x;
}

#define BRANCHES 6

static struct wide block(
	struct sl_layers *l, const struct plan *p, const struct block *b, struct wide x)
{
	sl_val part[BRANCHES];
	int n = 0;
	int64_t channels = 0;
	struct wide read = x;
	struct wide made = x;

	sl_graph_scope(l->g, *b->name ? b->name : b->rows[0].name);
	for (const struct row *r = b->rows; r->name; r++) {
		if (r->from != FORK)
			read = r->from == START ? x : made;
		made = apply(l, p, b, r, read);
		if (r[1].name && r[1].from == NEXT)
			continue;
		SL_ASSERT(n < BRANCHES);
		part[n++] = made.v;
		channels += made.channels;
	}
	if (n == 1)
		return made;
	return (struct wide){sl_concat(l->g, part, n, 1), channels};
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	const struct plan *p = c->model->plan;
	struct wide y = {x, c->input[0]};

	l->norm_eps = 1e-3;
	for (const struct block *b = p->blocks; b->rows; b++)
		y = block(l, p, b, y);
	sl_graph_scope(l->g, p->classifier);
	x = sl_layer_flatten(l, sl_global_avg_pool2d(l->g, y.v));
	return sl_layer_linear_as(l, p->classifier, sl_layer_dropout(l, x),
		&(struct sl_layer_linear){
			.in = y.channels, .out = c->classes, .std = p->std});
}

static const struct row stem3[] = {
	{"Conv2d_1a_3x3", START, 3, 3, HALF, 32, CONV},
	{"Conv2d_2a_3x3", NEXT, 3, 3, VALID, 32, CONV},
	{"Conv2d_2b_3x3", NEXT, 3, 3, SAME, 64, CONV},
	POOL(NEXT, MAX),
	{"Conv2d_3b_1x1", NEXT, 1, 1, SAME, 80, CONV},
	{"Conv2d_4a_3x3", NEXT, 3, 3, VALID, 192, CONV},
	POOL(NEXT, MAX),
	{0},
};

static const struct row a3[] = {
	{"branch1x1", START, 1, 1, SAME, 64, CONV},
	{"branch5x5_1", START, 1, 1, SAME, 48, CONV},
	{"branch5x5_2", NEXT, 5, 5, SAME, 64, CONV},
	{"branch3x3dbl_1", START, 1, 1, SAME, 64, CONV},
	{"branch3x3dbl_2", NEXT, 3, 3, SAME, 96, CONV},
	{"branch3x3dbl_3", NEXT, 3, 3, SAME, 96, CONV},
	POOL(START, AVERAGE),
	{"branch_pool", NEXT, 1, 1, SAME, 0, CONV},
	{0},
};

static const struct row b3[] = {
	{"branch3x3", START, 3, 3, HALF, 384, CONV},
	{"branch3x3dbl_1", START, 1, 1, SAME, 64, CONV},
	{"branch3x3dbl_2", NEXT, 3, 3, SAME, 96, CONV},
	{"branch3x3dbl_3", NEXT, 3, 3, HALF, 96, CONV},
	POOL(START, MAX),
	{0},
};

static const struct row c3[] = {
	{"branch1x1", START, 1, 1, SAME, 192, CONV},
	{"branch7x7_1", START, 1, 1, SAME, 0, CONV},
	{"branch7x7_2", NEXT, 1, 7, SAME, 0, CONV},
	{"branch7x7_3", NEXT, 7, 1, SAME, 192, CONV},
	{"branch7x7dbl_1", START, 1, 1, SAME, 0, CONV},
	{"branch7x7dbl_2", NEXT, 7, 1, SAME, 0, CONV},
	{"branch7x7dbl_3", NEXT, 1, 7, SAME, 0, CONV},
	{"branch7x7dbl_4", NEXT, 7, 1, SAME, 0, CONV},
	{"branch7x7dbl_5", NEXT, 1, 7, SAME, 192, CONV},
	POOL(START, AVERAGE),
	{"branch_pool", NEXT, 1, 1, SAME, 192, CONV},
	{0},
};

static const struct row d3[] = {
	{"branch3x3_1", START, 1, 1, SAME, 192, CONV},
	{"branch3x3_2", NEXT, 3, 3, HALF, 320, CONV},
	{"branch7x7x3_1", START, 1, 1, SAME, 192, CONV},
	{"branch7x7x3_2", NEXT, 1, 7, SAME, 192, CONV},
	{"branch7x7x3_3", NEXT, 7, 1, SAME, 192, CONV},
	{"branch7x7x3_4", NEXT, 3, 3, HALF, 192, CONV},
	POOL(START, MAX),
	{0},
};

static const struct row e3[] = {
	{"branch1x1", START, 1, 1, SAME, 320, CONV},
	{"branch3x3_1", START, 1, 1, SAME, 384, CONV},
	{"branch3x3_2a", NEXT, 1, 3, SAME, 384, CONV},
	{"branch3x3_2b", FORK, 3, 1, SAME, 384, CONV},
	{"branch3x3dbl_1", START, 1, 1, SAME, 448, CONV},
	{"branch3x3dbl_2", NEXT, 3, 3, SAME, 384, CONV},
	{"branch3x3dbl_3a", NEXT, 1, 3, SAME, 384, CONV},
	{"branch3x3dbl_3b", FORK, 3, 1, SAME, 384, CONV},
	POOL(START, AVERAGE),
	{"branch_pool", NEXT, 1, 1, SAME, 192, CONV},
	{0},
};

static const struct block blocks3[] = {
	{"", stem3, 0},
	{"Mixed_5b", a3, 32},
	{"Mixed_5c", a3, 64},
	{"Mixed_5d", a3, 64},
	{"Mixed_6a", b3, 0},
	{"Mixed_6b", c3, 128},
	{"Mixed_6c", c3, 160},
	{"Mixed_6d", c3, 160},
	{"Mixed_6e", c3, 192},
	{"Mixed_7a", d3, 0},
	{"Mixed_7b", e3, 0},
	{"Mixed_7c", e3, 0},
	{0},
};

static const struct row stem4[] = {
	{"features.0", START, 3, 3, HALF, 32, CONV},
	{"features.1", NEXT, 3, 3, VALID, 32, CONV},
	{"features.2", NEXT, 3, 3, SAME, 64, CONV},
	{0},
};

static const struct row mixed3a[] = {
	POOL(START, MAX),
	{"conv", START, 3, 3, HALF, 96, CONV},
	{0},
};

static const struct row mixed4a[] = {
	{"branch0.0", START, 1, 1, SAME, 64, CONV},
	{"branch0.1", NEXT, 3, 3, VALID, 96, CONV},
	{"branch1.0", START, 1, 1, SAME, 64, CONV},
	{"branch1.1", NEXT, 1, 7, SAME, 64, CONV},
	{"branch1.2", NEXT, 7, 1, SAME, 64, CONV},
	{"branch1.3", NEXT, 3, 3, VALID, 96, CONV},
	{0},
};

static const struct row mixed5a[] = {
	{"conv", START, 3, 3, HALF, 192, CONV},
	POOL(START, MAX),
	{0},
};

static const struct row a4[] = {
	{"branch0", START, 1, 1, SAME, 96, CONV},
	{"branch1.0", START, 1, 1, SAME, 64, CONV},
	{"branch1.1", NEXT, 3, 3, SAME, 96, CONV},
	{"branch2.0", START, 1, 1, SAME, 64, CONV},
	{"branch2.1", NEXT, 3, 3, SAME, 96, CONV},
	{"branch2.2", NEXT, 3, 3, SAME, 96, CONV},
	POOL(START, INNER),
	{"branch3.1", NEXT, 1, 1, SAME, 96, CONV},
	{0},
};

static const struct row reduction_a4[] = {
	{"branch0", START, 3, 3, HALF, 384, CONV},
	{"branch1.0", START, 1, 1, SAME, 192, CONV},
	{"branch1.1", NEXT, 3, 3, SAME, 224, CONV},
	{"branch1.2", NEXT, 3, 3, HALF, 256, CONV},
	POOL(START, MAX),
	{0},
};

static const struct row b4[] = {
	{"branch0", START, 1, 1, SAME, 384, CONV},
	{"branch1.0", START, 1, 1, SAME, 192, CONV},
	{"branch1.1", NEXT, 1, 7, SAME, 224, CONV},
	{"branch1.2", NEXT, 7, 1, SAME, 256, CONV},
	{"branch2.0", START, 1, 1, SAME, 192, CONV},
	{"branch2.1", NEXT, 7, 1, SAME, 192, CONV},
	{"branch2.2", NEXT, 1, 7, SAME, 224, CONV},
	{"branch2.3", NEXT, 7, 1, SAME, 224, CONV},
	{"branch2.4", NEXT, 1, 7, SAME, 256, CONV},
	POOL(START, INNER),
	{"branch3.1", NEXT, 1, 1, SAME, 128, CONV},
	{0},
};

static const struct row reduction_b4[] = {
	{"branch0.0", START, 1, 1, SAME, 192, CONV},
	{"branch0.1", NEXT, 3, 3, HALF, 192, CONV},
	{"branch1.0", START, 1, 1, SAME, 256, CONV},
	{"branch1.1", NEXT, 1, 7, SAME, 256, CONV},
	{"branch1.2", NEXT, 7, 1, SAME, 320, CONV},
	{"branch1.3", NEXT, 3, 3, HALF, 320, CONV},
	POOL(START, MAX),
	{0},
};

static const struct row c4[] = {
	{"branch0", START, 1, 1, SAME, 256, CONV},
	{"branch1_0", START, 1, 1, SAME, 384, CONV},
	{"branch1_1a", NEXT, 1, 3, SAME, 256, CONV},
	{"branch1_1b", FORK, 3, 1, SAME, 256, CONV},
	{"branch2_0", START, 1, 1, SAME, 384, CONV},
	{"branch2_1", NEXT, 3, 1, SAME, 448, CONV},
	{"branch2_2", NEXT, 1, 3, SAME, 512, CONV},
	{"branch2_3a", NEXT, 1, 3, SAME, 256, CONV},
	{"branch2_3b", FORK, 3, 1, SAME, 256, CONV},
	POOL(START, INNER),
	{"branch3.1", NEXT, 1, 1, SAME, 256, CONV},
	{0},
};

static const struct block blocks4[] = {
	{"", stem4, 0},
	{"features.3", mixed3a, 0},
	{"features.4", mixed4a, 0},
	{"features.5", mixed5a, 0},
	{"features.6", a4, 0},
	{"features.7", a4, 0},
	{"features.8", a4, 0},
	{"features.9", a4, 0},
	{"features.10", reduction_a4, 0},
	{"features.11", b4, 0},
	{"features.12", b4, 0},
	{"features.13", b4, 0},
	{"features.14", b4, 0},
	{"features.15", b4, 0},
	{"features.16", b4, 0},
	{"features.17", b4, 0},
	{"features.18", reduction_b4, 0},
	{"features.19", c4, 0},
	{"features.20", c4, 0},
	{"features.21", c4, 0},
	{0},
};

static const struct plan plan3 = {blocks3, "fc", 0.1};
static const struct plan plan4 = {blocks4, "last_linear", 0};

#define INCEPTION(version, text, ratio) \
	const struct sl_model sl_model_inceptionv##version = { \
		.name = "inceptionv" #version, \
		.help = "Inception-v" #version " " text, \
		.options = SL_MODEL_SET_INPUT | SL_MODEL_SET_CLASSES | \
			   SL_MODEL_SET_DROPOUT, \
		.default_batch = 8, \
		.defaults = {.input = {3, 299, 299}, .classes = 1000, .dropout = ratio}, \
		.finish = finish, \
		.build = build, \
		.plan = &plan##version, \
	};

INCEPTION(3,
	"of torchvision, no auxiliary head: input=3x299x299, classes=1000, dropout=0.5",
	0.5)
INCEPTION(4, "of Szegedy et al.: input=3x299x299, classes=1000, dropout=0.2", 0.2)
