/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_LAUNCH_H
#define SL_KERNEL_CUDA_LAUNCH_H

#include "device/cuda/cuda.h"
#include "graph/op_attr.h"
#include "kernel/cuda/args.h"
#include "kernel/kernel.h"

/*
 * What the descriptors of CUDA kernels share. A run only enqueues: it returns before the
 * card has begun, and what fails later is told by the stream's synchronisation.
 *
 * Forms of launches follow from shapes alone, never from the card, so that a result has
 * the same bits on each.
 */
enum sl_cuda_code {
#define SL_CUDA_ENTRY(name) SL_IN_##name,
#include "kernel/cuda/entries.def"
#undef SL_CUDA_ENTRY
	SL_CUDA_ENTRIES
};

/* Of a pair of entries the one for an element type, f32 or bf16. */
static inline enum sl_cuda_code sl_cuda_of(enum sl_cuda_code pair, enum sl_dtype t)
{
	return (enum sl_cuda_code)(pair + (t == SL_BF16));
}

#define SL_CUDA_WARP 32
#define SL_CUDA_THREADS 256

#define SL_PARAMS(...) ((void *[]){__VA_ARGS__})

/* A launch of any form; nothing if a side of the grid is 0. */
SL_NODISCARD sl_status sl_cuda_go(const struct sl_call *c, enum sl_cuda_code entry,
	struct sl_cuda_size grid, struct sl_cuda_size block, void **params);
/* Threads that go over n elements in steps of the grid. */
SL_NODISCARD sl_status sl_cuda_each(
	const struct sl_call *c, enum sl_cuda_code entry, int64_t n, void **params);
/* The same for elements that are long work each: one a thread, in small blocks, so that a
 * few hundred of them keep many multiprocessors busy. */
SL_NODISCARD sl_status sl_cuda_long(
	const struct sl_call *c, enum sl_cuda_code entry, int64_t n, void **params);
/* A block for each of n rows of the given length, in steps of the grid. */
SL_NODISCARD sl_status sl_cuda_rows(const struct sl_call *c, enum sl_cuda_code entry,
	int64_t n, int64_t length, void **params);
/* One block. */
SL_NODISCARD sl_status sl_cuda_once(const struct sl_call *c, enum sl_cuda_code entry,
	unsigned threads, void **params);

/* Reads a struct sl_cuda_report, which is zero again afterwards. */
sl_status sl_cuda_report_read(void *note);

/* Sides of grids: blocks of `each` for n, at most what a grid takes in x. */
unsigned sl_cuda_blocks(int64_t n, int64_t each);

/* in[0] is f32 or bf16. */
bool sl_cuda_is_float(const struct sl_node_info *n);
/* All inputs that are there, and results, are f32. */
bool sl_cuda_is_f32(const struct sl_node_info *n);

/* A walk over a shape; stride[k] of operand k, an element step an axis, from outer to
 * inner. Neighbouring axes that all operands step through evenly become one. */
struct sl_cuda_walk sl_cuda_walk_over(
	const struct sl_shape *over, int operands, int64_t (*stride)[SL_MAX_RANK]);
/* Row-major steps, and those of an operand that broadcasts to `over`. */
void sl_cuda_dense(const struct sl_shape *s, int64_t stride[SL_MAX_RANK]);
void sl_cuda_spread(const struct sl_shape *operand, const struct sl_shape *over,
	int64_t stride[SL_MAX_RANK]);
static inline bool sl_cuda_is_flat(const struct sl_cuda_walk *w, int operand)
{
	return w->rank == 1 && w->stride[operand][0] == 1;
}

#endif
