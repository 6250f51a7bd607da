/* SPDX-License-Identifier: Apache-2.0 */
/* Timing of single kernels beside the measured multiply-add peak. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "kernel/peak.h"

#define PAGE 4096

static void must(sl_status st, const char *what)
{
	if (st == SL_OK)
		return;
	fprintf(stderr, "%s: %s\n", what, sl_last_error());
	_Exit(1);
}

static void *need(size_t bytes)
{
	void *p = sl_alloc_aligned(PAGE, bytes);

	if (p)
		return p;
	fprintf(stderr, "no memory for %zu bytes\n", bytes);
	_Exit(1);
}

static void *filled(const struct sl_type *t)
{
	int64_t n = sl_shape_count(&t->shape);
	float *data = need(sl_type_bytes(t));

	for (int64_t i = 0; i < n; i++)
		data[i] = (float)(i % 17) * 0.125f - 1.0f;
	return data;
}

void bench_node_init(struct bench_node *b, const struct sl_op *op, const void *attr,
	const struct sl_shape in[BENCH_IN], int n_in, int threads)
{
	struct sl_cost cost;

	memset(b, 0, sizeof(*b));
	b->node = (struct sl_node_info){.op = op,
		.attr = attr,
		.n_in = n_in,
		.n_out = 1,
		.in = b->in_type,
		.out = &b->out_type};
	for (int i = 0; i < n_in; i++) {
		b->in_type[i].dtype = in[i].rank < 0 ? SL_DTYPE_COUNT : SL_F32;
		if (in[i].rank < 0)
			continue;
		b->in_type[i].shape = in[i];
		b->in[i] = filled(&b->in_type[i]);
	}
	must(op->infer(&b->node, &b->out_type), op->name);
	b->out = filled(&b->out_type);
	op->cost(&b->node, &cost);
	b->flops = cost.flops;
	b->kernel = sl_kernel_select(&b->node);
	if (b->kernel->prepare)
		must(b->kernel->prepare(
			     &b->node, &(struct sl_kernel_env){threads}, &b->prepared),
			b->kernel->name);
	b->workspace = need(b->prepared.workspace_bytes);
}

void bench_node_finish(struct bench_node *b)
{
	if (b->kernel->release)
		b->kernel->release(b->prepared.state);
	for (int i = 0; i < BENCH_IN; i++)
		sl_free_aligned(b->in[i]);
	sl_free_aligned(b->out);
	sl_free_aligned(b->workspace);
}

static double time_once(struct bench_node *b, struct sl_pool *pool)
{
	struct sl_run run = {.pool = pool};
	struct sl_call call = {
		.node = &b->node,
		.in = b->in,
		.out = &b->out,
		.workspace = b->workspace,
		.run = &run,
		.prepared = b->prepared.state,
	};
	/* Short ones are repeated to 1 GFLOP, so that the clock's steps do not show. */
	int times = b->flops < 1e9 ? (int)(1e9 / (b->flops + 1e6)) + 1 : 1;
	sl_ns start = sl_clock_now();

	for (int i = 0; i < times; i++)
		must(b->kernel->run(&call), b->kernel->name);
	return (double)(sl_clock_now() - start) / times * 1e-9;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *v)
{
	qsort(v, BENCH_ROUNDS, sizeof(*v), by_size);
	return v[BENCH_ROUNDS / 2];
}

void bench_table(struct bench_node *nodes, int n, int threads)
{
	struct sl_pool *pool = NULL;
	double peak = 0;

	must(sl_pool_create(threads, &pool), "threads");
	sl_kernel_set_width(threads);
	for (int i = 0; i < n; i++)
		time_once(&nodes[i], pool);
	for (int r = 0; r < BENCH_ROUNDS; r++) {
		double now = sl_peak_flops(pool) / 1e9;
		peak = now > peak ? now : peak;
		for (int i = 0; i < n; i++)
			nodes[i].seconds[r] = time_once(&nodes[i], pool);
	}
	printf("multiply-add peak of %d threads: %.0f GFLOP/s, best of all rounds\n",
		threads, peak);
	printf("%-34s %8s %6s %10s %10s  %s\n", "median of 9 interleaved rounds",
		"GFLOP/s", "peak", "us", "workspace", "kernel");
	for (int i = 0; i < n; i++) {
		double s = median(nodes[i].seconds);
		printf("%-34s %8.1f %5.0f%% %10.1f %9.2fM  %s\n", nodes[i].label,
			nodes[i].flops / s * 1e-9, nodes[i].flops / s * 1e-7 / peak,
			s * 1e6, (double)nodes[i].prepared.workspace_bytes / (1 << 20),
			nodes[i].kernel->name);
	}
	sl_pool_destroy(pool);
}
