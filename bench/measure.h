/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BENCH_MEASURE_H
#define SL_BENCH_MEASURE_H

#include "kernel/kernel.h"

/*
 * Timing kernels: one node without a graph, and the machine's own arithmetic peak to hold
 * it against. Rounds are interleaved (peak, then each node once), so that a disturbed
 * moment hits all alike; medians are printed, and the best of the peaks. Failures end the
 * program with a message.
 */
#define BENCH_ROUNDS 9
#define BENCH_IN 3

struct bench_node {
	char label[48];
	struct sl_node_info node;
	struct sl_type in_type[BENCH_IN], out_type;
	void *in[BENCH_IN], *out, *workspace;
	const struct sl_kernel *kernel;
	struct sl_prepared prepared;
	double flops;
	double seconds[BENCH_ROUNDS];
};

/* An absent input has rank -1. attr must stay. Prepares the kernel that a program would
 * get. */
void bench_node_init(struct bench_node *b, const struct sl_op *op, const void *attr,
	const struct sl_shape in[BENCH_IN], int n_in, int threads);
void bench_node_finish(struct bench_node *b);

/*
 * Times all nodes over BENCH_ROUNDS rounds after one to warm up and prints a line each:
 * GFLOP/s, share of the peak, microseconds, workspace, kernel.
 */
void bench_table(struct bench_node *nodes, int n, int threads);

#endif
