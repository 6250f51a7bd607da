/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_NODE_RUN_H
#define SL_TESTS_NODE_RUN_H

#include "harness/op_case.h"
#include "kernel/kernel.h"

/*
 * Any kernel on the node of a case, any element types:
 *
 *	struct sl_node_run r;
 *	SL_TRY(sl_node_run_init(&r, &c));
 *	SL_TRY(sl_node_run_do(&r, kernel, pool, -1));
 *	SL_TRY(sl_node_run_do(&other, &sl_kernel_ref, NULL, -1));
 *	SL_TRY(sl_node_run_near(&r, &other, 1e-5));
 *	sl_node_run_finish(&r);
 *
 * Inputs, outputs and workspace have guard bytes on both sides, checked after each run;
 *outputs and workspace begin as 0xff bytes. Each run begins with the case's inputs.
 */
struct sl_node_run {
	const struct sl_op_case *c;
	struct sl_op_built b;
	struct sl_eval e; /* the contents that inputs begin with */
	struct sl_node_types types;
	struct sl_node_info info;
	void *in[SL_CASE_MAX_IN];
	void *out[SL_OP_MAX_OUT];
};

/* Builds the case in f32. Finish it in any case. */
SL_NODISCARD sl_status sl_node_run_init(
	struct sl_node_run *r, const struct sl_op_case *c);
void sl_node_run_finish(struct sl_node_run *r);
/* From now on the node runs channels last: operands are brought over before each run and
 * back after it. False, and nothing, if its operator names none of rank 4. */
bool sl_node_run_channels_last(struct sl_node_run *r);

/* in_place: the input whose bytes out[0] takes, or -1. */
SL_NODISCARD sl_status sl_node_run_do(struct sl_node_run *r,
	const struct sl_kernel *kernel, struct sl_pool *pool, int in_place);

/*
 * Outputs and mutated inputs of both, each element within tol * max(1, |want|); NaN and
 * infinity equal themselves. SL_E_NO with the first difference. With tol 0: all bits.
 */
SL_NODISCARD sl_status sl_node_run_near(
	const struct sl_node_run *got, const struct sl_node_run *want, double tol);

/* Appends the cases of all *.txt files of a folder. */
SL_NODISCARD sl_status sl_op_cases_read(struct sl_op_cases *cases, const char *folder);

#endif
