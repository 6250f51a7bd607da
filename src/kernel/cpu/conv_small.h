/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_CONV_SMALL_H
#define SL_KERNEL_CPU_CONV_SMALL_H

#include "kernel/cpu/cpu.h"

/*
 * Convolutions of few channels on the plain layout, one padded image at a time. All
 * strides and paddings in elements; no groups, no dilation.
 */
struct sl_conv_small {
	int64_t images;
	int64_t c, h, w; /* planes that are read and padded */
	int64_t o, oh, ow; /* planes of the other side */
	int64_t kh, kw;
	int64_t stride[2];
	int64_t top, left; /* zeros before the first row and column */
	int64_t ph, pw; /* a padded plane: what the windows cover */
};

#define SL_CONV_SMALL_LANES 16
/* No one says vectors are aligned: rows begin anywhere. */
typedef float sl_conv_lanes __attribute__((
	vector_size(SL_CONV_SMALL_LANES * sizeof(float)), aligned(4), may_alias));
/* gcc 12 does not align vectors on the address sanitizer's stack (gcc bug 110027). */
#define SL_CONV_PLAIN __attribute__((no_sanitize("address")))

/* Sizes from x [N, C, H, W], w [O, C, KH, KW], y [N, O, OH, OW]; x is what is read. */
struct sl_conv_small sl_conv_small_of(
	const struct sl_node_info *n, const struct sl_shape *shapes[3]);
/* f32, one group, no dilation, nothing empty, paddings smaller than the kernel. */
bool sl_conv_small_fits(const struct sl_node_info *n, const struct sl_conv_small *s);

/* Floats of `rows` rows of one padded image, and of what vectors read past their end. */
int64_t sl_conv_small_padded(const struct sl_conv_small *s, int64_t rows);
/* Rows [first, first + rows) of the c padded planes of one image, one plane after the
 * other. */
void sl_conv_small_pad(const struct sl_conv_small *s, const float *x, int64_t first,
	int64_t rows, float *to);

#endif
