/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers.h"

#include <math.h>

#include "harness/evaluate.h"
#include "harness/harness.h"

static sl_val f32(struct sl_graph *g, const char *name, struct sl_shape shape)
{
	return sl_input(g, name, &(struct sl_type){SL_F32, shape}, NULL);
}

static void group_norm_brings_each_group_to_mean_zero(void **state)
{
	struct sl_graph *g = NULL;
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_graph_create(&g));
	struct sl_layers l = {.g = g};
	sl_val x = f32(g, "x", SL_SHAPE(1, 4, 1));
	sl_val y = sl_layer_group_norm(&l, "norm", x, 4, 2);
	assert_int_equal(sl_graph_param_count(g), 8);
	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_set(&e, x, (double[]){1, 3, 100, 300}, 4);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(sl_eval_near(&e, y, (double[]){-1, 1, -1, 1}, 4, 1e-4));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void rms_norm_keeps_the_mean(void **state)
{
	struct sl_graph *g = NULL;
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_graph_create(&g));
	struct sl_layers l = {.g = g};
	sl_val x = f32(g, "x", SL_SHAPE(2, 2));
	sl_val y = sl_layer_rms_norm(&l, "norm", x, 2);
	assert_int_equal(sl_graph_param_count(g), 2);
	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_set(&e, x, (double[]){1, 7, -30, 40}, 4);
	sl_assert_ok(sl_eval_run(&e));
	double r = sqrt(1250);
	assert_true(sl_eval_near(&e, y, (double[]){0.2, 1.4, -30 / r, 40 / r}, 4, 1e-4));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void a_grouped_convolution_has_weights_of_one_group(void **state)
{
	struct sl_graph *g = NULL;

	(void)state;
	sl_assert_ok(sl_graph_create(&g));
	struct sl_layers l = {.g = g};
	sl_val x = f32(g, "x", SL_SHAPE(1, 6, 5, 5));
	sl_val y = sl_layer_conv(&l, "conv", x,
		&(struct sl_layer_conv){
			.in = 6, .out = 12, .kernel = 3, .groups = 3, .bias = true});
	sl_assert_ok(sl_graph_status(g));
	assert_int_equal(sl_graph_param_count(g), 12 * 2 * 9 + 12);
	assert_int_equal(sl_val_type(g, y)->shape.dim[1], 12);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(group_norm_brings_each_group_to_mean_zero),
		SL_TEST(rms_norm_keeps_the_mean),
		SL_TEST(a_grouped_convolution_has_weights_of_one_group),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
