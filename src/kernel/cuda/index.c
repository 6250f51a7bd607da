/* SPDX-License-Identifier: Apache-2.0 */
/* Rows picked by an index, and what flows back to them (index.cu). */
#include "kernel/cuda/launch.h"

/* x [outer, bound, inner] by `picks` indices. */
struct picking {
	int input; /* the index's number */
	int64_t outer, picks, bound, inner;
	int wraps;
};

static int is_i64(const struct sl_call *c, int input)
{
	return c->node->in[input].dtype == SL_I64;
}

static sl_status check(const struct sl_call *c, const struct picking *p)
{
	void *index = c->in[p->input];
	void *report = sl_cuda_stream_note(c->run->stream, sl_cuda_report_read);
	int wide = is_i64(c, p->input), wraps = p->wraps;
	int64_t picks = p->picks, bound = p->bound;

	return sl_cuda_once(c, SL_IN_sl_cu_index_check, 1024,
		SL_PARAMS(&index, &wide, &picks, &bound, &wraps, &report));
}

static sl_status gather(const struct sl_call *c, const struct picking *p)
{
	void *x = c->in[0], *index = c->in[p->input], *y = c->out[0];
	int wide = is_i64(c, p->input), wraps = p->wraps;
	size_t bytes = sl_dtype_bytes(c->node->in[0].dtype);
	int64_t inner = p->inner, picks = p->picks, bound = p->bound;
	enum sl_cuda_code entry = (enum sl_cuda_code)(
		SL_IN_sl_cu_gather_1 + (bytes > 1) + (bytes > 2) + (bytes > 4));

	/* Rows of whole packs at addresses that allow them. */
	if ((int64_t)bytes * inner % 16 == 0 &&
		(((uintptr_t)x | (uintptr_t)y) & 15) == 0) {
		inner = inner * (int64_t)bytes / 16;
		entry = SL_IN_sl_cu_gather_16;
	}
	int64_t n = p->outer * picks * inner;
	SL_TRY(check(c, p));
	return sl_cuda_each(c, entry, n,
		SL_PARAMS(&x, &index, &wide, &y, &n, &picks, &bound, &inner, &wraps));
}

static sl_status gather_run(const struct sl_call *c)
{
	const struct sl_axis_attr *a = c->node->attr;
	const struct sl_shape *x = &c->node->in[0].shape;
	int axis = (int)a->axis;

	return gather(c, &(struct picking){.input = 1,
				 .outer = sl_shape_span(x, 0, axis),
				 .picks = sl_shape_count(&c->node->in[1].shape),
				 .bound = x->dim[axis],
				 .inner = sl_shape_span(x, axis + 1, x->rank),
				 .wraps = 1});
}

static sl_status embedding_run(const struct sl_call *c)
{
	const struct sl_shape *table = &c->node->in[0].shape;

	return gather(c, &(struct picking){.input = 1,
				 .outer = 1,
				 .picks = sl_shape_count(&c->node->in[1].shape),
				 .bound = table->dim[0],
				 .inner = table->dim[1]});
}

static sl_status gather_dx_run(const struct sl_call *c)
{
	const struct sl_gather_dx_attr *a = c->node->attr;
	const struct sl_shape *x = &c->node->out[0].shape;
	int axis = (int)a->axis;
	struct picking p = {.picks = sl_shape_count(&c->node->in[0].shape),
		.bound = x->dim[axis],
		.inner = sl_shape_span(x, axis + 1, x->rank),
		.wraps = 1};
	void *index = c->in[0], *dy = c->in[1], *dx = c->out[0];
	int wide = is_i64(c, 0);
	int64_t n = sl_shape_count(x);

	SL_TRY(check(c, &p));
	return sl_cuda_long(c,
		sl_cuda_of(SL_IN_sl_cu_gather_dx_f32, c->node->in[1].dtype), n,
		SL_PARAMS(&index, &wide, &dy, &dx, &n, &p.picks, &p.bound, &p.inner));
}

/* Rows and columns of the table that a block owns, as in index.cu. */
#define DW_ROWS 64
#define DW_COLUMNS 128

static sl_status embedding_dw_run(const struct sl_call *c)
{
	const struct sl_shape *dw_shape = &c->node->out[0].shape;
	struct picking p = {.picks = sl_shape_count(&c->node->in[0].shape),
		.bound = dw_shape->dim[0]};
	void *index = c->in[0], *dy = c->in[1], *dw = c->out[0];
	void *sum = sl_node_has(c->node, 2) ? c->in[2] : NULL;
	int wide = is_i64(c, 0);
	int64_t width = dw_shape->dim[1];
	struct sl_cuda_size grid = {
		sl_cuda_blocks(p.bound, DW_ROWS), sl_cuda_blocks(width, DW_COLUMNS), 1};

	SL_TRY(check(c, &p));
	return sl_cuda_go(c,
		sl_cuda_of(SL_IN_sl_cu_embedding_dw_f32, c->node->in[1].dtype), grid,
		(struct sl_cuda_size){DW_COLUMNS, 1, 1},
		SL_PARAMS(&index, &wide, &dy, &sum, &dw, &p.picks, &p.bound, &width));
}

static bool is_float_flow(const struct sl_node_info *n)
{
	return n->in[1].dtype == SL_F32 || n->in[1].dtype == SL_BF16;
}

#define KERNEL(op_, accepts_) \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.accepts = (accepts_), \
		.run = op_##_run, \
	};

KERNEL(embedding, NULL)
KERNEL(embedding_dw, is_float_flow)
KERNEL(gather, NULL)
KERNEL(gather_dx, is_float_flow)
