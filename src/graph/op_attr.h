/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_OP_ATTR_H
#define SL_GRAPH_OP_ATTR_H

#include "sluice/attrs.h"

/*
 * Attributes of operators whose builders take one or two scalars: here, and not in the
 * operators' files, because kernels read them too.
 */

/* gelu, gelu_dx */
struct sl_gelu_attr {
	bool tanh_form;
};

/* affine */
struct sl_affine_attr {
	double scale, shift;
};

/* cast */
struct sl_cast_attr {
	int64_t dtype; /* enum sl_dtype */
};

/* softmax, log_softmax and their gradients, concat, gather: an axis that is not negative
 */
struct sl_axis_attr {
	int64_t axis;
};

/*
 * Whether conv_pack may bring weights [O, C / groups, KH, KW] of such a convolution into
 * blocks: [O / 16, C / 16, KH, KW, 16 inputs, 16 outputs], or with one to four inputs [O
 * / 16, KH, KW, inputs, 16 outputs]. Implemented by src/op/conv_fold.c.
 */
#define SL_PACK_BLOCK 16
bool sl_conv_packs(const struct sl_conv_attr *attr, const struct sl_shape *w);

/* batch_norm, batch_norm_dx, batch_norm_infer, layer_norm, fold_norm */
struct sl_eps_attr {
	double eps;
};

/* stats_update */
struct sl_stats_attr {
	double momentum;
	int64_t count; /* 0: from the shape of the optional input x */
};

/* relayout */
struct sl_relayout_attr {
	bool to_nhwc;
};

/* transpose */
struct sl_perm_attr {
	int64_t perm[SL_MAX_RANK];
};

/* reshape, expand, sum_to and gradients: a shape asked for */
struct sl_shape_attr {
	int64_t rank;
	int64_t dim[SL_MAX_RANK];
};

/* slice_dx */
struct sl_slice_dx_attr {
	struct sl_slice_attr slice;
	struct sl_shape_attr shape; /* of x */
};

/* gather_dx */
struct sl_gather_dx_attr {
	int64_t axis;
	struct sl_shape_attr shape; /* of x */
};

/* resize_dx */
struct sl_resize_dx_attr {
	struct sl_resize_attr resize;
	struct sl_shape_attr shape; /* of x */
};

/* embedding_dw */
struct sl_vocab_attr {
	int64_t vocab;
};

/* matmul_adamw */
struct sl_matmul_adamw_attr {
	bool trans_a, trans_b;
	double beta1, beta2, eps, weight_decay;
};

/* clip_coef */
struct sl_clip_attr {
	double max_norm;
};

/* full */
struct sl_full_attr {
	double value;
	int64_t dtype; /* enum sl_dtype */
	int64_t rank;
	int64_t dim[SL_MAX_RANK];
};

/* x [..., C] seen as n rows of c. */
struct sl_rows {
	int64_t n, c;
};

static inline struct sl_rows sl_rows_of(const struct sl_shape *x)
{
	return (struct sl_rows){
		.n = sl_shape_span(x, 0, x->rank - 1), .c = x->dim[x->rank - 1]};
}

#endif
