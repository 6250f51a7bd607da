/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

struct setup {
	struct sl_shape x, w;
	struct sl_conv_transpose_attr attr;
	int64_t height, width; /* of the result, as PyTorch gives */
};

static int64_t or_one(int64_t v)
{
	return v ? v : 1;
}

/* Each input adds its multiple of the kernel to the result: the definition. */
static void scatter_one(const struct setup *s, const double *w, double x,
	const int64_t at[4], const struct sl_shape *y_shape, double *y)
{
	const struct sl_conv_attr *a = &s->attr.conv;
	int64_t og = s->w.dim[1];
	int64_t group = at[1] / (s->x.dim[1] / or_one(a->groups));

	for (int64_t k = 0; k < og * s->w.dim[2] * s->w.dim[3]; k++) {
		int64_t o = k / (s->w.dim[2] * s->w.dim[3]);
		int64_t kh = k / s->w.dim[3] % s->w.dim[2];
		int64_t kw = k % s->w.dim[3];
		int64_t h = at[2] * or_one(a->stride[0]) + kh * or_one(a->dilation[0]) -
			    a->pad[0];
		int64_t v = at[3] * or_one(a->stride[1]) + kw * or_one(a->dilation[1]) -
			    a->pad[1];
		if (h < 0 || h >= y_shape->dim[2] || v < 0 || v >= y_shape->dim[3])
			continue;
		y[((at[0] * y_shape->dim[1] + group * og + o) * y_shape->dim[2] + h) *
				y_shape->dim[3] +
			v] += x * w[at[1] * og * s->w.dim[2] * s->w.dim[3] + k];
	}
}

static void expect(const struct setup *s)
{
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	double want[512] = {0};
	struct sl_shape y_shape = SL_SHAPE(s->x.dim[0],
		s->w.dim[1] * or_one(s->attr.conv.groups), s->height, s->width);
	int64_t plane = s->height * s->width;
	sl_val x = input(g, "x", s->x);
	sl_val w = input(g, "w", s->w);
	sl_val bias = input(g, "bias", SL_SHAPE(y_shape.dim[1]));
	sl_val y = sl_conv_transpose2d(g, x, w, bias, &s->attr);

	sl_assert_ok(sl_graph_status(g));
	assert_true(sl_shape_equal(&sl_val_type(g, y)->shape, &y_shape));
	sl_assert_ok(sl_eval_init(&e, g));
	scatter(&e, x);
	scatter(&e, w);
	scatter(&e, bias);
	sl_assert_ok(sl_eval_run(&e));
	for (int64_t i = 0; i < sl_shape_count(&y_shape); i++)
		want[i] = sl_eval_get(&e, bias, i / plane % y_shape.dim[1]);
	for (int64_t i = 0; i < sl_shape_count(&s->x); i++) {
		const int64_t at[4] = {i / (s->x.dim[3] * s->x.dim[2] * s->x.dim[1]),
			i / (s->x.dim[3] * s->x.dim[2]) % s->x.dim[1],
			i / s->x.dim[3] % s->x.dim[2], i % s->x.dim[3]};
		scatter_one(
			s, e.data[w.index], sl_eval_get(&e, x, i), at, &y_shape, want);
	}
	assert_true(sl_eval_near(&e, y, want, sl_shape_count(&y_shape), 1e-12));
	sl_eval_finish(&e);
	const sl_val wrt[] = {x, w, bias};
	check_gradients(g, y, wrt, 3);
}

