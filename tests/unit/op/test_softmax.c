/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

static void shares_are_of_exponentials_along_the_axis(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2, 2));
	sl_val rows = sl_softmax(g, x, -1);
	sl_val columns = sl_softmax(g, x, 0);
	sl_val log_rows = sl_log_softmax(g, x, 1);
	const double q = log(4);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 0, log(3), log(4), log(12));
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, rows, 0.25, 0.75, 0.25, 0.75);
	NEAR(&e, columns, 0.2, 0.2, 0.8, 0.8);
	NEAR(&e, log_rows, -q, log(3) - q, -q, log(3) - q);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void large_and_infinite_logits_behave(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	const double inf = INFINITY;
	sl_val x = input(g, "x", SL_SHAPE(4, 2));
	sl_val y = sl_softmax(g, x, 1);
	sl_val z = sl_log_softmax(g, x, 1);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1e4, 1e4, -inf, 0, -inf, -inf, NAN, 0);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 0.5, 0.5, 0, 1, NAN, NAN, NAN, NAN);
	NEAR(&e, z, -log(2), -log(2), -inf, 0, NAN, NAN, NAN, NAN);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void gradients_hold_for_each_axis(void **state)
{
	(void)state;
	for (int axis = -3; axis < 3; axis++) {
		struct sl_graph *g = new_graph();
		sl_val x = input(g, "x", SL_SHAPE(2, 3, 2));
		check_gradients(g, sl_softmax(g, x, axis), &x, 1);
		g = new_graph();
		x = input(g, "x", SL_SHAPE(2, 3, 2));
		check_gradients(g, sl_log_softmax(g, x, axis), &x, 1);
	}
}

static void an_empty_axis_gives_an_empty_result(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val y = sl_softmax(g, input(g, "x", SL_SHAPE(2, 0)), 1);

	sl_assert_ok(sl_eval_init(&e, g));
	sl_assert_ok(sl_eval_run(&e));
	assert_int_equal(sl_eval_count(&e, y), 0);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void impossible_axes_and_integers_are_refused(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();

	sl_softmax(g, input(g, "x", SL_SHAPE(2, 3)), 2);
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "axis 2");
	sl_graph_destroy(g);
	g = new_graph();
	sl_log_softmax(g, input(g, "x", SL_SCALAR), -1);
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "axis");
	sl_graph_destroy(g);
	g = new_graph();
	sl_softmax(g, sl_input(g, "x", &(struct sl_type){SL_I32, SL_SHAPE(2)}, NULL), 0);
	sl_assert_fails(sl_graph_status(g), SL_E_DTYPE, "f32, bf16 or f64");
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(shares_are_of_exponentials_along_the_axis),
		SL_TEST(large_and_infinite_logits_behave),
		SL_TEST(gradients_hold_for_each_axis),
		SL_TEST(an_empty_axis_gives_an_empty_result),
		SL_TEST(impossible_axes_and_integers_are_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
