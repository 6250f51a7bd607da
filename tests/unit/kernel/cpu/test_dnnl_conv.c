/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <math.h>
#include <string.h>

#include "harness/kernel_case.h"
#include "kernel/cpu/dnnl.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_conv2d, sl_op_conv2d_dx, sl_op_conv2d_dw;
extern const struct sl_kernel sl_kernel_dnnl_conv2d;

static void need_library(void)
{
	if (!sl_dnnl())
		sl_test_skip("libdnnl.so.2 is not installed");
}

struct layer {
	int64_t n, c, h, w, o, k[2];
	struct sl_conv_attr attr;
};

#define ATTR(sh, sw, t, l, b, r, dh, dw, g) \
	{ \
		.stride = {sh, sw}, .pad = {t, l, b, r}, .dilation = {dh, dw}, \
		.groups = g \
	}

static const struct layer layers[] = {
	{2, 3, 9, 7, 5, {3, 3}, ATTR(1, 1, 1, 1, 1, 1, 1, 1, 1)},
	{3, 3, 17, 19, 16, {7, 7}, ATTR(2, 2, 3, 3, 3, 3, 1, 1, 1)},
	{2, 16, 8, 8, 32, {3, 3}, ATTR(2, 2, 1, 1, 1, 1, 1, 1, 1)},
	{2, 19, 8, 9, 33, {3, 2}, ATTR(1, 2, 0, 1, 2, 1, 1, 1, 1)},
	{2, 8, 13, 11, 8, {3, 3}, ATTR(1, 1, 2, 2, 2, 2, 2, 2, 1)},
	{1, 4, 15, 15, 6, {3, 5}, ATTR(2, 3, 1, 0, 3, 2, 3, 2, 1)},
	{2, 12, 7, 7, 12, {3, 3}, ATTR(1, 1, 1, 1, 1, 1, 1, 1, 12)},
	{3, 5, 11, 40, 10, {3, 4}, ATTR(2, 3, 4, 2, 0, 5, 2, 3, 5)},
	{2, 24, 6, 5, 10, {1, 1}, ATTR(1, 1, 0, 0, 0, 0, 1, 1, 1)},
	{2, 24, 7, 5, 10, {1, 1}, ATTR(2, 2, 0, 0, 0, 0, 1, 1, 1)},
	{2, 24, 6, 5, 10, {1, 1}, ATTR(1, 1, 1, 1, 1, 1, 1, 1, 1)},
	{2, 24, 6, 5, 12, {1, 1}, ATTR(1, 1, 0, 0, 0, 0, 1, 1, 4)},
	{1, 7, 5, 9, 130, {1, 1}, ATTR(1, 1, 0, 0, 0, 0, 1, 1, 1)},
	{5, 30, 1, 1, 3, {1, 1}, ATTR(1, 1, 0, 0, 0, 0, 1, 1, 1)},
	{1, 2, 3, 3, 4, {3, 3}, ATTR(1, 1, 4, 5, 6, 7, 1, 1, 1)},
	{2, 1, 12, 12, 6, {5, 5}, ATTR(1, 1, 2, 2, 2, 2, 1, 1, 1)},
	{5, 16, 1, 20, 8, {1, 7}, ATTR(1, 1, 0, 3, 0, 3, 1, 1, 1)},
};

/* What the gradients' nodes hold begins with the convolution's attributes. */
struct grad_attr {
	struct sl_conv_attr conv;
	int64_t rank;
	int64_t dim[SL_MAX_RANK];
};

struct shapes {
	struct sl_shape x, w, y;
};

static struct shapes shapes_of(const struct layer *l)
{
	struct shapes s = {
		.x = SL_SHAPE(l->n, l->c, l->h, l->w),
		.w = SL_SHAPE(l->o, l->c / l->attr.groups, l->k[0], l->k[1]),
		.y = SL_SHAPE(l->n, l->o, 0, 0),
	};

	for (int i = 0; i < 2; i++)
		s.y.dim[2 + i] = (s.x.dim[2 + i] + l->attr.pad[i] + l->attr.pad[2 + i] -
					 1 - l->attr.dilation[i] * (l->k[i] - 1)) /
					 l->attr.stride[i] +
				 1;
	return s;
}

