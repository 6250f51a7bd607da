/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include "harness/kernel_case.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_conv2d, sl_op_conv2d_dx, sl_op_conv2d_dw;
extern const struct sl_kernel sl_kernel_small_conv2d, sl_kernel_small_conv2d_dx,
	sl_kernel_small_conv2d_dw;

struct layer {
	int64_t n, c, h, w, o, k[2];
	struct sl_conv_attr attr;
};

#define ATTR(sh, sw, t, l, b, r) \
	{ \
		.stride = {sh, sw}, .pad = {t, l, b, r}, .dilation = {1, 1}, .groups = 1 \
	}

/* What the gradients' nodes hold begins with the convolution's attributes. */
struct grad_attr {
	struct sl_conv_attr conv;
	int64_t rank;
	int64_t dim[SL_MAX_RANK];
};

enum way { FORWARD, TO_INPUT, TO_WEIGHTS };

static int64_t result_size(const struct layer *l, int axis)
{
	int64_t size = axis ? l->w : l->h;

	return (size + l->attr.pad[axis] + l->attr.pad[2 + axis] - l->k[axis]) /
		       l->attr.stride[axis] +
	       1;
}

/* The node keeps *attr. */
static void begin(
	struct sl_case *k, struct grad_attr *attr, const struct layer *l, enum way way)
{
	const struct sl_shape x = SL_SHAPE(l->n, l->c, l->h, l->w);
	const struct sl_shape w = SL_SHAPE(l->o, l->c, l->k[0], l->k[1]);
	const struct sl_shape y =
		SL_SHAPE(l->n, l->o, result_size(l, 0), result_size(l, 1));
	const struct sl_shape *made = way == TO_INPUT ? &x : &w;
	const struct sl_shape none = {.rank = SL_CASE_NONE};

	*attr = (struct grad_attr){.conv = l->attr, .rank = 4};
	for (int i = 0; i < 4; i++)
		attr->dim[i] = made->dim[i];
	if (way == FORWARD)
		sl_case_init(k, &sl_op_conv2d, &l->attr,
			(struct sl_shape[]){x, w, l->o % 2 ? SL_SHAPE(l->o) : none}, 3);
	else if (way == TO_INPUT)
		sl_case_init(k, &sl_op_conv2d_dx, attr, (struct sl_shape[]){y, w}, 2);
	else
		sl_case_init(k, &sl_op_conv2d_dw, attr, (struct sl_shape[]){x, y}, 2);
}

static const struct sl_kernel *kernel_of(enum way way)
{
	static const struct sl_kernel *const kernels[] = {&sl_kernel_small_conv2d,
		&sl_kernel_small_conv2d_dx, &sl_kernel_small_conv2d_dw};

	return kernels[way];
}

static void check(const struct layer *l, enum way way)
{
	struct grad_attr attr;
	struct sl_case k;

	begin(&k, &attr, l, way);
	assert_true(kernel_of(way)->accepts(&k.node));
	sl_case_run(&k, kernel_of(way), 2, 2);
	assert_true(sl_case_near(&k, 5e-5));
	sl_case_same_bits(&k, kernel_of(way), 2);
	sl_case_same_bits(&k, kernel_of(way), 16);
	sl_case_finish(&k);
}

/* Rows of 12 and more, as many planes as make every size of a block. */
static void rows_of_any_length_give_the_reference(void **state)
{
	(void)state;
	for (int64_t i = 0; i < 40; i++) {
		int64_t width = 13 + i;
		if (width - 1 > 16 && width - 1 < 24) /* too many lanes idle */
			continue;
		if (width - 1 > 32 && width - 1 < 36)
			continue;
		struct layer l = {1 + i % 3, 1 + i % 5, 6, width, 1 + i % 13, {3, 2},
			ATTR(1, 1, i % 3, 0, 1, 0)};
		check(&l, FORWARD);
	}
}

static void input_gradients_of_odd_layers_give_the_reference(void **state)
{
	static const struct layer layers[] = {
		{3, 6, 14, 14, 16, {5, 5}, ATTR(1, 1, 0, 0, 0, 0)},
		{2, 1, 5, 28, 7, {3, 4}, ATTR(1, 1, 2, 3, 0, 1)},
		{17, 5, 4, 16, 3, {1, 2}, ATTR(1, 1, 0, 1, 0, 0)},
		{1, 16, 3, 48, 2, {3, 3}, ATTR(1, 1, 1, 1, 1, 1)},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(layers); i++)
		check(&layers[i], TO_INPUT);
}

