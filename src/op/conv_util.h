/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_OP_CONV_UTIL_H
#define SL_OP_CONV_UTIL_H

#include "op/op_util.h"

/*
 * What conv2d and its two gradient operators share. Their nodes always hold attributes
 * without zeros that stand for 1; the attributes of the gradient operators begin with a
 * sl_conv_attr.
 */
struct sl_conv_dx_attr {
	struct sl_conv_attr conv;
	struct sl_shape_attr shape; /* of x for conv2d_dx, of w for conv2d_dw */
};

/* Sizes of one convolution: x [n, c, h, w], w [o, cg, kh, kw], y [n, o, oh, ow]. */
struct sl_conv_geom {
	struct sl_conv_attr attr;
	int64_t n, c, h, w;
	int64_t o, cg, kh, kw;
	int64_t oh, ow;
	int64_t og; /* output channels a group */
};

/* Zero means the default 1. */
struct sl_conv_attr sl_conv_normal(const struct sl_conv_attr *attr);
SL_NODISCARD sl_status sl_conv_check_attr(const struct sl_conv_attr *a);

/* The shape rule; *out is the shape of y. */
SL_NODISCARD sl_status sl_conv_shape(const struct sl_conv_attr *attr,
	const struct sl_shape *x, const struct sl_shape *w, struct sl_shape *out);
/* Of shapes that passed the rule. */
struct sl_conv_geom sl_conv_geom(const struct sl_conv_attr *attr,
	const struct sl_shape *x, const struct sl_shape *w, const struct sl_shape *y);
/* 2 flops a multiply-add; bytes of all operands once. */
void sl_conv_cost(const struct sl_node_info *n, const struct sl_conv_geom *geom,
	struct sl_cost *out);

#endif
