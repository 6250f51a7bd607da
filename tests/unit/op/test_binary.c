/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

typedef sl_val (*op_fn)(struct sl_graph *g, sl_val a, sl_val b);
static const op_fn ops[] = {sl_add, sl_sub, sl_mul, sl_div};

static void gradients_are_summed_over_added_and_stretched_axes(void **state)
{
	(void)state;
	const struct sl_shape pairs[][2] = {
		{SL_SHAPE(2, 3), SL_SHAPE(2, 3)},
		{SL_SHAPE(2, 3), SL_SHAPE(3)},
		{SL_SHAPE(2, 1), SL_SHAPE(1, 3)},
		{SL_SHAPE(2, 3, 2, 2), SL_SHAPE(3, 1, 1)},
		{SL_SCALAR, SL_SHAPE(4)},
		{SL_SHAPE(1), SL_SHAPE(2, 2)},
	};

	for (size_t o = 0; o < SL_COUNT(ops); o++) {
		for (size_t p = 0; p < SL_COUNT(pairs); p++) {
			struct sl_graph *g = new_graph();
			sl_val in[2] = {
				input(g, "a", pairs[p][0]), input(g, "b", pairs[p][1])};
			check_gradients(g, ops[o](g, in[0], in[1]), in, 2);
		}
	}
}

static void an_input_used_twice_gets_both_gradients(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(3));

	check_gradients(g, sl_mul(g, x, sl_add(g, x, x)), &x, 1);
}

/* d sum(a^b) by a and b at single points. */
static void want_pow(double a_at, double b_at, double y_want, double da, double db)
{
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val in[2] = {input(g, "a", SL_SHAPE(1)), input(g, "b", SL_SHAPE(1))};
	sl_val y = sl_pow(g, in[0], in[1]);
	sl_val grad[2];
	struct sl_grad_request r = {
		.loss = sl_sum(g, y, NULL), .seed = SL_VAL_NONE, .wrt = in, .n_wrt = 2};

	sl_assert_ok(sl_graph_grad(g, &r, grad));
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, in[0], a_at);
	SET(&e, in[1], b_at);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, y_want);
	NEAR(&e, grad[0], da);
	NEAR(&e, grad[1], db);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void powers_at_zero_and_of_negative_bases_are_as_in_pytorch(void **state)
{
	(void)state;
	const double inf = INFINITY;

	want_pow(2, 3, 8, 12, 8 * log(2));
	want_pow(0, 0, 1, 0, 0);
	want_pow(0, 1, 0, 1, 0);
	want_pow(0, 2, 0, 0, 0);
	want_pow(0, 0.5, 0, inf, 0);
	want_pow(0, -1, inf, -inf, -inf);
	want_pow(-2, 2, 4, -4, NAN);
	want_pow(-2, 0, 1, 0, NAN);
	want_pow(-2, 0.5, NAN, NAN, NAN);
}

static void gradients_of_powers_hold(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val in[2] = {input(g, "a", SL_SHAPE(2, 3)), input(g, "b", SL_SHAPE(3))};
	sl_val positive = sl_affine(g, in[0], 0.5, 1.5);

	check_gradients(g, sl_pow(g, positive, in[1]), in, 2);
}

static void division_by_zero_follows_the_numbers(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val a = input(g, "a", SL_SHAPE(3));
	sl_val b = input(g, "b", SL_SCALAR);
	sl_val y = sl_div(g, a, b);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, a, 1, 0, -1);
	SET(&e, b, 0);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, INFINITY, NAN, -INFINITY);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void shapes_that_do_not_broadcast_are_named(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();

	sl_add(g, input(g, "a", SL_SHAPE(2, 3)), input(g, "b", SL_SHAPE(2)));
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "[2, 3] and [2]");
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(gradients_are_summed_over_added_and_stretched_axes),
		SL_TEST(an_input_used_twice_gets_both_gradients),
		SL_TEST(powers_at_zero_and_of_negative_bases_are_as_in_pytorch),
		SL_TEST(gradients_of_powers_hold),
		SL_TEST(division_by_zero_follows_the_numbers),
		SL_TEST(shapes_that_do_not_broadcast_are_named),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
