/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

/* Gradient of sum(y) with respect to x, evaluated where x holds `at`. */
static void want_slopes(sl_val (*op)(struct sl_graph *g, sl_val x), const double *at,
	const double *want, int64_t n)
{
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(n));
	sl_val loss = sl_sum(g, op(g, x), NULL);
	sl_val grad;
	struct sl_grad_request r = {
		.loss = loss, .seed = SL_VAL_NONE, .wrt = &x, .n_wrt = 1};

	sl_assert_ok(sl_graph_grad(g, &r, &grad));
	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_set(&e, x, at, n);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(sl_eval_near(&e, grad, want, n, 1e-12));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void relu_is_flat_at_zero_and_lets_nan_through(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(4));
	sl_val y = sl_relu(g, x);
	const double at[] = {-1, 0, 2, NAN};
	const double slopes[] = {0, 0, 1, 1};

	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_set(&e, x, at, 4);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 0, 0, 2, NAN);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
	want_slopes(sl_relu, at, slopes, 4);
}

static void slopes_of_root_and_logarithm_are_infinite_at_zero(void **state)
{
	(void)state;
	const double at[] = {0, 4};

	want_slopes(sl_sqrt, at, (double[]){INFINITY, 0.25}, 2);
	want_slopes(sl_log, at, (double[]){INFINITY, 0.25}, 2);
}

static void values_are_those_of_the_formulas(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2));
	sl_val gelu = sl_gelu(g, x, false);
	sl_val gelu_tanh = sl_gelu(g, x, true);
	sl_val silu = sl_silu(g, x);
	sl_val sigmoid = sl_sigmoid(g, x);
	sl_val line = sl_affine(g, x, 3, -1);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, -2);
	sl_assert_ok(sl_eval_run(&e));
	/* Phi(1), Phi(-2): tables of the normal distribution. */
	NEAR(&e, gelu, 0.841344746068543, -2 * 0.0227501319481792);
	NEAR(&e, gelu_tanh, 0.841191990607477, -0.0454023059122894);
	NEAR(&e, silu, 1 / (1 + exp(-1)), -2 / (1 + exp(2)));
	NEAR(&e, sigmoid, 1 / (1 + exp(-1)), 1 / (1 + exp(2)));
	NEAR(&e, line, 2, -7);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void activations_at_infinity_are_as_in_pytorch(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2));
	sl_val gelu = sl_gelu(g, x, false);
	sl_val silu = sl_silu(g, x);
	sl_val tanh_x = sl_tanh(g, x);
	sl_val sigmoid = sl_sigmoid(g, x);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, INFINITY, -INFINITY);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, gelu, INFINITY, NAN);
	NEAR(&e, silu, INFINITY, NAN);
	NEAR(&e, tanh_x, 1, -1);
	NEAR(&e, sigmoid, 1, 0);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void gradients_hold(void **state)
{
	(void)state;
	static sl_val (*const ops[])(struct sl_graph * g, sl_val x) = {
		sl_tanh, sl_sigmoid, sl_silu, sl_exp};

	for (size_t i = 0; i < SL_COUNT(ops); i++) {
		struct sl_graph *g = new_graph();
		sl_val x = input(g, "x", SL_SHAPE(3, 2));
		check_gradients(g, ops[i](g, x), &x, 1);
	}
	for (int tanh_form = 0; tanh_form < 2; tanh_form++) {
		struct sl_graph *g = new_graph();
		sl_val x = input(g, "x", SL_SHAPE(5));
		check_gradients(g, sl_gelu(g, x, tanh_form), &x, 1);
	}
}

static void a_word_for_whole_numbers_names_the_type(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &(struct sl_type){SL_I32, SL_SHAPE(2)}, NULL);

	sl_relu(g, x);
	sl_assert_fails(sl_graph_status(g), SL_E_DTYPE, "i32");
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(relu_is_flat_at_zero_and_lets_nan_through),
		SL_TEST(slopes_of_root_and_logarithm_are_infinite_at_zero),
		SL_TEST(values_are_those_of_the_formulas),
		SL_TEST(activations_at_infinity_are_as_in_pytorch),
		SL_TEST(gradients_hold),
		SL_TEST(a_word_for_whole_numbers_names_the_type),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
