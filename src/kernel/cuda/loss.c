/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross entropy and what is counted beside it (loss.cu). The workspace holds the number
 * of counted rows and, behind it, a double a row.
 */
#include "kernel/cuda/launch.h"

/* The arguments that all launches of a node share. */
struct labelled {
	void *x, *label, *count;
	int64_t rows, classes, ignore;
	int is_i64, has_ignore;
};

static struct labelled labelled_of(const struct sl_call *c)
{
	const struct sl_cross_entropy_attr *a =
		c->node->op->attr_bytes > 0 ? c->node->attr : NULL;
	struct sl_rows r = sl_rows_of(&c->node->in[0].shape);

	return (struct labelled){.x = c->in[0],
		.label = c->in[1],
		.count = c->workspace,
		.rows = r.n,
		.classes = r.c,
		.ignore = a ? a->ignore_index : 0,
		.is_i64 = c->node->in[1].dtype == SL_I64,
		.has_ignore = a ? a->has_ignore : 0};
}

static sl_status count_labels(const struct sl_call *c, struct labelled *l)
{
	void *report = sl_cuda_stream_note(c->run->stream, sl_cuda_report_read);

	return sl_cuda_once(c, SL_IN_sl_cu_label_count, 1024,
		SL_PARAMS(&l->label, &l->is_i64, &l->rows, &l->classes, &l->has_ignore,
			&l->ignore, &l->count, &report));
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct sl_rows r = sl_rows_of(&n->in[0].shape);

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = sizeof(int64_t) + (size_t)r.n * sizeof(double)};
	return SL_OK;
}

static sl_status dx_prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	(void)n;
	(void)env;
	*out = (struct sl_prepared){.workspace_bytes = sizeof(int64_t)};
	return SL_OK;
}

static sl_status cross_entropy_run(const struct sl_call *c)
{
	struct labelled l = labelled_of(c);
	void *loss = (int64_t *)c->workspace + 1, *y = c->out[0];

	SL_TRY(count_labels(c, &l));
	SL_TRY(sl_cuda_rows(c, SL_IN_sl_cu_cross_entropy_rows, l.rows, l.classes,
		SL_PARAMS(&l.x, &l.label, &l.is_i64, &l.rows, &l.classes, &l.has_ignore,
			&l.ignore, &loss)));
	return sl_cuda_once(c, SL_IN_sl_cu_cross_entropy_mean, 1024,
		SL_PARAMS(&loss, &l.rows, &l.count, &y));
}

static sl_status cross_entropy_dx_run(const struct sl_call *c)
{
	struct labelled l = labelled_of(c);
	void *dloss = c->in[2], *dx = c->out[0];

	SL_TRY(count_labels(c, &l));
	return sl_cuda_rows(c, SL_IN_sl_cu_cross_entropy_dx, l.rows, l.classes,
		SL_PARAMS(&l.x, &l.label, &l.is_i64, &l.rows, &l.classes, &l.has_ignore,
			&l.ignore, &l.count, &dloss, &dx));
}

static sl_status count_correct_run(const struct sl_call *c)
{
	struct labelled l = labelled_of(c);
	void *right = (int64_t *)c->workspace + 1, *y = c->out[0];
	double by = 1;
	struct sl_cuda_size grid = {sl_cuda_blocks(l.rows, 8), 1, 1};

	SL_TRY(sl_cuda_go(c,
		sl_cuda_of(SL_IN_sl_cu_correct_rows_f32, c->node->in[0].dtype), grid,
		(struct sl_cuda_size){SL_CUDA_WARP, 8, 1},
		SL_PARAMS(&l.x, &l.label, &l.is_i64, &l.rows, &l.classes, &right)));
	return sl_cuda_once(
		c, SL_IN_sl_cu_add_parts, 1024, SL_PARAMS(&right, &y, &l.rows, &by));
}

static bool is_f32_logits(const struct sl_node_info *n)
{
	return n->in[0].dtype == SL_F32;
}

#define KERNEL(op_, accepts_, prepare_) \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.accepts = (accepts_), \
		.prepare = (prepare_), \
		.run = op_##_run, \
	};

KERNEL(cross_entropy, is_f32_logits, prepare)
KERNEL(cross_entropy_dx, is_f32_logits, dx_prepare)
KERNEL(count_correct, sl_cuda_is_float, prepare)
