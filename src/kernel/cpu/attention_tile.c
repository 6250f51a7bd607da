/* SPDX-License-Identifier: Apache-2.0 */
/* One head of attention and one row of a tile of its scores. */
#include "kernel/cpu/attention.h"

#include <math.h>
#include <string.h>

#include "kernel/cpu/collapse.h"
#include "kernel/cpu/tile.h"
#include "sluice/attrs.h"

bool sl_att_accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32(n) && sl_attention_layout_of(n).d <= SL_ATT_DEPTH;
}

static void find_mask(const struct sl_call *c, const struct sl_attention_layout *l,
	struct sl_att_head *h)
{
	const struct sl_shape scores = SL_SHAPE(l->b, l->h, l->t, l->s);
	int mask = l->in[SL_ATT_MASK];
	int64_t stride[SL_MAX_RANK];

	if (!c->in[mask])
		return;
	sl_broadcast_strides(&c->node->in[mask].shape, &scores, stride);
	h->mask = (const float *)c->in[mask] + h->head / l->h * stride[0] +
		  h->head % l->h * stride[1];
	h->mask_row = stride[2];
	h->mask_col = stride[3];
}

/* Part q, k or v of a head. */
static const float *part(const struct sl_call *c, const struct sl_attention_layout *l,
	enum sl_attention_part which, int64_t head)
{
	const struct sl_attention_steps *steps = which == SL_ATT_Q ? &l->q : &l->k;

	return (const float *)c->in[l->in[which]] + l->first[which] +
	       sl_attention_at(l, steps, head);
}

struct sl_att_head sl_att_head_at(
	const struct sl_call *c, const struct sl_attention_layout *l, int64_t head)
{
	const struct sl_attention_attr *a = c->node->attr;
	struct sl_att_head h = {.t = l->t,
		.s = l->s,
		.d = l->d,
		.head = head,
		.row = l->q.row,
		.y_row = l->y.row,
		.q = part(c, l, SL_ATT_Q, head),
		.k = part(c, l, SL_ATT_K, head),
		.v = part(c, l, SL_ATT_V, head),
		.causal = a->causal,
		.key = {.seed = c->run->seed,
			.stream = a->stream,
			.step = (uint32_t)c->run->step},
		.base = a->base};

	h.scale = (float)(a->scale != 0 ? a->scale : 1 / sqrt((double)h.d));
	if (a->dropout > 0) {
		h.keep_from = sl_cpu_keep_from(a->dropout);
		h.keep_scale = a->dropout < 1 ? (float)(1 / (1 - a->dropout)) : 1;
	}
	find_mask(c, l, &h);
	return h;
}

int64_t sl_att_seen(const struct sl_att_head *h, int64_t row, int64_t first, int64_t n)
{
	int64_t seen = h->causal ? row + h->s - h->t + 1 - first : n;

	return seen < 0 ? 0 : seen < n ? seen : n;
}

void sl_att_turn(const struct sl_att_head *h, const float *keys, int64_t n, float *kt)
{
	for (int64_t d = 0; d < h->d && n % 16; d++)
		for (int64_t j = n; j < sl_att_padded(n); j++)
			kt[d * SL_ATT_KEYS + j] = 0;
	sl_tile_transpose(keys, h->row, n, h->d, kt, SL_ATT_KEYS);
}

void sl_att_products(
	const struct sl_att_rows *of, int64_t d, int64_t n, const float *kt, float *s)
{
	struct sl_tile t = {.m = of->n,
		.n = sl_att_padded(n),
		.k = d,
		.a = of->at,
		.a_row = of->step,
		.a_col = 1,
		.b = kt,
		.b_row = SL_ATT_KEYS,
		.c = s,
		.c_row = SL_ATT_KEYS,
		.fresh = true};

	sl_tile_mul(&t);
}

void sl_att_copy(const struct sl_att_rows *from, int64_t d, float *to)
{
	for (int64_t r = 0; r < from->n; r++)
		memcpy(to + r * d, from->at + r * from->step, (size_t)d * sizeof(float));
}

/* Loops run to the end of a vector: what is not seen is e^-inf = 0. */
void sl_att_scale(
	const struct sl_att_head *h, int64_t row, const struct sl_att_keys *k, float *s)
{
	float scale = h->scale;
	int64_t width = sl_att_padded(k->n);

#pragma omp simd
	for (int64_t j = 0; j < width; j++)
		s[j] *= scale;
	if (h->mask) {
		const float *mask = h->mask + row * h->mask_row + k->first * h->mask_col;
		int64_t step = h->mask_col;
#pragma omp simd
		for (int64_t j = 0; j < k->seen; j++)
			s[j] += mask[j * step];
	}
	for (int64_t j = k->seen; j < width; j++)
		s[j] = -INFINITY;
}

void sl_att_drop(
	const struct sl_att_head *h, int64_t row, int64_t first, int64_t n, float *s)
{
	uint64_t element = h->base + (uint64_t)((h->head * h->t + row) * h->s + first);
	uint32_t all[SL_PHILOX_WORDS];
	const uint32_t *word = all + element % 4;
	uint32_t from = h->keep_from;
	float scale = h->keep_scale;

	if (scale == 0)
		return;
	sl_cpu_philox(&h->key, element / 4, all);
#pragma omp simd
	for (int64_t j = 0; j < n; j++)
		s[j] *= (word[j] >> 8) >= from ? scale : 0;
}
