/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

static void a_window_is_multiplied_without_flipping(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 3, 3));
	sl_val w = input(g, "w", SL_SHAPE(1, 1, 2, 2));
	sl_val bias = input(g, "bias", SL_SHAPE(1));
	sl_val y = sl_conv2d(g, x, w, SL_VAL_NONE, NULL);
	sl_val z = sl_conv2d(g, x, w, bias, NULL);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	SET(&e, w, 1, 2, 3, 4);
	SET(&e, bias, 0.5);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 37, 47, 67, 77);
	NEAR(&e, z, 37.5, 47.5, 67.5, 77.5);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void each_side_has_a_padding_of_its_own(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 3, 3));
	sl_val w = input(g, "w", SL_SHAPE(1, 1, 2, 2));
	struct sl_conv_attr top_right = {.pad = {1, 0, 0, 1}};
	sl_val y = sl_conv2d(g, x, w, SL_VAL_NONE, &top_right);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	SET(&e, w, 1, 2, 3, 4);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 11, 18, 9, 37, 47, 21, 67, 77, 33);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void dilation_reads_every_second_input(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 1, 4));
	sl_val w = input(g, "w", SL_SHAPE(1, 1, 1, 2));
	struct sl_conv_attr attr = {.dilation = {1, 2}};
	sl_val y = sl_conv2d(g, x, w, SL_VAL_NONE, &attr);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4);
	SET(&e, w, 1, 10);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 31, 42);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void a_depthwise_channel_reads_its_own_input_only(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 2, 1, 2));
	sl_val w = input(g, "w", SL_SHAPE(2, 1, 1, 1));
	struct sl_conv_attr attr = {.groups = 2};
	sl_val y = sl_conv2d(g, x, w, SL_VAL_NONE, &attr);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4);
	SET(&e, w, 10, 100);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 10, 20, 300, 400);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void inputs_that_a_stride_skips_get_no_gradient(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val dy = input(g, "dy", SL_SHAPE(1, 1, 1, 2));
	sl_val w = input(g, "w", SL_SHAPE(1, 1, 1, 1));
	struct sl_conv_attr attr = {.stride = {1, 2}};
	sl_val dx = sl_conv2d_dx(g, dy, w, &attr, &SL_SHAPE(1, 1, 1, 4));

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, dy, 3, 5);
	SET(&e, w, 2);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, dx, 6, 0, 10, 0);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void check(struct sl_shape x, struct sl_shape w, const struct sl_conv_attr *attr)
{
	struct sl_graph *g = new_graph();
	const sl_val in[] = {
		input(g, "x", x), input(g, "w", w), input(g, "bias", SL_SHAPE(w.dim[0]))};

	check_gradients(g, sl_conv2d(g, in[0], in[1], in[2], attr), in, 3);
}

static void gradients_hold_for_each_attribute(void **state)
{
	(void)state;
	struct sl_conv_attr strided = {.stride = {2, 3}, .pad = {1, 0, 2, 1}};
	struct sl_conv_attr dilated = {.dilation = {2, 3}, .pad = {2, 3, 0, 1}};
	struct sl_conv_attr grouped = {.groups = 2, .pad = {1, 1, 1, 1}};
	struct sl_conv_attr depthwise = {.groups = 3, .stride = {2, 2}};

	check(SL_SHAPE(2, 2, 4, 3), SL_SHAPE(3, 2, 2, 2), NULL);
	check(SL_SHAPE(2, 2, 5, 6), SL_SHAPE(2, 2, 3, 2), &strided);
	check(SL_SHAPE(1, 2, 4, 5), SL_SHAPE(2, 2, 2, 2), &dilated);
	check(SL_SHAPE(2, 4, 3, 3), SL_SHAPE(4, 2, 3, 3), &grouped);
	check(SL_SHAPE(1, 3, 5, 5), SL_SHAPE(6, 1, 3, 3), &depthwise);
}

