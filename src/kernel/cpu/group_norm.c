/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group normalisation of x [N, C, ...] and its gradient. f32; one group of a sample is
 * one piece of work. The mean is taken first, then sum and squares of what is left.
 *
 * The gradient first takes the sums of dy and of dy (x - mean) of every plane into the
 * workspace, from which come the groups' terms of dx and, samples in order, dgamma and
 * dbeta. dx may take the bytes of dy: its sums are taken before.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "sluice/attrs.h"

struct groups {
	int64_t n, c, inner, groups;
	int64_t width; /* channels of a group */
};

static struct groups groups_of(const struct sl_node_info *n)
{
	const struct sl_group_norm_attr *a = n->attr;
	const struct sl_shape *x = &n->in[0].shape;

	return (struct groups){.n = x->dim[0],
		.c = x->dim[1],
		.inner = sl_shape_span(x, 2, x->rank),
		.groups = a->groups,
		.width = x->dim[1] / a->groups};
}

static void forward_group(const struct sl_call *c, const struct groups *s, int64_t g)
{
	const struct sl_group_norm_attr *a = c->node->attr;
	int64_t size = s->width * s->inner;
	const float *x = (const float *)c->in[0] + g * size;
	float *y = (float *)c->out[0] + g * size;
	int64_t first = g % s->groups * s->width;
	double moment[2] = {0, 0};
	float near = (float)(sl_cpu_sum(x, size) / (double)size);

	sl_cpu_moments(x, size, near, moment);
	double rest = moment[0] / (double)size;
	double var = moment[1] / (double)size - rest * rest;
	double rstd = 1 / sqrt((var < 0 ? 0 : var) + a->eps);
	for (int64_t i = 0; i < s->width; i++) {
		const float k[4] = {near, (float)rest,
			(float)(rstd * (double)((const float *)c->in[1])[first + i]),
			((const float *)c->in[2])[first + i]};
		sl_cpu_scale(x + i * s->inner, y + i * s->inner, s->inner, k);
	}
	((float *)c->out[1])[g] = isfinite(near) ? (float)((double)near + rest) : near;
	((float *)c->out[2])[g] = (float)rstd;
}

static void forward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	for (int64_t g = begin; g < end; g++)
		forward_group(c, arg, g);
}

static sl_status forward_run(const struct sl_call *c)
{
	struct groups s = groups_of(c->node);

	sl_cpu_for(c, &s, s.n * s.groups, sl_cpu_grain(s.width * s.inner), forward_range);
	return SL_OK;
}

static sl_status backward_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	struct groups s = groups_of(n);

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(2 * s.n * s.c) * sizeof(double)};
	return SL_OK;
}

/* dx = a (dy gamma + (b (x - mean) + d)), k = {mean, gamma, a, b, d} */
static void backward_plane(
	const struct sl_call *c, int64_t at, int64_t n, const float k[5])
{
	const float *x = (const float *)c->in[0] + at;
	const float *dy = (const float *)c->in[4] + at;
	float *dx = (float *)c->out[0] + at;
	float mean = k[0];
	float gamma = k[1];
	float a = k[2];
	float b = k[3];
	float d = k[4];

#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		dx[i] = a * (dy[i] * gamma + (b * (x[i] - mean) + d));
}

static void backward_group(const struct sl_call *c, const struct groups *s, int64_t g)
{
	const float *gamma = (const float *)c->in[1] + g % s->groups * s->width;
	double *sums = (double *)c->workspace + 2 * g * s->width;
	float mean = ((const float *)c->in[2])[g];
	double rstd = (double)((const float *)c->in[3])[g];
	double size = (double)(s->width * s->inner);
	double sum = 0;
	double sum_x = 0;

	for (int64_t i = 0; i < s->width; i++) {
		int64_t at = (g * s->width + i) * s->inner;
		sums[2 * i] = sums[2 * i + 1] = 0;
		sl_cpu_weights((const float *)c->in[4] + at, (const float *)c->in[0] + at,
			s->inner, mean, sums + 2 * i);
		sum += (double)gamma[i] * sums[2 * i];
		sum_x += (double)gamma[i] * sums[2 * i + 1];
	}
	for (int64_t i = 0; i < s->width; i++) {
		const float k[5] = {mean, gamma[i], (float)rstd,
			(float)(-rstd * rstd * sum_x / size), (float)(-sum / size)};
		backward_plane(c, (g * s->width + i) * s->inner, s->inner, k);
	}
}

static void backward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	for (int64_t g = begin; g < end; g++)
		backward_group(c, arg, g);
}

static sl_status backward_run(const struct sl_call *c)
{
	struct groups s = groups_of(c->node);
	const double *sums = c->workspace;
	const float *rstd = c->in[3];

	sl_cpu_for(
		c, &s, s.n * s.groups, sl_cpu_grain(s.width * s.inner), backward_range);
	for (int64_t ch = 0; ch < s.c; ch++) {
		double dgamma = 0;
		double dbeta = 0;
		for (int64_t n = 0; n < s.n; n++) {
			const double *own = sums + 2 * (n * s.c + ch);
			dbeta += own[0];
			dgamma += own[1] * (double)rstd[n * s.groups + ch / s.width];
		}
		((float *)c->out[1])[ch] = (float)dgamma;
		((float *)c->out[2])[ch] = (float)dbeta;
	}
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_group_norm = {
	.name = "vec_group_norm",
	.op = "group_norm",
	.rank = 10,
	.accepts = sl_cpu_is_f32,
	.run = forward_run,
};

const struct sl_kernel sl_kernel_vec_group_norm_dx = {
	.name = "vec_group_norm_dx",
	.op = "group_norm_dx",
	.rank = 10,
	.accepts = sl_cpu_is_f32,
	.prepare = backward_prepare,
	.run = backward_run,
};
