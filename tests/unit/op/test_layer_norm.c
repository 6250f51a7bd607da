/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

static void rows_are_normalised_one_by_one(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2, 2));
	sl_val gamma = input(g, "gamma", SL_SHAPE(2));
	sl_val beta = input(g, "beta", SL_SHAPE(2));
	sl_val out[3];

	sl_layer_norm(g, x, gamma, beta, 0, out);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 3, 10, 30);
	SET(&e, gamma, 2, 3);
	SET(&e, beta, 0, 1);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, out[0], -2, 4, -2, 4);
	NEAR(&e, out[1], 2, 20);
	NEAR(&e, out[2], 1, 0.1);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void f32_rows_around_40000_keep_their_digits(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	struct sl_type row = {SL_F32, SL_SHAPE(1, 4)};
	struct sl_type vector = {SL_F32, SL_SHAPE(4)};
	sl_val x = sl_input(g, "x", &row, NULL);
	sl_val out[3];
	const double r = 1 / sqrt(1.25);
	const double want[] = {-1.5 * r, -0.5 * r, 0.5 * r, 1.5 * r};

	sl_layer_norm(g, x, sl_full(g, &vector, 1), sl_full(g, &vector, 0), 0, out);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 40000, 40001, 40002, 40003);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(sl_eval_near(&e, out[0], want, 4, 1e-6));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void check(struct sl_shape x)
{
	struct sl_graph *g = new_graph();
	int64_t c = x.dim[x.rank - 1];
	const sl_val in[] = {input(g, "x", x), input(g, "gamma", SL_SHAPE(c)),
		input(g, "beta", SL_SHAPE(c))};
	sl_val out[3];

	check_gradients(g, sl_layer_norm(g, in[0], in[1], in[2], 1e-3, out), in, 3);
}

static void gradients_hold_for_each_rank(void **state)
{
	(void)state;
	check(SL_SHAPE(5));
	check(SL_SHAPE(3, 4));
	check(SL_SHAPE(2, 2, 3));
	check(SL_SHAPE(4, 1));
}

static void no_rows_give_parameter_gradients_of_zero(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	const sl_val in[] = {
		input(g, "gamma", SL_SHAPE(2)), input(g, "beta", SL_SHAPE(2))};
	sl_val out[3];
	sl_val d[2];
	sl_val dy;

	sl_layer_norm(g, input(g, "x", SL_SHAPE(0, 2)), in[0], in[1], 1e-5, out);
	backward(g, out[0], &dy, in, 2, d);
	sl_assert_ok(sl_eval_init(&e, g));
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, d[0], 0, 0);
	NEAR(&e, d[1], 0, 0);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void empty_rows_and_a_negative_eps_are_refused(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val v = input(g, "v", SL_SHAPE(0));
	sl_val out[3];

	sl_layer_norm(g, input(g, "x", SL_SHAPE(2, 0)), v, v, 1e-5, out);
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "no element");
	sl_graph_destroy(g);
	g = new_graph();
	v = input(g, "v", SL_SHAPE(2));
	sl_layer_norm(g, v, v, v, -1, out);
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "eps -1");
	sl_graph_destroy(g);
}

static void a_gradient_into_rstd_is_unsupported(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(2));
	sl_val out[3];
	sl_val dx;

	sl_layer_norm(g, x, x, x, 1e-5, out);
	struct sl_grad_request r = {
		.loss = out[2], .seed = SL_VAL_NONE, .wrt = &x, .n_wrt = 1};
	sl_assert_fails(sl_graph_grad(g, &r, &dx), SL_E_UNSUPPORTED, "mean or rstd");
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(rows_are_normalised_one_by_one),
		SL_TEST(f32_rows_around_40000_keep_their_digits),
		SL_TEST(gradients_hold_for_each_rank),
		SL_TEST(no_rows_give_parameter_gradients_of_zero),
		SL_TEST(empty_rows_and_a_negative_eps_are_refused),
		SL_TEST(a_gradient_into_rstd_is_unsupported),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
