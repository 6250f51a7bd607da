/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

static void a_product_adds_its_bias_to_each_row(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val a = input(g, "a", SL_SHAPE(2, 3));
	sl_val b = input(g, "b", SL_SHAPE(3, 2));
	sl_val bias = input(g, "bias", SL_SHAPE(2));
	sl_val y = sl_matmul(g, a, b, SL_VAL_NONE, NULL);
	sl_val z = sl_matmul(g, a, b, bias, NULL);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, a, 1, 2, 3, 4, 5, 6);
	SET(&e, b, 7, 8, 9, 10, 11, 12);
	SET(&e, bias, 1, -1);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 58, 64, 139, 154);
	NEAR(&e, z, 59, 63, 140, 153);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void transposed_operands_are_read_the_other_way_round(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val a = input(g, "a", SL_SHAPE(3, 2));
	sl_val b = input(g, "b", SL_SHAPE(2, 3));
	struct sl_matmul_attr both = {.trans_a = true, .trans_b = true};
	sl_val y = sl_matmul(g, a, b, SL_VAL_NONE, &both);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, a, 1, 4, 2, 5, 3, 6);
	SET(&e, b, 7, 9, 11, 8, 10, 12);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 58, 64, 139, 154);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void batch_axes_broadcast(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val a = input(g, "a", SL_SHAPE(2, 1, 1, 2));
	sl_val b = input(g, "b", SL_SHAPE(3, 2, 1));
	sl_val y = sl_matmul(g, a, b, SL_VAL_NONE, NULL);

	assert_true(sl_shape_equal(&sl_val_type(g, y)->shape, &SL_SHAPE(2, 3, 1, 1)));
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, a, 1, 2, 3, 4);
	SET(&e, b, 1, 1, 1, 0, 0, 1);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 3, 1, 2, 7, 3, 4);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void a_sum_of_nothing_is_zero_or_the_bias(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val a = input(g, "a", SL_SHAPE(2, 0));
	sl_val b = input(g, "b", SL_SHAPE(0, 2));
	sl_val bias = input(g, "bias", SL_SHAPE(2));
	sl_val y = sl_matmul(g, a, b, SL_VAL_NONE, NULL);
	sl_val z = sl_matmul(g, a, b, bias, NULL);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, bias, 5, 6);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 0, 0, 0, 0);
	NEAR(&e, z, 5, 6, 5, 6);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void check_flags(const struct sl_matmul_attr *attr)
{
	struct sl_graph *g = new_graph();
	sl_val in[3];

	in[0] = input(g, "a", attr->trans_a ? SL_SHAPE(3, 2) : SL_SHAPE(2, 3));
	in[1] = input(g, "b", attr->trans_b ? SL_SHAPE(4, 3) : SL_SHAPE(3, 4));
	in[2] = input(g, "bias", SL_SHAPE(4));
	check_gradients(g, sl_matmul(g, in[0], in[1], in[2], attr), in, 3);
}

static void gradients_hold_for_each_pair_of_transpositions(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		check_flags(&(struct sl_matmul_attr){.trans_a = i & 1, .trans_b = i & 2});
}

static void check_batches(
	struct sl_shape a, struct sl_shape b, const struct sl_matmul_attr *attr)
{
	struct sl_graph *g = new_graph();
	const sl_val in[] = {input(g, "a", a), input(g, "b", b)};

	check_gradients(g, sl_matmul(g, in[0], in[1], SL_VAL_NONE, attr), in, 2);
}

static void gradients_sum_over_broadcast_batches(void **state)
{
	(void)state;
	struct sl_matmul_attr ta = {.trans_a = true};
	struct sl_matmul_attr tb = {.trans_b = true};

	check_batches(SL_SHAPE(2, 1, 2, 3), SL_SHAPE(3, 3, 2), NULL);
	check_batches(SL_SHAPE(2, 2, 3), SL_SHAPE(3, 2), NULL);
	check_batches(SL_SHAPE(2, 2, 3), SL_SHAPE(2, 3), &tb);
	check_batches(SL_SHAPE(2, 3, 2), SL_SHAPE(3, 2), &ta);
	check_batches(SL_SHAPE(2, 3), SL_SHAPE(2, 2, 2, 3), &tb);
	check_batches(SL_SHAPE(3, 2), SL_SHAPE(2, 3, 2), &ta);
}