static struct grad_attr grad_attr(const struct layer *l, const struct sl_shape *s)
{
	struct grad_attr a = {.conv = l->attr, .rank = s->rank};

	for (int i = 0; i < s->rank; i++)
		a.dim[i] = s->dim[i];
	return a;
}

typedef void (*case_fn)(struct sl_case *k, const struct sl_kernel *kernel, void *ctx);

/* Each row of the table that accepts the node. */
static void with_kernels(struct sl_case *k, case_fn fn, void *ctx)
{
	const struct sl_kernel *kernel;

	for (size_t i = 0; (kernel = sl_kernel_at(i)) != NULL; i++)
		if (strcmp(kernel->op, k->node.op->name) == 0 &&
			sl_kernel_accepts(kernel, &k->node))
			fn(k, kernel, ctx);
}

static void with_forward(const struct layer *l, bool bias, case_fn fn, void *ctx)
{
	struct shapes s = shapes_of(l);
	const struct sl_shape in[] = {s.x, s.w,
		bias ? SL_SHAPE(l->o) : (struct sl_shape){.rank = SL_CASE_NONE}};
	struct sl_case k;

	sl_case_init(&k, &sl_op_conv2d, &l->attr, in, 3);
	with_kernels(&k, fn, ctx);
	sl_case_finish(&k);
}

static void with_dx(const struct layer *l, case_fn fn, void *ctx)
{
	struct shapes s = shapes_of(l);
	struct grad_attr attr = grad_attr(l, &s.x);
	struct sl_case k;

	sl_case_init(&k, &sl_op_conv2d_dx, &attr, (struct sl_shape[]){s.y, s.w}, 2);
	with_kernels(&k, fn, ctx);
	sl_case_finish(&k);
}

static void with_dw(const struct layer *l, case_fn fn, void *ctx)
{
	struct shapes s = shapes_of(l);
	struct grad_attr attr = grad_attr(l, &s.w);
	struct sl_case k;

	sl_case_init(&k, &sl_op_conv2d_dw, &attr, (struct sl_shape[]){s.x, s.y}, 2);
	with_kernels(&k, fn, ctx);
	sl_case_finish(&k);
}

static void is_near(struct sl_case *k, const struct sl_kernel *kernel, void *ctx)
{
	const double *tolerance = ctx;

	sl_case_run(k, kernel, 2, 2);
	assert_true(sl_case_near(k, *tolerance));
}

static void keeps_bits(struct sl_case *k, const struct sl_kernel *kernel, void *ctx)
{
	(void)ctx;
	sl_case_same_bits(k, kernel, 2);
	sl_case_same_bits(k, kernel, 16);
}

static void with_all(const struct layer *l, case_fn fn, void *ctx)
{
	with_forward(l, true, fn, ctx);
	with_forward(l, false, fn, ctx);
	with_dx(l, fn, ctx);
	with_dw(l, fn, ctx);
}

static void odd_layers_give_the_reference(void **state)
{
	double tolerance = 2e-5;

	(void)state;
	need_library();
	for (size_t i = 0; i < SL_COUNT(layers); i++)
		with_all(&layers[i], is_near, &tolerance);
}

static void bits_do_not_depend_on_the_width(void **state)
{
	(void)state;
	need_library();
	for (size_t i = 0; i < SL_COUNT(layers); i++)
		with_all(&layers[i], keeps_bits, NULL);
}

/* Shapes of ResNet-18 at a small batch, where the split matters. */
static void bits_do_not_depend_on_the_width_in_large_layers(void **state)
{
	static const struct layer large[] = {
		{2, 3, 64, 64, 64, {7, 7}, ATTR(2, 2, 3, 3, 3, 3, 1, 1, 1)},
		{12, 64, 56, 56, 64, {3, 3}, ATTR(1, 1, 1, 1, 1, 1, 1, 1, 1)},
		{9, 64, 56, 56, 128, {1, 1}, ATTR(2, 2, 0, 0, 0, 0, 1, 1, 1)},
		{2, 512, 7, 7, 512, {3, 3}, ATTR(1, 1, 1, 1, 1, 1, 1, 1, 1)},
		{4, 256, 28, 28, 64, {1, 1}, ATTR(1, 1, 0, 0, 0, 0, 1, 1, 1)},
		{3, 16, 3, 3, 2300, {1, 1}, ATTR(1, 1, 0, 0, 0, 0, 1, 1, 1)},
	};

	(void)state;
	need_library();
	double tolerance = 1e-4;
	for (size_t i = 0; i < SL_COUNT(large); i++)
		with_all(&large[i], keeps_bits, NULL);
	with_all(&large[5], is_near, &tolerance);
}

