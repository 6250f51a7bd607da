/* SPDX-License-Identifier: Apache-2.0 */
/* Fewest axes of a walk by two operands. */
#include "kernel/cpu/collapse.h"

static bool is_even(const struct sl_collapsed *c, int64_t first, int64_t second)
{
	int k = c->rank - 1;
	return first == c->stride[0][k] * c->dim[k] &&
	       second == c->stride[1][k] * c->dim[k];
}

void sl_collapse(const struct sl_shape *over, const int64_t first[SL_MAX_RANK],
	const int64_t second[SL_MAX_RANK], struct sl_collapsed *out)
{
	struct sl_collapsed c = {0};

	if (sl_shape_count(over) == 0) {
		*out = (struct sl_collapsed){.rank = 1};
		return;
	}
	for (int i = over->rank - 1; i >= 0; i--) {
		if (over->dim[i] == 1)
			continue;
		if (c.rank && is_even(&c, first[i], second[i])) {
			c.dim[c.rank - 1] *= over->dim[i];
			continue;
		}
		c.dim[c.rank] = over->dim[i];
		c.stride[0][c.rank] = first[i];
		c.stride[1][c.rank] = second[i];
		c.rank++;
	}
	if (!c.rank) {
		c.rank = 1;
		c.dim[0] = 1;
		c.stride[0][0] = 1;
		c.stride[1][0] = 1;
	}
	*out = c;
}

void sl_dense_strides(const struct sl_shape *s, int64_t stride[SL_MAX_RANK])
{
	int64_t step = 1;

	for (int i = s->rank - 1; i >= 0; i--) {
		stride[i] = step;
		step *= s->dim[i];
	}
}

void sl_broadcast_strides(const struct sl_shape *operand, const struct sl_shape *over,
	int64_t stride[SL_MAX_RANK])
{
	int64_t dense[SL_MAX_RANK];
	int lead = over->rank - operand->rank;

	sl_dense_strides(operand, dense);
	for (int i = 0; i < over->rank; i++) {
		bool repeats = i < lead || operand->dim[i - lead] == 1;
		stride[i] = repeats ? 0 : dense[i - lead];
	}
}
