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
	float v[SL_ATT_DEPTH * SL_ATT_KEYS];
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
	const struct sl_att_keys k = {first, n, sl_att_seen(&f->h, f->row + r, first, n)};
	float *s = f->s + r * SL_ATT_KEYS;
	int64_t width = sl_att_padded(n);

	sl_att_scale(&f->h, f->row + r, &k, s);
	float top = sl_cpu_max(s, width);
	top = top > f->top[r] || top != top ? top : f->top[r];
	if (top == -INFINITY) { /* nothing seen yet: e^(-inf + inf) would be NaN */
		memset(s, 0, (size_t)n * sizeof(float));
		return;
	}
	float old = sl_expf(f->top[r] - top);
	f->sum[r] = f->sum[r] * (double)old + sl_cpu_exp_sum(s, s, width, top);
	f->top[r] = top;
	if (first > 0 && old != 1)
		scale_row(f->y + r * f->h.y_row, f->h.d, old);
	sl_att_drop(&f->h, f->row + r, first, k.seen, s);
}

static void forward_tile(struct forward *f, int64_t first, int64_t n)
{
	const struct sl_att_head *h = &f->h;

	const struct sl_att_rows q = {h->q + f->row * h->row, h->row, f->rows};

	const struct sl_att_rows v = {h->v + first * h->row, h->row, n};

	sl_att_turn(h, h->k + first * h->row, n, f->kt);
	sl_att_copy(&v, h->d, f->v);
	sl_att_products(&q, h->d, n, f->kt, f->s);
	for (int64_t r = 0; r < f->rows; r++)
		forward_row(f, r, first, n);
	struct sl_tile t = {.m = f->rows,
		.n = h->d,
		.k = n,
		.a = f->s,
		.a_row = SL_ATT_KEYS,
		.a_col = 1,
		.b = f->v,
		.b_row = h->d,
		.c = f->y,
		.c_row = h->y_row,
		.fresh = first == 0};
	sl_tile_mul(&t);
}

static void clear_rows(float *y, int64_t step, int64_t rows, int64_t n)
{
	for (int64_t r = 0; r < rows; r++)
		memset(y + r * step, 0, (size_t)n * sizeof(float));
}

static void forward_block(struct forward *f, float *lse)
{
	const struct sl_att_head *h = &f->h;
	int64_t end = sl_att_seen(h, f->row + f->rows - 1, 0, h->s);

	if (end <= 0)
		clear_rows(f->y, h->y_row, f->rows, h->d);
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
			clear_rows(f->y + r * h->y_row, 0, 1, h->d);
		} else {
			scale_row(f->y + r * h->y_row, h->d, (float)(1 / f->sum[r]));
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
	const struct sl_attention_layout *l = arg;
	int64_t t = l->t;
	struct forward f;

	for (int64_t i = begin; i < end; i++) {
		int64_t head = i / blocks(t);
		f.h = sl_att_head_at(c, l, head);
		f.row = i % blocks(t) * SL_ATT_ROWS;
		f.rows = t - f.row < SL_ATT_ROWS ? t - f.row : SL_ATT_ROWS;
		f.y = (float *)c->out[0] + sl_attention_at(l, &l->y, head) +
		      f.row * f.h.y_row;
		forward_block(&f, (float *)c->out[1] + head * t + f.row);
	}
}

static sl_status forward_run(const struct sl_call *c)
{
	const struct sl_attention_layout l = sl_attention_layout_of(c->node);
	int64_t count = l.b * l.h * blocks(l.t);

	sl_cpu_for(c, &l, count, sl_cpu_grain(SL_ATT_ROWS * l.s), forward_range);
	return SL_OK;
}

/* Rows lie side by side here whatever the layout; a tile's sums too, until it is done. */
struct backward {
	struct sl_att_head h;
	const float *y, *lse, *dy; /* of this head */
	float *dq, *dk, *dv;
	float kt[SL_ATT_DEPTH * SL_ATT_KEYS];
	float vt[SL_ATT_DEPTH * SL_ATT_KEYS];
	float k[SL_ATT_DEPTH * SL_ATT_KEYS];
	float own_dk[SL_ATT_DEPTH * SL_ATT_KEYS];
	float own_dv[SL_ATT_DEPTH * SL_ATT_KEYS];
	float q[SL_ATT_DEPTH * SL_ATT_ROWS];
	float own_dy[SL_ATT_DEPTH * SL_ATT_ROWS];
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
	float dot = (float)sl_cpu_dot(b->own_dy + r * h->d, b->y + row * h->y_row, h->d);
	const struct sl_att_keys k = {
		first, n, lse == -INFINITY ? 0 : sl_att_seen(h, row, first, n)};
	float *p = b->p + r * SL_ATT_KEYS;
	float *ds = b->ds + r * SL_ATT_KEYS;
	float kept[SL_ATT_KEYS];
	float scale = h->scale;
	int64_t width = sl_att_padded(n);

	for (int64_t j = 0; j < width; j++)
		kept[j] = 1;
	sl_att_drop(h, row, first, k.seen, kept);
	sl_att_scale(h, row, &k, p);
#pragma omp simd
	for (int64_t j = 0; j < width; j++) {
		float e = sl_expf(p[j] - lse);
		ds[j] = e * (ds[j] * kept[j] - dot) * scale;
		p[j] = e * kept[j];
	}
	for (int64_t j = k.seen; j < n; j++) {
		p[j] = 0;
		ds[j] = 0;
	}
}

