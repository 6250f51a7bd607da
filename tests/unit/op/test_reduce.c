/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

static const struct sl_reduce_attr rows = {.axes = 2};

static void sums_and_means_are_over_the_named_axes(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2, 3));
	sl_val all = sl_sum(g, x, NULL);
	sl_val columns = sl_sum(g, x, &(struct sl_reduce_attr){.axes = 1});
	sl_val kept =
		sl_mean(g, x, &(struct sl_reduce_attr){.axes = 2, .keep_dims = true});

	assert_int_equal(sl_val_type(g, all)->shape.rank, 0);
	assert_true(sl_shape_equal(&sl_val_type(g, kept)->shape, &SL_SHAPE(2, 1)));
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4, 5, 9);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, all, 24);
	NEAR(&e, columns, 5, 7, 12);
	NEAR(&e, kept, 2, 6);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void nothing_adds_up_to_zero_and_has_no_mean(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2, 0));
	sl_val sum = sl_sum(g, x, &rows);
	sl_val mean = sl_mean(g, x, &rows);

	sl_assert_ok(sl_eval_init(&e, g));
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, sum, 0, 0);
	NEAR(&e, mean, NAN, NAN);
	sl_eval_finish(&e);
	sl_max(g, x, &rows);
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "[2, 0]");
	sl_graph_destroy(g);
}

static void ties_share_the_gradient_of_the_largest_and_nan_wins(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(3, 3));
	sl_val y = sl_max(g, x, &rows);
	sl_val dy;
	sl_val grad;

	backward(g, y, &dy, &x, 1, &grad);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 5, 5, 7, 6, 2, 3, NAN, 8);
	SET(&e, dy, 1, 1, 1);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 5, 7, NAN);
	NEAR(&e, grad, 0, 0.5, 0.5, 1, 0, 0, NAN, NAN, NAN);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void gradients_hold_for_every_set_of_axes(void **state)
{
	(void)state;
	for (uint32_t axes = 0; axes < 8; axes++) {
		for (int keep = 0; keep < 2; keep++) {
			struct sl_reduce_attr a = {.axes = axes, .keep_dims = keep};
			struct sl_graph *g = new_graph();
			sl_val x = input(g, "x", SL_SHAPE(2, 3, 2));
			check_gradients(g, sl_mean(g, x, &a), &x, 1);
			g = new_graph();
			x = input(g, "x", SL_SHAPE(2, 3, 2));
			check_gradients(g, sl_max(g, x, &a), &x, 1);
		}
	}
}

static void sum_to_undoes_broadcasting(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2, 3));
	sl_val row = sl_sum_to(g, x, &SL_SHAPE(3));
	sl_val column = sl_sum_to(g, x, &SL_SHAPE(2, 1));
	sl_val same = sl_sum_to(g, x, &SL_SHAPE(2, 3));

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4, 5, 6);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, row, 5, 7, 9);
	NEAR(&e, column, 6, 15);
	NEAR(&e, same, 1, 2, 3, 4, 5, 6);
	sl_eval_finish(&e);
	sl_sum_to(g, x, &SL_SHAPE(2));
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "[2, 3]");
	sl_graph_destroy(g);
}

static void an_axis_that_is_not_there_is_refused(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();

	sl_sum(g, input(g, "x", SL_SHAPE(2, 3)), &(struct sl_reduce_attr){.axes = 4});
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "0x4");
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(sums_and_means_are_over_the_named_axes),
		SL_TEST(nothing_adds_up_to_zero_and_has_no_mean),
		SL_TEST(ties_share_the_gradient_of_the_largest_and_nan_wins),
		SL_TEST(gradients_hold_for_every_set_of_axes),
		SL_TEST(sum_to_undoes_broadcasting),
		SL_TEST(an_axis_that_is_not_there_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
