/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed two-dimensional convolution (PyTorch): x [N, C, H, W],
 * w [C, O / groups, KH, KW], bias [O] or none, gives [N, O, OH, OW] with
 * OH = (H - 1) stride - top - bottom + dilation (KH - 1) + output_pad + 1.
 *
 * It is the gradient that conv2d of w sends to its input, hence conv2d_dx; its own
 * gradients are conv2d and conv2d_dw with the roles of x and dy exchanged.
 */
#include <inttypes.h>

#include "op/conv_util.h"

/*
 * Sizes of one axis. The convolution backwards knows output padding only as rows that its
 * stride skips, fewer than the stride; what is more comes out of the padding at the end,
 * and what is left is zeros behind the result.
 */
static sl_status plan_axis(struct sl_conv_attr *a, const int64_t output_pad[2], int i,
	const int64_t size[2], int64_t out[2])
{
	int64_t most = a->stride[i] > a->dilation[i] ? a->stride[i] : a->dilation[i];
	int64_t extra = output_pad[i] - (a->stride[i] - 1);

	if (output_pad[i] < 0 || output_pad[i] >= most)
		return SL_FAIL(SL_E_INVALID,
			"conv_transpose2d: output padding %" PRId64
			"; it must be at least 0 and below the larger of stride %" PRId64
			" and dilation %" PRId64,
			output_pad[i], a->stride[i], a->dilation[i]);
	/* So that the products fit: check_attr bounds stride and dilation alike. */
	for (int k = 0; k < 2; k++)
		if (size[k] < 1 || size[k] > INT32_MAX)
			return SL_FAIL(SL_E_SHAPE,
				"conv_transpose2d: a%s of %" PRId64 " on axis %d",
				k ? " kernel" : "n input", size[k], 2 + i);
	extra = extra > 0 ? extra : 0;
	out[1] = extra > a->pad[2 + i] ? extra - a->pad[2 + i] : 0;
	out[0] = (size[0] - 1) * a->stride[i] + (size[1] - 1) * a->dilation[i] + 1 +
		 output_pad[i] - a->pad[i] - a->pad[2 + i] - out[1];
	a->pad[2 + i] -= extra - out[1];
	return SL_OK;
}

static sl_status plan(const struct sl_shape *x, const struct sl_shape *w,
	struct sl_conv_transpose_attr *a, struct sl_shape *y, struct sl_pad_attr *behind)
{
	char text_x[SL_SHAPE_TEXT];
	char text_w[SL_SHAPE_TEXT];

	if (x->rank != 4 || w->rank != 4)
		return SL_FAIL(SL_E_SHAPE,
			"conv_transpose2d: x is %s and w is %s; they must be [N, C, H, "
			"W] and [C, O / groups, KH, KW]",
			sl_shape_print(x, text_x), sl_shape_print(w, text_w));
	SL_TRY(sl_conv_check_attr(&a->conv));
	if (x->dim[1] != w->dim[0] || w->dim[0] < a->conv.groups ||
		w->dim[0] % a->conv.groups)
		return SL_FAIL(SL_E_SHAPE,
			"conv_transpose2d: x %s has %" PRId64
			" channels, w %s takes %" PRId64 " in %" PRId64 " groups",
			sl_shape_print(x, text_x), x->dim[1], sl_shape_print(w, text_w),
			w->dim[0], a->conv.groups);
	y->dim[0] = x->dim[0];
	y->dim[1] = w->dim[1] * a->conv.groups;
	for (int i = 0; i < 2; i++) {
		int64_t out[2] = {0};
		SL_TRY(plan_axis(&a->conv, a->output_pad, i,
			(const int64_t[]){x->dim[2 + i], w->dim[2 + i]}, out));
		if (out[0] + out[1] < 1)
			return SL_FAIL(SL_E_SHAPE,
				"conv_transpose2d: padding leaves nothing of x %s",
				sl_shape_print(x, text_x));
		y->dim[2 + i] = out[0];
		behind->after[2 + i] = out[1];
	}
	return SL_OK;
}

sl_val sl_conv_transpose2d(struct sl_graph *g, sl_val x, sl_val w, sl_val bias,
	const struct sl_conv_transpose_attr *attr)
{
	struct sl_conv_transpose_attr a =
		SL_ATTR_OR_ZERO(struct sl_conv_transpose_attr, attr);
	const struct sl_shape *x_shape = sl_op_shape(g, x);
	const struct sl_shape *w_shape = sl_op_shape(g, w);
	struct sl_shape y_shape = {.rank = 4};
	struct sl_pad_attr behind = {{0}, {0}, 0};

	a.conv = sl_conv_normal(&a.conv);
	if (!x_shape || !w_shape)
		return sl_graph_poison(
			g, SL_FAIL(SL_E_INVALID,
				   "conv_transpose2d: x or w is none or failed"));
	sl_status st = plan(x_shape, w_shape, &a, &y_shape, &behind);
	if (st != SL_OK)
		return sl_graph_poison(g, st);
	sl_val y = sl_conv2d_dx(g, x, w, &a.conv, &y_shape);
	if (behind.after[2] || behind.after[3])
		y = sl_pad(g, y, &behind);
	if (sl_val_is_none(bias))
		return y;
	return sl_add(g, y, sl_reshape(g, bias, &SL_SHAPE(1, y_shape.dim[1], 1, 1)));
}
