/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_EVALUATE_H
#define SL_TESTS_EVALUATE_H

#include "graph/ir.h"

/*
 * Runs a graph with the reference kernels, node by node, on a buffer of its own for each
 *root:
 *
 *	struct sl_eval e;
 *	sl_assert_ok(sl_eval_init(&e, g));
 *	sl_eval_set(&e, x, (double[]){1, 2, 3}, 3);
 *	sl_assert_ok(sl_eval_run(&e));
 *	assert_true(sl_eval_near(&e, y, (double[]){1, 4, 9}, 3, 1e-12));
 *	sl_eval_finish(&e);
 *
 * Results of nodes are filled with 0xff bytes (NaN) before a run, so that an element that
 *a kernel forgot is seen; bytes behind each buffer are checked after each node.
 * Persistent values begin as zero or their constant and keep what a run leaves in them.
 *The graph must not grow between init and finish.
 */
struct sl_eval {
	const struct sl_graph *g;
	void **data; /* [n_values]; views point into their root */
	struct sl_run run; /* seed, step; feed nodes are skipped (sl_eval_set) unless feed
			      is set */
};

SL_NODISCARD sl_status sl_eval_init(struct sl_eval *e, const struct sl_graph *g);
void sl_eval_finish(struct sl_eval *e); /* a zeroed one is fine */

/* All nodes, or nodes [from, to). */
SL_NODISCARD sl_status sl_eval_run(struct sl_eval *e);
SL_NODISCARD sl_status sl_eval_run_part(struct sl_eval *e, uint32_t from, uint32_t to);

/* Writes n numbers (all elements of v), or one number into all. */
void sl_eval_set(struct sl_eval *e, sl_val v, const double *numbers, int64_t n);
void sl_eval_fill(struct sl_eval *e, sl_val v, double number);
double sl_eval_get(const struct sl_eval *e, sl_val v, int64_t i);
int64_t sl_eval_count(const struct sl_eval *e, sl_val v);
/*
 * v has n elements, each within tolerance * max(1, |want|) of want[i]; NaN and infinities
 * equal themselves. Prints the first difference.
 */
bool sl_eval_near(const struct sl_eval *e, sl_val v, const double *want, int64_t n,
	double tolerance);

#endif
