/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_KERNEL_CASE_H
#define SL_TESTS_KERNEL_CASE_H

#include "kernel/kernel.h"

/*
 * One node without a graph, to hold a kernel against the reference:
 *
 *	struct sl_case k;
 *	sl_case_init(&k, &sl_op_matmul, &attr, (struct sl_shape[]){a, b}, 3);
 *	sl_case_run(&k, &sl_kernel_gemv, 2, 1);
 *	assert_true(sl_case_near(&k, 1e-5));
 *	sl_case_finish(&k);
 *
 * All values are f32. Inputs are filled with numbers in [-1, 1) that depend on nothing
 *but their place. Outputs and workspace are filled with 0xff (NaN) before a run and have
 *guard bytes on both sides, which are checked after it. The functions fail the running
 *test.
 */
#define SL_CASE_MAX 8

struct sl_case {
	struct sl_node_info node;
	struct sl_type in_type[SL_CASE_MAX];
	struct sl_type out_type[SL_OP_MAX_OUT];
	float *in[SL_CASE_MAX];
	float *want[SL_OP_MAX_OUT]; /* the reference's results, made when first needed */
	float *got[SL_OP_MAX_OUT];
	size_t workspace_bytes; /* of the last run */
	bool has_want;
};

/* A shape of rank SL_CASE_NONE is an absent input. */
#define SL_CASE_NONE (-1)
void sl_case_init(struct sl_case *k, const struct sl_op *op, const void *attr,
	const struct sl_shape *in, int n_in);
void sl_case_finish(struct sl_case *k);
/* Prepares for `threads`, runs with `width` threads, releases. */
void sl_case_run(
	struct sl_case *k, const struct sl_kernel *kernel, int threads, int width);
/* Every element within tolerance * max(1, |want|); NaN equals NaN. Prints the first
 * difference. */
bool sl_case_near(struct sl_case *k, double tolerance);
/* Runs with each width 1, 2, 4 and twice with the first; all bits of the outputs must
 * agree. */
void sl_case_same_bits(struct sl_case *k, const struct sl_kernel *kernel, int threads);

#endif