static void each_input_adds_its_multiple_of_the_kernel(void **state)
{
	const struct setup setups[] = {
		{SL_SHAPE(2, 3, 3, 4), SL_SHAPE(3, 2, 2, 2), {{{2, 2}, {0}, {0}, 0}, {0}},
			6, 8},
		{SL_SHAPE(1, 2, 4, 3), SL_SHAPE(2, 3, 3, 3), {{{0}, {0}, {0}, 0}, {0}}, 6,
			5},
		{SL_SHAPE(1, 2, 3, 3), SL_SHAPE(2, 2, 3, 2),
			{{{2, 3}, {1, 0, 1, 0}, {0}, 0}, {1, 2}}, 6, 10},
		{SL_SHAPE(2, 4, 2, 3), SL_SHAPE(4, 3, 3, 3),
			{{{2, 1}, {1, 2, 0, 1}, {2, 1}, 2}, {1, 0}}, 7, 2},
		{SL_SHAPE(1, 3, 2, 2), SL_SHAPE(3, 1, 2, 2), {{{3, 3}, {0}, {0}, 3}, {0}},
			5, 5},
		/* More output padding than the stride skips: from the padding, and
		 * without one.
		 */
		{SL_SHAPE(1, 1, 3, 2), SL_SHAPE(1, 2, 2, 2),
			{{{1, 2}, {1, 0, 1, 0}, {3, 4}, 0}, {2, 3}}, 6, 10},
		{SL_SHAPE(1, 2, 2, 2), SL_SHAPE(2, 1, 1, 1),
			{{{2, 2}, {0}, {0}, 0}, {1, 1}}, 4, 4},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(setups); i++)
		expect(&setups[i]);
}

static void the_batch_is_the_instances(void **state)
{
	struct sl_graph *tmpl = new_graph();
	struct sl_graph *g = new_graph();
	static const uint8_t batch[SL_MAX_RANK] = {1 + SL_DIM_BATCH};
	struct sl_type type = {SL_F64, SL_SHAPE(2, 3, 4, 4)};
	struct sl_type w_type = {SL_F64, SL_SHAPE(3, 5, 2, 2)};

	(void)state;
	sl_val x = sl_input(tmpl, "x", &type, batch);
	sl_val w = sl_param(tmpl, "w", &w_type, (struct sl_init){0});
	struct sl_conv_transpose_attr attr = {.conv = {.stride = {2, 2}}};
	sl_output(tmpl, "y", sl_conv_transpose2d(tmpl, x, w, SL_VAL_NONE, &attr));
	sl_assert_ok(sl_graph_bind(g, tmpl, &(struct sl_bind){.size = {7}}));
	assert_true(sl_shape_equal(
		&sl_val_type(g, sl_graph_output(g, "y"))->shape, &SL_SHAPE(7, 5, 8, 8)));
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

static void expect_refused(struct sl_shape x_shape, struct sl_shape w_shape,
	struct sl_conv_transpose_attr attr, sl_status want, const char *message)
{
	struct sl_graph *g = new_graph();
	sl_val x = input(g, "x", x_shape);
	sl_val w = input(g, "w", w_shape);

	(void)sl_conv_transpose2d(g, x, w, SL_VAL_NONE, &attr);
	sl_assert_fails(sl_graph_status(g), want, message);
	sl_graph_destroy(g);
}

static void what_does_not_fit_is_refused(void **state)
{
	const struct sl_shape x = SL_SHAPE(1, 2, 3, 3);
	const struct sl_shape w = SL_SHAPE(2, 4, 2, 2);
	const struct sl_conv_transpose_attr none = {{{0}, {0}, {0}, 0}, {0}};

	(void)state;
	expect_refused(x, w, (struct sl_conv_transpose_attr){.output_pad = {1, 0}},
		SL_E_INVALID, "output padding 1");
	expect_refused(x, w, (struct sl_conv_transpose_attr){.output_pad = {0, -1}},
		SL_E_INVALID, "output padding -1");
	expect_refused(x, w, (struct sl_conv_transpose_attr){.conv = {.stride = {-1, 1}}},
		SL_E_INVALID, "stride -1");
	expect_refused(x, w, (struct sl_conv_transpose_attr){.conv = {.groups = 3}},
		SL_E_SHAPE, "3 groups");
	expect_refused(x, SL_SHAPE(3, 4, 2, 2), none, SL_E_SHAPE, "2 channels");
	expect_refused(SL_SHAPE(2, 3, 3), w, none, SL_E_SHAPE, "must be [N, C, H, W]");
	expect_refused(SL_SHAPE(1, 2, 0, 3), w, none, SL_E_SHAPE, "an input of 0");
	expect_refused(x, w,
		(struct sl_conv_transpose_attr){.conv = {.pad = {2, 2, 2, 2}}},
		SL_E_SHAPE, "padding leaves nothing");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_input_adds_its_multiple_of_the_kernel),
		SL_TEST(the_batch_is_the_instances),
		SL_TEST(what_does_not_fit_is_refused),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}
