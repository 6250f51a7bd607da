/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/op/embedding.c; shape errors and gradients are in
 * tests/cases/op/index.txt. */
#include "unit/op/numbers.h"

static const struct sl_type indices_2x2 = {SL_I32, {.rank = 2, .dim = {2, 2}}};

static void rows_of_the_table_are_copied(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val table = input(g, "table", SL_SHAPE(3, 2));
	sl_val i = sl_input(g, "i", &indices_2x2, NULL);
	sl_val y = sl_embedding(g, table, i);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	assert_true(sl_shape_equal(&sl_val_type(g, y)->shape, &SL_SHAPE(2, 2, 2)));
	SET(&e, table, 1, 2, 3, 4, 5, 6);
	SET(&e, i, 2, 0, 0, 1);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 5, 6, 1, 2, 1, 2, 3, 4);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void duplicates_add_up_in_index_order(void **state)
{
	struct sl_graph *g = new_graph();
	const struct sl_type table_type = {SL_F32, SL_SHAPE(3, 1)};
	const struct sl_type dy_type = {SL_F32, SL_SHAPE(2, 2, 1)};
	sl_val i = sl_input(g, "i", &indices_2x2, NULL);
	sl_val dy = sl_input(g, "dy", &dy_type, NULL);
	sl_val dw = sl_embedding_dw(g, i, dy, 3);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	assert_true(sl_shape_equal(&sl_val_type(g, dw)->shape, &table_type.shape));
	SET(&e, i, 1, 1, 1, 0);
	/* In f32, (2^24 + 1) - 2^24 is 0 in this order and 1 in another. */
	SET(&e, dy, 0x1p24, 1, -0x1p24, 7);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, dw, 7, 0, 0);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void an_index_outside_is_refused_with_position_and_bound(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val table = input(g, "table", SL_SHAPE(3, 2));
	sl_val i = sl_input(g, "i", &indices_2x2, NULL);
	struct sl_eval e;

	(void)state;
	sl_embedding(g, table, i);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, i, 0, 1, 2, 3);
	sl_assert_fails(sl_eval_run(&e), SL_E_INVALID,
		"index 3 at position 3 is outside of [0, 3)");
	SET(&e, i, -1, 1, 2, 3);
	sl_assert_fails(sl_eval_run(&e), SL_E_INVALID, "index -1 at position 0");
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

/* Looked up twice and multiplied, as a tied output layer is: whatever comes first. */
static void gradients_of_a_table_used_again_meet_in_its_rows(void **state)
{
	struct sl_graph *g = new_graph();
	const struct sl_type dy_type = {SL_F64, SL_SHAPE(2, 2, 2)};
	sl_val table = input(g, "table", SL_SHAPE(3, 2));
	sl_val i = sl_input(g, "i", &indices_2x2, NULL);
	sl_val k = sl_input(g, "k", &indices_2x2, NULL);
	sl_val dy;
	sl_val dw;
	struct sl_eval e;

	(void)state;
	sl_val y = sl_add(g, sl_embedding(g, table, i), sl_embedding(g, table, k));
	y = sl_add(g, y,
		sl_slice(g, sl_mul(g, table, table),
			&(struct sl_slice_attr){.begin = {1, 0}, .end = {2, 2}}));
	backward(g, y, &dy, &table, 1, &dw);
	assert_true(sl_shape_equal(&sl_val_type(g, y)->shape, &dy_type.shape));
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, table, 1, 2, 3, 4, 5, 6);
	SET(&e, i, 2, 0, 0, 1);
	SET(&e, k, 2, 2, 2, 0);
	SET(&e, dy, 1, 2, 3, 4, 5, 6, 7, 8);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, dw, 3 + 5 + 7, 4 + 6 + 8, 7 + 6 * 16, 8 + 8 * 20, 1 + 1 + 3 + 5,
		2 + 2 + 4 + 6);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(rows_of_the_table_are_copied),
		SL_TEST(duplicates_add_up_in_index_order),
		SL_TEST(gradients_of_a_table_used_again_meet_in_its_rows),
		SL_TEST(an_index_outside_is_refused_with_position_and_bound),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
