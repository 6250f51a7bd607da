/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bilinear resizing and its gradient, f32, a plane (n, c) at a time. Each is a product
 * with one sparse matrix an axis: forward has two terms a row, the gradient's are its
 * transposes. A row of the result is first summed over rows of the input, vectors along
 * them, then over columns. The matrices are worked out once at prepare, in whole numbers.
 *
 * Terms of weight 0 are not read, so that no NaN passes through them; terms come in
 * order, so bits do not depend on threads. Each side is moved about once.
 */
#include "kernel/cpu/cpu.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/op_attr.h"

/* result[i] = sum over q < terms of weight[q out + i] * input[index[q out + i]] */
struct axis {
	int64_t in, out, terms;
	int32_t *index;
	float *weight;
};

struct resize {
	struct axis h, w;
	int64_t planes, grain;
	int64_t stride; /* of the chunks' rows in the workspace */
};

/* Of a larger or smaller image y and the image x that it is taken from. */
struct sizes {
	int64_t x, y;
	bool align_corners, back;
};

/* Term k = 0, 1 of element i of y: its weight, and which element of x it is. */
static float term(const struct sizes *s, int64_t i, int k, int64_t *from)
{
	int64_t unit = s->align_corners ? s->y - 1 : 2 * s->y;
	int64_t at = s->align_corners ? i * (s->x - 1) : (2 * i + 1) * s->x - s->y;

	at = at > 0 && unit > 0 ? at : 0;
	unit = unit > 0 ? unit : 1;
	int64_t low = at / unit;
	int64_t last = s->x - 1;
	float share = low < last ? (float)(at % unit) / (float)unit : 0;
	*from = k && low < last ? low + 1 : low;
	return k ? share : 1 - share;
}

/* Counts the terms of each result into used or, once there is room, puts them down. */
static void each_term(const struct sizes *s, struct axis *a, int32_t *used)
{
	memset(used, 0, (size_t)a->out * sizeof(*used));
	for (int64_t e = 0; e < 2 * s->y; e++) {
		int64_t from = 0;
		float weight = term(s, e / 2, (int)(e % 2), &from);
		int64_t to = s->back ? from : e / 2;
		if (weight == 0)
			continue;
		int64_t q = used[to]++;
		if (a->index) {
			a->index[q * a->out + to] = (int32_t)(s->back ? e / 2 : from);
			a->weight[q * a->out + to] = weight;
		} else if (q >= a->terms) {
			a->terms = q + 1;
		}
	}
}

static sl_status init_axis(struct axis *a, const struct sizes *s)
{
	a->in = s->back ? s->y : s->x;
	a->out = s->back ? s->x : s->y;
	int32_t *used = sl_calloc((size_t)a->out, sizeof(*used));
	if (used) {
		each_term(s, a, used);
		size_t n = (size_t)(a->terms * a->out);
		a->index = sl_calloc(n, sizeof(*a->index));
		a->weight = sl_calloc(n, sizeof(*a->weight));
	}
	if (a->index && a->weight)
		each_term(s, a, used);
	sl_free(used);
	return a->index && a->weight
		       ? SL_OK
		       : SL_FAIL(SL_E_NOMEM, "no host memory to prepare a resize");
}

static void release(void *state)
{
	struct resize *r = state;

	if (!r)
		return;
	sl_free(r->h.index);
	sl_free(r->h.weight);
	sl_free(r->w.index);
	sl_free(r->w.weight);
	sl_free(r);
}

/* The attributes of the gradient begin with those of resize. */
static sl_status prepare_for(
	const struct sl_node_info *n, bool back, struct sl_prepared *out)
{
	const struct sl_resize_attr *attr = n->attr;
	const struct sl_shape *x = back ? &n->out[0].shape : &n->in[0].shape;
	struct sizes h = {x->dim[2], attr->size[0], attr->align_corners, back};
	struct sizes w = {x->dim[3], attr->size[1], attr->align_corners, back};
	struct resize *r = sl_calloc(1, sizeof(*r));

	if (!r)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a resize");
	sl_status st = init_axis(&r->h, &h);
	if (st == SL_OK)
		st = init_axis(&r->w, &w);
	if (st != SL_OK) {
		release(r);
		return st;
	}
	int64_t size_x = h.x * w.x;
	int64_t size_y = h.y * w.y;
	r->planes = sl_shape_span(x, 0, 2);
	r->grain = sl_cpu_grain(size_x > size_y ? size_x : size_y);
	r->stride = (r->w.in + 15) / 16 * 16;
	*out = (struct sl_prepared){
		.state = r,
		.workspace_bytes =
			(size_t)(sl_cpu_chunks(r->planes, r->grain) * r->stride) *
			sizeof(float),
	};
	return SL_OK;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	(void)env;
	return prepare_for(n, false, out);
}

static sl_status dx_prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	(void)env;
	return prepare_for(n, true, out);
}

static bool accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32(n) &&
	       sl_shape_span(&n->out[0].shape, 2, 4) < INT32_MAX / 2 &&
	       sl_shape_span(&n->in[0].shape, 2, 4) < INT32_MAX / 2;
}

/* Row i of the result, still as wide as the input. */
static void sum_rows(
	const struct resize *r, const float *x, int64_t i, float *restrict row)
{
	const struct axis *a = &r->h;

	memset(row, 0, (size_t)r->w.in * sizeof(*row));
	for (int64_t q = i; q < a->terms * a->out; q += a->out) {
		const float *from = x + a->index[q] * r->w.in;
		float weight = a->weight[q];
		if (weight == 0)
			break;
#pragma omp simd
		for (int64_t k = 0; k < r->w.in; k++)
			row[k] += weight * from[k];
	}
}

static void sum_columns(
	const struct axis *a, const float *restrict row, float *restrict y)
{
	memset(y, 0, (size_t)a->out * sizeof(*y));
	for (int64_t q = 0; q < a->terms; q++) {
		const int32_t *index = a->index + q * a->out;
		const float *weight = a->weight + q * a->out;
#pragma omp simd
		for (int64_t i = 0; i < a->out; i++) {
			float v = weight[i] * row[index[i]];
			y[i] += weight[i] != 0 ? v : 0;
		}
	}
}

static void planes(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct resize *r = arg;
	float *row = (float *)c->workspace + begin / r->grain * r->stride;

	for (int64_t i = begin * r->h.out; i < end * r->h.out; i++) {
		const float *x = c->in[0];
		x += i / r->h.out * r->h.in * r->w.in;
		sum_rows(r, x, i % r->h.out, row);
		sum_columns(&r->w, row, (float *)c->out[0] + i * r->w.out);
	}
}

static sl_status run(const struct sl_call *c)
{
	const struct resize *r = c->prepared;

	sl_cpu_for(c, r, r->planes, r->grain, planes);
	return SL_OK;
}

#define KERNEL(op_name, prepare_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = accepts, \
		.prepare = prepare_fn, \
		.run = run, \
		.release = release, \
	};
KERNEL(resize, prepare)
KERNEL(resize_dx, dx_prepare)
