/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul by oneDNN's matmul primitive. Transposed operands are strides in the
 * descriptors, so nothing is copied here; batch axes that are broadcast have size 1.
 *
 * Split of sums: for a transposed a (weight gradients) with a long k and few results the
 * library splits k over the threads it runs with, so there the plan keeps the threads of
 * its creation. Measured over sizes 8..1024 squared by k 64..65536 at 2, 4 and 16
 * threads: only with trans_a, k >= 2048 and m n <= 131072; the rule below takes in a good
 * deal more.
 */
#include "kernel/cpu/dnnl_gemm.h"

#include "base/alloc.h"

struct descs {
	dnnl_memory_desc_t a, b, bias, y;
};

static bool accepts(const struct sl_node_info *n)
{
	return sl_gemm_fits(n) && sl_dnnl() != NULL;
}

static bool splits_k(const struct sl_gemm *g)
{
	return g->trans_a && g->n_batch == 0 && g->k >= 1024 && g->m * g->n <= 1 << 20;
}

/* [batch..., rows, cols] with the given strides of the last two. */
static dnnl_status_t describe(const struct sl_gemm *g, const int64_t *step,
	const int64_t size[2], bool trans, dnnl_memory_desc_t *out)
{
	dnnl_dims_t dim = {0};
	dnnl_dims_t stride = {0};
	int rank = g->n_batch;

	for (int i = 0; i < rank; i++) {
		dim[i] = step[i] ? g->batch[i] : 1;
		stride[i] = step[i] ? step[i] : size[0] * size[1];
	}
	dim[rank] = size[0];
	dim[rank + 1] = size[1];
	stride[rank] = trans ? 1 : size[1];
	stride[rank + 1] = trans ? size[0] : 1;
	return sl_dnnl()->memory_desc_init_by_strides(
		out, rank + 2, dim, dnnl_f32, stride);
}

static dnnl_status_t describe_all(const struct sl_gemm *g, struct descs *d)
{
	const int64_t none[SL_MAX_RANK] = {0};
	int64_t y_step[SL_MAX_RANK];
	int64_t span = g->m * g->n;
	dnnl_status_t st;

	for (int i = g->n_batch - 1; i >= 0; i--) {
		y_step[i] = span;
		span *= g->batch[i];
	}
	st = describe(g, g->a_step, (int64_t[]){g->m, g->k}, g->trans_a, &d->a);
	if (st == dnnl_success)
		st = describe(g, g->b_step, (int64_t[]){g->k, g->n}, g->trans_b, &d->b);
	if (st == dnnl_success)
		st = describe(g, y_step, (int64_t[]){g->m, g->n}, false, &d->y);
	if (st == dnnl_success)
		st = describe(g, none, (int64_t[]){1, g->n}, false, &d->bias);
	return st;
}

sl_status sl_dnnl_gemm_add(struct sl_dnnl_plan *plan, const struct sl_gemm *g,
	bool accumulate, size_t *scratch)
{
	const struct sl_dnnl *lib = sl_dnnl();
	struct descs d;
	dnnl_matmul_desc_t op;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_status_t ds = describe_all(g, &d);

	if (ds == dnnl_success)
		ds = lib->matmul_desc_init(
			&op, &d.a, &d.b, g->bias ? &d.bias : NULL, &d.y);
	if (ds == dnnl_success)
		ds = lib->primitive_desc_create(&pd, &op,
			accumulate ? lib->attr_sum : lib->attr, lib->engine, NULL);
	if (ds != dnnl_success)
		return sl_dnnl_status(ds, "describing a matrix product");
	const dnnl_memory_desc_t *need = sl_dnnl_md(pd, dnnl_query_scratchpad_md);
	const struct sl_dnnl_arg args[] = {
		{DNNL_ARG_SRC, SL_GEMM_A, &d.a},
		{DNNL_ARG_WEIGHTS, SL_GEMM_B, &d.b},
		{DNNL_ARG_DST, SL_GEMM_Y, &d.y},
		{DNNL_ARG_SCRATCHPAD, SL_GEMM_SCRATCH, need},
		{DNNL_ARG_BIAS, SL_GEMM_BIAS, &d.bias},
	};
	size_t bytes = sl_dnnl_bytes(need);
	sl_status st = sl_dnnl_plan_add(plan, pd, args, g->bias ? 5 : 4);
	lib->primitive_desc_destroy(pd);
	if (st != SL_OK)
		return st;
	plan->pin = plan->pin || splits_k(g);
	*scratch = bytes > *scratch ? bytes : *scratch;
	return SL_OK;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct sl_gemm g = sl_gemm_of(n);
	struct sl_dnnl_plan *plan = sl_calloc(1, sizeof(*plan));
	size_t workspace = 0;

	if (!plan)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a matrix product");
	plan->threads = env->threads;
	int before = sl_dnnl_begin(env->threads);
	sl_status st = sl_dnnl_gemm_add(plan, &g, false, &workspace);
	sl_dnnl_end(before);
	if (st != SL_OK) {
		sl_free(plan);
		return st;
	}
	*out = (struct sl_prepared){.state = plan, .workspace_bytes = workspace};
	return SL_OK;
}

static sl_status run(const struct sl_call *c)
{
	void *const slot[SL_DNNL_SLOTS] = {
		[SL_GEMM_A] = c->in[0],
		[SL_GEMM_B] = c->in[1],
		[SL_GEMM_BIAS] = c->in[2],
		[SL_GEMM_Y] = c->out[0],
		[SL_GEMM_SCRATCH] = c->workspace,
	};

	return sl_dnnl_plan_run(c->prepared, slot);
}

static void release(void *state)
{
	if (state)
		sl_dnnl_plan_finish(state);
	sl_free(state);
}

const struct sl_kernel sl_kernel_dnnl_matmul = {
	.name = "dnnl_matmul",
	.op = "matmul",
	.rank = 30,
	.accepts = accepts,
	.prepare = prepare,
	.run = run,
	.release = release,
};
