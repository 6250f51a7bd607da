/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of x [N, C, ...], also with ReLU: training, gradients, inference.
 * f32, x, y, dy and dx also bf16; one channel is one piece of work, so each of its sums
 * is added by one thread in order. The mean is taken first, then sum and squares of what
 * is left. A channel is read two or three times. dx may take the bytes of dy: a channel's
 * sums come before its first element is written.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "graph/op_attr.h"
#include "kernel/cpu/low.h"

/* x seen as [n, c, inner]. */
struct channels {
	int64_t n, c, inner;
	double count;
};

static struct channels channels_of(const struct sl_call *c)
{
	const struct sl_shape *x = &c->node->in[0].shape;
	struct channels s = {
		.n = x->dim[0], .c = x->dim[1], .inner = sl_shape_span(x, 2, x->rank)};

	s.count = (double)(s.n * s.inner);
	return s;
}

/* Plane i of the channel. */
static int64_t plane(const struct channels *s, int64_t i, int64_t ch)
{
	return (i * s->c + ch) * s->inner;
}

/* The same, then ReLU; with z added before where there is one. */
static void relu_plane(
	const float *x, const float *z, float *y, int64_t n, const float k[4])
{
	float shift = k[0];
	float rest = k[1];
	float scale = k[2];
	float offset = k[3];

	if (z) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++) {
			float v = (x[i] - shift - rest) * scale + offset + z[i];
			y[i] = v <= 0 ? 0 : v;
		}
		return;
	}
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		float v = (x[i] - shift - rest) * scale + offset;
		y[i] = v <= 0 ? 0 : v;
	}
}

/* Whether mean and variance are inputs. */
static bool is_known(const struct sl_call *c)
{
	return sl_node_has(c->node, 4);
}

static void write_plane(
	const struct sl_call *c, int64_t at, int64_t n, const float k[4], bool relu)
{
	enum sl_dtype t = c->node->in[0].dtype;
	bool added = relu && sl_node_has(c->node, 3) && !is_known(c);
	float buf[3][SL_LOW_BLOCK];

	for (int64_t m, end = at + n; at < end; at += m) {
		m = sl_low_block(at, end);
		const float *x = sl_low_load(c->in[0], t, at, m, buf[0]);
		const float *z = added ? sl_low_load(c->in[3], t, at, m, buf[1]) : NULL;
		float *y = sl_low_room(c->out[0], t, at, buf[2]);
		if (relu)
			relu_plane(x, z, y, m, k);
		else
			sl_cpu_scale(x, y, m, k);
		sl_low_store(c->out[0], t, at, m, y);
	}
}

/* Sum of n elements from `at`, or with moments the sums of x - shift and its square. */
static double add_plane(
	const struct sl_call *c, int64_t at, int64_t n, float shift, double *moments)
{
	float buf[SL_LOW_BLOCK];
	double sum = 0;

	for (int64_t m, end = at + n; at < end; at += m) {
		m = sl_low_block(at, end);
		const float *x = sl_low_load(c->in[0], c->node->in[0].dtype, at, m, buf);
		if (moments)
			sl_cpu_moments(x, m, shift, moments);
		else
			sum += sl_cpu_sum(x, m);
	}
	return sum;
}

static void again_channel(const struct sl_call *c, const struct channels *s, int64_t ch)
{
	const struct sl_eps_attr *attr = c->node->attr;
	float mean = ((const float *)c->in[3])[ch];
	float var = ((const float *)c->in[4])[ch];
	double gamma = (double)((const float *)c->in[1])[ch];
	const float k[4] = {mean, 0, (float)(gamma / sqrt((double)var + attr->eps)),
		((const float *)c->in[2])[ch]};

	for (int64_t i = 0; i < s->n; i++)
		write_plane(c, plane(s, i, ch), s->inner, k, true);
	((float *)c->out[1])[ch] = mean;
	((float *)c->out[2])[ch] = var;
}

