/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/op/index.c; shape errors and gradients are in tests/cases/op/index.txt. */
#include "unit/op/numbers.h"

static const struct sl_type four_indices = {SL_I64, {.rank = 1, .dim = {4}}};

static void gather_picks_rows_and_counts_negative_ones_from_the_end(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(2, 3));
	sl_val i = sl_input(g, "i", &four_indices, NULL);
	sl_val y = sl_gather(g, x, i, -1);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4, 5, 6);
	SET(&e, i, 0, -1, 2, -3);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 1, 3, 3, 1, 4, 6, 6, 4);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void gather_dx_adds_up_duplicates(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(3, 1));
	sl_val i = sl_input(g, "i", &four_indices, NULL);
	sl_val dy, dx;
	struct sl_eval e;

	(void)state;
	backward(g, sl_gather(g, x, i, 0), &dy, &x, 1, &dx);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, i, 2, 0, -1, 2);
	SET(&e, dy, 1, 10, 100, 1000);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, dx, 10, 0, 1101);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void an_index_outside_is_refused_with_position_and_bound(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(3, 1));
	sl_val i = sl_input(g, "i", &four_indices, NULL);
	struct sl_eval e;

	(void)state;
	sl_gather(g, x, i, 0);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, i, 0, 2, 3, 0);
	sl_assert_fails(sl_eval_run(&e), SL_E_INVALID,
		"index 3 at position 2 is outside of [-3, 3)");
	SET(&e, i, 0, -4, 0, 0);
	sl_assert_fails(sl_eval_run(&e), SL_E_INVALID, "index -4 at position 1");
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void nothing_gathered_from_nothing_is_fine(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(0, 3));
	sl_val i = sl_input(g, "i", &(struct sl_type){SL_I32, SL_SHAPE(0)}, NULL);
	sl_val y = sl_gather(g, x, i, 0);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	sl_assert_ok(sl_eval_run(&e));
	assert_int_equal(sl_eval_count(&e, y), 0);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(gather_picks_rows_and_counts_negative_ones_from_the_end),
		SL_TEST(gather_dx_adds_up_duplicates),
		SL_TEST(an_index_outside_is_refused_with_position_and_bound),
		SL_TEST(nothing_gathered_from_nothing_is_fine),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
