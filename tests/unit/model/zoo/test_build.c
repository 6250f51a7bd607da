/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/ir.h"
#include "harness/evaluate.h"
#include "harness/harness.h"
#include "sluice/model.h"
#include "sluice/ops.h"

static struct sl_graph *built(const char *spec, bool training)
{
	struct sl_model_config c;
	struct sl_graph *g = NULL;

	sl_assert_ok(sl_model_parse(spec, &c));
	sl_assert_ok(sl_graph_create(&g));
	sl_assert_ok(sl_model_build(&c, training, g));
	return g;
}

/* Two 3 x 3 convolutions without bias, each with a batch norm. */
static uint64_t double_conv(uint64_t in, uint64_t out)
{
	return 9 * in * out + 9 * out * out + 4 * out;
}

/* Figure 1 of the paper, with batch norm: five levels of double convolutions, four 2 x 2
 * transposed convolutions with bias and double convolutions up, one 1 x 1. */
static uint64_t unet_count(uint64_t channels, uint64_t classes, uint64_t width)
{
	uint64_t n = double_conv(channels, width) + (width + 1) * classes;

	for (uint64_t w = width; w < 16 * width; w *= 2)
		n += double_conv(w, 2 * w) + (4 * 2 * w + 1) * w + double_conv(2 * w, w);
	return n;
}

/* Embedding, decoder with bias, two layers of two matrices and two biases of four gates.
 */
static uint64_t lstm_count(uint64_t vocab, uint64_t width)
{
	return 2 * vocab * width + vocab + 2 * (2 * 4 * width * width + 2 * 4 * width);
}

static void parameter_counts_are_the_published_ones(void **state)
{
	const struct {
		const char *spec;
		uint64_t count;
	} want[] = {
		{"resnet18", 11689512},
		{"resnet50", 25557032},
		{"vgg16", 138357544},
		{"vgg19", 143667240},
		{"densenet121", 7978856},
		/* torchvision's 27,161,264 without the auxiliary classifier: convolutions
		 * of 768 x 128 and 128 x 768 x 25, batch norms, 769 x 1000 */
		{"inceptionv3", 27161264 - 98560 - 2459136 - 769000},
		{"inceptionv4", 42679816},
		{"unet", 31037698},
		{"unet", unet_count(3, 2, 64)},
		{"unet:input=1x30x40,classes=5,width=8", unet_count(1, 5, 8)},
		{"lstm", 19780400},
		{"lstm", lstm_count(10000, 650)},
		{"lstm:vocab=50,width=24,context=6", lstm_count(50, 24)},
		{"gpt2", 124439808},
		/* the published 109,482,240 with a pooler of 768 x 768 + 768 instead of
		 * the head: 768 x 768 + 768, a layer norm, a bias */
		{"bert-base", 109482240 - 590592 + 590592 + 2 * 768 + 30522},
		{"vit-b16", 86567656},
		/* 7 x 7 patches and a class token of 768, 10 classes */
		{"vit-b16:input=3x112x112,classes=10",
			86567656 - (197 - 50) * 768 - 990 * 769},
		{"mobilenetv2", 3504872},
		{"mobilenetv2:classes=10,input=3x64x64", 3504872 - 990 * 1281},
		{"lenet5", 61706},
		{"mlp", 203530},
		/* 9 (32 + 2048 + 8192) + 2 (32 + 64 + 128) + 10 x 1152 + 10 */
		{"convnet", 104426},
		/* torchvision's resnet18(num_classes=10) */
		{"resnet18:classes=10,input=3x64x64", 11181642},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(want); i++) {
		struct sl_graph *g = built(want[i].spec, true);
		assert_int_equal(sl_graph_param_count(g), want[i].count);
		sl_graph_destroy(g);
	}
}

static int count_ops(const struct sl_graph *g, const char *name)
{
	int n = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		n += strcmp(g->nodes[i].op->name, name) == 0;
	return n;
}

static void inference_has_neither_dropout_nor_batch_statistics(void **state)
{
	struct sl_graph *g = built("convnet", false);

	(void)state;
	assert_int_equal(count_ops(g, "dropout") + count_ops(g, "stats_update"), 0);
	assert_int_equal(count_ops(g, "batch_norm_infer"), 3);
	sl_graph_destroy(g);
	g = built("convnet", true);
	assert_int_equal(count_ops(g, "dropout"), 1);
	assert_int_equal(count_ops(g, "stats_update"), 3);
	sl_graph_destroy(g);
	g = built("gpt2:layers=2,width=32,vocab=40,context=8", true);
	assert_int_equal(count_ops(g, "dropout"), 1 + 2 * 2);
	sl_graph_destroy(g);
	g = built("gpt2:layers=2,width=32,vocab=40,context=8,dropout=0", true);
	assert_int_equal(count_ops(g, "dropout"), 0);
	sl_graph_destroy(g);
}

