/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention without the matrix of scores: tiles of 32 queries by 64 keys on the stack,
 * the softmax corrected as larger scores turn up; source: Dao et al., "FlashAttention",
 * NeurIPS 2022, Alg. 1 and 4. f32, 4 T S D flops a head forward and 10 backward (half of
 * it if causal); no workspace.
 *
 * 1. Forward: one piece of work is one tile of queries. Backward: one head, keys outside,
 * queries inside, so that the sums of dq, dk and dv have one order.
 * 2. Backward takes probabilities from the stored log-sum-exp, as the reference does.
 * 3. Departure from the reference: a value that is not finite reaches all queries of its
 * tile, not only those that see it (0 times NaN).
 */
#include "kernel/cpu/attention.h"

#include <math.h>
#include <string.h>

#include "kernel/cpu/mathv.h"
#include "kernel/cpu/tile.h"

struct forward {
	struct sl_att_head h;
	int64_t row, rows;
	float *y; /* of the first row */
	float top[SL_ATT_ROWS];
	double sum[SL_ATT_ROWS];
	float kt[SL_ATT_DEPTH * SL_ATT_KEYS];
	float s[SL_ATT_ROWS * SL_ATT_KEYS];
};

static void scale_row(float *y, int64_t n, float scale)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] *= scale;
}

/* Scores of row r to probabilities times e^-top; what was summed before is corrected. */
static void forward_row(struct forward *f, int64_t r, int64_t first, int64_t n)
{
	int64_t seen = sl_att_seen(&f->h, f->row + r, first, n);
	float *s = f->s + r * SL_ATT_KEYS;

	for (int64_t j = seen; j < n; j++)
		s[j] = 0;
	sl_att_scale(&f->h, f->row + r, first, seen, s);
	float top = sl_cpu_max(s, seen);
	top = top > f->top[r] || top != top ? top : f->top[r];
	if (top == -INFINITY) { /* nothing seen yet: e^(-inf + inf) would be NaN */
		memset(s, 0, (size_t)n * sizeof(float));
		return;
	}
	float old = sl_expf(f->top[r] - top);
	f->sum[r] = f->sum[r] * (double)old + sl_cpu_exp_sum(s, s, seen, top);
	f->top[r] = top;
	if (old != 1)
		scale_row(f->y + r * f->h.d, f->h.d, old);
	sl_att_drop(&f->h, f->row + r, first, seen, s);
}

static void forward_tile(struct forward *f, int64_t first, int64_t n)
{
	const struct sl_att_head *h = &f->h;

	sl_att_keys(h, h->k + first * h->d, n, f->kt);
	sl_att_products(h, h->q + f->row * h->d, f->rows, n, f->kt, f->s);
	for (int64_t r = 0; r < f->rows; r++)
		forward_row(f, r, first, n);
	struct sl_tile t = {.m = f->rows,
		.n = h->d,
		.k = n,
		.a = f->s,
		.a_row = SL_ATT_KEYS,
		.a_col = 1,
		.b = h->v + first * h->d,
		.b_row = h->d,
		.c = f->y,
		.c_row = h->d};
	sl_tile_mul(&t);
}

static void forward_block(struct forward *f, float *lse)
{
	const struct sl_att_head *h = &f->h;
	int64_t end = sl_att_seen(h, f->row + f->rows - 1, 0, h->s);

	memset(f->y, 0, (size_t)(f->rows * h->d) * sizeof(float));
	for (int64_t r = 0; r < f->rows; r++) {
		f->top[r] = -INFINITY;
		f->sum[r] = 0;
	}
	for (int64_t first = 0; first < end; first += SL_ATT_KEYS)
		forward_tile(
			f, first, end - first < SL_ATT_KEYS ? end - first : SL_ATT_KEYS);
	for (int64_t r = 0; r < f->rows; r++) {
		lse[r] = (float)((double)f->top[r] + log(f->sum[r]));
		if (f->top[r] == -INFINITY) {
			lse[r] = -INFINITY;
			memset(f->y + r * h->d, 0, (size_t)h->d * sizeof(float));
		} else {
			scale_row(f->y + r * h->d, h->d, (float)(1 / f->sum[r]));
		}
	}
}

static int64_t blocks(int64_t t)
{
	return (t + SL_ATT_ROWS - 1) / SL_ATT_ROWS;
}

static void forward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	int64_t t = c->node->in[0].shape.dim[2];
	struct forward f;

	(void)arg;
	for (int64_t i = begin; i < end; i++) {
		int64_t head = i / blocks(t);
		f.h = sl_att_head_at(c, head);
		f.row = i % blocks(t) * SL_ATT_ROWS;
		f.rows = t - f.row < SL_ATT_ROWS ? t - f.row : SL_ATT_ROWS;
		f.y = (float *)c->out[0] + (head * t + f.row) * f.h.d;
		forward_block(&f, (float *)c->out[1] + head * t + f.row);
	}
}

