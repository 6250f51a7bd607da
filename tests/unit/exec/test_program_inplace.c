/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/exec/program.c: gradients in the bytes of what they are made of. */
#include "harness/harness.h"

#include <string.h>

#include "exec/program.h"
#include "sluice/ops.h"

/* The argument of the op so named whose storage its first output takes, or -1. */
static int taken(const struct sl_program *p, const char *name)
{
	for (uint32_t k = 0; k < p->n_ops; k++) {
		const struct sl_program_op *op = &p->ops[k];
		if (strcmp(op->info.op->name, name) != 0)
			continue;
		for (int i = 0; i < op->info.n_in; i++)
			if (op->args[i].storage == op->args[op->info.n_in].storage)
				return i;
		return -1;
	}
	fail_msg("the program has no %s", name);
	return -1;
}

static sl_val in(struct sl_graph *g, const char *name, struct sl_shape shape)
{
	return sl_input(g, name, &(struct sl_type){SL_F32, shape}, NULL);
}

static int taken_by_pool_gradient(int64_t kernel, int64_t stride)
{
	struct sl_pool_attr attr = {
		.kernel = {kernel, kernel}, .stride = {stride, stride}};
	struct sl_program *p = NULL;
	struct sl_graph *g;
	int64_t out = (12 - kernel) / stride + 1;

	sl_assert_ok(sl_graph_create(&g));
	sl_val x = in(g, "x", SL_SHAPE(2, 3, 12, 12));
	sl_val dy = in(g, "dy", SL_SHAPE(2, 3, out, out));
	sl_output(g, "dx", sl_max_pool2d_dx(g, x, dy, &attr));
	sl_assert_ok(sl_program_seal(g, 1, &p));
	int i = taken(p, "max_pool2d_dx");
	sl_program_destroy(p);
	sl_graph_destroy(g);
	return i;
}

static void a_pool_gradient_overwrites_its_input_where_windows_lie_apart(void **state)
{
	(void)state;
	assert_int_equal(taken_by_pool_gradient(2, 2), 0);
	assert_int_equal(taken_by_pool_gradient(2, 3), 0);
}

static void a_pool_gradient_spares_its_input_where_windows_overlap(void **state)
{
	(void)state;
	assert_int_equal(taken_by_pool_gradient(3, 2), -1);
	assert_int_equal(taken_by_pool_gradient(2, 1), -1);
}

static void norm_gradients_overwrite_the_gradient_that_comes_in(void **state)
{
	struct sl_program *p = NULL;
	struct sl_graph *g;
	sl_val d[3];

	(void)state;
	sl_assert_ok(sl_graph_create(&g));
	sl_val x = in(g, "x", SL_SHAPE(4, 5));
	sl_val row = in(g, "row", SL_SHAPE(4));
	sl_val column = in(g, "column", SL_SHAPE(5));
	sl_batch_norm_dx(g, x, column, column, column, in(g, "a", SL_SHAPE(4, 5)), 0, d);
	sl_output(g, "batch", d[0]);
	sl_layer_norm_dx(g, x, column, row, row, in(g, "b", SL_SHAPE(4, 5)), d);
	sl_output(g, "layer", d[0]);
	sl_assert_ok(sl_program_seal(g, 1, &p));
	assert_int_equal(taken(p, "batch_norm_dx"), 4);
	assert_int_equal(taken(p, "layer_norm_dx"), 4);
	sl_program_destroy(p);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_pool_gradient_overwrites_its_input_where_windows_lie_apart),
		SL_TEST(a_pool_gradient_spares_its_input_where_windows_overlap),
		SL_TEST(norm_gradients_overwrite_the_gradient_that_comes_in),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
