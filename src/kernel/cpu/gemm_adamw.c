/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul_adamw. packed_adamw: each tile of the gradient is used while it is in the first
 * cache; what it changes of p, m and v is asked for while the tile's sums run, so that 24
 * bytes an element pass behind the arithmetic. f32, all of k in one block. product_adamw:
 * any kernel of matmul into the workspace, then the update.
 */
#include "kernel/cpu/cpu.h"

#include "base/alloc.h"
#include "graph/op_attr.h"
#include "kernel/cpu/adamw.h"
#include "kernel/cpu/gemm_pack.h"

enum { P, M, V, A, B, LR, STEP };

#define PIECE 64 /* of k, between requests for lines */
#define LINE 16 /* floats */

struct update {
	struct sl_matmul_attr form;
	struct sl_type in[3], out[1];
	struct sl_node_info product;
	struct sl_pack pack; /* of packed_adamw */
	const struct sl_kernel *kernel; /* of product_adamw */
	struct sl_prepared inner;
	size_t inner_at; /* the kernel's workspace, behind the gradient */
};

static void set_product(struct update *u, const struct sl_node_info *n)
{
	const struct sl_matmul_adamw_attr *attr = n->attr;

	u->form = (struct sl_matmul_attr){
		.trans_a = attr->trans_a, .trans_b = attr->trans_b};
	u->in[0] = n->in[A];
	u->in[1] = n->in[B];
	u->in[2] = (struct sl_type){.dtype = SL_DTYPE_COUNT};
	u->out[0] = n->in[P];
	u->product = (struct sl_node_info){.op = sl_op_find("matmul"),
		.attr = &u->form,
		.n_in = 3,
		.n_out = 1,
		.in = u->in,
		.out = u->out};
}

static struct sl_adamw factors(const struct sl_call *c)
{
	const struct sl_matmul_adamw_attr *a = c->node->attr;
	double t = (double)(*(const int64_t *)c->in[STEP] + 1);
	struct sl_adamw f = sl_adamw_at(
		a->beta1, a->beta2, *(const float *)c->in[LR], a->weight_decay, t);

	f.eps = (float)a->eps;
	return f;
}

static bool accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_but(n, STEP);
}

static bool accepts_packed(const struct sl_node_info *n)
{
	struct update u;

	if (!accepts(n) || !sl_tile_is_here())
		return false;
	set_product(&u, n);
	if (!sl_gemm_fits(&u.product))
		return false;
	struct sl_gemm g = sl_gemm_of(&u.product);
	struct sl_pack_form form = sl_pack_form_of(&g);
	return sl_pack_of(&form, NULL, 1).depth == g.k;
}

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory to prepare an update");
}

static sl_status packed_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	struct update *u = sl_calloc(1, sizeof(*u));

	if (!u)
		return no_memory();
	set_product(u, n);
	struct sl_gemm g = sl_gemm_of(&u->product);
	struct sl_pack_form form = sl_pack_form_of(&g);
	u->pack = sl_pack_of(&form, NULL, env->threads);
	*out = (struct sl_prepared){.state = u,
		.workspace_bytes = sl_pack_workspace(&u->pack),
		.layout = "packed"};
	return SL_OK;
}

struct run {
	struct sl_adamw f;
	float *p, *m, *v;
	int64_t step; /* of rows */
};

/* Lines of rows [from, to) of a tile, to be written. */
static void request(const struct run *x, int64_t at, const int rows[2], int cols)
{
	for (int r = rows[0]; r < rows[1]; r++)
		for (int j = 0; j < cols; j += LINE) {
			int64_t i = at + r * x->step + j;
			__builtin_prefetch(x->p + i, 1, 3);
			__builtin_prefetch(x->m + i, 1, 3);
			__builtin_prefetch(x->v + i, 1, 3);
		}
}

