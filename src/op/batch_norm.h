/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_OP_BATCH_NORM_H
#define SL_OP_BATCH_NORM_H

#include "op/op_util.h"

/* What batch_norm and the operators that hold it share. */

/* x seen as [n, c, inner]; count: values a channel. */
struct sl_channels {
	int64_t n, c, inner, count;
};

static inline struct sl_channels sl_channels_of(const struct sl_shape *x)
{
	struct sl_channels s = {
		.n = x->dim[0], .c = x->dim[1], .inner = sl_shape_span(x, 2, x->rank)};

	s.count = s.n * s.inner;
	return s;
}

/* Value i of a channel. */
static inline int64_t sl_channels_at(
	const struct sl_channels *s, int64_t channel, int64_t i)
{
	return (i / s->inner * s->c + channel) * s->inner + i % s->inner;
}

/* x is [N, C, ...] and inputs [1, last) are [C], of x's type or f32 for bf16. */
SL_NODISCARD sl_status sl_batch_norm_check(const struct sl_node_info *n, int last);
/* At least two values a channel. */
SL_NODISCARD sl_status sl_batch_norm_check_count(const struct sl_shape *x);
/* Of y (or dx) and two values a channel. */
void sl_batch_norm_types(const struct sl_node_info *n, struct sl_type out[3]);
/* SL_E_UNSUPPORTED where a gradient flows into mean or variance. */
SL_NODISCARD sl_status sl_batch_norm_check_flow(const struct sl_grad *c);

#endif
