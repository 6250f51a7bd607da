/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/op/assign.c; shape errors are in tests/cases/op/optim.txt. */
#include "unit/op/numbers.h"

static const struct sl_init zero = {SL_INIT_ZERO, 0};

static void assign_copies_and_accumulate_adds(void **state)
{
	struct sl_graph *g = new_graph();
	const struct sl_type type = {SL_F64, SL_SHAPE(2)};
	sl_val s = sl_state(g, "s", &type, zero);
	sl_val x = input(g, "x", SL_SHAPE(2));
	struct sl_eval e;

	(void)state;
	assert_true(sl_val_is_none(sl_assign(g, s, x)));
	sl_val between = sl_affine(g, s, 1, 0);
	assert_true(sl_val_is_none(sl_accumulate(g, s, x)));
	sl_accumulate(g, s, s);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, -2);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, between, 1, -2);
	NEAR(&e, s, 4, -8);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void writing_through_a_view_changes_the_root(void **state)
{
	struct sl_graph *g = new_graph();
	const struct sl_type type = {SL_F64, SL_SHAPE(2, 2)};
	sl_val s = sl_state(g, "s", &type, zero);
	sl_val x = input(g, "x", SL_SHAPE(4));
	struct sl_eval e;

	(void)state;
	sl_accumulate(g, sl_reshape(g, s, &SL_SHAPE(4)), x);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4);
	sl_assert_ok(sl_eval_run(&e));
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, s, 2, 4, 6, 8);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(assign_copies_and_accumulate_adds),
		SL_TEST(writing_through_a_view_changes_the_root),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
