/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul by our own packed product: packed_matmul for what it does faster than the
 * library, packed_any for the rest where there is no library.
 */
#include "kernel/cpu/cpu.h"

#include "base/alloc.h"
#include "kernel/cpu/gemm_pack.h"

/* Below these sizes packing takes longer than it saves. */
#define LEAST_SIDE 128
#define LEAST_DEPTH 64
#define NARROW 1024
#define SHORT 2048
#define LEAST_PRODUCTS ((int64_t)1 << 25)
/* Products that one thread does before a second one would be awake. */
#define ALONE_PRODUCTS ((int64_t)1 << 20)
#define ALONE_SIDE 8

static bool accepts_any(const struct sl_node_info *n)
{
	return sl_tile_is_here() && sl_gemm_fits_low(n);
}

static bool is_for_one(const struct sl_gemm *g)
{
	return g->m * g->n <= ALONE_PRODUCTS / g->k &&
	       sl_gemm_batches(g) <= ALONE_PRODUCTS / (g->m * g->n * g->k);
}

/* Where y is narrow and not long the library keeps more of the peak; its rate falls to a
 * half where rows of y are long and a multiple of a page apart. */
static bool is_the_library_s(const struct sl_gemm *g)
{
	return g->n <= NARROW && g->m <= SHORT;
}

static bool is_large(const struct sl_gemm *g)
{
	return g->n_batch == 0 && !is_the_library_s(g) && g->m >= LEAST_SIDE &&
	       g->n >= LEAST_SIDE && g->k >= LEAST_DEPTH &&
	       g->m * g->n >= LEAST_PRODUCTS / g->k;
}

static bool accepts_better(const struct sl_node_info *n)
{
	if (!accepts_any(n))
		return false;
	struct sl_gemm g = sl_gemm_of(n);
	bool thick = g.m >= ALONE_SIDE && g.n >= ALONE_SIDE && g.k >= ALONE_SIDE;
	return (thick && is_for_one(&g)) || is_large(&g);
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct sl_pack *p = sl_alloc(sizeof(*p));
	struct sl_gemm g = sl_gemm_of(n);

	if (!p)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a matrix product");
	struct sl_pack_form form = sl_pack_form_of(&g);
	*p = sl_pack_of(&form, &g, is_for_one(&g) ? 1 : env->threads);
	p->low_a = n->in[0].dtype == SL_BF16;
	p->low_b = n->in[1].dtype == SL_BF16;
	*out = (struct sl_prepared){
		.state = p,
		.workspace_bytes = sl_pack_workspace(p),
		.layout = "packed",
	};
	return SL_OK;
}

static sl_status run(const struct sl_call *c)
{
	sl_pack_run(c->prepared, &(struct sl_pack_io){
					 .a = c->in[0],
					 .b = c->in[1],
					 .y = c->out[0],
					 .col_bias = c->in[2],
					 .workspace = c->workspace,
					 .pool = c->run->pool,
				 });
	return SL_OK;
}

#define KERNEL(variable, rank_of, accepts_fn) \
	const struct sl_kernel sl_kernel_##variable = { \
		.name = #variable, \
		.op = "matmul", \
		.rank = rank_of, \
		.accepts = accepts_fn, \
		.prepare = prepare, \
		.run = run, \
		.release = sl_free, \
	};
KERNEL(packed_matmul, 38, accepts_better)
KERNEL(packed_any, 20, accepts_any)
