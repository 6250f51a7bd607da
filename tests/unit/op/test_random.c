/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/op/random.c; shape errors and gradients are in tests/cases/op/random.txt.
 */
#include "unit/op/numbers.h"

#include "base/rng.h"

#define COUNT 1000

static void run_dropout(struct sl_dropout_attr attr, uint64_t step, double y[COUNT])
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(COUNT));
	sl_val v = sl_dropout(g, x, &attr);
	struct sl_eval e;

	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_fill(&e, x, 3);
	e.run.seed = 42;
	e.run.step = step;
	sl_assert_ok(sl_eval_run(&e));
	for (int i = 0; i < COUNT; i++)
		y[i] = sl_eval_get(&e, v, i);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void an_element_is_kept_iff_its_number_is_at_least_the_ratio(void **state)
{
	const struct sl_dropout_attr attr = {.ratio = 0.25, .stream = 6, .base = 77};
	const struct sl_rng_key key = {.seed = 42, .stream = 6, .step = 5};
	double y[COUNT];
	int kept = 0;

	(void)state;
	run_dropout(attr, 5, y);
	for (int i = 0; i < COUNT; i++) {
		bool keep = sl_rng_unit(sl_rng_u32(&key, 77 + (uint64_t)i)) >= 0.25f;
		assert_true(y[i] == (keep ? 4 : 0));
		kept += keep;
	}
	assert_in_range(kept, 690, 810);
}

static void stream_and_step_choose_other_elements_and_base_shifts_them(void **state)
{
	static double y[4][COUNT];
	const struct sl_dropout_attr attr = {.ratio = 0.5};
	int other_stream = 0;
	int other_step = 0;

	(void)state;
	run_dropout(attr, 0, y[0]);
	run_dropout((struct sl_dropout_attr){.ratio = 0.5, .stream = 1}, 0, y[1]);
	run_dropout(attr, 1, y[2]);
	run_dropout((struct sl_dropout_attr){.ratio = 0.5, .base = 10}, 0, y[3]);
	for (int i = 0; i < COUNT; i++) {
		other_stream += y[0][i] != y[1][i];
		other_step += y[0][i] != y[2][i];
		assert_true(i < 10 || y[0][i] == y[3][i - 10]);
	}
	assert_in_range(other_stream, 400, 600);
	assert_in_range(other_step, 400, 600);
}

static void ratio_zero_keeps_all_and_ratio_one_none(void **state)
{
	double y[COUNT];

	(void)state;
	run_dropout((struct sl_dropout_attr){.ratio = 0}, 0, y);
	for (int i = 0; i < COUNT; i++)
		assert_true(y[i] == 3);
	run_dropout((struct sl_dropout_attr){.ratio = 1}, 0, y);
	for (int i = 0; i < COUNT; i++)
		assert_true(y[i] == 0);
}

static void the_gradient_drops_the_same_elements(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", SL_SHAPE(64));
	sl_val y = sl_dropout(g, x, &(struct sl_dropout_attr){.ratio = 0.5, .stream = 2});
	sl_val dy, dx;
	struct sl_eval e;

	(void)state;
	backward(g, y, &dy, &x, 1, &dx);
	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_fill(&e, x, 1);
	sl_eval_fill(&e, dy, 1);
	sl_assert_ok(sl_eval_run(&e));
	for (int i = 0; i < 64; i++)
		assert_true(sl_eval_get(&e, y, i) == sl_eval_get(&e, dx, i));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(an_element_is_kept_iff_its_number_is_at_least_the_ratio),
		SL_TEST(stream_and_step_choose_other_elements_and_base_shifts_them),
		SL_TEST(ratio_zero_keeps_all_and_ratio_one_none),
		SL_TEST(the_gradient_drops_the_same_elements),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
