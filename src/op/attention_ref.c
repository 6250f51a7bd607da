/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References of attention and its gradient, one query row at a time.
 *
 * Backward does not differentiate the softmax's sum directly: with p the probabilities
 * and dp = keep (dy v) their gradients, sum_s p dp = dy . y, dropout included, so that ds
 * = p (dp - dy . y) needs y and no second pass; source: FlashAttention, section B.2.
 */
#include "op/attention.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

/* One query row; offsets in elements. */
struct row {
	struct sl_attention_layout l;
	int64_t s, d; /* sizes */
	int64_t index; /* in [B, H, T] */
	int64_t q0; /* of the row in q */
	int64_t k0, v0; /* of the head in k, v */
	int64_t y0; /* of the row in y, dy */
	int64_t seen; /* keys [0, seen) */
	int64_t mask0; /* of the row in the mask */
	int64_t mask_step;
	double scale;
};

/* An axis of the mask counted from the end: its size, 1 if it is missing. */
static int64_t mask_dim(const struct sl_shape *m, int from_end)
{
	return from_end <= m->rank ? m->dim[m->rank - from_end] : 1;
}

static void find_mask(const struct sl_call *c, struct row *r)
{
	const struct sl_shape *m = &c->node->in[r->l.in[SL_ATT_MASK]].shape;
	int64_t t = r->l.t;
	const int64_t at[] = {
		0, 0, r->index % t, r->index / t % r->l.h, r->index / t / r->l.h};
	int64_t step = mask_dim(m, 1);

	r->mask_step = step == 1 ? 0 : 1;
	for (int axis = 2; axis <= 4; axis++) {
		int64_t dim = mask_dim(m, axis);
		r->mask0 += dim == 1 ? 0 : at[axis] * step;
		step *= dim;
	}
}

static struct row row_at(const struct sl_call *c, int64_t index)
{
	const struct sl_attention_attr *attr = c->node->attr;
	struct sl_attention_layout l = sl_attention_layout_of(c->node);
	struct row r = {.l = l, .s = l.s, .d = l.d, .index = index};
	int64_t head = index / l.t;
	int64_t row = index % l.t;
	int64_t last = row + l.s - l.t; /* the last key that a causal row sees */

	r.q0 = l.first[0] + sl_attention_at(&l, &l.q, head) + row * l.q.row;
	r.k0 = l.first[1] + sl_attention_at(&l, &l.k, head);
	r.v0 = l.first[2] + sl_attention_at(&l, &l.k, head);
	r.y0 = sl_attention_at(&l, &l.y, head) + row * l.y.row;
	r.scale = attr->scale != 0 ? attr->scale : 1 / sqrt((double)r.d);
	r.seen = !attr->causal ? r.s : last < 0 ? 0 : last + 1;
	if (c->in[l.in[SL_ATT_MASK]])
		find_mask(c, &r);
	return r;
}

/* Dot product of rows at a0 and b0 of two parts. */
static double dot(const struct sl_call *c, const struct row *r,
	const enum sl_attention_part part[2], const int64_t at[2])
{
	double sum = 0;

	for (int64_t i = 0; i < r->d; i++)
		sum += sl_in(c, r->l.in[part[0]], at[0] + i) *
		       sl_in(c, r->l.in[part[1]], at[1] + i);
	return sum;
}

static double score(const struct sl_call *c, const struct row *r, int64_t s)
{
	static const enum sl_attention_part qk[] = {SL_ATT_Q, SL_ATT_K};
	const int64_t at[] = {r->q0, r->k0 + s * r->l.k.row};
	int mask = r->l.in[SL_ATT_MASK];
	double v = r->scale * dot(c, r, qk, at);

	return c->in[mask] ? v + sl_in(c, mask, r->mask0 + s * r->mask_step) : v;
}

/* What dropout multiplies a probability by: 0 or 1 / (1 - ratio). */
static double keep(const struct sl_call *c, const struct row *r, int64_t s)
{
	const struct sl_attention_attr *attr = c->node->attr;
	const struct sl_rng_key key = {.seed = c->run->seed,
		.stream = attr->stream,
		.step = (uint32_t)c->run->step};
	uint64_t element = attr->base + (uint64_t)(r->index * r->s + s);

	if (!(attr->dropout > 0))
		return 1;
	if ((double)sl_rng_unit(sl_rng_u32(&key, element)) < attr->dropout)
		return 0;
	return 1 / (1 - attr->dropout);
}

/* Of a log-sum-exp: the row sees no key and stays out of all sums. */
static bool is_blind(double lse)
{
	return isinf(lse) && lse < 0;
}

/* Scores into p, then probabilities; gives the log-sum-exp, with nothing in p if that is
 * -inf. */
