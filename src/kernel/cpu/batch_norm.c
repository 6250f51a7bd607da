/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of x [N, C, ...], also with ReLU: training, gradients, inference.
 * f32; one channel is one piece of work, so each of its sums is added by one thread in
 * order. The mean is taken first, then sum and squares of what is left. A channel is read
 * two or three times. dx may take the bytes of dy: a channel's sums come before its first
 * element is written.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "graph/op_attr.h"

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

/* y = (x - shift - rest) scale + offset, k = {shift, rest, scale, offset} */
static void scale_plane(const float *x, float *y, int64_t n, const float k[4])
{
	float shift = k[0];
	float rest = k[1];
	float scale = k[2];
	float offset = k[3];

#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = (x[i] - shift - rest) * scale + offset;
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

static void write_plane(
	const struct sl_call *c, int64_t at, int64_t n, const float k[4], bool relu)
{
	const float *x = (const float *)c->in[0] + at;
	const float *z = c->node->n_in > 3 ? (const float *)c->in[3] + at : NULL;
	float *y = (float *)c->out[0] + at;

	if (relu)
		relu_plane(x, z, y, n, k);
	else
		scale_plane(x, y, n, k);
}

static void forward_channel(
	const struct sl_call *c, const struct channels *s, int64_t ch, bool relu)
{
	const struct sl_eps_attr *attr = c->node->attr;
	const float *x = c->in[0];
	double gamma = (double)((const float *)c->in[1])[ch];
	double moment[2] = {0, 0};
	double sum = 0;

	for (int64_t i = 0; i < s->n; i++)
		sum += sl_cpu_sum(x + plane(s, i, ch), s->inner);
	float near = (float)(sum / s->count);
	for (int64_t i = 0; i < s->n; i++)
		sl_cpu_moments(x + plane(s, i, ch), s->inner, near, moment);
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

#define KERNEL(op_name, run_fn) \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.accepts = sl_cpu_is_f32, \
		.run = run_fn, \
	};
KERNEL(batch_norm, forward_run)
KERNEL(batch_norm_relu, forward_relu_run)
KERNEL(batch_norm_add_relu, forward_relu_run)

/* What the gradients read. */
struct backward {
	struct channels s;
	const float *x, *gamma, *mean, *var, *dy;
	const float *beta; /* with ReLU; else NULL */
	float *dx;
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

static void backward_channel(
	const struct sl_call *c, const struct backward *p, int64_t ch)
{
	const struct sl_eps_attr *attr = c->node->attr;
	const struct channels *s = &p->s;
	const float *from = p->beta ? p->dx : p->dy;
	float mean = p->mean[ch];
	double r = 1 / sqrt((double)p->var[ch] + attr->eps);
	double a = (double)p->gamma[ch] * r;
	double sum[2] = {0, 0};

	for (int64_t i = 0; i < s->n; i++) {
		int64_t at = plane(s, i, ch);
		if (p->beta)
			pass_plane(p->x + at, p->dy + at, p->dx + at, s->inner,
				(const float[]){mean, (float)a, p->beta[ch]});
		sl_cpu_weights(from + at, p->x + at, s->inner, mean, sum);
	}
	double dgamma = sum[1] * r;
	const float k[4] = {mean, (float)a, (float)(-r * dgamma / s->count),
		(float)(-sum[0] / s->count)};
	for (int64_t i = 0; i < s->n; i++) {
		int64_t at = plane(s, i, ch);
		backward_plane(p->x + at, from + at, p->dx + at, s->inner, k);
	}
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
		scale_plane((const float *)c->in[0] + p * s.inner,
			(float *)c->out[0] + p * s.inner, s.inner, k);
	}
}

static sl_status infer_run(const struct sl_call *c)
{
	struct channels s = channels_of(c);

	sl_cpu_for(c, NULL, s.n * s.c, sl_cpu_grain(s.inner), infer_range);
	return SL_OK;
}

KERNEL(batch_norm_infer, infer_run)
