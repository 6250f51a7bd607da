/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_COLLAPSE_H
#define SL_KERNEL_CPU_COLLAPSE_H

#include "sluice/tensor.h"

/*
 * A walk over a shape by two operands with strides (elements), seen with as few axes as
 * they allow: axes of size 1 are gone and neighbours that both operands step through
 * evenly are one. Axis 0 is the innermost. A walk over no element has rank 1 and dim 0;
 * over one element rank 1 and dim 1.
 */
struct sl_collapsed {
	int rank;
	int64_t dim[SL_MAX_RANK];
	int64_t stride[2][SL_MAX_RANK];
};

void sl_collapse(const struct sl_shape *over, const int64_t first[SL_MAX_RANK],
	const int64_t second[SL_MAX_RANK], struct sl_collapsed *out);

/* Row-major strides. */
void sl_dense_strides(const struct sl_shape *s, int64_t stride[SL_MAX_RANK]);
/* Strides of an operand that broadcasts to `over`: 0 along repeated axes. */
void sl_broadcast_strides(const struct sl_shape *operand, const struct sl_shape *over,
	int64_t stride[SL_MAX_RANK]);

/* Offsets of both operands at the row of axes 1 and up with the given number. */
static inline void sl_collapsed_at(
	const struct sl_collapsed *c, int64_t row, int64_t at[2])
{
	at[0] = 0;
	at[1] = 0;
	for (int i = 1; i < c->rank; i++) {
		int64_t index = row % c->dim[i];
		at[0] += index * c->stride[0][i];
		at[1] += index * c->stride[1][i];
		row /= c->dim[i];
	}
}

#endif
