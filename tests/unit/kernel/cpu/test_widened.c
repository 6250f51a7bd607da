/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with bf16 among their operands that have no kernel of their own. */
#include "harness/harness.h"

#include <string.h>

#include "base/thread.h"
#include "harness/node_run.h"
#include "sluice/attrs.h"

typedef sl_status (*check_fn)(struct sl_node_run *got, struct sl_node_run *want);

static sl_status check_case(const struct sl_op_case *c, check_fn check, int *ran)
{
	struct sl_node_run got = {0};
	struct sl_node_run want = {0};
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_node_run_init(&got, c));
	if (!sl_kernel_widened.accepts(&got.info))
		goto out;
	SL_TRY_OUT(sl_node_run_init(&want, c));
	++*ran;
	st = check(&got, &want);
out:
	sl_node_run_finish(&got);
	sl_node_run_finish(&want);
	return st;
}

static void each_case(check_fn check)
{
	struct sl_op_cases cases = {0};
	int ran = 0;
	int failed = 0;

	sl_assert_ok(sl_op_cases_read(&cases, "tests/cases/op"));
	sl_assert_ok(sl_op_cases_read(&cases, "tests/cases/kernel"));
	for (size_t i = 0; i < cases.n; i++) {
		const struct sl_op_case *c = &cases.items[i];
		if (c->error != SL_OK || check_case(c, check, &ran) == SL_OK)
			continue;
		failed++;
		print_error("%s (%s): %s\n", c->where, c->op->name, sl_last_error());
	}
	sl_op_cases_finish(&cases);
	assert_int_equal(failed, 0);
	assert_true(ran > 10);
}

static sl_status check_reference(struct sl_node_run *got, struct sl_node_run *want)
{
	SL_TRY(sl_node_run_do(want, &sl_kernel_ref, NULL, -1));
	SL_TRY(sl_node_run_do(got, &sl_kernel_widened, NULL, -1));
	return sl_node_run_near(got, want, got->c->tol32);
}

static void it_gives_what_the_reference_gives(void **state)
{
	(void)state;
	each_case(check_reference);
}

static sl_status check_widths(struct sl_node_run *got, struct sl_node_run *want)
{
	struct sl_pool *pool = NULL;

	SL_TRY(sl_node_run_do(want, &sl_kernel_widened, NULL, -1));
	SL_TRY(sl_pool_create(3, &pool));
	sl_status st = sl_node_run_do(got, &sl_kernel_widened, pool, -1);
	sl_pool_destroy(pool);
	return st == SL_OK ? sl_node_run_near(got, want, 0) : st;
}

static void its_bits_do_not_depend_on_the_width_of_running(void **state)
{
	(void)state;
	each_case(check_widths);
}

static void nodes_of_f32_are_not_its_business(void **state)
{
	struct sl_type t = {SL_F32, SL_SHAPE(4)};
	struct sl_node_info n = {
		.op = sl_op_find("relu"), .n_in = 1, .n_out = 1, .in = &t, .out = &t};

	(void)state;
	assert_false(sl_kernel_widened.accepts(&n));
	assert_string_equal(sl_kernel_select(&n)->name, "vec_relu");
	t.dtype = SL_BF16;
	assert_string_equal(sl_kernel_select(&n)->name, "vec_relu");
}

static sl_status prepare_once(void *ctx)
{
	struct sl_type t[2] = {{SL_BF16, SL_SHAPE(2, 3)}, {SL_BF16, SL_SHAPE(2)}};
	struct sl_reduce_attr attr = {.axes = 2};
	struct sl_node_info n = {
		.op = ctx, .attr = &attr, .n_in = 1, .n_out = 1, .in = t, .out = t + 1};
	struct sl_kernel_env env = {.threads = 2};
	struct sl_prepared p = {0};

	assert_true(sl_kernel_widened.accepts(&n));
	SL_TRY(sl_kernel_widened.prepare(&n, &env, &p));
	sl_kernel_widened.release(p.state);
	return SL_OK;
}

static void running_out_of_memory_does_no_harm(void **state)
{
	(void)state;
	sl_torture(prepare_once, (void *)(uintptr_t)sl_op_find("max"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(it_gives_what_the_reference_gives),
		SL_TEST(its_bits_do_not_depend_on_the_width_of_running),
		SL_TEST(nodes_of_f32_are_not_its_business),
		SL_TEST(running_out_of_memory_does_no_harm),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
