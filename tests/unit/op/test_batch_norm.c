/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

static sl_val state64(struct sl_graph *g, const char *name, int64_t n, double value)
{
	return sl_state(g, name, &(struct sl_type){SL_F64, SL_SHAPE(n)},
		(struct sl_init){.kind = SL_INIT_CONST, .value = value});
}

static sl_val full(struct sl_graph *g, int64_t n, double value)
{
	return sl_full(g, &(struct sl_type){SL_F64, SL_SHAPE(n)}, value);
}

static void training_uses_the_biased_variance_of_the_batch(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2, 1, 1, 2));
	sl_val out[3];
	const double r = 1 / sqrt(1.25);

	sl_batch_norm(g, x, full(g, 1, 2), full(g, 1, 1), 0, out);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, out[0], 1 - 3 * r, 1 - r, 1 + r, 1 + 3 * r);
	NEAR(&e, out[1], 2.5);
	NEAR(&e, out[2], 1.25);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void rows_without_an_image_are_normalised_by_column(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2, 2));
	sl_val out[3];

	sl_batch_norm(g, x, full(g, 2, 1), full(g, 2, 0), 0, out);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 10, 3, 30);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, out[0], -1, -1, 1, 1);
	NEAR(&e, out[1], 2, 20);
	NEAR(&e, out[2], 1, 100);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void a_large_mean_costs_no_digits(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(2, 1));
	sl_val out[3];

	sl_batch_norm(g, x, full(g, 1, 1), full(g, 1, 0), 0, out);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1e9, 1e9 + 2);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, out[0], -1, 1);
	NEAR(&e, out[2], 1);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void one_value_a_channel_is_refused(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val out[3];

	sl_batch_norm(g, input(g, "x", SL_SHAPE(1, 3, 1, 1)), full(g, 3, 1),
		full(g, 3, 0), 1e-5, out);
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "at least 2");
	sl_graph_destroy(g);
}

static void check_training(struct sl_shape x)
{
	struct sl_graph *g = new_graph();
	const sl_val in[] = {input(g, "x", x), input(g, "gamma", SL_SHAPE(x.dim[1])),
		input(g, "beta", SL_SHAPE(x.dim[1]))};
	sl_val out[3];

	check_gradients(g, sl_batch_norm(g, in[0], in[1], in[2], 1e-3, out), in, 3);
}

static void training_gradients_hold(void **state)
{
	(void)state;
	check_training(SL_SHAPE(2, 3, 2, 2));
	check_training(SL_SHAPE(5, 2));
	check_training(SL_SHAPE(1, 2, 1, 3));
}

static void inference_uses_the_given_statistics(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 2, 1, 1));
	sl_val y = sl_batch_norm_infer(
		g, x, full(g, 2, 3), full(g, 2, 1), full(g, 2, 4), full(g, 2, 0.25), 0);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 5, 3);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 7, -5);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void inference_gradients_hold(void **state)
{
	(void)state;
	const struct sl_shape shapes[] = {SL_SHAPE(2, 3, 2, 1), SL_SHAPE(2, 3)};

	for (size_t i = 0; i < SL_COUNT(shapes); i++) {
		struct sl_graph *g = new_graph();
		const sl_val in[] = {input(g, "x", shapes[i]),
			input(g, "gamma", SL_SHAPE(3)), input(g, "beta", SL_SHAPE(3))};
		sl_val y = sl_batch_norm_infer(
			g, in[0], in[1], in[2], full(g, 3, 0.2), full(g, 3, 0.7), 1e-3);
		check_gradients(g, y, in, 3);
	}
}

static void running_statistics_move_by_momentum_with_unbiased_variance(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val mean = state64(g, "mean", 1, 0);
	sl_val var = state64(g, "var", 1, 1);

	sl_stats_update(g, mean, var, full(g, 1, 2.5), full(g, 1, 1.25), 0.1, 4);
	sl_assert_ok(sl_eval_init(&e, g));
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, mean, 0.25);
	NEAR(&e, var, 0.9 + 0.1 * 1.25 * 4 / 3);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static struct sl_graph *template_of_four(void)
{
	static const uint8_t symbol[] = {1 + SL_DIM_BATCH, 0};
	struct sl_graph *g = new_graph();
	struct sl_type type = {SL_F64, SL_SHAPE(4, 1)};
	sl_val x = sl_input(g, "x", &type, symbol);
	sl_val mean = state64(g, "mean", 1, 0);
	sl_val var = state64(g, "var", 1, 0);
	sl_val out[3];

	sl_batch_norm(g, x, full(g, 1, 1), full(g, 1, 0), 1e-5, out);
	sl_stats_update(g, mean, var, out[1], out[2], 1, 4);
	sl_assert_ok(sl_graph_status(g));
	return g;
}

static void an_instance_of_another_batch_divides_by_its_own_count(void **state)
{
	(void)state;
	struct sl_graph *tmpl = template_of_four();
	struct sl_graph *g = new_graph();
	struct sl_bind two = {.size = {[SL_DIM_BATCH] = 2}};
	struct sl_eval e;

	sl_assert_ok(sl_graph_bind(g, tmpl, &two));
	sl_assert_ok(sl_eval_init(&e, g));
	const sl_val x = g->nodes[0].out[0];
	assert_string_equal(g->nodes[0].op->name, "feed");
	SET(&e, x, 1, 3);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, sl_graph_state_at(g, 0), 2);
	NEAR(&e, sl_graph_state_at(g, 1), 2);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

static void a_count_that_is_not_the_batch_s_is_refused(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val mean = state64(g, "mean", 1, 0);
	sl_val var = state64(g, "var", 1, 0);
	sl_val out[3];

	sl_batch_norm(
		g, input(g, "x", SL_SHAPE(4, 1)), full(g, 1, 1), full(g, 1, 0), 0, out);
	sl_stats_update(g, mean, var, out[1], out[2], 0.1, 8);
	sl_assert_fails(
		sl_graph_status(g), SL_E_INVALID, "8 values a channel given, x has 4");
	sl_graph_destroy(g);

	g = new_graph();
	sl_stats_update(g, state64(g, "mean", 1, 0), state64(g, "var", 1, 0),
		full(g, 1, 0), full(g, 1, 1), 0.1, 0);
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "at least 2");
	sl_graph_destroy(g);
}

static void a_gradient_into_the_mean_is_unsupported(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(4, 1));
	sl_val out[3];
	sl_val dx;

	sl_batch_norm(g, x, full(g, 1, 1), full(g, 1, 0), 1e-5, out);
	struct sl_grad_request r = {.loss = sl_sum(g, out[1], NULL),
		.seed = SL_VAL_NONE,
		.wrt = &x,
		.n_wrt = 1};
	sl_assert_fails(sl_graph_grad(g, &r, &dx), SL_E_UNSUPPORTED, "mean or variance");
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(training_uses_the_biased_variance_of_the_batch),
		SL_TEST(rows_without_an_image_are_normalised_by_column),
		SL_TEST(a_large_mean_costs_no_digits),
		SL_TEST(one_value_a_channel_is_refused),
		SL_TEST(training_gradients_hold),
		SL_TEST(inference_uses_the_given_statistics),
		SL_TEST(inference_gradients_hold),
		SL_TEST(running_statistics_move_by_momentum_with_unbiased_variance),
		SL_TEST(an_instance_of_another_batch_divides_by_its_own_count),
		SL_TEST(a_count_that_is_not_the_batch_s_is_refused),
		SL_TEST(a_gradient_into_the_mean_is_unsupported),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
