/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

static void windows_give_their_largest_and_their_mean(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 3, 3));
	struct sl_pool_attr attr = {.kernel = {2, 2}, .stride = {1, 1}};
	sl_val max = sl_max_pool2d(g, x, &attr);
	sl_val avg = sl_avg_pool2d(g, x, &attr);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, max, 5, 6, 8, 9);
	NEAR(&e, avg, 3, 4, 6, 7);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void padding_never_wins(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 2, 2));
	struct sl_pool_attr attr = {.kernel = {2, 2}, .pad = {1, 1, 1, 1}};
	sl_val y = sl_max_pool2d(g, x, &attr);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, -1, -2, -3, -(double)INFINITY);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, -1, -2, -3, -(double)INFINITY);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

/* x 3 by 3, windows of 2 by 2 at stride 1, dy = 1, 2, 3, 4. */
static void check_max_dx(const double x[9], const double want[9])
{
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val in = input(g, "x", SL_SHAPE(1, 1, 3, 3));
	sl_val dy = input(g, "dy", SL_SHAPE(1, 1, 2, 2));
	struct sl_pool_attr attr = {.kernel = {2, 2}, .stride = {1, 1}};
	sl_val dx = sl_max_pool2d_dx(g, in, dy, &attr);

	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_set(&e, in, x, 9);
	SET(&e, dy, 1, 2, 3, 4);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(sl_eval_near(&e, dx, want, 9, 0));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void overlapping_windows_add_up_at_their_winner(void **state)
{
	(void)state;
	const double x[9] = {1, 2, 3, 4, 9, 5, 6, 7, 8};
	const double dx[9] = {0, 0, 0, 0, 10, 0, 0, 0, 0};

	check_max_dx(x, dx);
}

static void the_first_of_equals_wins(void **state)
{
	(void)state;
	const double equal[9] = {0};
	const double low[9] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY,
		-INFINITY, -INFINITY, -INFINITY, -INFINITY};
	const double dx[9] = {1, 2, 0, 3, 4, 0, 0, 0, 0};

	check_max_dx(equal, dx);
	check_max_dx(low, dx);
}

static void nan_wins_over_everything(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 1, 4));
	struct sl_pool_attr attr = {.kernel = {1, 2}, .stride = {1, 1}};
	sl_val y = sl_max_pool2d(g, x, &attr);
	const double nan9[9] = {9, 1, 2, 3, NAN, 4, 5, 6, 7};
	const double dx[9] = {0, 0, 0, 0, 10, 0, 0, 0, 0};

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, NAN, INFINITY, 3);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, NAN, NAN, INFINITY);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
	check_max_dx(nan9, dx);
}

static void averages_count_what_their_setting_says(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 1, 4));
	struct sl_pool_attr attr = {
		.kernel = {1, 3}, .stride = {1, 2}, .pad = {0, 1, 0, 1}};
	sl_val floor_real = sl_avg_pool2d(g, x, &attr);
	attr.ceil_mode = true;
	sl_val ceil_real = sl_avg_pool2d(g, x, &attr);
	attr.count_include_pad = true;
	sl_val ceil_padded = sl_avg_pool2d(g, x, &attr);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, floor_real, 1.5, 3);
	NEAR(&e, ceil_real, 1.5, 3, 4);
	/* The last window is [3, 6), the padded input ends at 5: two count. */
	NEAR(&e, ceil_padded, 1, 3, 2);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void ceil_mode_drops_a_window_that_starts_in_right_padding(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 5, 2));
	struct sl_pool_attr attr = {.kernel = {2, 2},
		.stride = {2, 3},
		.pad = {0, 1, 0, 1},
		.ceil_mode = true};
	sl_val y = sl_max_pool2d(g, x, &attr);

	sl_assert_ok(sl_graph_status(g));
	assert_true(sl_shape_equal(&sl_val_type(g, y)->shape, &SL_SHAPE(1, 1, 3, 1)));
	sl_graph_destroy(g);
}

static void check(struct sl_shape shape, const struct sl_pool_attr *attr)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", shape);

	check_gradients(g, sl_max_pool2d(g, x, attr), &x, 1);
	g = new_graph();
	x = input(g, "x", shape);
	check_gradients(g, sl_avg_pool2d(g, x, attr), &x, 1);
}

static void gradients_hold_for_each_attribute(void **state)
{
	(void)state;
	struct sl_pool_attr plain = {.kernel = {2, 2}};
	struct sl_pool_attr overlap = {
		.kernel = {3, 2}, .stride = {1, 1}, .pad = {2, 0, 1, 1}};
	struct sl_pool_attr ceil = {.kernel = {3, 3},
		.stride = {2, 2},
		.pad = {1, 1, 1, 1},
		.ceil_mode = true,
		.count_include_pad = true};
	struct sl_pool_attr gaps = {
		.kernel = {1, 2}, .stride = {2, 3}, .ceil_mode = true};

	check(SL_SHAPE(2, 2, 4, 5), &plain);
	check(SL_SHAPE(1, 2, 4, 4), &overlap);
	check(SL_SHAPE(1, 1, 4, 6), &ceil);
	check(SL_SHAPE(1, 1, 5, 6), &gaps);
}

static void the_gradient_of_an_average_is_differentiable_again(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val dy = input(g, "a", SL_SHAPE(1, 2, 2, 2));
	struct sl_pool_attr attr = {.kernel = {2, 2}, .stride = {1, 1}};

	check_gradients(g, sl_avg_pool2d_dx(g, dy, &attr, &SL_SHAPE(1, 2, 3, 3)), &dy, 1);
}

static void a_global_average_keeps_four_axes(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 2, 1, 2));
	sl_val y = sl_global_avg_pool2d(g, x);

	assert_true(sl_shape_equal(&sl_val_type(g, y)->shape, &SL_SHAPE(1, 2, 1, 1)));
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 5, 8);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 1.5, 6.5);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void refuse(const struct sl_pool_attr *attr, sl_status code, const char *part)
{
	struct sl_graph *g = new_graph();

	sl_max_pool2d(g, input(g, "x", SL_SHAPE(1, 1, 2, 2)), attr);
	sl_assert_fails(sl_graph_status(g), code, part);
	sl_graph_destroy(g);
}

static void impossible_settings_are_refused(void **state)
{
	(void)state;
	struct sl_pool_attr large = {.kernel = {3, 1}};
	struct sl_pool_attr padded = {.kernel = {2, 2}, .pad = {0, 2, 0, 0}};

	refuse(NULL, SL_E_INVALID, "kernel size 0");
	refuse(&large, SL_E_SHAPE, "padded height of 2");
	refuse(&padded, SL_E_INVALID, "less than the kernel");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(windows_give_their_largest_and_their_mean),
		SL_TEST(padding_never_wins),
		SL_TEST(overlapping_windows_add_up_at_their_winner),
		SL_TEST(the_first_of_equals_wins),
		SL_TEST(nan_wins_over_everything),
		SL_TEST(averages_count_what_their_setting_says),
		SL_TEST(ceil_mode_drops_a_window_that_starts_in_right_padding),
		SL_TEST(gradients_hold_for_each_attribute),
		SL_TEST(the_gradient_of_an_average_is_differentiable_again),
		SL_TEST(a_global_average_keeps_four_axes),
		SL_TEST(impossible_settings_are_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
