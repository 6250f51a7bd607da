/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

/* What torch.nn.functional.interpolate(mode="bilinear") gives. */
static void results_are_pytorchs(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 2, 2));
	sl_val z = input(g, "z", SL_SHAPE(1, 1, 1, 5));
	sl_val squares = sl_resize(g, x, &(struct sl_resize_attr){{4, 4}, false});
	sl_val points = sl_resize(g, x, &(struct sl_resize_attr){{2, 4}, true});
	sl_val less = sl_resize(g, z, &(struct sl_resize_attr){{1, 2}, false});
	sl_val ends = sl_resize(g, z, &(struct sl_resize_attr){{1, 3}, true});
	sl_val one = sl_resize(g, z, &(struct sl_resize_attr){{1, 1}, true});

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, x, 1, 2, 3, 4);
	SET(&e, z, 1, 2, 4, 8, 16);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, squares, 1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3,
		3.25, 3.75, 4);
	NEAR(&e, points, 1, 4.0 / 3, 5.0 / 3, 2, 3, 10.0 / 3, 11.0 / 3, 4);
	NEAR(&e, less, 1.75, 10); /* at 0.75 and 3.25 */
	NEAR(&e, ends, 1, 4, 16);
	NEAR(&e, one, 1);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void the_gradient_shares_out_all_that_arrives(void **state)
{
	(void)state;
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val dy = input(g, "dy", SL_SHAPE(1, 1, 1, 4));
	sl_val dx = sl_resize_dx(
		g, dy, &(struct sl_resize_attr){{1, 4}, false}, &SL_SHAPE(1, 1, 1, 2));

	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, dy, 1, 10, 100, 1000);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, dx, 1 + 7.5 + 25, 2.5 + 75 + 1000);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(results_are_pytorchs),
		SL_TEST(the_gradient_shares_out_all_that_arrives),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
