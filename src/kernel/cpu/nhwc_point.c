/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions with 1 x 1 kernels and no padding of channels-last values, as one product
 * of our own (gemm_pack.h) over all positions P of all images:
 *
 *	y [P, O]  = x [P, C] w^T [C, O]
 *	dx [P, C] = dy [P, O] w [O, C]
 *	dw [O, C] = dy^T [O, P] x [P, C]
 *
 * dw of small matrices over many positions is added up in parts of the images, one for
 * each thread of the seal, and the parts are joined in order: rows are then read once.
 *
 * A stride that divides both sides of the images is a step between the rows of x; its dx
 * is left to others. f32; sums along P or channels as the product cuts them.
 */
#include "kernel/cpu/cpu.h"

#include "base/alloc.h"
#include "kernel/cpu/gemm_pack.h"
#include "sluice/attrs.h"

/* Smaller products are others'. */
#define LEAST_SIDE 16
#define LEAST_PRODUCTS ((int64_t)1 << 12)
/* Products that one thread does before a second one would be awake. */
#define ALONE_PRODUCTS ((int64_t)1 << 20)
/* dw in parts: at most so many elements, at least so many positions a part. */
#define PART_MOST ((int64_t)1 << 18)
#define PART_LEAST 1024

struct sizes {
	int64_t p, c, o; /* positions of y, channels of x and of y */
	struct sl_axis x; /* rows of x, by positions of y */
};

static bool find_sizes(const struct sl_conv_attr *a, const struct sl_shape *x,
	const struct sl_shape *w, const struct sl_shape *y, struct sizes *s)
{
	for (int i = 0; i < 4; i++)
		if (a->pad[i] != 0)
			return false;
	if (a->groups != 1 || w->dim[2] != 1 || w->dim[3] != 1 ||
		x->dim[2] != y->dim[2] * a->stride[0] ||
		x->dim[3] != y->dim[3] * a->stride[1])
		return false;
	s->c = x->dim[1];
	s->o = y->dim[1];
	s->p = y->dim[0] * y->dim[2] * y->dim[3];
	s->x = (struct sl_axis){s->c, SL_PACK_PLAIN, 0};
	if (a->stride[0] != 1 || a->stride[1] != 1)
		s->x = (struct sl_axis){
			a->stride[1] * s->c, y->dim[3], a->stride[0] * x->dim[3] * s->c};
	return s->c >= LEAST_SIDE && s->o >= LEAST_SIDE && s->p >= LEAST_SIDE &&
	       s->p >= LEAST_PRODUCTS / s->c / s->o;
}

static bool is_mine(const struct sl_node_info *n)
{
	return sl_tile_is_here() && sl_cpu_is_f32(n);
}

static bool accepts_forward(const struct sl_node_info *n)
{
	struct sizes s;

	return is_mine(n) && find_sizes(n->attr, &n->in[0].shape, &n->in[1].shape,
				     &n->out[0].shape, &s);
}

static bool accepts_dx(const struct sl_node_info *n)
{
	struct sizes s;

	return is_mine(n) &&
	       find_sizes(
		       n->attr, &n->out[0].shape, &n->in[1].shape, &n->in[0].shape, &s) &&
	       s.x.span == SL_PACK_PLAIN;
}

static bool accepts_dw(const struct sl_node_info *n)
{
	struct sizes s;

	return is_mine(n) && find_sizes(n->attr, &n->in[0].shape, &n->out[0].shape,
				     &n->in[1].shape, &s);
}

static struct sl_axis axis(int64_t step)
{
	return (struct sl_axis){step, SL_PACK_PLAIN, 0};
}

struct point {
	struct sl_pack pack;
	int64_t parts; /* of dw; else 1 */
	int64_t count; /* elements of dw */
	size_t offset; /* of the parts in the workspace */
};

/* parts: batches of `batch`, whose results lie in the workspace. */
static sl_status prepare(const struct sl_pack_form *form, const struct sl_gemm *batch,
	int threads, struct sl_prepared *out)
{
	struct point *p = sl_calloc(1, sizeof(*p));

	if (!p)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a convolution");
	bool alone = form->m * form->n <= ALONE_PRODUCTS / form->k;
	p->pack = sl_pack_of(form, batch, alone ? 1 : threads);
	p->parts = batch ? batch->batch[0] : 1;
	p->count = form->m * form->n;
	p->offset = (sl_pack_workspace(&p->pack) + 63) / 64 * 64;
	*out = (struct sl_prepared){
		.state = p,
		.workspace_bytes = p->offset,
		.split = (int)p->parts,
	};
	if (p->parts > 1)
		out->workspace_bytes += (size_t)(p->parts * p->count) * sizeof(float);
	return SL_OK;
}