/* db of rank 2 is one product over all rows, not one a batch. */
static void a_shared_matrix_gets_its_gradient_from_one_product(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val a = input(g, "a", SL_SHAPE(5, 2, 3));
	sl_val b = input(g, "b", SL_SHAPE(3, 2));
	sl_val dy;
	sl_val db;

	backward(g, sl_matmul(g, a, b, SL_VAL_NONE, NULL), &dy, &b, 1, &db);
	const struct sl_ir_node *last = &g->nodes[g->values[db.index].producer];
	assert_string_equal(last->op->name, "matmul");
	assert_int_equal(sl_val_type(g, last->in[0])->shape.rank, 2);
	sl_graph_destroy(g);
}

static void empty_batches_have_gradients_of_zero(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val in[] = {input(g, "a", SL_SHAPE(0, 2, 2)), input(g, "b", SL_SHAPE(2, 2))};
	sl_val d[2];
	sl_val dy;

	backward(g, sl_matmul(g, in[0], in[1], SL_VAL_NONE, NULL), &dy, in, 2, d);
	sl_assert_ok(sl_eval_init(&e, g));
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, d[1], 0, 0, 0, 0);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void misfits_are_refused_with_both_shapes(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	sl_val a = input(g, "a", SL_SHAPE(2, 3));

	sl_matmul(g, a, a, SL_VAL_NONE, NULL);
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "[2, 3] has 3, [2, 3] has 2");
	sl_graph_destroy(g);

	g = new_graph();
	sl_matmul(g, input(g, "v", SL_SHAPE(3)), input(g, "b", SL_SHAPE(3, 2)),
		SL_VAL_NONE, NULL);
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "at least 2 dimensions");
	sl_graph_destroy(g);
}

static sl_status build_with_gradients(void *ctx)
{
	struct sl_graph *g = NULL;
	struct sl_type a = {SL_F64, SL_SHAPE(2, 2, 3)};
	struct sl_type b = {SL_F64, SL_SHAPE(3, 2)};
	sl_val d[2];
	sl_status st;

	(void)ctx;
	SL_TRY(sl_graph_create(&g));
	const sl_val in[] = {sl_input(g, "a", &a, NULL), sl_input(g, "b", &b, NULL)};
	sl_val y = sl_matmul(g, in[0], in[1], SL_VAL_NONE, NULL);
	y = sl_matmul(g, in[1], y, SL_VAL_NONE, NULL);
	struct sl_grad_request r = {.loss = sl_sum(g, sl_softmax(g, y, -1), NULL),
		.seed = SL_VAL_NONE,
		.wrt = in,
		.n_wrt = 2};
	SL_TRY_OUT(sl_graph_status(g));
	SL_TRY_OUT(sl_graph_grad(g, &r, d));
out:
	sl_graph_destroy(g);
	return st;
}

static void every_failing_allocation_ends_in_a_status(void **state)
{
	(void)state;
	assert_true(sl_torture(build_with_gradients, NULL) > 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_product_adds_its_bias_to_each_row),
		SL_TEST(transposed_operands_are_read_the_other_way_round),
		SL_TEST(batch_axes_broadcast),
		SL_TEST(a_sum_of_nothing_is_zero_or_the_bias),
		SL_TEST(gradients_hold_for_each_pair_of_transpositions),
		SL_TEST(gradients_sum_over_broadcast_batches),
		SL_TEST(a_shared_matrix_gets_its_gradient_from_one_product),
		SL_TEST(empty_batches_have_gradients_of_zero),
		SL_TEST(misfits_are_refused_with_both_shapes),
		SL_TEST(every_failing_allocation_ends_in_a_status),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
