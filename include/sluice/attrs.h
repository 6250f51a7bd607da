/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_ATTRS_H
#define SLUICE_ATTRS_H

#include "sluice/tensor.h"

/* Settings of operators that have more than two; zero is the default of each field. */

/* pad: top, left, bottom, right. stride and dilation 0 mean 1, groups 0 means 1. */
struct sl_conv_attr {
	int64_t stride[2];
	int64_t pad[4];
	int64_t dilation[2];
	int64_t groups;
};

/* packed: w is as conv_pack leaves it. relu: of the sum with bias and residual. */
struct sl_conv_last_attr {
	struct sl_conv_attr conv;
	bool packed, relu;
};

/* conv: of the convolution that this one transposes. output_pad: rows at the bottom and
 * columns at the right that its stride would skip; below the larger of stride and
 * dilation. */
struct sl_conv_transpose_attr {
	struct sl_conv_attr conv;
	int64_t output_pad[2];
};

/* Bilinear without smoothing (PyTorch): pixels are squares, or with align_corners points
 * and the outer ones fall together. */
struct sl_resize_attr {
	int64_t size[2]; /* height and width of the result */
	bool align_corners;
};

/* stride 0 means the kernel's size. ceil_mode: windows that start inside input or left
 * padding. */
struct sl_pool_attr {
	int64_t kernel[2];
	int64_t stride[2];
	int64_t pad[4];
	bool ceil_mode;
	bool count_include_pad; /* average pooling only */
};

/* axes: bit i reduces axis i; 0 means all. */
struct sl_reduce_attr {
	uint32_t axes;
	bool keep_dims;
};

/* Per axis [begin, end) by step (> 0); negative begin or end count from the end; end
 * INT64_MAX: all. */
struct sl_slice_attr {
	int64_t begin[SL_MAX_RANK];
	int64_t end[SL_MAX_RANK];
	int64_t step[SL_MAX_RANK]; /* 0 means 1 */
};

struct sl_pad_attr {
	int64_t before[SL_MAX_RANK];
	int64_t after[SL_MAX_RANK];
	double value;
};

/*
 * low: a product of bf16, which it also is if a or b is bf16: whichever of them is f32
 * may be rounded to bf16 element by element (kernels on bf16 units do), products add up
 * in f32, a bias is f32. Its result is bf16, or f32 with wide.
 */
struct sl_group_norm_attr {
	double eps;
	int64_t groups; /* at least 1 */
};

struct sl_matmul_attr {
	bool trans_a, trans_b;
	bool low, wide;
};

/*
 * scale 0 means 1 / sqrt(D). dropout acts on the probabilities, keyed by stream; base is
 * the global element index of the first probability (set by sl_graph_bind). heads 0: q, k
 * and v have an axis of heads; else their last axis holds that many heads side by side,
 * as a linear layer makes them.
 */
struct sl_attention_attr {
	bool causal;
	double scale;
	double dropout;
	uint32_t stream;
	uint64_t base;
	int64_t heads;
};

struct sl_dropout_attr {
	double ratio; /* in [0, 1]; kept elements are scaled by 1 / (1 - ratio); 1 gives
			 zeros */
	uint32_t stream;
	uint64_t base;
};

struct sl_cross_entropy_attr {
	int64_t ignore_index;
	bool has_ignore;
};

enum sl_schedule { SL_SCHEDULE_CONSTANT, SL_SCHEDULE_STEP, SL_SCHEDULE_COSINE };
/*
 * Learning rate of step t = 0, 1, ...: linear warm-up over `warmup` steps ((t + 1) /
 * warmup), then constant; or times gamma every `period` steps; or cosine from base to
 * floor at step `total`.
 */
struct sl_schedule_attr {
	int64_t kind; /* enum sl_schedule */
	double base, floor, gamma;
	int64_t warmup, period, total;
};

/*
 * Elements [begin, begin + count) of parameter and gradient are updated (count 0: all);
 * optimizer states hold just that slice. Adam: eps outside the root after bias correction
 * (PyTorch). AdamW: decay decoupled, scaled by the learning rate. SGD, momentum and Adam:
 * L2 decay added to the gradient.
 */
struct sl_optim_attr {
	int64_t begin, count;
	double momentum; /* momentum */
	double beta1, beta2, eps;
	double weight_decay;
	bool nesterov;
};

#endif
