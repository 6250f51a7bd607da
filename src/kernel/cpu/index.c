/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows picked by an index: embedding and gather of any element type, and their gradients
 * in f32.
 *
 * All indices are checked before anything is written. A gradient adds duplicates in index
 * order: a piece of work is one stripe of columns over all indices, so that no two
 * workers meet in a row.
 */
#include "kernel/cpu/cpu.h"

#include <inttypes.h>
#include <string.h>

#include "graph/op_attr.h"

#define STRIPE 64 /* columns: four cache lines */

/* x seen as [outer, n, inner]; index number `which` of the node picks along n. */
struct pick {
	int64_t outer, n, inner, count;
	int which;
	bool wrap; /* negative indices count from the end */
};

static struct pick around(const struct sl_call *c, const struct sl_shape *x, int which)
{
	/* embedding and its gradient have a table [V, C] and no axis. */
	bool table = strncmp(c->node->op->name, "embedding", 9) == 0;
	int axis = table ? 0 : (int)((const struct sl_axis_attr *)c->node->attr)->axis;

	return (struct pick){.outer = sl_shape_span(x, 0, axis),
		.n = x->dim[axis],
		.inner = sl_shape_span(x, axis + 1, x->rank),
		.count = sl_shape_count(&c->node->in[which].shape),
		.which = which,
		.wrap = !table};
}

static int64_t row_at(const struct sl_call *c, const struct pick *p, int64_t i)
{
	int64_t v = sl_cpu_index(c->in[p->which], c->node->in[p->which].dtype, i);
	return p->wrap && v < 0 ? v + p->n : v;
}

static sl_status check(const struct sl_call *c, const struct pick *p)
{
	for (int64_t i = 0; i < p->count; i++) {
		int64_t row = row_at(c, p, i);
		if (row < 0 || row >= p->n)
			return SL_FAIL(SL_E_INVALID,
				"index %" PRId64 " at position %" PRId64
				" is outside of [%" PRId64 ", %" PRId64 ")",
				sl_cpu_index(
					c->in[p->which], c->node->in[p->which].dtype, i),
				i, p->wrap ? -p->n : 0, p->n);
	}
	return SL_OK;
}

static void pick_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct pick *p = arg;
	size_t bytes = (size_t)p->inner * sl_dtype_bytes(c->node->out[0].dtype);
	const char *x = c->in[0];
	char *y = c->out[0];

	for (int64_t i = begin; i < end; i++) {
		int64_t row = i / p->count * p->n + row_at(c, p, i % p->count);
		memcpy(y + (size_t)i * bytes, x + (size_t)row * bytes, bytes);
	}
}

static sl_status pick_run(const struct sl_call *c)
{
	struct pick p = around(c, &c->node->in[0].shape, 1);

	SL_TRY(check(c, &p));
	sl_cpu_for(c, &p, p.outer * p.count, sl_cpu_grain(p.inner), pick_range);
	return SL_OK;
}

/* What rows are added to: zeros, or the sum given as input 2. */
static void start_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const float *sum = arg;
	float *dx = (float *)c->out[0] + begin;
	size_t bytes = (size_t)(end - begin) * sizeof(float);

	if (sum)
		memcpy(dx, sum + begin, bytes);
	else
		memset(dx, 0, bytes);
}

static int64_t stripes(const struct pick *p)
{
	return (p->inner + STRIPE - 1) / STRIPE;
}

static void add_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct pick *p = arg;

	for (int64_t k = begin; k < end; k++) {
		int64_t outer = k / stripes(p);
		int64_t first = k % stripes(p) * STRIPE;
		int64_t n = p->inner - first < STRIPE ? p->inner - first : STRIPE;
		const float *dy =
			(const float *)c->in[1] + outer * p->count * p->inner + first;
		float *dx = (float *)c->out[0] + outer * p->n * p->inner + first;
		for (int64_t i = 0; i < p->count; i++) {
			float *to = dx + row_at(c, p, i) * p->inner;
			const float *from = dy + i * p->inner;
#pragma omp simd
			for (int64_t j = 0; j < n; j++)
				to[j] += from[j];
		}
	}
}

static sl_status add_run(const struct sl_call *c)
{
	struct pick p = around(c, &c->node->out[0].shape, 0);

	const void *sum = sl_node_has(c->node, 2) ? c->in[2] : NULL;

	SL_TRY(check(c, &p));
	if (sum != c->out[0])
		sl_cpu_for(c, sum, sl_cpu_count_out(c, 0), SL_CPU_GRAIN, start_range);
	sl_cpu_for(
		c, &p, p.outer * stripes(&p), sl_cpu_grain(STRIPE * p.count), add_range);
	return SL_OK;
}

static bool accepts_add(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_but(n, 0);
}

#define KERNEL(op_name, accepts_fn, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = accepts_fn, \
		.run = run_fn, \
	};

KERNEL(embedding, NULL, pick_run)
KERNEL(gather, NULL, pick_run)
KERNEL(embedding_dw, accepts_add, add_run)
KERNEL(gather_dx, accepts_add, add_run)