static sl_status forward_run(const struct sl_call *c)
{
	const struct sl_shape *q = &c->node->in[0].shape;
	int64_t s = c->node->in[1].shape.dim[2];
	int64_t count = sl_shape_span(q, 0, 2) * blocks(q->dim[2]);

	sl_cpu_for(c, NULL, count, sl_cpu_grain(SL_ATT_ROWS * s), forward_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_attention = {
	.name = "vec_attention",
	.op = "attention",
	.rank = 10,
	.accepts = sl_att_accepts,
	.run = forward_run,
};

struct backward {
	struct sl_att_head h;
	const float *y, *lse, *dy; /* of this head */
	float *dq, *dk, *dv;
	float kt[SL_ATT_DEPTH * SL_ATT_KEYS];
	float vt[SL_ATT_DEPTH * SL_ATT_KEYS];
	float p[SL_ATT_ROWS * SL_ATT_KEYS]; /* then probabilities after dropout */
	float ds[SL_ATT_ROWS * SL_ATT_KEYS]; /* first dy v */
};

/*
 * p holds the scores and ds dy v; then p the probabilities after dropout and ds the
 * gradient of the unscaled scores.
 */
static void backward_row(
	struct backward *b, int64_t row, int64_t r, int64_t first, int64_t n)
{
	const struct sl_att_head *h = &b->h;
	float lse = b->lse[row];
	float dot = (float)sl_cpu_dot(b->dy + row * h->d, b->y + row * h->d, h->d);
	int64_t seen = lse == -INFINITY ? 0 : sl_att_seen(h, row, first, n);
	float *p = b->p + r * SL_ATT_KEYS;
	float *ds = b->ds + r * SL_ATT_KEYS;
	float kept[SL_ATT_KEYS];
	float scale = h->scale;

	for (int64_t j = 0; j < seen; j++)
		kept[j] = 1;
	sl_att_drop(h, row, first, seen, kept);
	sl_att_scale(h, row, first, seen, p);
#pragma omp simd
	for (int64_t j = 0; j < seen; j++) {
		float e = sl_expf(p[j] - lse);
		ds[j] = e * (ds[j] * kept[j] - dot) * scale;
		p[j] = e * kept[j];
	}
	for (int64_t j = seen; j < n; j++) {
		p[j] = 0;
		ds[j] = 0;
	}
}

/* to [m, D] += part of a tile, or its transpose, times from [k, D]. */
static void add_product(const struct backward *b, const float *tile, bool transposed,
	const int64_t mk[2], const float *from, float *to)
{
	int64_t d = b->h.d;
	struct sl_tile t = {.m = mk[0],
		.n = d,
		.k = mk[1],
		.a = tile,
		.a_row = transposed ? 1 : SL_ATT_KEYS,
		.a_col = transposed ? SL_ATT_KEYS : 1,
		.b = from,
		.b_row = d,
		.c = to,
		.c_row = d};

	sl_tile_mul(&t);
}

static void backward_tile(struct backward *b, int64_t row, int64_t first, int64_t n)
{
	const struct sl_att_head *h = &b->h;
	int64_t rows = h->t - row < SL_ATT_ROWS ? h->t - row : SL_ATT_ROWS;
	const int64_t by_key[2] = {n, rows};
	const int64_t by_row[2] = {rows, n};

	sl_att_products(h, h->q + row * h->d, rows, n, b->kt, b->p);
	sl_att_products(h, b->dy + row * h->d, rows, n, b->vt, b->ds);
	for (int64_t r = 0; r < rows; r++)
		backward_row(b, row + r, r, first, n);
	add_product(b, b->p, true, by_key, b->dy + row * h->d, b->dv + first * h->d);
	add_product(b, b->ds, true, by_key, h->q + row * h->d, b->dk + first * h->d);
	add_product(b, b->ds, false, by_row, h->k + first * h->d, b->dq + row * h->d);
}

static void backward_head(struct backward *b)
{
	const struct sl_att_head *h = &b->h;

	memset(b->dq, 0, (size_t)(h->t * h->d) * sizeof(float));
	memset(b->dk, 0, (size_t)(h->s * h->d) * sizeof(float));
	memset(b->dv, 0, (size_t)(h->s * h->d) * sizeof(float));
	for (int64_t first = 0; first < h->s; first += SL_ATT_KEYS) {
		int64_t n = h->s - first < SL_ATT_KEYS ? h->s - first : SL_ATT_KEYS;
		sl_att_keys(h, h->k + first * h->d, n, b->kt);
		sl_att_keys(h, h->v + first * h->d, n, b->vt);
		for (int64_t row = 0; row < h->t; row += SL_ATT_ROWS) {
			int64_t last =
				row + SL_ATT_ROWS < h->t ? row + SL_ATT_ROWS : h->t;
			if (sl_att_seen(h, last - 1, first, n) > 0)
				backward_tile(b, row, first, n);
		}
	}
}

static void backward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	struct backward b;

	(void)arg;
	for (int64_t i = begin; i < end; i++) {
		b.h = sl_att_head_at(c, i);
		int64_t rows = i * b.h.t * b.h.d;
		int64_t keys = i * b.h.s * b.h.d;
		b.y = (const float *)c->in[4] + rows;
		b.lse = (const float *)c->in[5] + i * b.h.t;
		b.dy = (const float *)c->in[6] + rows;
		b.dq = (float *)c->out[0] + rows;
		b.dk = (float *)c->out[1] + keys;
		b.dv = (float *)c->out[2] + keys;
		backward_head(&b);
	}
}

static sl_status backward_run(const struct sl_call *c)
{
	const struct sl_shape *q = &c->node->in[0].shape;
	int64_t s = c->node->in[1].shape.dim[2];

	sl_cpu_for(c, NULL, sl_shape_span(q, 0, 2), sl_cpu_grain(q->dim[2] * s),
		backward_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_attention_dx = {
	.name = "vec_attention_dx",
	.op = "attention_dx",
	.rank = 10,
	.accepts = sl_att_accepts,
	.run = backward_run,
};
