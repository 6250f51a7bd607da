/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer normalisation over the last axis, and its gradient. f32; the mean is taken first,
 * then sum and squares of what is left, so that rows far from zero keep their digits.
 *
 * The gradient adds dgamma and dbeta over fixed parts of the rows (at most 16) into the
 * workspace, and the parts in order. dx may take the bytes of dy.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "graph/op_attr.h"

#define PARTS_MAX 16
#define PART_ROWS 16

struct rows {
	int64_t n, c;
};

static struct rows rows_of(const struct sl_node_info *n)
{
	const struct sl_shape *x = &n->in[0].shape;
	return (struct rows){
		.n = sl_shape_span(x, 0, x->rank - 1), .c = x->dim[x->rank - 1]};
}

static void forward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_eps_attr *attr = c->node->attr;
	const float *gamma = c->in[1];
	const float *beta = c->in[2];
	float *mean = c->out[1];
	float *rstd = c->out[2];
	int64_t n = rows_of(c->node).c;

	(void)arg;
	for (int64_t r = begin; r < end; r++) {
		const float *x = (const float *)c->in[0] + r * n;
		float *y = (float *)c->out[0] + r * n;
		double moment[2] = {0, 0};
		float near = (float)(sl_cpu_sum(x, n) / (double)n);
		sl_cpu_moments(x, n, near, moment);
		/* What rounding took from the mean. */
		double rest = moment[0] / (double)n;
		double var = moment[1] / (double)n - rest * rest;
		double scale = 1 / sqrt((var < 0 ? 0 : var) + attr->eps);
		float s = (float)scale;
		float d = (float)rest;
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = (x[i] - near - d) * s * gamma[i] + beta[i];
		mean[r] = isfinite(near) ? (float)((double)near + rest) : near;
		rstd[r] = s;
	}
}

static sl_status forward_run(const struct sl_call *c)
{
	struct rows s = rows_of(c->node);

	sl_cpu_for(c, NULL, s.n, sl_cpu_grain(s.c), forward_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_layer_norm = {
	.name = "vec_layer_norm",
	.op = "layer_norm",
	.rank = 10,
	.accepts = sl_cpu_is_f32,
	.run = forward_run,
};

static int64_t part_rows(int64_t rows)
{
	int64_t least = (rows + PARTS_MAX - 1) / PARTS_MAX;
	return least > PART_ROWS ? least : PART_ROWS;
}

static sl_status backward_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	struct rows s = rows_of(n);
	int64_t parts = sl_cpu_chunks(s.n, part_rows(s.n));

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(parts * 2 * s.c) * sizeof(float)};
	return SL_OK;
}

/* sum(g) and sum(g xhat) of a row, with g = dy gamma. */
static void row_sums(const float *x, const float *dy, const float *gamma, int64_t n,
	const float mean_rstd[2], float out[2])
{
	float first = 0;
	float second = 0;
	float mean = mean_rstd[0];
	float rstd = mean_rstd[1];

#pragma omp simd reduction(+ : first, second)
	for (int64_t i = 0; i < n; i++) {
		float g = dy[i] * gamma[i];
		first += g;
		second += g * ((x[i] - mean) * rstd);
	}
	out[0] = first;
	out[1] = second;
}

static void backward_row(const struct sl_call *c, int64_t r, float *dgamma, float *dbeta)
{
	int64_t n = rows_of(c->node).c;
	const float *x = (const float *)c->in[0] + r * n;
	const float *gamma = c->in[1];
	const float *dy = (const float *)c->in[4] + r * n;
	float *dx = (float *)c->out[0] + r * n;
	const float mr[2] = {((const float *)c->in[2])[r], ((const float *)c->in[3])[r]};
	float sum[2];

	row_sums(x, dy, gamma, n, mr, sum);
	float mean = mr[0];
	float rstd = mr[1];
	float a = sum[0] / (float)n;
	float b = sum[1] / (float)n;
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		float xhat = (x[i] - mean) * rstd;
		float d = dy[i];
		dgamma[i] += d * xhat;
		dbeta[i] += d;
		dx[i] = rstd * (d * gamma[i] - a - xhat * b);
	}
}

static void backward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	struct rows s = rows_of(c->node);
	int64_t rows = part_rows(s.n);
	float *sums = c->workspace;

	(void)arg;
	for (int64_t p = begin; p < end; p++) {
		float *own = sums + p * 2 * s.c;
		int64_t last = (p + 1) * rows < s.n ? (p + 1) * rows : s.n;
		memset(own, 0, (size_t)(2 * s.c) * sizeof(float));
		for (int64_t r = p * rows; r < last; r++)
			backward_row(c, r, own, own + s.c);
	}
}

static sl_status backward_run(const struct sl_call *c)
{
	struct rows s = rows_of(c->node);
	int64_t rows = part_rows(s.n);
	int64_t parts = sl_cpu_chunks(s.n, rows);
	const float *sums = c->workspace;

	sl_cpu_for(c, NULL, parts, sl_cpu_grain(rows * s.c), backward_range);
	for (int k = 0; k < 2; k++) {
		float *out = c->out[1 + k];
		memset(out, 0, (size_t)s.c * sizeof(float));
		for (int64_t p = 0; p < parts; p++) {
			const float *own = sums + (p * 2 + k) * s.c;
#pragma omp simd
			for (int64_t i = 0; i < s.c; i++)
				out[i] += own[i];
		}
	}
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_layer_norm_dx = {
	.name = "vec_layer_norm_dx",
	.op = "layer_norm_dx",
	.rank = 10,
	.accepts = sl_cpu_is_f32,
	.prepare = backward_prepare,
	.run = backward_run,
};