static void weight_gradients_of_odd_layers_give_the_reference(void **state)
{
	static const struct layer layers[] = {
		{9, 1, 28, 28, 6, {5, 5}, ATTR(1, 1, 2, 2, 2, 2)},
		{3, 6, 14, 14, 16, {5, 5}, ATTR(1, 1, 0, 0, 0, 0)},
		{2, 3, 33, 31, 33, {7, 7}, ATTR(2, 3, 3, 0, 3, 6)},
		{1, 16, 5, 400, 13, {3, 3}, ATTR(2, 1, 1, 2, 0, 0)},
		{8, 4, 3, 3, 1, {3, 3}, ATTR(1, 1, 0, 0, 0, 0)},
		{2, 7, 9, 8, 64, {3, 3}, ATTR(4, 5, 2, 2, 2, 2)},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(layers); i++)
		check(&layers[i], TO_WEIGHTS);
}

static void the_workspace_is_small_beside_the_tensors(void **state)
{
	static const struct layer l = {64, 1, 28, 28, 6, {5, 5}, ATTR(1, 1, 2, 2, 2, 2)};

	(void)state;
	for (enum way way = FORWARD; way <= TO_WEIGHTS; way++) {
		struct grad_attr attr;
		struct sl_case k;
		struct sl_prepared p = {0};
		begin(&k, &attr, &l, way);
		sl_assert_ok(
			kernel_of(way)->prepare(&k.node, &(struct sl_kernel_env){2}, &p));
		kernel_of(way)->release(p.state);
		assert_in_range(p.workspace_bytes, 1, 64 * 6 * 28 * 28 * 4 / 5);
		sl_case_finish(&k);
	}
}

static void what_they_do_badly_is_refused(void **state)
{
	static const struct layer many = {
		2, 64, 28, 28, 64, {3, 3}, ATTR(1, 1, 1, 1, 1, 1)};
	static const struct layer wide_padding = {
		2, 1, 28, 28, 16, {3, 3}, ATTR(1, 1, 3, 1, 1, 1)};
	static const struct layer strided = {
		2, 1, 28, 28, 16, {3, 3}, ATTR(2, 2, 1, 1, 1, 1)};

	(void)state;
	for (enum way way = FORWARD; way <= TO_WEIGHTS; way++) {
		struct grad_attr attr;
		struct sl_case k;
		begin(&k, &attr, &many, way);
		assert_false(kernel_of(way)->accepts(&k.node));
		sl_case_finish(&k);
		begin(&k, &attr, &wide_padding, way);
		assert_false(kernel_of(way)->accepts(&k.node));
		sl_case_finish(&k);
		begin(&k, &attr, &strided, way);
		assert_int_equal(kernel_of(way)->accepts(&k.node), way == TO_WEIGHTS);
		sl_case_finish(&k);
	}
}

static enum way torture_way;

static sl_status prepare_once(void *ctx)
{
	const struct sl_case *k = ctx;
	const struct sl_kernel *kernel = kernel_of(torture_way);
	struct sl_prepared out = {0};

	SL_TRY(kernel->prepare(&k->node, &(struct sl_kernel_env){2}, &out));
	kernel->release(out.state);
	return SL_OK;
}

static void preparing_survives_any_allocation_failing(void **state)
{
	static const struct layer l = {2, 3, 16, 16, 16, {3, 3}, ATTR(1, 1, 1, 1, 1, 1)};

	(void)state;
	for (torture_way = FORWARD; torture_way <= TO_WEIGHTS; torture_way++) {
		struct grad_attr attr;
		struct sl_case k;
		begin(&k, &attr, &l, torture_way);
		assert_true(sl_torture(prepare_once, &k) > 0);
		sl_case_finish(&k);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(rows_of_any_length_give_the_reference),
		SL_TEST(input_gradients_of_odd_layers_give_the_reference),
		SL_TEST(weight_gradients_of_odd_layers_give_the_reference),
		SL_TEST(the_workspace_is_small_beside_the_tensors),
		SL_TEST(what_they_do_badly_is_refused),
		SL_TEST(preparing_survives_any_allocation_failing),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
