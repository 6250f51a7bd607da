/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel against the reference on one node: buffers, guards, comparison. */
#include "harness/kernel_case.h"

#include "harness/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

#define GUARD 64
#define GUARD_BYTE 0x5a

/* Bytes between two guards, 64-byte aligned, filled with 0xff. */
static void *guarded(size_t bytes)
{
	char *p = sl_alloc_aligned(64, bytes + 2 * GUARD);

	assert_non_null(p);
	memset(p, GUARD_BYTE, bytes + 2 * GUARD);
	memset(p + GUARD, 0xff, bytes);
	return p + GUARD;
}

static void check_guards(const void *data, size_t bytes)
{
	const char *p = data;

	for (int i = 0; i < GUARD; i++) {
		assert_int_equal(p[i - GUARD], GUARD_BYTE);
		assert_int_equal(p[bytes + (size_t)i], GUARD_BYTE);
	}
}

static void free_guarded(void *data)
{
	if (data)
		sl_free_aligned((char *)data - GUARD);
}

static void fill(float *data, int64_t n, uint32_t seed)
{
	uint32_t state = seed * 2654435761u + 1;

	for (int64_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		data[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
	}
}

void sl_case_init(struct sl_case *k, const struct sl_op *op, const void *attr,
	const struct sl_shape *in, int n_in)
{
	memset(k, 0, sizeof(*k));
	k->node = (struct sl_node_info){
		.op = op, .attr = attr, .n_in = n_in, .in = k->in_type};
	for (int i = 0; i < n_in; i++) {
		if (in[i].rank == SL_CASE_NONE) {
			k->in_type[i].dtype = SL_DTYPE_COUNT;
			continue;
		}
		k->in_type[i] = (struct sl_type){.dtype = SL_F32, .shape = in[i]};
		k->in[i] = guarded(sl_type_bytes(&k->in_type[i]));
		fill(k->in[i], sl_shape_count(&in[i]), (uint32_t)i + 1);
	}
	sl_assert_ok(op->infer(&k->node, k->out_type));
	k->node.n_out = op->n_out;
	k->node.out = k->out_type;
	for (int i = 0; i < op->n_out; i++)
		k->got[i] = guarded(sl_type_bytes(&k->out_type[i]));
}

void sl_case_finish(struct sl_case *k)
{
	for (int i = 0; i < SL_CASE_MAX; i++)
		free_guarded(k->in[i]);
	for (int i = 0; i < SL_OP_MAX_OUT; i++) {
		free_guarded(k->got[i]);
		free_guarded(k->want[i]);
	}
}

static void run_with(struct sl_case *k, const struct sl_kernel *kernel,
	const struct sl_prepared *p, struct sl_pool *pool)
{
	struct sl_run run = {.pool = pool};
	void *workspace = guarded(p->workspace_bytes);
	struct sl_call call = {
		.node = &k->node,
		.in = (void *const *)k->in,
		.out = (void *const *)k->got,
		.workspace = workspace,
		.run = &run,
		.prepared = p->state,
	};

	for (int i = 0; i < k->node.n_out; i++)
		memset(k->got[i], 0xff, sl_type_bytes(&k->out_type[i]));
	sl_assert_ok(kernel->run(&call));
	for (int i = 0; i < k->node.n_out; i++)
		check_guards(k->got[i], sl_type_bytes(&k->out_type[i]));
	check_guards(workspace, p->workspace_bytes);
	k->workspace_bytes = p->workspace_bytes;
	free_guarded(workspace);
}

void sl_case_run(
	struct sl_case *k, const struct sl_kernel *kernel, int threads, int width)
{
	struct sl_prepared p = {0};
	struct sl_pool *pool = NULL;

	assert_true(!kernel->accepts || kernel->accepts(&k->node));
	if (kernel->prepare)
		sl_assert_ok(
			kernel->prepare(&k->node, &(struct sl_kernel_env){threads}, &p));
	sl_kernel_set_width(width);
	sl_assert_ok(sl_pool_create(width, &pool));
	run_with(k, kernel, &p, pool);
	sl_pool_destroy(pool);
	sl_kernel_set_width(0);
	if (kernel->release)
		kernel->release(p.state);
}

static void make_want(struct sl_case *k)
{
	const struct sl_op *op = k->node.op;
	size_t bytes = op->ref_workspace ? op->ref_workspace(&k->node) : 0;
	struct sl_run run = {0};
	void *workspace = guarded(bytes);

	for (int i = 0; i < k->node.n_out; i++)
		k->want[i] = guarded(sl_type_bytes(&k->out_type[i]));
	struct sl_call call = {
		.node = &k->node,
		.in = (void *const *)k->in,
		.out = (void *const *)k->want,
		.workspace = workspace,
		.run = &run,
	};
	sl_assert_ok(op->ref(&call));
	free_guarded(workspace);
	k->has_want = true;
}

static bool close_to(float got, float want, double tolerance)
{
	if (isnan(want) || isinf(want))
		return isnan(want) ? isnan(got) != 0 : got == want;
	double scale = fabs((double)want) > 1 ? fabs((double)want) : 1;
	return fabs((double)got - (double)want) <= tolerance * scale;
}

bool sl_case_near(struct sl_case *k, double tolerance)
{
	if (!k->has_want)
		make_want(k);
	for (int o = 0; o < k->node.n_out; o++) {
		int64_t n = sl_shape_count(&k->out_type[o].shape);
		for (int64_t i = 0; i < n; i++) {
			if (close_to(k->got[o][i], k->want[o][i], tolerance))
				continue;
			print_error("output %d, element %lld of %lld: %.9g, want %.9g\n",
				o, (long long)i, (long long)n, (double)k->got[o][i],
				(double)k->want[o][i]);
			return false;
		}
	}
	return true;
}

void sl_case_same_bits(struct sl_case *k, const struct sl_kernel *kernel, int threads)
{
	static const int widths[] = {1, 1, 2, 4};
	float *first[SL_OP_MAX_OUT] = {0};

	for (size_t w = 0; w < SL_COUNT(widths); w++) {
		sl_case_run(k, kernel, threads, widths[w]);
		for (int o = 0; o < k->node.n_out; o++) {
			size_t bytes = sl_type_bytes(&k->out_type[o]);
			if (w == 0) {
				first[o] = guarded(bytes);
				memcpy(first[o], k->got[o], bytes);
			}
			assert_memory_equal(first[o], k->got[o], bytes);
		}
	}
	for (int o = 0; o < k->node.n_out; o++)
		free_guarded(first[o]);
}
