/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/op/view.c and view_move.c; shape errors and gradients are in
 * tests/cases/op/view.txt. */
#include "unit/op/numbers.h"

#include "graph/ir.h"

static const int64_t all = INT64_MAX;

static void transpose_moves_axis_perm_i_to_i(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(2, 3));
	sl_val y = sl_transpose(g, x, (const int[SL_MAX_RANK]){1, 0});
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4, 5, 6);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 1, 4, 2, 5, 3, 6);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void transpose_of_three_axes_and_back_is_the_same(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(2, 3, 4));
	sl_val y = sl_transpose(g, x, (const int[SL_MAX_RANK]){2, 0, 1});
	sl_val z = sl_transpose(g, y, (const int[SL_MAX_RANK]){1, 2, 0});
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	assert_true(sl_shape_equal(&sl_val_type(g, y)->shape, &SL_SHAPE(4, 2, 3)));
	scatter(&e, x);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(sl_eval_near(&e, z, e.data[x.index], 24, 0));
	/* y[i, j, k] = x[j, k, i] */
	assert_true(sl_eval_get(&e, y, 3 * 6 + 1 * 3 + 2) ==
		    sl_eval_get(&e, x, 1 * 12 + 2 * 4 + 3));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void slice_takes_begin_to_end_by_step(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(3, 4));
	const struct sl_slice_attr rows = {.begin = {1, 0}, .end = {all, all}};
	const struct sl_slice_attr odd = {
		.begin = {0, 1}, .end = {-1, all}, .step = {1, 2}};
	const struct sl_slice_attr none = {.begin = {2, 0}, .end = {1, all}};
	sl_val a = sl_slice(g, x, &rows);
	sl_val b = sl_slice(g, x, &odd);
	sl_val c = sl_slice(g, x, &none);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, a, 4, 5, 6, 7, 8, 9, 10, 11);
	NEAR(&e, b, 1, 3, 5, 7);
	assert_true(sl_shape_equal(&sl_val_type(g, c)->shape, &SL_SHAPE(0, 4)));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void slice_dx_is_zero_outside_of_the_slice(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(2, 3));
	const struct sl_slice_attr a = {.begin = {1, 0}, .end = {2, all}, .step = {1, 2}};
	sl_val dy, dx;
	struct sl_eval e;

	(void)state;
	backward(g, sl_slice(g, x, &a), &dy, &x, 1, &dx);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, dy, 7, 9);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, dx, 0, 0, 0, 7, 0, 9);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void concat_and_split_are_each_others_inverse(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(2, 6));
	sl_val part[3];
	sl_val first = sl_split(g, x, -1, 3, part);
	const sl_val turned[] = {part[2], part[0], part[1]};
	sl_val y = sl_concat(g, part, 3, -1);
	sl_val z = sl_concat(g, turned, 3, 1);
	struct sl_eval e;

	(void)state;
	assert_int_equal(first.index, part[0].index);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, part[1], 3, 4, 9, 10);
	NEAR(&e, y, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	NEAR(&e, z, 5, 6, 1, 2, 3, 4, 11, 12, 7, 8, 9, 10);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void split_refuses_unequal_parts(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val part[4];

	(void)state;
	sl_split(g, input(g, "x", SL_SHAPE(2, 6)), 1, 4, part);
	assert_int_equal(part[3].index, SL_VAL_POISON.index);
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "no 4 equal parts");
	sl_graph_destroy(g);
}

static void pad_puts_the_value_around(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(1, 2));
	const struct sl_pad_attr a = {.before = {1, 0}, .after = {0, 2}, .value = -1};
	sl_val y = sl_pad(g, x, &a);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 3, 4);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, -1, -1, -1, -1, 3, 4, -1, -1);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void expand_repeats_and_keeps_a_size_of_minus_one(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(2, 1));
	sl_val y = sl_expand(g, x, &SL_SHAPE(2, -1, 3));
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 5, 6);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 5, 5, 5, 6, 6, 6, 5, 5, 5, 6, 6, 6);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void whole_numbers_move_without_loss(void **state)
{
	struct sl_graph *g = new_graph();
	const struct sl_type type = {SL_I64, SL_SHAPE(1, 2)};
	sl_val x = sl_input(g, "x", &type, NULL);
	sl_val y = sl_transpose(g, x, (const int[SL_MAX_RANK]){1, 0});
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	/* Neither fits into a double. */
	((int64_t *)e.data[x.index])[0] = INT64_MAX;
	((int64_t *)e.data[x.index])[1] = INT64_MAX - 1;
	sl_assert_ok(sl_eval_run(&e));
	assert_true(((const int64_t *)e.data[y.index])[0] == INT64_MAX);
	assert_true(((const int64_t *)e.data[y.index])[1] == INT64_MAX - 1);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void reshape_shares_the_bytes(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(2, 3));
	sl_val y = sl_reshape(g, x, &SL_SHAPE(3, 2));
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	assert_ptr_equal(e.data[x.index], e.data[y.index]);
	assert_null(g->nodes[1].op->ref);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(transpose_moves_axis_perm_i_to_i),
		SL_TEST(transpose_of_three_axes_and_back_is_the_same),
		SL_TEST(slice_takes_begin_to_end_by_step),
		SL_TEST(slice_dx_is_zero_outside_of_the_slice),
		SL_TEST(concat_and_split_are_each_others_inverse),
		SL_TEST(split_refuses_unequal_parts),
		SL_TEST(pad_puts_the_value_around),
		SL_TEST(expand_repeats_and_keeps_a_size_of_minus_one),
		SL_TEST(whole_numbers_move_without_loss),
		SL_TEST(reshape_shares_the_bytes),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
