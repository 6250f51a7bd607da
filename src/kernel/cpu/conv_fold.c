/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an inference graph has beside its convolutions: weights folded and packed in place
 * (once), and max pooling of [N, H, W, C]. f32; one output channel, 16 of them, or one
 * row of results is one piece of work.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "graph/op_attr.h"

static void fold_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_eps_attr *a = c->node->attr;
	int64_t inner = *(const int64_t *)arg;
	float *w = c->in[0], *beta = c->in[1];
	const float *gamma = c->in[2], *mean = c->in[3], *var = c->in[4],
		    *bias = c->in[5];

	for (int64_t o = begin; o < end; o++) {
		double s = (double)gamma[o] / sqrt((double)var[o] + a->eps);
		double b = bias ? (double)bias[o] : 0;
		beta[o] = (float)((double)beta[o] + (b - (double)mean[o]) * s);
		for (int64_t i = o * inner; i < (o + 1) * inner; i++)
			w[i] = (float)((double)w[i] * s);
	}
}

static sl_status fold(const struct sl_call *c)
{
	const struct sl_shape *w = &c->node->in[0].shape;
	int64_t inner = sl_shape_span(w, 1, w->rank);

	sl_cpu_for(c, &inner, w->dim[0], sl_cpu_grain(inner), fold_range);
	return SL_OK;
}

struct pack {
	int64_t c, area;
};

/* Inputs [i, i + n) of 16 outputs, all places. */
static void pack_inputs(
	const struct pack *p, const float *from, float *to, const int64_t i[2])
{
	for (int64_t k = 0; k < p->area; k++)
		for (int64_t j = 0; j < i[1]; j++)
			for (int64_t o = 0; o < SL_PACK_BLOCK; o++)
				*to++ = from[(o * p->c + i[0] + j) * p->area + k];
}

static void pack_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct pack *p = arg;
	int64_t block = p->c * p->area * SL_PACK_BLOCK;
	int64_t each = p->c % SL_PACK_BLOCK ? p->c : SL_PACK_BLOCK;

	for (int64_t b = begin; b < end; b++) {
		float *w = (float *)c->in[0] + b * block;
		float *old = (float *)c->workspace + b * block;
		memcpy(old, w, (size_t)block * sizeof(*w));
		for (int64_t i = 0; i < p->c; i += each)
			pack_inputs(p, old, w + i * p->area * SL_PACK_BLOCK,
				(const int64_t[]){i, each});
	}
}

static sl_status pack_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	(void)env;
	*out = (struct sl_prepared){.workspace_bytes = (size_t)sl_type_bytes(&n->in[0])};
	return SL_OK;
}

static sl_status pack(const struct sl_call *c)
{
	const int64_t *d = c->node->in[0].shape.dim;
	struct pack p = {.c = d[1], .area = d[2] * d[3]};

	sl_cpu_for(c, &p, d[0] / SL_PACK_BLOCK,
		sl_cpu_grain(p.c * p.area * SL_PACK_BLOCK), pack_range);
	return SL_OK;
}

/* y = the larger of both, where NaN is larger than any number. */
static void take_larger(float *y, const float *x, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		float best = y[i] >= x[i] ? y[i] : x[i];
		y[i] = isnan(y[i]) ? y[i] : best;
	}
}

/* The row's windows, one after the other; line: of the input below row h. */
static void pool_line(const struct sl_call *c, float *y, const float *line)
{
	const struct sl_pool_attr *a = c->node->attr;
	const int64_t *x = c->node->in[0].shape.dim, *out = c->node->out[0].shape.dim;

	for (int64_t ow = 0; ow < out[2]; ow++)
		for (int64_t k = 0; k < a->kernel[1]; k++) {
			int64_t w = ow * a->stride[1] - a->pad[1] + k;
			if (w >= 0 && w < x[2])
				take_larger(y + ow * x[3], line + w * x[3], x[3]);
		}
}

static void pool_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_pool_attr *a = c->node->attr;
	const int64_t *x = c->node->in[0].shape.dim, *out = c->node->out[0].shape.dim;
	int64_t row = out[2] * out[3];

	(void)arg;
	for (int64_t r = begin; r < end; r++) {
		float *y = (float *)c->out[0] + r * row;
		int64_t top = r % out[1] * a->stride[0] - a->pad[0];
		for (int64_t i = 0; i < row; i++)
			y[i] = -INFINITY;
		for (int64_t h = top; h < top + a->kernel[0]; h++)
			if (h >= 0 && h < x[1])
				pool_line(c, y,
					(const float *)c->in[0] +
						(r / out[1] * x[1] + h) * x[2] * x[3]);
	}
}

static sl_status pool(const struct sl_call *c)
{
	const struct sl_pool_attr *a = c->node->attr;
	const int64_t *out = c->node->out[0].shape.dim;
	int64_t taps = a->kernel[0] * a->kernel[1];

	sl_cpu_for(c, NULL, out[0] * out[1], sl_cpu_grain(out[2] * out[3] * taps),
		pool_range);
	return SL_OK;
}

#define KERNEL(op_name, run_fn, prepare_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = sl_cpu_is_f32, \
		.prepare = prepare_fn, \
		.run = run_fn, \
	};
KERNEL(fold_norm, fold, NULL)
KERNEL(conv_pack, pack, pack_prepare)
KERNEL(max_pool2d_last, pool, NULL)
