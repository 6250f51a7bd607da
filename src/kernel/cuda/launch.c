/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of launches and walks that the descriptors share. */
#include "kernel/cuda/launch.h"

/* Enough blocks to fill the largest card; more would only start and end. */
#define BLOCKS_MAX 4096
#define GRID_MAX INT32_MAX
#define ELEMENTS_A_THREAD 4
#define LONG_THREADS 64

unsigned sl_cuda_blocks(int64_t n, int64_t each)
{
	int64_t blocks = (n + each - 1) / each;

	return (unsigned)(blocks < GRID_MAX ? blocks : GRID_MAX);
}

sl_status sl_cuda_go(const struct sl_call *c, enum sl_cuda_code entry,
	struct sl_cuda_size grid, struct sl_cuda_size block, void **params)
{
	if (grid.x == 0 || grid.y == 0 || grid.z == 0)
		return SL_OK;
	return sl_cuda_launch(c->run->stream, entry, grid, block, 0, params);
}

static unsigned at_most(int64_t blocks)
{
	return (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

sl_status sl_cuda_each(
	const struct sl_call *c, enum sl_cuda_code entry, int64_t n, void **params)
{
	int64_t each = (int64_t)SL_CUDA_THREADS * ELEMENTS_A_THREAD;
	struct sl_cuda_size grid = {at_most((n + each - 1) / each), 1, 1};

	return sl_cuda_go(
		c, entry, grid, (struct sl_cuda_size){SL_CUDA_THREADS, 1, 1}, params);
}

sl_status sl_cuda_long(
	const struct sl_call *c, enum sl_cuda_code entry, int64_t n, void **params)
{
	struct sl_cuda_size grid = {at_most((n + LONG_THREADS - 1) / LONG_THREADS), 1, 1};

	return sl_cuda_go(
		c, entry, grid, (struct sl_cuda_size){LONG_THREADS, 1, 1}, params);
}

sl_status sl_cuda_rows(const struct sl_call *c, enum sl_cuda_code entry, int64_t n,
	int64_t length, void **params)
{
	/* Threads in warps, some four elements each. */
	unsigned threads = length <= 128 ? 32 : length <= 2048 ? 256 : 1024;
	struct sl_cuda_size grid = {at_most(n), 1, 1};

	return sl_cuda_go(c, entry, grid, (struct sl_cuda_size){threads, 1, 1}, params);
}

sl_status sl_cuda_once(
	const struct sl_call *c, enum sl_cuda_code entry, unsigned threads, void **params)
{
	return sl_cuda_go(c, entry, (struct sl_cuda_size){1, 1, 1},
		(struct sl_cuda_size){threads, 1, 1}, params);
}

static bool is_one_of(enum sl_dtype t, bool low)
{
	return t == SL_F32 || (low && t == SL_BF16);
}

bool sl_cuda_is_float(const struct sl_node_info *n)
{
	return is_one_of(n->in[0].dtype, true);
}

bool sl_cuda_is_f32(const struct sl_node_info *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (sl_node_has(n, i) && n->in[i].dtype != SL_F32)
			return false;
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i].dtype != SL_F32)
			return false;
	return true;
}

void sl_cuda_dense(const struct sl_shape *s, int64_t stride[SL_MAX_RANK])
{
	int64_t step = 1;

	for (int i = s->rank - 1; i >= 0; i--) {
		stride[i] = step;
		step *= s->dim[i];
	}
}

void sl_cuda_spread(const struct sl_shape *operand, const struct sl_shape *over,
	int64_t stride[SL_MAX_RANK])
{
	int64_t dense[SL_MAX_RANK];
	int lead = over->rank - operand->rank;

	sl_cuda_dense(operand, dense);
	for (int i = 0; i < over->rank; i++) {
		bool repeats = i < lead || operand->dim[i - lead] == 1;
		stride[i] = repeats ? 0 : dense[i - lead];
	}
}

/* Whether axis i goes on evenly where the walk's last axis ends. */
static bool is_even(
	const struct sl_cuda_walk *w, int operands, int64_t (*stride)[SL_MAX_RANK], int i)
{
	int last = w->rank - 1;

	for (int k = 0; k < operands; k++)
		if (stride[k][i] != w->stride[k][last] * w->dim[last])
			return false;
	return true;
}

struct sl_cuda_walk sl_cuda_walk_over(
	const struct sl_shape *over, int operands, int64_t (*stride)[SL_MAX_RANK])
{
	struct sl_cuda_walk w = {0};

	for (int i = over->rank - 1; i >= 0; i--) {
		if (over->dim[i] == 1)
			continue;
		if (w.rank && is_even(&w, operands, stride, i)) {
			w.dim[w.rank - 1] *= over->dim[i];
			continue;
		}
		w.dim[w.rank] = over->dim[i];
		for (int k = 0; k < operands; k++)
			w.stride[k][w.rank] = stride[k][i];
		w.rank++;
	}
	if (w.rank)
		return w;
	w.rank = 1;
	w.dim[0] = 1;
	for (int k = 0; k < operands; k++)
		w.stride[k][0] = 1;
	return w;
}