static void forward_channel(
	const struct sl_call *c, const struct channels *s, int64_t ch, bool relu)
{
	const struct sl_eps_attr *attr = c->node->attr;
	double gamma = (double)((const float *)c->in[1])[ch];
	double moment[2] = {0, 0};
	double sum = 0;

	for (int64_t i = 0; i < s->n; i++)
		sum += add_plane(c, plane(s, i, ch), s->inner, 0, NULL);
	float near = (float)(sum / s->count);
	for (int64_t i = 0; i < s->n; i++)
		(void)add_plane(c, plane(s, i, ch), s->inner, near, moment);
	double rest = moment[0] / s->count;
	double var = moment[1] / s->count - rest * rest;
	var = var < 0 ? 0 : var;
	double scale = gamma / sqrt(var + attr->eps);
	const float k[4] = {
		near, (float)rest, (float)scale, ((const float *)c->in[2])[ch]};
	for (int64_t i = 0; i < s->n; i++)
		write_plane(c, plane(s, i, ch), s->inner, k, relu);
	((float *)c->out[1])[ch] = isfinite(near) ? (float)((double)near + rest) : near;
	((float *)c->out[2])[ch] = (float)var;
}

static void forward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	struct channels s = channels_of(c);

	for (int64_t ch = begin; ch < end; ch++)
		if (arg && is_known(c))
			again_channel(c, &s, ch);
		else
			forward_channel(c, &s, ch, arg != NULL);
}

static sl_status forward_run(const struct sl_call *c)
{
	struct channels s = channels_of(c);

	sl_cpu_for(c, NULL, s.c, sl_cpu_grain(s.n * s.inner), forward_range);
	return SL_OK;
}

static sl_status forward_relu_run(const struct sl_call *c)
{
	struct channels s = channels_of(c);

	sl_cpu_for(c, &s, s.c, sl_cpu_grain(s.n * s.inner), forward_range);
	return SL_OK;
}

/* Channels' values are f32; x, what is added to it, y, dy and dx may be bf16. */
static bool accepts(const struct sl_node_info *n)
{
	uint32_t low = 1;

	for (int i = 1; i < n->n_in; i++)
		if (n->in[i].shape.rank > 1)
			low |= 1u << i;
	return sl_cpu_is_f32_or_mixed(n, low, 1);
}

#define KERNEL(op_name, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = accepts, \
		.run = run_fn, \
	};
KERNEL(batch_norm, forward_run)
KERNEL(batch_norm_relu, forward_relu_run)
KERNEL(batch_norm_add_relu, forward_relu_run)

/* What the gradients read. */
struct backward {
	struct channels s;
	const float *gamma, *mean, *var;
	const float *beta; /* with ReLU; else NULL */
	const void *x, *dy;
	void *dx;
	enum sl_dtype dtype; /* of these three */
};

/* dx = a (dy + (b (x - mean) + d)), k = {mean, a, b, d}; dy may be dx. */
static void backward_plane(
	const float *x, const float *dy, float *dx, int64_t n, const float k[4])
{
	float mean = k[0];
	float a = k[1];
	float b = k[2];
	float d = k[3];

#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		dx[i] = a * (dy[i] + (b * (x[i] - mean) + d));
}

/* What of dy passes ReLU, k = {mean, scale, beta}. */
static void pass_plane(
	const float *x, const float *dy, float *dx, int64_t n, const float k[3])
{
	float mean = k[0];
	float scale = k[1];
	float beta = k[2];

#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		dx[i] = (x[i] - mean) * scale + beta <= 0 ? 0 : dy[i];
}

/* Adds up n elements from `at`; with ReLU what passes it is left in dx. */
static void sum_plane(
	const struct backward *p, int64_t at, int64_t n, const float k[3], double sum[2])
{
	enum sl_dtype t = p->dtype;
	float buf[3][SL_LOW_BLOCK];

	for (int64_t m, end = at + n; at < end; at += m) {
		m = sl_low_block(at, end);
		const float *x = sl_low_load(p->x, t, at, m, buf[0]);
		const float *from = sl_low_load(p->dy, t, at, m, buf[1]);
		if (p->beta) {
			float *dx = sl_low_room(p->dx, t, at, buf[2]);
			pass_plane(x, from, dx, m, k);
			sl_low_store(p->dx, t, at, m, dx);
			from = dx;
		}
		sl_cpu_weights(from, x, m, k[0], sum);
	}
}

