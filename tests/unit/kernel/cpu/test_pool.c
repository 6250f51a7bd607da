/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <math.h>

#include "harness/kernel_case.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_max_pool2d, sl_op_max_pool2d_dx, sl_op_avg_pool2d,
	sl_op_avg_pool2d_dx;
extern const struct sl_kernel sl_kernel_vec_max_pool2d, sl_kernel_vec_max_pool2d_dx,
	sl_kernel_vec_avg_pool2d, sl_kernel_vec_avg_pool2d_dx;

struct layer {
	int64_t n, c, h, w;
	struct sl_pool_attr attr;
};

#define ATTR(kh, kw, sh, sw, t, l, b, r, ceil, count) \
	{ \
		.kernel = {kh, kw}, .stride = {sh, sw}, .pad = {t, l, b, r}, \
		.ceil_mode = ceil, .count_include_pad = count \
	}

static const struct layer layers[] = {
	{1, 1, 1, 1, ATTR(1, 1, 1, 1, 0, 0, 0, 0, false, false)},
	{2, 3, 8, 8, ATTR(2, 2, 2, 2, 0, 0, 0, 0, false, false)},
	{2, 3, 9, 7, ATTR(3, 3, 2, 2, 1, 1, 1, 1, false, false)},
	{2, 3, 9, 7, ATTR(3, 3, 2, 2, 1, 1, 1, 1, true, true)},
	{1, 2, 11, 13, ATTR(3, 2, 1, 3, 2, 0, 1, 1, true, false)},
	{1, 2, 11, 13, ATTR(3, 2, 1, 3, 2, 0, 1, 1, false, true)},
	{1, 5, 6, 6, ATTR(6, 6, 6, 6, 0, 0, 0, 0, false, false)},
	{2, 2, 5, 601, ATTR(3, 3, 1, 1, 1, 1, 1, 1, false, true)},
	{2, 2, 5, 1200, ATTR(2, 5, 2, 2, 0, 4, 0, 4, true, true)},
	{1, 1, 10, 10, ATTR(2, 2, 5, 5, 0, 0, 0, 0, true, false)},
	{3, 4, 7, 7, ATTR(2, 3, 4, 1, 1, 2, 0, 0, true, true)},
	{1, 700, 4, 5, ATTR(3, 3, 1, 2, 1, 1, 1, 1, false, false)},
	/* taller than the rows that are kept; the widest; the widest steps */
	{1, 2, 30, 40, ATTR(11, 9, 3, 4, 5, 4, 5, 4, true, true)},
	{1, 2, 19, 300, ATTR(9, 3, 1, 1, 8, 1, 8, 2, false, false)},
	{1, 1, 3, 1000, ATTR(2, 128, 1, 1, 0, 100, 1, 127, false, true)},
	{1, 1, 4, 2500, ATTR(2, 2, 2, 64, 0, 1, 0, 1, true, false)},
};

typedef void (*case_fn)(struct sl_case *k, const struct sl_kernel *kernel);

static void with_forward(const struct layer *l, case_fn fn)
{
	const struct sl_shape x = SL_SHAPE(l->n, l->c, l->h, l->w);
	struct sl_case k;

	sl_case_init(&k, &sl_op_max_pool2d, &l->attr, &x, 1);
	fn(&k, &sl_kernel_vec_max_pool2d);
	sl_case_finish(&k);
	sl_case_init(&k, &sl_op_avg_pool2d, &l->attr, &x, 1);
	fn(&k, &sl_kernel_vec_avg_pool2d);
	sl_case_finish(&k);
}

static void with_backward(const struct layer *l, case_fn fn)
{
	struct {
		struct sl_pool_attr pool;
		int64_t rank;
		int64_t dim[SL_MAX_RANK];
	} attr = {l->attr, 4, {l->n, l->c, l->h, l->w}};
	struct sl_shape in[2] = {SL_SHAPE(l->n, l->c, l->h, l->w)};
	struct sl_case k;

	sl_case_init(&k, &sl_op_max_pool2d, &l->attr, in, 1);
	in[1] = k.out_type[0].shape;
	sl_case_finish(&k);
	sl_case_init(&k, &sl_op_max_pool2d_dx, &l->attr, in, 2);
	fn(&k, &sl_kernel_vec_max_pool2d_dx);
	sl_case_finish(&k);
	sl_case_init(&k, &sl_op_avg_pool2d_dx, &attr, &in[1], 1);
	fn(&k, &sl_kernel_vec_avg_pool2d_dx);
	sl_case_finish(&k);
}

static void with_all(case_fn fn)
{
	for (size_t i = 0; i < SL_COUNT(layers); i++) {
		with_forward(&layers[i], fn);
		with_backward(&layers[i], fn);
	}
}

static void is_near(struct sl_case *k, const struct sl_kernel *kernel)
{
	sl_case_run(k, kernel, 2, 2);
	assert_true(sl_case_near(k, 1e-5));
}

static void odd_layers_give_the_reference(void **state)
{
	(void)state;
	with_all(is_near);
}

static void keeps_bits(struct sl_case *k, const struct sl_kernel *kernel)
{
	sl_case_same_bits(k, kernel, 2);
}

static void bits_do_not_depend_on_the_width(void **state)
{
	(void)state;
	with_all(keeps_bits);
}

/* Few distinct values: nearly every window has ties. */
static void with_ties(struct sl_case *k, const struct sl_kernel *kernel)
{
	int64_t n = sl_shape_count(&k->in_type[0].shape);

	for (int64_t i = 0; i < n; i++)
		k->in[0][i] = floorf(k->in[0][i] * 1.5f);
	is_near(k, kernel);
}

static void the_first_of_equals_wins(void **state)
{
	(void)state;
	with_all(with_ties);
}

static void with_specials(struct sl_case *k, const struct sl_kernel *kernel)
{
	int64_t n = sl_shape_count(&k->in_type[0].shape);

	for (int64_t i = 0; i < n; i++) {
		if (i % 7 == 0)
			k->in[0][i] = NAN;
		else if (i % 5 == 0)
			k->in[0][i] = INFINITY;
		else if (i % 2 == 0)
			k->in[0][i] = -INFINITY;
	}
	is_near(k, kernel);
}

static void nan_and_infinities_go_as_in_the_reference(void **state)
{
	(void)state;
	with_all(with_specials);
}

static void with_nothing_to_win(struct sl_case *k, const struct sl_kernel *kernel)
{
	int64_t n = sl_shape_count(&k->in_type[0].shape);

	for (int64_t i = 0; i < n; i++)
		k->in[0][i] = -INFINITY;
	is_near(k, kernel);
}

static void a_window_of_minus_infinity_has_its_first_element_win(void **state)
{
	(void)state;
	with_all(with_nothing_to_win);
}

static void an_empty_batch_gives_an_empty_result(void **state)
{
	static const struct layer empty = {
		0, 3, 8, 8, ATTR(2, 2, 2, 2, 0, 0, 0, 0, false, false)};

	(void)state;
	with_forward(&empty, is_near);
	with_backward(&empty, is_near);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(odd_layers_give_the_reference),
		SL_TEST(bits_do_not_depend_on_the_width),
		SL_TEST(the_first_of_equals_wins),
		SL_TEST(nan_and_infinities_go_as_in_the_reference),
		SL_TEST(a_window_of_minus_infinity_has_its_first_element_win),
		SL_TEST(an_empty_batch_gives_an_empty_result),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
