/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include "kernel/cpu/collapse.h"

static struct sl_collapsed collapse(
	struct sl_shape over, struct sl_shape first, struct sl_shape second)
{
	int64_t a[SL_MAX_RANK];
	int64_t b[SL_MAX_RANK];
	struct sl_collapsed c;

	sl_broadcast_strides(&first, &over, a);
	sl_broadcast_strides(&second, &over, b);
	sl_collapse(&over, a, b, &c);
	return c;
}

static void dense_operands_have_one_axis(void **state)
{
	(void)state;
	struct sl_shape s = SL_SHAPE(2, 1, 3, 4);
	struct sl_collapsed c = collapse(s, s, s);

	assert_int_equal(c.rank, 1);
	assert_int_equal(c.dim[0], 24);
	assert_int_equal(c.stride[0][0], 1);
}

static void a_channel_vector_leaves_three(void **state)
{
	(void)state;
	struct sl_shape s = SL_SHAPE(2, 3, 4, 5);
	struct sl_collapsed c = collapse(s, s, SL_SHAPE(3, 1, 1));

	assert_int_equal(c.rank, 3);
	assert_int_equal(c.dim[0], 20);
	assert_int_equal(c.stride[1][0], 0);
	assert_int_equal(c.dim[1], 3);
	assert_int_equal(c.stride[1][1], 1);
	assert_int_equal(c.stride[1][2], 0);
}

static void offsets_of_rows_are_those_of_the_walk(void **state)
{
	(void)state;
	struct sl_shape s = SL_SHAPE(2, 3, 4, 5);
	struct sl_collapsed c = collapse(s, s, SL_SHAPE(3, 1, 1));

	for (int64_t row = 0; row < 6; row++) {
		int64_t at[2];
		sl_collapsed_at(&c, row, at);
		assert_int_equal(at[0], row * 20);
		assert_int_equal(at[1], row % 3);
	}
}

static void empty_and_single_shapes_have_one_axis(void **state)
{
	(void)state;
	struct sl_collapsed none = collapse(SL_SHAPE(2, 0), SL_SHAPE(2, 0), SL_SCALAR);
	struct sl_collapsed one = collapse(SL_SCALAR, SL_SCALAR, SL_SCALAR);

	assert_int_equal(none.rank, 1);
	assert_int_equal(none.dim[0], 0);
	assert_int_equal(one.rank, 1);
	assert_int_equal(one.dim[0], 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(dense_operands_have_one_axis),
		SL_TEST(a_channel_vector_leaves_three),
		SL_TEST(offsets_of_rows_are_those_of_the_walk),
		SL_TEST(empty_and_single_shapes_have_one_axis),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
