/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and its gradients by our own tiles (conv.cu): what a card without cuDNN
 * runs. */
#include "kernel/cuda/launch.h"

#define TILE 64 /* as CONV_TILE */
#define SPLIT_LEAST 4096 /* outputs that are worth a block of their own */
#define SPLITS_MAX 64
#define GROUPS_MAX 65535 /* of a grid */

static struct sl_cuda_conv conv_of(const struct sl_conv_attr *a, const struct sl_shape *x,
	const struct sl_shape *w, const struct sl_shape *y)
{
	struct sl_cuda_conv p = {.n = x->dim[0],
		.c = x->dim[1],
		.h = x->dim[2],
		.w = x->dim[3],
		.o = w->dim[0],
		.cg = w->dim[1],
		.og = w->dim[0] / a->groups,
		.kh = w->dim[2],
		.kw = w->dim[3],
		.oh = y->dim[2],
		.ow = y->dim[3]};

	for (int i = 0; i < 2; i++) {
		p.stride[i] = a->stride[i];
		p.pad[i] = a->pad[i];
		p.dilation[i] = a->dilation[i];
	}
	return p;
}

/* Device code counts elements in 32 bits, images and padding together. */
static bool accepts(const struct sl_node_info *n)
{
	const struct sl_conv_attr *a = n->attr;
	int64_t most = INT32_MAX / 2;

	if (a->groups > GROUPS_MAX)
		return false;
	for (int i = 0; i < 2; i++)
		if (sl_shape_count(&n->in[i].shape) > most || a->stride[i] > most ||
			a->dilation[i] > most || a->pad[i] > most || a->pad[2 + i] > most)
			return false;
	return sl_shape_count(&n->out[0].shape) <= most && sl_cuda_is_float(n);
}

/* rows by columns results, z times. */
static sl_status launch(const struct sl_call *c, enum sl_cuda_code pair,
	const int64_t sides[3], void **params)
{
	struct sl_cuda_size grid = {sl_cuda_blocks(sides[1], TILE),
		sl_cuda_blocks(sides[0], TILE), (unsigned)sides[2]};

	return sl_cuda_go(c, sl_cuda_of(pair, c->node->in[0].dtype), grid,
		(struct sl_cuda_size){SL_CUDA_THREADS, 1, 1}, params);
}

static sl_status conv2d_run(const struct sl_call *c)
{
	const struct sl_node_info *n = c->node;
	const struct sl_conv_attr *a = n->attr;
	struct sl_cuda_conv p =
		conv_of(a, &n->in[0].shape, &n->in[1].shape, &n->out[0].shape);
	void *x = c->in[0], *w = c->in[1], *bias = c->in[2], *y = c->out[0];

	return launch(c, SL_IN_sl_cu_conv_f32,
		(int64_t[]){p.og, p.n * p.oh * p.ow, a->groups},
		SL_PARAMS(&x, &w, &bias, &y, &p));
}

/* The attributes of gradients begin with the convolution's. */
static sl_status conv2d_dx_run(const struct sl_call *c)
{
	const struct sl_node_info *n = c->node;
	const struct sl_conv_attr *a = n->attr;
	struct sl_cuda_conv p =
		conv_of(a, &n->out[0].shape, &n->in[1].shape, &n->in[0].shape);
	void *dy = c->in[0], *w = c->in[1], *dx = c->out[0];

	return launch(c, SL_IN_sl_cu_conv_dx_f32,
		(int64_t[]){p.cg, p.n * p.h * p.w, a->groups},
		SL_PARAMS(&dy, &w, &dx, &p));
}

/* Parts of the sum over all outputs: enough to fill a card where the weights are few. */
static int64_t splits_of(const struct sl_cuda_conv *p, int64_t groups)
{
	int64_t tiles = ((p->og + TILE - 1) / TILE) *
			((p->cg * p->kh * p->kw + TILE - 1) / TILE) * groups;
	int64_t parts = (p->n * p->oh * p->ow + SPLIT_LEAST - 1) / SPLIT_LEAST;
	int64_t most = tiles > 0 ? (4 * SPLITS_MAX + tiles - 1) / tiles : 1;

	most = most < SPLITS_MAX ? most : SPLITS_MAX;
	parts = parts < most ? parts : most;
	return parts > 1 ? parts : 1;
}

static struct sl_cuda_conv dw_of(const struct sl_node_info *n)
{
	return conv_of(n->attr, &n->in[0].shape, &n->out[0].shape, &n->in[1].shape);
}

static sl_status dw_prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	const struct sl_conv_attr *a = n->attr;
	struct sl_cuda_conv p = dw_of(n);
	int64_t splits = splits_of(&p, a->groups);

	(void)env;
	*out = (struct sl_prepared){0};
	if (splits > 1)
		out->workspace_bytes = (size_t)splits * sl_type_bytes(&n->out[0]);
	return SL_OK;
}

static sl_status conv2d_dw_run(const struct sl_call *c)
{
	const struct sl_conv_attr *a = c->node->attr;
	struct sl_cuda_conv p = dw_of(c->node);
	int64_t splits = splits_of(&p, a->groups);
	int64_t size = (p.n * p.oh * p.ow + splits - 1) / splits;
	int64_t count = sl_shape_count(&c->node->out[0].shape);
	void *x = c->in[0], *dy = c->in[1], *dw = c->out[0];
	void *part = splits > 1 ? c->workspace : dw;

	SL_TRY(launch(c, SL_IN_sl_cu_conv_dw_f32,
		(int64_t[]){p.og, p.cg * p.kh * p.kw, a->groups * splits},
		SL_PARAMS(&x, &dy, &part, &p, &splits, &size)));
	if (splits == 1)
		return SL_OK;
	return sl_cuda_long(c, SL_IN_sl_cu_conv_dw_sum, count,
		SL_PARAMS(&part, &dw, &count, &splits));
}

#define KERNEL(op_, prepare_) \
	const struct sl_kernel sl_kernel_cuda_##op_ = { \
		.name = "cuda_" #op_, \
		.op = #op_, \
		.rank = 10, \
		.accepts = accepts, \
		.prepare = (prepare_), \
		.run = op_##_run, \
	};

KERNEL(conv2d, NULL)
KERNEL(conv2d_dw, dw_prepare)
KERNEL(conv2d_dx, NULL)
