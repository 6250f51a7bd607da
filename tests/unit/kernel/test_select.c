/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include "kernel/kernel.h"

static const struct sl_kernel *chosen_for(const char *op, enum sl_dtype t)
{
	struct sl_type in = {t, SL_SHAPE(2, 3)};
	struct sl_type out = in;
	struct sl_node_info n = {
		.op = sl_op_find(op), .n_in = 1, .n_out = 1, .in = &in, .out = &out};

	assert_non_null(n.op);
	return sl_kernel_select(&n);
}

static void a_kernel_is_preferred_and_the_reference_takes_the_rest(void **state)
{
	(void)state;
	assert_string_equal(chosen_for("relu", SL_F32)->name, "vec_relu");
	assert_ptr_equal(chosen_for("relu", SL_F64), &sl_kernel_ref);
	assert_int_equal(sl_kernel_ref.rank, 0);
}

static void an_operator_without_a_kernel_runs_its_reference(void **state)
{
	(void)state;
	assert_ptr_equal(chosen_for("step_next", SL_I64), &sl_kernel_ref);
}

static void a_node_without_a_reference_is_refused_in_words(void **state)
{
	(void)state;
	const struct sl_op *view = sl_op_find("reshape");
	struct sl_node_info n = {.op = view};
	struct sl_run run = {0};
	struct sl_call c = {.node = &n, .run = &run};

	assert_true(view->flags & SL_OP_VIEW);
	sl_assert_fails(sl_kernel_ref.run(&c), SL_E_UNSUPPORTED, "reshape");
}

static void names_of_kernels_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; sl_kernel_at(i); i++) {
		const struct sl_kernel *k = sl_kernel_at(i);
		assert_non_null(sl_op_find(k->op));
		assert_true(k->rank > 0 && k->run);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(k->name, sl_kernel_at(j)->name);
	}
	assert_null(sl_kernel_at(100000));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_kernel_is_preferred_and_the_reference_takes_the_rest),
		SL_TEST(an_operator_without_a_kernel_runs_its_reference),
		SL_TEST(a_node_without_a_reference_is_refused_in_words),
		SL_TEST(names_of_kernels_are_unique),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