/* to [m, D] = or += part of a tile, or its transpose, times from [k, D]. */
static void add_product(
	const struct backward *b, bool transposed, struct sl_tile t, const float *tile)
{
	t.n = b->h.d;
	t.a = tile;
	t.a_row = transposed ? 1 : SL_ATT_KEYS;
	t.a_col = transposed ? SL_ATT_KEYS : 1;
	t.b_row = b->h.d;
	sl_tile_mul(&t);
}

/* Queries [row, row + rows) with the first n keys of the tile at `first`. */
static void backward_tile(
	struct backward *b, int64_t row, int64_t rows, int64_t first, int64_t n)
{
	const struct sl_att_head *h = &b->h;
	int64_t d = h->d;

	sl_att_copy(&(struct sl_att_rows){h->q + row * h->row, h->row, rows}, d, b->q);
	sl_att_copy(&(struct sl_att_rows){b->dy + row * h->y_row, h->y_row, rows}, d,
		b->own_dy);
	sl_att_products(&(struct sl_att_rows){b->q, d, rows}, d, n, b->kt, b->p);
	sl_att_products(&(struct sl_att_rows){b->own_dy, d, rows}, d, n, b->vt, b->ds);
	for (int64_t r = 0; r < rows; r++)
		backward_row(b, row + r, r, first, n);
	struct sl_tile by_key = {.m = n, .k = rows, .b = b->own_dy, .c = b->own_dv};
	by_key.c_row = d;
	add_product(b, true, by_key, b->p);
	by_key.b = b->q;
	by_key.c = b->own_dk;
	add_product(b, true, by_key, b->ds);
	add_product(b, false,
		(struct sl_tile){.m = rows,
			.k = n,
			.b = b->k,
			.c = b->dq + row * h->row,
			.c_row = h->row},
		b->ds);
}

/* Keys [first, first + n) with all queries. */
static void backward_keys(struct backward *b, int64_t first, int64_t n)
{
	const struct sl_att_head *h = &b->h;
	size_t bytes = (size_t)(n * h->d) * sizeof(float);

	sl_att_copy(&(struct sl_att_rows){h->k + first * h->row, h->row, n}, h->d, b->k);
	sl_att_turn(h, h->k + first * h->row, n, b->kt);
	sl_att_turn(h, h->v + first * h->row, n, b->vt);
	memset(b->own_dk, 0, bytes);
	memset(b->own_dv, 0, bytes);
	for (int64_t row = 0; row < h->t; row += SL_ATT_ROWS) {
		int64_t rows = h->t - row < SL_ATT_ROWS ? h->t - row : SL_ATT_ROWS;
		int64_t seen = sl_att_seen(h, row + rows - 1, first, n);
		if (seen > 0)
			backward_tile(b, row, rows, first, seen);
	}
	for (int64_t j = 0; j < n; j++) {
		size_t row = (size_t)h->d * sizeof(float);
		memcpy(b->dk + (first + j) * h->row, b->own_dk + j * h->d, row);
		memcpy(b->dv + (first + j) * h->row, b->own_dv + j * h->d, row);
	}
}

static void backward_head(struct backward *b)
{
	const struct sl_att_head *h = &b->h;

	clear_rows(b->dq, h->row, h->t, h->d);
	for (int64_t first = 0; first < h->s; first += SL_ATT_KEYS) {
		int64_t n = h->s - first < SL_ATT_KEYS ? h->s - first : SL_ATT_KEYS;
		backward_keys(b, first, n);
	}
}

static void backward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_attention_layout *l = arg;
	struct backward b;

	for (int64_t i = begin; i < end; i++) {
		int64_t rows = sl_attention_at(l, &l->q, i);
		int64_t keys = sl_attention_at(l, &l->k, i);
		int64_t y = sl_attention_at(l, &l->y, i);
		b.h = sl_att_head_at(c, l, i);
		b.y = (const float *)c->in[l->in[SL_ATT_Y]] + y;
		b.lse = (const float *)c->in[l->in[SL_ATT_LSE]] + i * l->t;
		b.dy = (const float *)c->in[l->in[SL_ATT_DY]] + y;
		b.dq = (float *)c->out[0] + l->first[0] + rows;
		b.dk = (float *)c->out[l->packed ? 0 : 1] + l->first[1] + keys;
		b.dv = (float *)c->out[l->packed ? 0 : 2] + l->first[2] + keys;
		backward_head(&b);
	}
}

static sl_status backward_run(const struct sl_call *c)
{
	const struct sl_attention_layout l = sl_attention_layout_of(c->node);

	sl_cpu_for(c, &l, l.b * l.h, sl_cpu_grain(l.t * l.s), backward_range);
	return SL_OK;
}

#define KERNEL(op_name, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = sl_att_accepts, \
		.run = run_fn, \
	};

KERNEL(attention, forward_run)
KERNEL(attention_dx, backward_run)
KERNEL(attention_packed, forward_run)
KERNEL(attention_packed_dx, backward_run)
