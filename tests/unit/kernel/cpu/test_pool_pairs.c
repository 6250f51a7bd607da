/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <math.h>
#include <string.h>

#include "harness/kernel_case.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_max_pool2d, sl_op_max_pool2d_dx;
extern const struct sl_kernel sl_kernel_pairs_max_pool2d, sl_kernel_pairs_max_pool2d_dx;

static const struct sl_pool_attr pairs = {.kernel = {2, 2}, .stride = {2, 2}};

static void begin(struct sl_case *k, bool backward, int64_t h, int64_t w)
{
	const struct sl_shape in[] = {SL_SHAPE(2, 3, h, w), SL_SHAPE(2, 3, h / 2, w / 2)};

	sl_case_init(k, backward ? &sl_op_max_pool2d_dx : &sl_op_max_pool2d, &pairs, in,
		backward ? 2 : 1);
}

/* Few different numbers, both zeros among them, infinities and NaN. */
static void fill_strange(struct sl_case *k)
{
	static const float values[] = {
		0, -0.0f, 1, 1, -1, INFINITY, -INFINITY, NAN, -INFINITY, 2, 0};
	int64_t n = sl_shape_count(&k->in_type[0].shape);

	for (int64_t i = 0; i < n; i++)
		k->in[0][i] = values[i * i / 3 % (int64_t)SL_COUNT(values)];
}

static void check(bool backward, int64_t h, int64_t w, bool strange)
{
	struct sl_case k;

	begin(&k, backward, h, w);
	if (strange)
		fill_strange(&k);
	const struct sl_kernel *kernel =
		backward ? &sl_kernel_pairs_max_pool2d_dx : &sl_kernel_pairs_max_pool2d;
	assert_true(kernel->accepts(&k.node));
	sl_case_run(&k, kernel, 1, 1);
	assert_true(sl_case_near(&k, 0));
	sl_case_finish(&k);
}

static void rows_of_any_length_give_the_reference(void **state)
{
	(void)state;
	for (int64_t w = 2; w < 70; w++) {
		check(false, 5, w, false);
		check(true, 5, w, false);
	}
}

static void ties_nan_and_infinity_are_as_in_the_reference(void **state)
{
	(void)state;
	for (int64_t w = 2; w < 70; w += 3) {
		check(false, 8, w, true);
		check(true, 8, w, true);
	}
}

static void other_windows_are_refused(void **state)
{
	static const struct sl_pool_attr others[] = {
		{.kernel = {3, 3}, .stride = {2, 2}},
		{.kernel = {2, 2}, .stride = {2, 1}},
		{.kernel = {2, 2}, .stride = {2, 2}, .pad = {0, 1, 0, 0}},
		{.kernel = {2, 2}, .stride = {2, 2}, .ceil_mode = true},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(others); i++) {
		struct sl_case k;
		sl_case_init(&k, &sl_op_max_pool2d, &others[i],
			(struct sl_shape[]){SL_SHAPE(1, 1, 9, 9)}, 1);
		assert_false(sl_kernel_pairs_max_pool2d.accepts(&k.node));
		sl_case_finish(&k);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(rows_of_any_length_give_the_reference),
		SL_TEST(ties_nan_and_infinity_are_as_in_the_reference),
		SL_TEST(other_windows_are_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
