/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/compiler.h"
#include "harness/harness.h"
#include "sluice/model.h"

static struct sl_graph *built(const char *spec)
{
	struct sl_model_config c;
	struct sl_graph *g = NULL;

	sl_assert_ok(sl_model_parse(spec, &c));
	sl_assert_ok(sl_graph_create(&g));
	sl_assert_ok(sl_model_build(&c, true, g));
	return g;
}

static bool has_param(const struct sl_graph *g, const char *name)
{
	sl_val v;

	for (size_t i = 0; !sl_val_is_none(v = sl_graph_param_at(g, i)); i++)
		if (strcmp(sl_val_name(g, v), name) == 0)
			return true;
	return false;
}

static size_t state_count(const struct sl_graph *g)
{
	size_t n = 0;

	while (!sl_val_is_none(sl_graph_state_at(g, n)))
		n++;
	return n;
}

static const struct {
	const char *spec;
	const char *name[8]; /* some of them */
	size_t states;
} named[] = {
	{"resnet18",
		{"conv1.weight", "bn1.bias", "layer1.0.conv1.weight",
			"layer2.0.downsample.0.weight", "layer4.1.bn2.weight", "fc.bias"},
		2 * 20},
	{"resnet50",
		{"layer1.0.downsample.1.bias", "layer3.5.conv3.weight",
			"layer4.2.bn3.weight"},
		2 * 53},
	{"vgg16",
		{"features.0.weight", "features.28.bias", "classifier.0.weight",
			"classifier.6.bias"},
		0},
	{"vgg19", {"features.2.bias", "features.34.weight", "classifier.3.bias"}, 0},
	{"densenet121",
		{"features.conv0.weight", "features.norm0.bias",
			"features.denseblock4.denselayer16.conv2.weight",
			"features.denseblock1.denselayer1.norm1.weight",
			"features.transition3.conv.weight", "features.norm5.weight",
			"classifier.bias"},
		2 * 121},
	{"inceptionv3",
		{"Conv2d_1a_3x3.conv.weight", "Mixed_5b.branch_pool.bn.bias",
			"Mixed_6e.branch7x7dbl_5.conv.weight",
			"Mixed_7c.branch3x3dbl_3b.bn.weight", "fc.bias"},
		2 * 94},
	{"inceptionv4",
		{"features.0.conv.weight", "features.4.branch1.3.bn.bias",
			"features.3.conv.conv.weight",
			"features.21.branch2_3b.conv.weight",
			"features.17.branch3.1.conv.weight", "last_linear.bias"},
		2 * 149},
	{"mobilenetv2",
		{"features.0.0.weight", "features.1.conv.0.0.weight",
			"features.1.conv.2.bias", "features.2.conv.1.0.weight",
			"features.17.conv.3.weight", "features.18.1.bias",
			"classifier.1.weight"},
		2 * 52},
	{"vit-b16:layers=2,width=64",
		{"class_token", "conv_proj.weight", "encoder.pos_embedding",
			"encoder.layers.encoder_layer_1.self_attention.in_proj_weight",
			"encoder.layers.encoder_layer_0.self_attention.out_proj.bias",
			"encoder.layers.encoder_layer_0.mlp.3.weight", "encoder.ln.bias",
			"heads.head.weight"},
		0},
	{"bert-base:layers=2,width=64,vocab=64,context=8",
		{"bert.embeddings.word_embeddings.weight",
			"bert.embeddings.token_type_embeddings.weight",
			"bert.encoder.layer.1.attention.self.query.bias",
			"bert.encoder.layer.0.attention.output.LayerNorm.weight",
			"bert.encoder.layer.1.intermediate.dense.weight",
			"bert.encoder.layer.0.output.dense.bias",
			"cls.predictions.transform.dense.weight", "cls.predictions.bias"},
		0},
	{"unet",
		{"inc.double_conv.0.weight", "inc.double_conv.4.bias",
			"down4.maxpool_conv.1.double_conv.3.weight", "up1.up.weight",
			"up4.up.bias", "up4.conv.double_conv.1.weight", "outc.conv.bias"},
		2 * 18},
	{"lstm",
		{"encoder.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l1",
			"rnn.bias_ih_l1", "rnn.bias_hh_l0", "decoder.weight",
			"decoder.bias"},
		0},
	{"gpt2:layers=2,width=64,vocab=64,context=8",
		{"wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.attn.c_attn.weight",
			"h.1.attn.c_proj.bias", "h.1.mlp.c_fc.weight",
			"h.0.mlp.c_proj.weight", "ln_f.bias"},
		0},
};

static void parameters_have_the_published_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(named); i++) {
		struct sl_graph *g = built(named[i].spec);
		for (size_t k = 0; k < 8 && named[i].name[k]; k++)
			assert_true(has_param(g, named[i].name[k]));
		assert_int_equal(state_count(g), named[i].states);
		sl_graph_destroy(g);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(parameters_have_the_published_names),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
