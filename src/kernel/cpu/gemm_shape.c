/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the shapes of a matmul node into the form that its kernels share. */
#include "kernel/cpu/gemm_shape.h"

#include "sluice/attrs.h"

/* low: operands may be bf16. */
static bool fits(const struct sl_node_info *n, bool low)
{
	const struct sl_matmul_attr *attr = n->attr;
	const struct sl_shape *a = &n->in[0].shape;

	for (int i = 0; i < n->n_in; i++) {
		if (!sl_node_has(n, i))
			continue;
		int64_t count = sl_shape_count(&n->in[i].shape);
		bool good = n->in[i].dtype == SL_F32 ||
			    (low && i < 2 && n->in[i].dtype == SL_BF16);
		if (!good || count < 1 || count > INT32_MAX)
			return false;
	}
	int64_t count = sl_shape_count(&n->out[0].shape);
	return n->out[0].dtype == SL_F32 && count > 0 && count <= INT32_MAX &&
	       a->dim[a->rank - (attr->trans_a ? 2 : 1)] > 0;
}

bool sl_gemm_fits(const struct sl_node_info *n)
{
	return fits(n, false);
}

bool sl_gemm_fits_low(const struct sl_node_info *n)
{
	return fits(n, true);
}

/* Step of an operand along axis i of the result's batch axes, aligned at the right. */
static int64_t step_at(const struct sl_shape *s, const struct sl_shape *out, int i)
{
	int own = i - (out->rank - s->rank);

	if (own < 0 || s->dim[own] == 1)
		return 0;
	return sl_shape_span(s, own + 1, s->rank);
}

static void add_axis(struct sl_gemm *g, int64_t size, int64_t a_step, int64_t b_step)
{
	int last = g->n_batch - 1;

	if (size == 1)
		return;
	if (last >= 0 && g->a_step[last] == a_step * size &&
		g->b_step[last] == b_step * size) {
		g->batch[last] *= size;
		g->a_step[last] = a_step;
		g->b_step[last] = b_step;
		return;
	}
	g->batch[g->n_batch] = size;
	g->a_step[g->n_batch] = a_step;
	g->b_step[g->n_batch] = b_step;
	g->n_batch++;
}

struct sl_gemm sl_gemm_of(const struct sl_node_info *n)
{
	const struct sl_matmul_attr *attr = n->attr;
	const struct sl_shape *a = &n->in[0].shape;
	const struct sl_shape *b = &n->in[1].shape;
	const struct sl_shape *out = &n->out[0].shape;
	struct sl_gemm g = {
		.m = out->dim[out->rank - 2],
		.n = out->dim[out->rank - 1],
		.k = a->dim[a->rank - (attr->trans_a ? 2 : 1)],
		.trans_a = attr->trans_a,
		.trans_b = attr->trans_b,
		.bias = sl_node_has(n, 2),
	};

	for (int i = 0; i < out->rank - 2; i++)
		add_axis(&g, out->dim[i], step_at(a, out, i), step_at(b, out, i));
	if (g.n_batch == 1 && !g.trans_a && g.b_step[0] == 0 &&
		g.a_step[0] == g.m * g.k) {
		g.m *= g.batch[0];
		g.n_batch = 0;
	}
	return g;
}

int64_t sl_gemm_batches(const struct sl_gemm *g)
{
	int64_t count = 1;

	for (int i = 0; i < g->n_batch; i++)
		count *= g->batch[i];
	return count;
}

void sl_gemm_offsets(const struct sl_gemm *g, int64_t i, int64_t *a, int64_t *b)
{
	*a = 0;
	*b = 0;
	for (int axis = g->n_batch - 1; axis >= 0; axis--) {
		int64_t at = i % g->batch[axis];
		*a += at * g->a_step[axis];
		*b += at * g->b_step[axis];
		i /= g->batch[axis];
	}
}