static void random_operators_have_streams_of_their_own(void **state)
{
	struct sl_graph *g = built("gpt2:layers=2,width=32,vocab=40,context=8", true);
	uint32_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const struct sl_ir_node *n = &g->nodes[i];
		uint32_t stream = 0;
		if (strcmp(n->op->name, "dropout") == 0)
			stream = ((const struct sl_dropout_attr *)n->attr)->stream;
		if (strncmp(n->op->name, "attention", 9) == 0)
			stream = ((const struct sl_attention_attr *)n->attr)->stream;
		assert_false(stream && seen & 1u << stream);
		seen |= 1u << stream;
	}
	assert_int_equal(seen >> 1, (1u << 7) - 1);
	sl_graph_destroy(g);
}

/* Binds a template to a batch and a length; expects the shape of the logits. */
static void expect_bound(
	const char *spec, int64_t batch, int64_t seq, struct sl_shape logits)
{
	struct sl_graph *tmpl = built(spec, true);
	struct sl_graph *g = NULL;
	struct sl_bind bind = {.size = {batch, seq}};

	sl_assert_ok(sl_graph_create(&g));
	sl_assert_ok(sl_graph_bind(g, tmpl, &bind));
	assert_true(sl_shape_equal(
		&sl_val_type(g, sl_graph_output(g, "logits"))->shape, &logits));
	assert_int_equal(sl_val_type(g, sl_graph_output(g, "loss"))->shape.rank, 0);
	assert_int_equal(sl_graph_param_count(g), sl_graph_param_count(tmpl));
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

static void templates_bind_to_other_sizes(void **state)
{
	(void)state;
	expect_bound("mlp", 17, 0, SL_SHAPE(17, 10));
	expect_bound("lenet5:input=3x20x33,classes=7", 5, 0, SL_SHAPE(5, 7));
	expect_bound("convnet:input=2x9x30", 3, 0, SL_SHAPE(3, 10));
	expect_bound("resnet18:input=3x33x64,classes=12", 6, 0, SL_SHAPE(6, 12));
	expect_bound("resnet50:input=1x16x40,classes=12", 6, 0, SL_SHAPE(6, 12));
	expect_bound("vgg16:input=3x32x99,classes=12", 3, 0, SL_SHAPE(3, 12));
	expect_bound("densenet121:input=3x29x60,classes=5", 3, 0, SL_SHAPE(3, 5));
	expect_bound("inceptionv3:input=3x75x99,classes=5", 3, 0, SL_SHAPE(3, 5));
	expect_bound("inceptionv4:input=2x75x80,classes=5", 3, 0, SL_SHAPE(3, 5));
	expect_bound("unet:width=2,input=3x17x36,classes=5", 3, 0, SL_SHAPE(3, 5));
	expect_bound("mobilenetv2:input=2x35x40,classes=5", 3, 0, SL_SHAPE(3, 5));
	expect_bound("vit-b16:layers=1,width=24,heads=3,input=1x32x48,classes=5", 3, 0,
		SL_SHAPE(3, 5));
	expect_bound("bert-base:layers=1,width=32,heads=2,vocab=99,context=64", 3, 5,
		SL_SHAPE(3, 5, 99));
	expect_bound("lstm:width=8,vocab=99,context=12", 3, 5, SL_SHAPE(3, 5, 99));
	expect_bound("gpt2:layers=1,width=32,heads=2,vocab=99,context=64", 3, 5,
		SL_SHAPE(3, 5, 99));
	expect_bound("gpt2:layers=1,width=32,heads=2,vocab=99,context=64", 1, 64,
		SL_SHAPE(1, 64, 99));
}

static sl_status build_one(void *ctx)
{
	struct sl_model_config c;
	struct sl_graph *g = NULL;

	SL_TRY(sl_model_parse(ctx, &c));
	SL_TRY(sl_graph_create(&g));
	sl_status st = sl_model_build(&c, true, g);
	sl_graph_destroy(g);
	return st;
}

static void every_failed_allocation_is_survived(void **state)
{
	char gpt[] = "gpt2:layers=1,width=32,vocab=40,context=8";
	char vit[] = "vit-b16:layers=1,width=32,input=1x32x32";
	char bert[] = "bert-base:layers=1,width=32,vocab=40,context=8";
	char conv[] = "convnet";
	char unet[] = "unet:width=2,input=3x17x18";
	char lstm[] = "lstm:width=4,vocab=9,context=5";

	(void)state;
	assert_true(sl_torture(build_one, gpt) > 5);
	assert_true(sl_torture(build_one, vit) > 5);
	assert_true(sl_torture(build_one, bert) > 5);
	assert_true(sl_torture(build_one, conv) > 5);
	assert_true(sl_torture(build_one, unet) > 5);
	assert_true(sl_torture(build_one, lstm) > 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(parameter_counts_are_the_published_ones),
		SL_TEST(inference_has_neither_dropout_nor_batch_statistics),
		SL_TEST(random_operators_have_streams_of_their_own),
		SL_TEST(templates_bind_to_other_sizes),
		SL_TEST(every_failed_allocation_is_survived),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