static void update_tile(void *ctx, const struct sl_tile *t, int64_t row, int64_t col)
{
	const struct run *x = ctx;
	int64_t at = row * x->step + col;
	int64_t pieces = (t->depth + PIECE - 1) / PIECE;
	_Alignas(64) float gradient[SL_TILE_ROWS * SL_TILE_COLS];
	struct sl_tile own = *t;

	own.y = gradient;
	own.y_step = SL_TILE_COLS;
	for (int64_t i = 0; i < pieces; i++) {
		int64_t k = i * PIECE;
		const int rows[] = {
			(int)(t->rows * i / pieces), (int)(t->rows * (i + 1) / pieces)};
		request(x, at, rows, t->cols);
		own.a = t->a + k * SL_TILE_ROWS;
		own.b = t->b + k * SL_TILE_COLS;
		own.depth = t->depth - k < PIECE ? t->depth - k : PIECE;
		own.accumulate = i > 0;
		sl_tile_run(&own);
	}
	for (int r = 0; r < t->rows; r++, at += x->step)
		sl_adamw_row(&x->f, gradient + r * SL_TILE_COLS, x->p + at, x->m + at,
			x->v + at, t->cols);
}

static sl_status packed_run(const struct sl_call *c)
{
	const struct update *u = c->prepared;
	struct run x = {.f = factors(c),
		.p = c->in[P],
		.m = c->in[M],
		.v = c->in[V],
		.step = u->pack.form.n};

	sl_pack_run(&u->pack, &(struct sl_pack_io){
				      .a = c->in[A],
				      .b = c->in[B],
				      .y = c->in[P],
				      .workspace = c->workspace,
				      .pool = c->run->pool,
				      .tile = update_tile,
				      .tile_ctx = &x,
			      });
	return SL_OK;
}

const struct sl_kernel sl_kernel_packed_adamw = {
	.name = "packed_adamw",
	.op = "matmul_adamw",
	.rank = 20,
	.accepts = accepts_packed,
	.prepare = packed_prepare,
	.run = packed_run,
	.release = sl_free,
};

static sl_status product_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	struct update *u = sl_calloc(1, sizeof(*u));
	sl_status st = SL_OK;

	if (!u)
		return no_memory();
	set_product(u, n);
	u->kernel = sl_kernel_select(&u->product);
	if (u->kernel->prepare)
		st = u->kernel->prepare(&u->product, env, &u->inner);
	if (st != SL_OK) {
		sl_free(u);
		return st;
	}
	u->inner_at = (sl_type_bytes(&n->in[P]) + 63) / 64 * 64;
	*out = (struct sl_prepared){.state = u,
		.workspace_bytes = u->inner_at + u->inner.workspace_bytes,
		.layout = u->inner.layout,
		.split = u->inner.split};
	return SL_OK;
}

static void product_release(void *state)
{
	struct update *u = state;

	if (u && u->kernel->release)
		u->kernel->release(u->inner.state);
	sl_free(u);
}

static void update_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_adamw *f = arg;

	sl_adamw_row(f, (const float *)c->workspace + begin, (float *)c->in[P] + begin,
		(float *)c->in[M] + begin, (float *)c->in[V] + begin, end - begin);
}

static sl_status product_run(const struct sl_call *c)
{
	const struct update *u = c->prepared;
	struct sl_adamw f = factors(c);
	void *in[] = {c->in[A], c->in[B], NULL};
	void *out[] = {c->workspace};
	struct sl_call product = {.node = &u->product,
		.in = in,
		.out = out,
		.workspace = (char *)c->workspace + u->inner_at,
		.run = c->run,
		.prepared = u->inner.state};

	SL_TRY(u->kernel->run(&product));
	sl_cpu_for(c, &f, sl_cpu_count_in(c, P), SL_CPU_GRAIN, update_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_product_adamw = {
	.name = "product_adamw",
	.op = "matmul_adamw",
	.rank = 10,
	.accepts = accepts,
	.prepare = product_prepare,
	.run = product_run,
	.release = product_release,
};
