/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness/harness.h"
#include "sluice/model.h"

static void expect_print(const char *spec, const char *want)
{
	struct sl_model_config c;
	char text[SL_MODEL_SPEC_TEXT];

	sl_assert_ok(sl_model_parse(spec, &c));
	assert_string_equal(sl_model_print(&c, text), want);
	/* What is printed is the same model. */
	sl_assert_ok(sl_model_parse(want, &c));
	assert_string_equal(sl_model_print(&c, text), want);
}

static void specs_print_with_all_their_options(void **state)
{
	(void)state;
	expect_print("gpt2", "gpt2:layers=12,width=768,heads=12,context=1024,vocab=50257,"
			     "dropout=0.10000000000000001");
	expect_print("gpt2:vocab=256,width=32,dropout=0,layers=2",
		"gpt2:layers=2,width=32,heads=1,context=1024,vocab=256,dropout=0");
	expect_print("mlp", "mlp:sizes=784-256-10,dropout=0");
	expect_print("mlp:sizes=2-3", "mlp:sizes=2-3,dropout=0");
	expect_print(
		"resnet18:classes=10,input=3x64x32", "resnet18:input=3x64x32,classes=10");
	expect_print("lenet5:", "lenet5:input=1x28x28,classes=10");
	expect_print(
		"convnet:dropout=0.5", "convnet:input=1x28x28,classes=10,dropout=0.5");
}

static void the_longest_spec_fits_its_text(void **state)
{
	char spec[SL_MODEL_SPEC_TEXT] = "mlp:dropout=0.1,sizes=16777216";

	(void)state;
	for (int i = 1; i < SL_MODEL_SIZES_MAX; i++)
		strncat(spec, "-16777216", sizeof(spec) - strlen(spec) - 1);
	struct sl_model_config c;
	char text[SL_MODEL_SPEC_TEXT];
	sl_assert_ok(sl_model_parse(spec, &c));
	assert_int_equal(c.n_sizes, SL_MODEL_SIZES_MAX);
	assert_non_null(strstr(sl_model_print(&c, text), ",dropout=0.10000000000000001"));
}

static void mistakes_are_usage_errors_that_list_what_exists(void **state)
{
	static const struct {
		const char *spec, *message;
	} bad[] = {
		{"", "unknown model ''; there are bert-base convnet densenet121 gpt2 "
		     "inceptionv3 "
		     "inceptionv4 lenet5 lstm mlp mobilenetv2 resnet18 resnet50 unet "
		     "vgg16 "
		     "vgg19 vit-b16"},
		{"vgg", "unknown model 'vgg'"},
		{"gpt", "unknown model 'gpt'"},
		{"gpt2:depth=3",
			"gpt2 has no option 'depth'; it has layers width heads context"},
		{"gpt2:layers", "layers=: expected a whole number from 1 to 1024"},
		{"gpt2:layers=0", "layers=0: expected"},
		{"gpt2:layers=2x", "layers=2x: expected"},
		{"gpt2:layers=2,layers=2", "layers is given twice"},
		{"gpt2:,", "no option ''"},
		{"gpt2:width=100,heads=3", "width=100 does not divide into heads=3"},
		{"gpt2:width=200", "width=200 does not divide into heads=3 (width / 64"},
		{"gpt2:dropout=1", "dropout=1: expected a number from 0 to below 1"},
		{"gpt2:dropout=nan", "dropout=nan: expected"},
		{"mlp:sizes=5", "sizes=5: expected 2 to 16 widths"},
		{"mlp:sizes=5-", "sizes=5-: expected"},
		{"mlp:sizes=5-0", "sizes=5-0: expected"},
		{"mlp:sizes=1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1", "expected 2 to 16"},
		{"unet:input=3x16x15", "height and width must be at least 16"},
		{"mlp:classes=3", "mlp has no option 'classes'; it has sizes dropout"},
		{"lenet5:input=28x28", "input=28x28: expected channels x height x width"},
		{"lenet5:input=1x28x28x1", "expected channels"},
		{"lenet5:input=1x8x28",
			"input=1x8x28: height and width must be at least 12"},
		{"resnet18:classes=1", "classes=1: expected a whole number from 2"},
		{"resnet18:classes=99999999999999999999", "classes=9999"},
	};
	struct sl_model_config c = {.layers = 77};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++)
		sl_assert_fails(
			sl_model_parse(bad[i].spec, &c), SL_E_USAGE, bad[i].message);
	assert_int_equal(c.layers, 77);
}

