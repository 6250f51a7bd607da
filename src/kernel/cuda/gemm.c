/* SPDX-License-Identifier: Apache-2.0 */
/* matmul by our own tiles (gemm.cu): what a card without cuBLASLt runs. */
#include "kernel/cuda/gemm.h"

#define GRID_MAX 65535 /* rows and layers of a grid; more go in steps */

static struct sl_shape batch_of(const struct sl_shape *s)
{
	struct sl_shape batch = *s;

	batch.rank = s->rank - 2;
	return batch;
}

struct sl_cuda_matmul sl_cuda_matmul_of(const struct sl_node_info *n)
{
	const struct sl_matmul_attr *attr = n->attr;
	const struct sl_shape *a = &n->in[0].shape, *b = &n->in[1].shape;
	const struct sl_shape *y = &n->out[0].shape;
	int64_t a1 = a->dim[a->rank - 1], b1 = b->dim[b->rank - 1];
	struct sl_shape over = batch_of(y), of_a = batch_of(a), of_b = batch_of(b);
	struct sl_cuda_matmul m = {.trans_a = attr->trans_a, .trans_b = attr->trans_b};
	int64_t stride[2][SL_MAX_RANK];

	m.g.m = y->dim[y->rank - 2];
	m.g.n = y->dim[y->rank - 1];
	m.g.k = attr->trans_a ? a->dim[a->rank - 2] : a1;
	m.g.a_row = attr->trans_a ? 1 : a1;
	m.g.a_col = attr->trans_a ? a1 : 1;
	m.g.b_row = attr->trans_b ? 1 : b1;
	m.g.b_col = attr->trans_b ? b1 : 1;
	m.batches = sl_shape_count(&over);
	if (sl_shape_count(&of_b) == 1 && !attr->trans_a &&
		sl_shape_count(&of_a) == m.batches) {
		m.g.m *= m.batches;
		m.batches = m.batches > 0 ? 1 : 0;
		over = of_a = of_b = SL_SCALAR;
	}
	sl_cuda_spread(&of_a, &over, stride[0]);
	sl_cuda_spread(&of_b, &over, stride[1]);
	m.g.batch = sl_cuda_walk_over(&over, 2, stride);
	return m;
}

static bool accepts(const struct sl_node_info *n)
{
	bool fits = !sl_node_has(n, 2) || n->in[2].dtype == SL_F32;

	for (int i = 0; i < 2; i++)
		fits = fits && (n->in[i].dtype == SL_F32 || n->in[i].dtype == SL_BF16);
	return fits;
}

static sl_status matmul_run(const struct sl_call *c)
{
	const struct sl_node_info *n = c->node;
	struct sl_cuda_matmul m = sl_cuda_matmul_of(n);
	void *a = c->in[0], *b = c->in[1], *bias = c->in[2], *y = c->out[0];
	/* Large tiles once they leave no part of a card idle. */
	bool large = m.g.m * m.g.n * m.batches >= (int64_t)128 * 128 * 128;
	int types = (n->in[0].dtype == SL_BF16) << 2 | (n->in[1].dtype == SL_BF16) << 1 |
		    (n->out[0].dtype == SL_BF16);
	enum sl_cuda_code entry = (enum sl_cuda_code)(
		types + (large ? SL_IN_sl_cu_gemm_128_sss : SL_IN_sl_cu_gemm_64_sss));
	unsigned rows = sl_cuda_blocks(m.g.m, large ? 128 : 64);
	struct sl_cuda_size grid = {sl_cuda_blocks(m.g.n, 64),
		rows < GRID_MAX ? rows : GRID_MAX,
		(unsigned)(m.batches < GRID_MAX ? m.batches : GRID_MAX)};

	return sl_cuda_go(c, entry, grid, (struct sl_cuda_size){SL_CUDA_THREADS, 1, 1},
		SL_PARAMS(&a, &b, &bias, &y, &m.g, &m.batches));
}

const struct sl_kernel sl_kernel_cuda_matmul = {
	.name = "cuda_matmul",
	.op = "matmul",
	.rank = 10,
	.accepts = accepts,
	.run = matmul_run,
};