static void the_gradients_are_differentiable_again(void **state)
{
	(void)state;
	struct sl_conv_attr attr = {.stride = {2, 1}, .pad = {1, 0, 0, 1}, .groups = 2};
	struct sl_shape x = SL_SHAPE(2, 2, 4, 3);
	struct sl_shape w = SL_SHAPE(4, 1, 3, 2);
	struct sl_shape y = SL_SHAPE(2, 4, 2, 3);
	struct sl_graph *g = new_graph();
	const sl_val dy_w[] = {input(g, "a", y), input(g, "b", w)};

	check_gradients(g, sl_conv2d_dx(g, dy_w[0], dy_w[1], &attr, &x), dy_w, 2);
	g = new_graph();
	const sl_val x_dy[] = {input(g, "a", x), input(g, "b", y)};
	check_gradients(g, sl_conv2d_dw(g, x_dy[0], x_dy[1], &attr, &w), x_dy, 2);
}

static void an_empty_batch_gives_an_empty_result_and_zero_dw(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(0, 1, 2, 2));
	sl_val w = input(g, "w", SL_SHAPE(1, 1, 2, 2));
	sl_val dy;
	sl_val dw;

	backward(g, sl_conv2d(g, x, w, SL_VAL_NONE, NULL), &dy, &w, 1, &dw);
	sl_assert_ok(sl_eval_init(&e, g));
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, dw, 0, 0, 0, 0);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void refuse(struct sl_shape x, struct sl_shape w, const struct sl_conv_attr *attr,
	sl_status code, const char *part)
{
	struct sl_graph *g = new_graph();

	sl_conv2d(g, input(g, "x", x), input(g, "w", w), SL_VAL_NONE, attr);
	sl_assert_fails(sl_graph_status(g), code, part);
	sl_graph_destroy(g);
}

static void impossible_settings_are_refused(void **state)
{
	(void)state;
	struct sl_shape x = SL_SHAPE(1, 2, 3, 3);
	struct sl_conv_attr odd = {.groups = 2};
	struct sl_conv_attr wide = {.dilation = {1, INT32_MAX}};
	struct sl_conv_attr minus = {.pad = {-1, 0, 0, 0}};
	struct sl_conv_attr back = {.stride = {-1, 1}};

	refuse(x, SL_SHAPE(1, 2, 4, 1), NULL, SL_E_SHAPE, "padded height of 3");
	refuse(x, SL_SHAPE(1, 2, 1, 3), &wide, SL_E_SHAPE, "padded width of 3");
	refuse(x, SL_SHAPE(1, 2, 0, 1), NULL, SL_E_SHAPE, "kernel size 0");
	refuse(x, SL_SHAPE(1, 3, 1, 1), NULL, SL_E_SHAPE, "2 channels");
	refuse(x, SL_SHAPE(3, 1, 1, 1), &odd, SL_E_SHAPE, "3 output channels");
	refuse(x, SL_SHAPE(1, 2, 1, 1), &minus, SL_E_INVALID, "padding -1");
	refuse(x, SL_SHAPE(1, 2, 1, 1), &back, SL_E_INVALID, "stride -1");
	refuse(SL_SHAPE(3, 3), SL_SHAPE(1, 2, 1, 1), NULL, SL_E_SHAPE, "[N, C, H, W]");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_window_is_multiplied_without_flipping),
		SL_TEST(each_side_has_a_padding_of_its_own),
		SL_TEST(dilation_reads_every_second_input),
		SL_TEST(a_depthwise_channel_reads_its_own_input_only),
		SL_TEST(inputs_that_a_stride_skips_get_no_gradient),
		SL_TEST(gradients_hold_for_each_attribute),
		SL_TEST(the_gradients_are_differentiable_again),
		SL_TEST(an_empty_batch_gives_an_empty_result_and_zero_dw),
		SL_TEST(impossible_settings_are_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