static void has_little_workspace(
	struct sl_case *k, const struct sl_kernel *kernel, void *ctx)
{
	const size_t *most = ctx;
	struct sl_prepared p = {0};

	sl_assert_ok(kernel->prepare(&k->node, &(struct sl_kernel_env){2}, &p));
	kernel->release(p.state);
	assert_in_range(p.workspace_bytes, 0, *most);
}

/* The moved images stay in the limit however large the batch; 75 images are 3 chunks
 * of 25. */
static void a_large_batch_is_cut_and_gives_the_reference(void **state)
{
	static const struct layer cut = {
		75, 3, 48, 48, 16, {3, 3}, ATTR(1, 1, 1, 1, 1, 1, 1, 1, 1)};
	static const struct layer huge = {
		64, 64, 56, 56, 64, {3, 3}, ATTR(1, 1, 1, 1, 1, 1, 1, 1, 1)};
	double tolerance = 5e-4; /* sums of 172,800 products in f32 */
	size_t most = 6 << 20;

	(void)state;
	need_library();
	with_dw(&cut, is_near, &tolerance);
	with_forward(&cut, true, is_near, &tolerance);
	with_dx(&cut, is_near, &tolerance);
	with_all(&cut, keeps_bits, NULL);
	with_dx(&huge, has_little_workspace, &most);
}

static void nan_stays_where_it_was_put(
	struct sl_case *k, const struct sl_kernel *kernel, void *ctx)
{
	double tolerance = 2e-5;

	(void)ctx;
	k->in[0][3] = NAN;
	k->in[0][20] = INFINITY;
	is_near(k, kernel, &tolerance);
}

static void nan_and_infinity_go_through(void **state)
{
	(void)state;
	need_library();
	with_all(&layers[2], nan_stays_where_it_was_put, NULL);
	with_all(&layers[9], nan_stays_where_it_was_put, NULL);
}

static const struct sl_kernel *prepared_kernel;

static sl_status prepare_once(void *ctx)
{
	const struct sl_case *k = ctx;
	struct sl_prepared out = {0};

	SL_TRY(prepared_kernel->prepare(&k->node, &(struct sl_kernel_env){2}, &out));
	prepared_kernel->release(out.state);
	return SL_OK;
}

static void survives(struct sl_case *k, const struct sl_kernel *kernel, void *ctx)
{
	(void)ctx;
	prepared_kernel = kernel;
	assert_true(sl_torture(prepare_once, k) > 0);
}

static void preparing_survives_any_allocation_failing(void **state)
{
	(void)state;
	need_library();
	with_all(&layers[2], survives, NULL);
	with_all(&layers[9], survives, NULL);
}

static void an_empty_batch_is_left_to_the_reference(void **state)
{
	static const struct layer empty = {
		0, 3, 8, 8, 4, {3, 3}, ATTR(1, 1, 1, 1, 1, 1, 1, 1, 1)};

	(void)state;
	struct sl_case k;
	sl_case_init(&k, &sl_op_conv2d, &empty.attr,
		(struct sl_shape[]){SL_SHAPE(0, 3, 8, 8), SL_SHAPE(4, 3, 3, 3),
			{.rank = SL_CASE_NONE}},
		3);
	assert_false(sl_kernel_dnnl_conv2d.accepts(&k.node));
	sl_case_finish(&k);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(odd_layers_give_the_reference),
		SL_TEST(bits_do_not_depend_on_the_width),
		SL_TEST(bits_do_not_depend_on_the_width_in_large_layers),
		SL_TEST(a_large_batch_is_cut_and_gives_the_reference),
		SL_TEST(nan_and_infinity_go_through),
		SL_TEST(preparing_survives_any_allocation_failing),
		SL_TEST(an_empty_batch_is_left_to_the_reference),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}