static double probabilities(const struct sl_call *c, const struct row *r, double *p)
{
	double most = -HUGE_VAL;
	double sum = 0;
	bool nan = false;

	for (int64_t s = 0; s < r->seen; s++) {
		p[s] = score(c, r, s);
		most = fmax(most, p[s]);
		nan = nan || isnan(p[s]);
	}
	if (isinf(most) && most < 0 && !nan)
		return most;
	for (int64_t s = 0; s < r->seen; s++) {
		p[s] = exp(p[s] - most);
		sum += p[s];
	}
	for (int64_t s = 0; s < r->seen; s++)
		p[s] /= sum;
	return most + log(sum);
}

size_t sl_attention_ref_workspace(const struct sl_node_info *n)
{
	return (size_t)sl_attention_layout_of(n).s * sizeof(double);
}

sl_status sl_attention_ref(const struct sl_call *c)
{
	struct sl_attention_layout l = sl_attention_layout_of(c->node);
	double *p = c->workspace; /* [S] */

	for (int64_t i = 0; i < l.b * l.h * l.t; i++) {
		struct row r = row_at(c, i);
		double lse = probabilities(c, &r, p);
		r.seen = is_blind(lse) ? 0 : r.seen;
		for (int64_t s = 0; s < r.seen; s++)
			p[s] *= keep(c, &r, s);
		for (int64_t d = 0; d < r.d; d++) {
			double sum = 0;
			for (int64_t s = 0; s < r.seen; s++)
				sum += p[s] *
				       sl_in(c, l.in[SL_ATT_V], r.v0 + s * l.k.row + d);
			sl_put(c, 0, r.y0 + d, sum);
		}
		sl_put(c, 1, i, lse);
	}
	return SL_OK;
}

/* Sums of one head in double: dk and dv [S, D], dq of one row [D]. */
struct sums {
	double *dk, *dv, *dq;
};

/* One pair: ds is the gradient of its score, kept the probability after dropout. */
static void add_pair(const struct sl_call *c, const struct row *r, int64_t s,
	const double ds_kept[2], struct sums *sums)
{
	const int *in = r->l.in;
	int64_t k0 = r->k0 + s * r->l.k.row;

	for (int64_t d = 0; d < r->d; d++) {
		sums->dq[d] += r->scale * ds_kept[0] * sl_in(c, in[SL_ATT_K], k0 + d);
		sums->dk[s * r->d + d] +=
			r->scale * ds_kept[0] * sl_in(c, in[SL_ATT_Q], r->q0 + d);
		sums->dv[s * r->d + d] += ds_kept[1] * sl_in(c, in[SL_ATT_DY], r->y0 + d);
	}
}

static void back_row(const struct sl_call *c, int64_t index, struct sums *sums)
{
	static const enum sl_attention_part dy_y[] = {SL_ATT_DY, SL_ATT_Y};
	static const enum sl_attention_part dy_v[] = {SL_ATT_DY, SL_ATT_V};
	struct row r = row_at(c, index);
	double lse = sl_in(c, r.l.in[SL_ATT_LSE], index);
	double dy_dot_y = dot(c, &r, dy_y, (const int64_t[]){r.y0, r.y0});

	memset(sums->dq, 0, (size_t)r.d * sizeof(double));
	r.seen = is_blind(lse) ? 0 : r.seen;
	for (int64_t s = 0; s < r.seen; s++) {
		const int64_t at[] = {r.y0, r.v0 + s * r.l.k.row};
		double p = exp(score(c, &r, s) - lse);
		double kept = keep(c, &r, s);
		double dp = kept * dot(c, &r, dy_v, at);
		const double ds_kept[] = {p * (dp - dy_dot_y), p * kept};
		add_pair(c, &r, s, ds_kept, sums);
	}
	for (int64_t d = 0; d < r.d; d++)
		sl_put(c, 0, r.q0 + d, sums->dq[d]);
}

size_t sl_attention_dx_ref_workspace(const struct sl_node_info *n)
{
	struct sl_attention_layout l = sl_attention_layout_of(n);

	return (size_t)(2 * l.s * l.d + l.d) * sizeof(double);
}

static void put_keys(const struct sl_call *c, const struct sl_attention_layout *l,
	int64_t head, const struct sums *sums)
{
	int64_t at = sl_attention_at(l, &l->k, head);

	for (int64_t i = 0; i < l->s * l->d; i++) {
		int64_t to = at + i / l->d * l->k.row + i % l->d;
		sl_put(c, l->packed ? 0 : 1, l->first[1] + to, sums->dk[i]);
		sl_put(c, l->packed ? 0 : 2, l->first[2] + to, sums->dv[i]);
	}
}

sl_status sl_attention_dx_ref(const struct sl_call *c)
{
	struct sl_attention_layout l = sl_attention_layout_of(c->node);
	int64_t size = l.s * l.d;
	struct sums sums = {.dk = c->workspace};

	sums.dv = sums.dk + size;
	sums.dq = sums.dv + size;
	for (int64_t head = 0; head < l.b * l.h; head++) {
		memset(sums.dk, 0, (size_t)size * 2 * sizeof(double));
		for (int64_t i = 0; i < l.t; i++)
			back_row(c, head * l.t + i, &sums);
		put_keys(c, &l, head, &sums);
	}
	return SL_OK;
}
