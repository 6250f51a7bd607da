/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes. */
#include "harness/harness.h"

#include "sluice/tensor.h"

static void a_scalar_has_one_element(void **state)
{
	struct sl_shape s = SL_SCALAR;
	char text[SL_SHAPE_TEXT];
	int64_t n = 0;

	(void)state;
	sl_assert_ok(sl_shape_check(&s, &n));
	assert_int_equal(n, 1);
	assert_int_equal(sl_shape_count(&s), 1);
	assert_string_equal(sl_shape_print(&s, text), "[]");
}

static void counts_and_spans_multiply(void **state)
{
	struct sl_shape s = SL_SHAPE(2, 3, 4);
	struct sl_type t = {.dtype = SL_F64, .shape = s};

	(void)state;
	assert_int_equal(s.rank, 3);
	assert_int_equal(sl_shape_count(&s), 24);
	assert_int_equal(sl_shape_span(&s, 1, 3), 12);
	assert_int_equal(sl_shape_span(&s, 2, 2), 1);
	assert_int_equal(sl_type_bytes(&t), 192);
}

static void bad_shapes_are_refused(void **state)
{
	struct sl_shape negative = SL_SHAPE(2, -1);
	struct sl_shape large = SL_SHAPE((int64_t)1 << 40, 1 << 9);
	struct sl_shape hidden = SL_SHAPE(0, INT64_MAX, INT64_MAX);
	struct sl_shape most = SL_SHAPE((int64_t)1 << 40, 1 << 8);
	struct sl_shape rank = {.rank = 9};
	int64_t n = 5;

	(void)state;
	sl_assert_fails(sl_shape_check(&negative, &n), SL_E_SHAPE, "[2, -1]");
	sl_assert_fails(sl_shape_check(&large, &n), SL_E_SHAPE, "2^48");
	sl_assert_fails(sl_shape_check(&hidden, &n), SL_E_SHAPE, "2^48");
	sl_assert_fails(sl_shape_check(&rank, &n), SL_E_SHAPE, "rank 9");
	rank.rank = -1;
	sl_assert_fails(sl_shape_check(&rank, NULL), SL_E_SHAPE, "rank -1");
	assert_int_equal(n, 5);
	sl_assert_ok(sl_shape_check(&most, &n));
	assert_int_equal(n, (int64_t)1 << 48);
}

static void an_empty_dimension_is_allowed(void **state)
{
	struct sl_shape s = SL_SHAPE(3, 0, 2);
	int64_t n = 5;

	(void)state;
	sl_assert_ok(sl_shape_check(&s, &n));
	assert_int_equal(n, 0);
	assert_int_equal(sl_shape_count(&s), 0);
}

static void broadcasting_follows_numpy(void **state)
{
	static const struct {
		struct sl_shape a;
		struct sl_shape b;
		struct sl_shape want;
	} cases[] = {
		{{2, {2, 3}}, {1, {3}}, {2, {2, 3}}},
		{{1, {3}}, {2, {2, 3}}, {2, {2, 3}}},
		{{3, {8, 1, 6}}, {2, {7, 1}}, {3, {8, 7, 6}}},
		{{0, {0}}, {2, {4, 5}}, {2, {4, 5}}},
		{{2, {1, 5}}, {2, {0, 5}}, {2, {0, 5}}},
		{{1, {1}}, {1, {1}}, {1, {1}}},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		struct sl_shape got = {.rank = -1};
		sl_assert_ok(sl_shape_broadcast(&cases[i].a, &cases[i].b, &got));
		assert_true(sl_shape_equal(&got, &cases[i].want));
	}
}

static void shapes_that_do_not_fit_are_both_named(void **state)
{
	struct sl_shape a = SL_SHAPE(2, 3);
	struct sl_shape b = SL_SHAPE(4);
	struct sl_shape out = SL_SHAPE(9);

	(void)state;
	sl_assert_fails(sl_shape_broadcast(&a, &b, &out), SL_E_SHAPE, "[2, 3] and [4]");
	sl_assert_fails(
		sl_shape_broadcast(&a, &b, &out), SL_E_SHAPE, "dimension 1 is 3 and 4");
	assert_int_equal(out.dim[0], 9);
	b = SL_SHAPE(0);
	sl_assert_fails(sl_shape_broadcast(&a, &b, &out), SL_E_SHAPE, "[0]");
}

static void equality_ignores_what_lies_past_the_rank(void **state)
{
	struct sl_shape a = {.rank = 1, .dim = {3, 7}};
	struct sl_shape b = SL_SHAPE(3);
	struct sl_shape c = SL_SHAPE(3, 7);

	(void)state;
	assert_true(sl_shape_equal(&a, &b));
	assert_false(sl_shape_equal(&a, &c));
	b.dim[0] = 4;
	assert_false(sl_shape_equal(&a, &b));
}

static void the_longest_shape_prints_whole(void **state)
{
	struct sl_shape s = {.rank = SL_MAX_RANK};
	char text[SL_SHAPE_TEXT];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < SL_MAX_RANK; i++)
		s.dim[i] = INT64_MIN;
	sl_shape_print(&s, text);
	while (text[n])
		n++;
	assert_int_equal(n, 8 * 20 + 7 * 2 + 2);
	assert_int_equal(text[n - 1], ']');
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_scalar_has_one_element),
		SL_TEST(counts_and_spans_multiply),
		SL_TEST(bad_shapes_are_refused),
		SL_TEST(an_empty_dimension_is_allowed),
		SL_TEST(broadcasting_follows_numpy),
		SL_TEST(shapes_that_do_not_fit_are_both_named),
		SL_TEST(equality_ignores_what_lies_past_the_rank),
		SL_TEST(the_longest_shape_prints_whole),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