static void write_dx(const struct backward *p, int64_t at, int64_t n, const float k[4])
{
	const void *from = p->beta ? p->dx : p->dy;
	enum sl_dtype t = p->dtype;
	float buf[3][SL_LOW_BLOCK];

	for (int64_t m, end = at + n; at < end; at += m) {
		m = sl_low_block(at, end);
		float *dx = sl_low_room(p->dx, t, at, buf[2]);
		backward_plane(sl_low_load(p->x, t, at, m, buf[0]),
			sl_low_load(from, t, at, m, buf[1]), dx, m, k);
		sl_low_store(p->dx, t, at, m, dx);
	}
}

static void backward_channel(
	const struct sl_call *c, const struct backward *p, int64_t ch)
{
	const struct sl_eps_attr *attr = c->node->attr;
	const struct channels *s = &p->s;
	float mean = p->mean[ch];
	double r = 1 / sqrt((double)p->var[ch] + attr->eps);
	double a = (double)p->gamma[ch] * r;
	double sum[2] = {0, 0};

	for (int64_t i = 0; i < s->n; i++)
		sum_plane(p, plane(s, i, ch), s->inner,
			(const float[]){mean, (float)a, p->beta ? p->beta[ch] : 0}, sum);
	double dgamma = sum[1] * r;
	const float k[4] = {mean, (float)a, (float)(-r * dgamma / s->count),
		(float)(-sum[0] / s->count)};
	for (int64_t i = 0; i < s->n; i++)
		write_dx(p, plane(s, i, ch), s->inner, k);
	((float *)c->out[1])[ch] = (float)dgamma;
	((float *)c->out[2])[ch] = (float)sum[0];
}

static void backward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	for (int64_t ch = begin; ch < end; ch++)
		backward_channel(c, arg, ch);
}

/* Inputs from `first` on: mean, variance, dy. */
static sl_status backward(const struct sl_call *c, const float *beta, int first)
{
	struct backward p = {
		.s = channels_of(c),
		.x = c->in[0],
		.gamma = c->in[1],
		.beta = beta,
		.mean = c->in[first],
		.var = c->in[first + 1],
		.dy = c->in[first + 2],
		.dx = c->out[0],
		.dtype = c->node->in[0].dtype,
	};

	sl_cpu_for(c, &p, p.s.c, sl_cpu_grain(p.s.n * p.s.inner), backward_range);
	return SL_OK;
}

static sl_status backward_run(const struct sl_call *c)
{
	return backward(c, NULL, 2);
}

static sl_status backward_relu_run(const struct sl_call *c)
{
	return backward(c, c->in[2], 3);
}

KERNEL(batch_norm_dx, backward_run)
KERNEL(batch_norm_relu_dx, backward_relu_run)

/* Planes [begin, end) of n times c; in place if the operator says so. */
static void infer_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct channels s = channels_of(c);

	(void)arg;
	for (int64_t p = begin; p < end; p++) {
		int64_t ch = p % s.c;
		double var = (double)((const float *)c->in[4])[ch];
		double scale =
			(double)((const float *)c->in[1])[ch] / sqrt(var + attr->eps);
		const float k[4] = {((const float *)c->in[3])[ch], 0, (float)scale,
			((const float *)c->in[2])[ch]};
		write_plane(c, p * s.inner, s.inner, k, false);
	}
}

static sl_status infer_run(const struct sl_call *c)
{
	struct channels s = channels_of(c);

	sl_cpu_for(c, NULL, s.n * s.c, sl_cpu_grain(s.inner), infer_range);
	return SL_OK;
}

KERNEL(batch_norm_infer, infer_run)