static void expect_fit(
	const char *spec, const struct sl_model_data *data, const char *want)
{
	struct sl_model_config c;
	char text[SL_MODEL_SPEC_TEXT];

	sl_assert_ok(sl_model_parse(spec, &c));
	sl_assert_ok(sl_model_fit(&c, data));
	assert_string_equal(sl_model_print(&c, text), want);
}

static void open_options_fit_the_data(void **state)
{
	struct sl_model_data image = {.sample = SL_SHAPE(3, 64, 64), .classes = 10};
	struct sl_model_data text = {
		.tokens = true, .bytes = true, .sample = SL_SHAPE(128), .classes = 256};

	(void)state;
	expect_fit("resnet18", &image, "resnet18:input=3x64x64,classes=1000");
	expect_fit("mlp", &image, "mlp:sizes=12288-256-10,dropout=0");
	expect_fit("gpt2:dropout=0", &text,
		"gpt2:layers=12,width=768,heads=12,context=1024,vocab=256,dropout=0");
	expect_fit("gpt2:dropout=0,vocab=300", &text,
		"gpt2:layers=12,width=768,heads=12,context=1024,vocab=300,dropout=0");
	image.sample = SL_SHAPE(784);
	expect_fit("lenet5", &image, "lenet5:input=1x28x28,classes=10");
}

static void what_does_not_fit_is_a_usage_error(void **state)
{
	struct sl_model_data image = {.sample = SL_SHAPE(3, 64, 64), .classes = 11};
	struct sl_model_data text = {
		.tokens = true, .bytes = true, .sample = SL_SHAPE(128), .classes = 256};
	static const struct {
		const char *spec;
		bool text;
		const char *message;
	} bad[] = {
		{"gpt2", false, "reads tokens (text:FILE), the data has numbers"},
		{"mlp", true, "reads numbers (idx, csv, npy), the data has tokens"},
		{"resnet18:input=3x32x32", false,
			"samples of [3, 32, 32], the data has [3, 64, 64]"},
		{"mlp:sizes=784-10", false, "set sizes="},
		{"convnet", false, "labels up to 10, the model 10 classes; set classes="},
		{"gpt2:vocab=100", true, "tokens up to 255; set vocab=256"},
		{"gpt2:context=64", true,
			"samples of 128 tokens are longer than the context of 64"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++) {
		struct sl_model_config c;
		sl_assert_ok(sl_model_parse(bad[i].spec, &c));
		sl_assert_fails(sl_model_fit(&c, bad[i].text ? &text : &image),
			SL_E_USAGE, bad[i].message);
	}
}

static void a_model_names_its_synthetic_data(void **state)
{
	struct sl_model_config c;
	char text[SL_MODEL_SPEC_TEXT];

	(void)state;
	sl_assert_ok(sl_model_parse("resnet18", &c));
	assert_string_equal(sl_model_synthetic(&c, text), "synthetic:3x224x224");
	sl_assert_ok(sl_model_parse("mlp", &c));
	assert_string_equal(sl_model_synthetic(&c, text), "synthetic:784");
	sl_assert_ok(sl_model_parse("gpt2", &c));
	assert_string_equal(sl_model_synthetic(&c, text), "synthetic:128");
	sl_assert_ok(sl_model_parse("gpt2:context=1024", &c));
	assert_string_equal(sl_model_synthetic(&c, text), "synthetic:1024");
	assert_true(sl_model_is_tokens(&c));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(specs_print_with_all_their_options),
		SL_TEST(the_longest_spec_fits_its_text),
		SL_TEST(mistakes_are_usage_errors_that_list_what_exists),
		SL_TEST(open_options_fit_the_data),
		SL_TEST(what_does_not_fit_is_a_usage_error),
		SL_TEST(a_model_names_its_synthetic_data),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
