/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

static void floats_are_cut_towards_zero_and_held_to_the_range(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(6));
	sl_val i32 = sl_cast(g, x, SL_I32);
	sl_val i64 = sl_cast(g, x, SL_I64);
	sl_val u8 = sl_cast(g, x, SL_U8);

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1.9, -1.9, 1e30, -1e30, NAN, 300);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, i32, 1, -1, INT32_MAX, INT32_MIN, 0, 300);
	NEAR(&e, u8, 1, 0, 255, 0, 0, 255);
	const int64_t *got = e.data[i64.index];
	assert_true(got[2] == INT64_MAX && got[3] == INT64_MIN && got[1] == -1);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void whole_numbers_keep_their_low_bits(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = sl_input(g, "x", &(struct sl_type){SL_I64, SL_SHAPE(3)}, NULL);
	sl_val i32 = sl_cast(g, x, SL_I32);
	sl_val u8 = sl_cast(g, x, SL_U8);
	sl_val back = sl_cast(g, x, SL_I64);

	sl_assert_ok(sl_eval_init(&e, g));
	const int64_t at[] = {-1, ((int64_t)1 << 40) + 7, ((int64_t)1 << 62) + 1};
	for (int i = 0; i < 3; i++)
		((int64_t *)e.data[x.index])[i] = at[i];
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, i32, -1, 7, 1);
	NEAR(&e, u8, 255, 7, 1);
	assert_true(((int64_t *)e.data[back.index])[2] == at[2]);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void the_gradient_is_cast_back_and_stops_at_whole_numbers(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = sl_input(g, "x", &(struct sl_type){SL_F32, SL_SHAPE(2)}, NULL);
	sl_val through = sl_cast(g, sl_cast(g, x, SL_I32), SL_F64);
	sl_val wide = sl_mul(g, sl_cast(g, x, SL_F64), through);
	sl_val loss = sl_sum(g, wide, NULL);
	sl_val grad;
	struct sl_grad_request r = {
		.loss = loss, .seed = SL_VAL_NONE, .wrt = &x, .n_wrt = 1};

	sl_assert_ok(sl_graph_grad(g, &r, &grad));
	assert_int_equal(sl_val_type(g, grad)->dtype, SL_F32);
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 2.5, -3.5);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, grad, 2, -3);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(floats_are_cut_towards_zero_and_held_to_the_range),
		SL_TEST(whole_numbers_keep_their_low_bits),
		SL_TEST(the_gradient_is_cast_back_and_stops_at_whole_numbers),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
