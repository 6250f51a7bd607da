/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul by oneDNN's matmul primitive. Transposed operands are strides in the
 * descriptors, so nothing is copied here; batch axes that are broadcast have size 1.
 *
 * Split of sums: where a is transposed (weight gradients) and k long, the library may
 * split k over threads. Then the bits follow the threads that run, so such a plan keeps
 * those of its creation; and a batch of such products is wrong, so the batches are run
 * one by one. Seen over some thousand shapes at 2 to 16 threads: only with a transposed a
 * and k of 2048 and more. A single row counts as transposed, for its strides are the same
 * either way.
 */
#include "kernel/cpu/dnnl_gemm.h"

#include "base/alloc.h"
#include "base/assert.h"

struct product {
	struct sl_dnnl_plan plan; /* of all batches, or of one */
	struct sl_gemm gemm;
	int64_t runs;
};

struct descs {
	dnnl_memory_desc_t a, b, bias, y;
};

static bool accepts(const struct sl_node_info *n)
{
	return sl_gemm_fits(n) && sl_dnnl() != NULL;
}

bool sl_dnnl_gemm_splits(const struct sl_gemm *g)
{
	return (g->trans_a || g->m == 1) && g->k >= 1024;
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

	SL_BUG(g->n_batch > 0 && sl_dnnl_gemm_splits(g));
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
	plan->pin = plan->pin || sl_dnnl_gemm_splits(g);
	*scratch = bytes > *scratch ? bytes : *scratch;
	return SL_OK;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct product *p = sl_calloc(1, sizeof(*p));
	size_t workspace = 0;

	if (!p)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a matrix product");
	p->gemm = sl_gemm_of(n);
	p->runs = 1;
	p->plan.threads = env->threads;
	struct sl_gemm once = p->gemm;
	if (sl_dnnl_gemm_splits(&once)) {
		p->runs = sl_gemm_batches(&once);
		once.n_batch = 0;
	}
	int before = sl_dnnl_begin(env->threads);
	sl_status st = sl_dnnl_gemm_add(&p->plan, &once, false, &workspace);
	sl_dnnl_end(before);
	if (st != SL_OK) {
		sl_free(p);
		return st;
	}
	*out = (struct sl_prepared){.state = p, .workspace_bytes = workspace};
	return SL_OK;
}

static sl_status run(const struct sl_call *c)
{
	const struct product *p = c->prepared;
	void *slot[SL_DNNL_SLOTS] = {
		[SL_GEMM_BIAS] = c->in[2],
		[SL_GEMM_SCRATCH] = c->workspace,
	};

	for (int64_t i = 0; i < p->runs; i++) {
		int64_t a;
		int64_t b;
		sl_gemm_offsets(&p->gemm, i, &a, &b);
		slot[SL_GEMM_A] = (float *)c->in[0] + a;
		slot[SL_GEMM_B] = (float *)c->in[1] + b;
		slot[SL_GEMM_Y] = (float *)c->out[0] + i * p->gemm.m * p->gemm.n;
		SL_TRY(sl_dnnl_plan_run(&p->plan, slot));
	}
	return SL_OK;
}

static void release(void *state)
{
	struct product *p = state;

	if (p)
		sl_dnnl_plan_finish(&p->plan);
	sl_free(p);
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