static sl_status prepare_forward(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	struct sizes s;

	(void)find_sizes(n->attr, &n->in[0].shape, &n->in[1].shape, &n->out[0].shape, &s);
	const struct sl_pack_form form = {
		.m = s.p,
		.n = s.o,
		.k = s.c,
		.a_row = s.x,
		.a_k = axis(1),
		.b_col = axis(s.c),
		.b_k = axis(1),
		.y_row = s.o,
		.y_col = axis(1),
	};
	return prepare(&form, NULL, env->threads, out);
}

static sl_status prepare_dx(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct sizes s;

	(void)find_sizes(n->attr, &n->out[0].shape, &n->in[1].shape, &n->in[0].shape, &s);
	const struct sl_pack_form form = {
		.m = s.p,
		.n = s.c,
		.k = s.o,
		.a_row = axis(s.o),
		.a_k = axis(1),
		.b_col = axis(1),
		.b_k = axis(s.c),
		.y_row = s.c,
		.y_col = axis(1),
	};
	return prepare(&form, NULL, env->threads, out);
}

static sl_status prepare_dw(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct sizes s;

	(void)find_sizes(n->attr, &n->in[0].shape, &n->out[0].shape, &n->in[1].shape, &s);
	int64_t images = n->in[0].shape.dim[0];
	int64_t parts = env->threads;
	while (images % parts)
		parts--;
	if (s.o * s.c > PART_MOST || s.p / parts < PART_LEAST)
		parts = 1;
	const struct sl_gemm batch = {
		.m = s.o,
		.n = s.c,
		.k = s.p / parts,
		.n_batch = 1,
		.batch = {parts},
		.a_step = {s.p / parts * s.o},
		.b_step = {sl_shape_count(&n->in[0].shape) / parts},
	};
	const struct sl_pack_form form = {
		.m = s.o,
		.n = s.c,
		.k = s.p / parts,
		.a_row = axis(1),
		.a_k = axis(s.o),
		.b_col = axis(1),
		.b_k = s.x,
		.y_row = s.c,
		.y_col = axis(1),
	};
	return prepare(&form, parts > 1 ? &batch : NULL, env->threads, out);
}

static sl_status run(const struct sl_call *c, const float *a, const float *b, float *y)
{
	const struct point *p = c->prepared;

	sl_pack_run(&p->pack, &(struct sl_pack_io){
				      .a = a,
				      .b = b,
				      .y = y,
				      .col_bias = c->node->n_in > 2 ? c->in[2] : NULL,
				      .workspace = c->workspace,
				      .pool = c->run->pool,
			      });
	return SL_OK;
}

static sl_status run_product(const struct sl_call *c)
{
	return run(c, c->in[0], c->in[1], c->out[0]);
}

static void join_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct point *p = c->prepared;
	const float *part = arg;
	float *dw = c->out[0];

#pragma omp simd
	for (int64_t i = begin; i < end; i++)
		dw[i] = part[i] + part[p->count + i];
	for (int64_t k = 2; k < p->parts; k++)
#pragma omp simd
		for (int64_t i = begin; i < end; i++)
			dw[i] += part[k * p->count + i];
}

static sl_status run_dw(const struct sl_call *c)
{
	const struct point *p = c->prepared;
	float *part = (float *)(void *)((char *)c->workspace + p->offset);

	if (p->parts == 1)
		return run(c, c->in[1], c->in[0], c->out[0]);
	SL_TRY(run(c, c->in[1], c->in[0], part));
	sl_cpu_for(c, part, p->count, SL_CPU_GRAIN, join_range);
	return SL_OK;
}

#define KERNEL(op_name, accepts_fn, prepare_fn, run_fn) \
	const struct sl_kernel sl_kernel_nhwc_point_##op_name = { \
		.name = "nhwc_point_" #op_name, \
		.op = #op_name, \
		.rank = 35, \
		.layouts = SL_KERNEL_NHWC, \
		.accepts = accepts_fn, \
		.prepare = prepare_fn, \
		.run = run_fn, \
		.release = sl_free, \
	};
KERNEL(conv2d, accepts_forward, prepare_forward, run_product)
KERNEL(conv2d_dx, accepts_dx, prepare_dx, run_product)
KERNEL(conv2d_dw, accepts_dw, prepare_dw, run_dw)
