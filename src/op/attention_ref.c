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
	int64_t t, s, d; /* sizes */
	int64_t index; /* in [B, H, T] */
	int64_t q0; /* of the row in q, y, dy */
	int64_t k0; /* of the head in k, v */
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
	const struct sl_shape *m = &c->node->in[3].shape;
	int64_t heads = c->node->in[0].shape.dim[1];
	const int64_t at[] = {
		0, 0, r->index % r->t, r->index / r->t % heads, r->index / r->t / heads};
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
	const int64_t *q = c->node->in[0].shape.dim;
	struct row r = {
		.t = q[2], .s = c->node->in[1].shape.dim[2], .d = q[3], .index = index};
	int64_t last = index % r.t + r.s - r.t; /* the last key that a causal row sees */

	r.q0 = index * r.d;
	r.k0 = index / r.t * r.s * r.d;
	r.scale = attr->scale != 0 ? attr->scale : 1 / sqrt((double)r.d);
	r.seen = !attr->causal ? r.s : last < 0 ? 0 : last + 1;
	if (c->in[3])
		find_mask(c, &r);
	return r;
}

/* Dot product of rows at a0 of input a and b0 of input b. */
static double dot(
	const struct sl_call *c, const int which[2], int64_t a0, int64_t b0, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += sl_in(c, which[0], a0 + i) * sl_in(c, which[1], b0 + i);
	return sum;
}

static double score(const struct sl_call *c, const struct row *r, int64_t s)
{
	static const int qk[] = {0, 1};
	double v = r->scale * dot(c, qk, r->q0, r->k0 + s * r->d, r->d);

	return c->in[3] ? v + sl_in(c, 3, r->mask0 + s * r->mask_step) : v;
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
	return (size_t)n->in[1].shape.dim[2] * sizeof(double);
}

sl_status sl_attention_ref(const struct sl_call *c)
{
	double *p = c->workspace; /* [S] */
	int64_t rows = sl_shape_span(&c->node->in[0].shape, 0, 3);

	for (int64_t i = 0; i < rows; i++) {
		struct row r = row_at(c, i);
		double lse = probabilities(c, &r, p);
		r.seen = is_blind(lse) ? 0 : r.seen;
		for (int64_t s = 0; s < r.seen; s++)
			p[s] *= keep(c, &r, s);
		for (int64_t d = 0; d < r.d; d++) {
			double sum = 0;
			for (int64_t s = 0; s < r.seen; s++)
				sum += p[s] * sl_in(c, 2, r.k0 + s * r.d + d);
			sl_put(c, 0, r.q0 + d, sum);
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
	int64_t k0 = r->k0 + s * r->d;

	for (int64_t d = 0; d < r->d; d++) {
		sums->dq[d] += r->scale * ds_kept[0] * sl_in(c, 1, k0 + d);
		sums->dk[s * r->d + d] += r->scale * ds_kept[0] * sl_in(c, 0, r->q0 + d);
		sums->dv[s * r->d + d] += ds_kept[1] * sl_in(c, 6, r->q0 + d);
	}
}

static void back_row(const struct sl_call *c, int64_t index, struct sums *sums)
{
	static const int dy_y[] = {6, 4};
	static const int dy_v[] = {6, 2};
	struct row r = row_at(c, index);
	double lse = sl_in(c, 5, index);
	double dy_dot_y = dot(c, dy_y, r.q0, r.q0, r.d);

	memset(sums->dq, 0, (size_t)r.d * sizeof(double));
	r.seen = is_blind(lse) ? 0 : r.seen;
	for (int64_t s = 0; s < r.seen; s++) {
		double p = exp(score(c, &r, s) - lse);
		double kept = keep(c, &r, s);
		double dp = kept * dot(c, dy_v, r.q0, r.k0 + s * r.d, r.d);
		const double ds_kept[] = {p * (dp - dy_dot_y), p * kept};
		add_pair(c, &r, s, ds_kept, sums);
	}
	for (int64_t d = 0; d < r.d; d++)
		sl_put(c, 0, r.q0 + d, sums->dq[d]);
}

size_t sl_attention_dx_ref_workspace(const struct sl_node_info *n)
{
	const int64_t *k = n->in[1].shape.dim;

	return (size_t)(2 * k[2] * k[3] + k[3]) * sizeof(double);
}

sl_status sl_attention_dx_ref(const struct sl_call *c)
{
	const int64_t *k = c->node->in[1].shape.dim;
	int64_t t = c->node->in[0].shape.dim[2];
	int64_t size = k[2] * k[3];
	struct sums sums = {.dk = c->workspace};

	sums.dv = sums.dk + size;
	sums.dq = sums.dv + size;
	for (int64_t head = 0; head < k[0] * k[1]; head++) {
		memset(sums.dk, 0, (size_t)size * 2 * sizeof(double));
		for (int64_t i = 0; i < t; i++)
			back_row(c, head * t + i, &sums);
		for (int64_t i = 0; i < size; i++) {
			sl_put(c, 1, head * size + i, sums.dk[i]);
			sl_put(c, 2, head * size + i, sums.dv[i]);
		}
	}
	return SL_OK;
}
