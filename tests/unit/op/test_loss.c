/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

/* Logits [n, 3] with labels of one type, the loss, and its gradient by the logits. */
struct bed {
	struct sl_graph *g;
	struct sl_eval e;
	sl_val logits, labels, loss, grad;
};

static const struct sl_cross_entropy_attr ignoring = {
	.ignore_index = -100, .has_ignore = true};

static void begin(struct bed *b, int64_t n, enum sl_dtype labels,
	const struct sl_cross_entropy_attr *attr)
{
	b->g = new_graph();
	b->logits = input(b->g, "x", SL_SHAPE(n, 3));
	b->labels =
		sl_input(b->g, "labels", &(struct sl_type){labels, SL_SHAPE(n)}, NULL);
	b->loss = sl_cross_entropy(b->g, b->logits, b->labels, attr);
	struct sl_grad_request r = {
		.loss = b->loss, .seed = SL_VAL_NONE, .wrt = &b->logits, .n_wrt = 1};
	sl_assert_ok(sl_graph_grad(b->g, &r, &b->grad));
	sl_assert_ok(sl_eval_init(&b->e, b->g));
}

static void end(struct bed *b)
{
	sl_eval_finish(&b->e);
	sl_graph_destroy(b->g);
}

static void the_loss_is_the_mean_of_counted_rows(void **state)
{
	(void)state;
	for (int narrow = 0; narrow < 2; narrow++) {
		struct bed b;
		begin(&b, 3, narrow ? SL_I32 : SL_I64, &ignoring);
		SET(&b.e, b.logits, 0, log(2), log(5), 1, 2, 3, log(3), 0, 0);
		SET(&b.e, b.labels, 2, -100, 1);
		sl_assert_ok(sl_eval_run(&b.e));
		NEAR(&b.e, b.loss, (log(8.0 / 5) + log(5)) / 2);
		NEAR(&b.e, b.grad, 1.0 / 16, 2.0 / 16, -3.0 / 16, 0, 0, 0, 3.0 / 10,
			-4.0 / 10, 1.0 / 10);
		end(&b);
	}
}

static void nothing_counted_is_nan_with_a_zero_gradient(void **state)
{
	(void)state;
	struct bed b;

	begin(&b, 2, SL_I64, &ignoring);
	SET(&b.e, b.logits, 1, 2, 3, -INFINITY, NAN, 0);
	SET(&b.e, b.labels, -100, -100);
	sl_assert_ok(sl_eval_run(&b.e));
	NEAR(&b.e, b.loss, NAN);
	NEAR(&b.e, b.grad, 0, 0, 0, 0, 0, 0);
	end(&b);
}

static void infinite_logits_in_an_ignored_row_give_zero(void **state)
{
	(void)state;
	struct bed b;

	begin(&b, 2, SL_I64, &ignoring);
	SET(&b.e, b.logits, 0, 0, 0, -INFINITY, -INFINITY, -INFINITY);
	SET(&b.e, b.labels, 0, -100);
	sl_assert_ok(sl_eval_run(&b.e));
	NEAR(&b.e, b.loss, log(3));
	NEAR(&b.e, b.grad, -2.0 / 3, 1.0 / 3, 1.0 / 3, 0, 0, 0);
	end(&b);
}

static void logits_of_ten_thousand_do_not_overflow(void **state)
{
	(void)state;
	struct bed b;

	begin(&b, 2, SL_I64, NULL);
	SET(&b.e, b.logits, 1e4, 1e4, -1e4, -INFINITY, 5, 5);
	SET(&b.e, b.labels, 0, 1);
	sl_assert_ok(sl_eval_run(&b.e));
	NEAR(&b.e, b.loss, log(2));
	NEAR(&b.e, b.grad, -0.25, 0.25, 0, 0, -0.25, 0.25);
	end(&b);
}

static void a_label_out_of_range_is_named_with_position_and_classes(void **state)
{
	(void)state;
	struct bed b;

	begin(&b, 3, SL_I64, &ignoring);
	SET(&b.e, b.labels, 2, -100, 3);
	sl_assert_fails(sl_eval_run(&b.e), SL_E_INVALID,
		"label 3 at position 2 is not one of the classes 0 to 2");
	SET(&b.e, b.labels, 2, -1, 0);
	sl_assert_fails(sl_eval_run(&b.e), SL_E_INVALID, "label -1 at position 1");
	end(&b);
}

static void the_ignored_label_may_be_a_class(void **state)
{
	(void)state;
	const struct sl_cross_entropy_attr one = {.ignore_index = 1, .has_ignore = true};
	struct bed b;

	begin(&b, 2, SL_I64, &one);
	SET(&b.e, b.logits, 0, 9, 0, 0, 0, 0);
	SET(&b.e, b.labels, 1, 2);
	sl_assert_ok(sl_eval_run(&b.e));
	NEAR(&b.e, b.loss, log(3));
	end(&b);
}

static void squares_flow_to_input_and_target(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val in[2] = {input(g, "x", SL_SHAPE(2, 2)), input(g, "t", SL_SHAPE(2, 2))};

	check_gradients(g, sl_mse(g, in[0], in[1]), in, 2);
}

static void the_first_largest_logit_is_the_answer(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(4, 3));
	sl_val labels = sl_input(g, "l", &(struct sl_type){SL_I64, SL_SHAPE(4)}, NULL);
	sl_val correct = sl_count_correct(g, x, labels);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 3, 3, 1, 3, 3, 9, NAN, NAN, 0, 0, 0);
	SET(&e, labels, 1, 2, 1, -100);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, correct, 2);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_loss_is_the_mean_of_counted_rows),
		SL_TEST(nothing_counted_is_nan_with_a_zero_gradient),
		SL_TEST(infinite_logits_in_an_ignored_row_give_zero),
		SL_TEST(logits_of_ten_thousand_do_not_overflow),
		SL_TEST(a_label_out_of_range_is_named_with_position_and_classes),
		SL_TEST(the_ignored_label_may_be_a_class),
		SL_TEST(squares_flow_to_input_and_target),
		SL_TEST(the_first_largest_logit_is_the_answer),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
