/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer normalisation over the last axis, and its gradient. f32, where x,
 * y, dy and dx may be bf16; the mean is taken first,
 * then sum and squares of what is left, so that rows far from zero keep their digits.
 *
 * The gradient adds dgamma and dbeta over fixed parts of the rows (at most 16) into the
 * workspace, and the parts in order. dx may take the bytes of dy.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "graph/op_attr.h"
#include "kernel/cpu/low.h"

#define PARTS_MAX 16
#define PART_ROWS 16

/* Sum, or with moments the sums of x - shift and its square, of n elements from `at`. */
static double row_sum(
	const struct sl_call *c, int64_t at, int64_t n, float shift, double *moments)
{
	float buf[SL_LOW_BLOCK];
	double sum = 0;

	for (int64_t m, i = 0; i < n; i += m) {
		m = sl_low_block(i, n);
		const float *x =
			sl_low_load(c->in[0], c->node->in[0].dtype, at + i, m, buf);
		if (moments)
			sl_cpu_moments(x, m, shift, moments);
		else
			sum += sl_cpu_sum(x, m);
	}
	return sum;
}

/* y = (x - near - rest) scale gamma + beta from element `at` on. */
static void row_scale(
	const struct sl_call *c, int64_t at, int64_t n, const float near_rest_scale[3])
{
	enum sl_dtype t = c->node->in[0].dtype;
	float near = near_rest_scale[0];
	float d = near_rest_scale[1];
	float s = near_rest_scale[2];
	float buf[2][SL_LOW_BLOCK];

	for (int64_t m, k = 0; k < n; k += m) {
		m = sl_low_block(k, n);
		const float *gamma = (const float *)c->in[1] + k;
		const float *beta = (const float *)c->in[2] + k;
		const float *x = sl_low_load(c->in[0], t, at + k, m, buf[0]);
		float *y = sl_low_room(c->out[0], t, at + k, buf[1]);
#pragma omp simd
		for (int64_t i = 0; i < m; i++)
			y[i] = (x[i] - near - d) * s * gamma[i] + beta[i];
		sl_low_store(c->out[0], t, at + k, m, y);
	}
}

static void forward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_eps_attr *attr = c->node->attr;
	float *mean = c->out[1];
	float *rstd = c->out[2];
	int64_t n = sl_rows_of(&c->node->in[0].shape).c;

	(void)arg;
	for (int64_t r = begin; r < end; r++) {
		double moment[2] = {0, 0};
		float near = (float)(row_sum(c, r * n, n, 0, NULL) / (double)n);
		(void)row_sum(c, r * n, n, near, moment);
		/* What rounding took from the mean. */
		double rest = moment[0] / (double)n;
		double var = moment[1] / (double)n - rest * rest;
		double scale = 1 / sqrt((var < 0 ? 0 : var) + attr->eps);
		row_scale(c, r * n, n, (float[]){near, (float)rest, (float)scale});
		mean[r] = isfinite(near) ? (float)((double)near + rest) : near;
		rstd[r] = (float)scale;
	}
}

static bool forward_accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_or_mixed(n, 1, 1);
}

static sl_status forward_run(const struct sl_call *c)
{
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);

	sl_cpu_for(c, NULL, s.n, sl_cpu_grain(s.c), forward_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_layer_norm = {
	.name = "vec_layer_norm",
	.op = "layer_norm",
	.rank = 10,
	.accepts = forward_accepts,
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
	struct sl_rows s = sl_rows_of(&n->in[0].shape);
	int64_t parts = sl_cpu_chunks(s.n, part_rows(s.n));

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(parts * 2 * s.c) * sizeof(float)};
	return SL_OK;
}

/* Elements [k, k + n) of row r. */
struct piece {
	int64_t k, n;
	const float *x, *dy, *gamma;
	float mean, rstd;
};

static struct piece piece_of(
	const struct sl_call *c, int64_t r, int64_t k, float buf[2][SL_LOW_BLOCK])
{
	enum sl_dtype t = c->node->in[0].dtype;
	int64_t width = sl_rows_of(&c->node->in[0].shape).c;
	int64_t n = sl_low_block(k, width);

	return (struct piece){.k = k,
		.n = n,
		.x = sl_low_load(c->in[0], t, r * width + k, n, buf[0]),
		.dy = sl_low_load(c->in[4], t, r * width + k, n, buf[1]),
		.gamma = (const float *)c->in[1] + k,
		.mean = ((const float *)c->in[2])[r],
		.rstd = ((const float *)c->in[3])[r]};
}

/* Adds sum(g) and sum(g xhat), with g = dy gamma. */
static void add_sums(const struct piece *p, float out[2])
{
	const float *x = p->x;
	const float *dy = p->dy;
	const float *gamma = p->gamma;
	float first = 0;
	float second = 0;
	float mean = p->mean;
	float rstd = p->rstd;

#pragma omp simd reduction(+ : first, second)
	for (int64_t i = 0; i < p->n; i++) {
		float g = dy[i] * gamma[i];
		first += g;
		second += g * ((x[i] - mean) * rstd);
	}
	out[0] += first;
	out[1] += second;
}

/* sums: dgamma and dbeta so far; ab: means of g and of g xhat over the row. */
static void backward_piece(
	const struct piece *p, float *dx, float *const sums[2], const float ab[2])
{
	const float *x = p->x;
	const float *dy = p->dy;
	const float *gamma = p->gamma;
	float *dgamma = sums[0] + p->k;
	float *dbeta = sums[1] + p->k;
	float mean = p->mean;
	float rstd = p->rstd;
	float a = ab[0];
	float b = ab[1];

#pragma omp simd
	for (int64_t i = 0; i < p->n; i++) {
		float xhat = (x[i] - mean) * rstd;
		float d = dy[i];
		dgamma[i] += d * xhat;
		dbeta[i] += d;
		dx[i] = rstd * (d * gamma[i] - a - xhat * b);
	}
}

static void backward_row(const struct sl_call *c, int64_t r, float *const sums[2])
{
	enum sl_dtype t = c->node->in[0].dtype;
	int64_t n = sl_rows_of(&c->node->in[0].shape).c;
	float buf[2][SL_LOW_BLOCK];
	float dx[SL_LOW_BLOCK];
	float sum[2] = {0, 0};

	for (int64_t k = 0; k < n; k += SL_LOW_BLOCK) {
		struct piece p = piece_of(c, r, k, buf);
		add_sums(&p, sum);
	}
	const float ab[2] = {sum[0] / (float)n, sum[1] / (float)n};
	for (int64_t k = 0; k < n; k += SL_LOW_BLOCK) {
		struct piece p = piece_of(c, r, k, buf);
		backward_piece(&p, sl_low_room(c->out[0], t, r * n + k, dx), sums, ab);
		sl_low_store(c->out[0], t, r * n + k, p.n, dx);
	}
}

static void backward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);
	int64_t rows = part_rows(s.n);
	float *sums = c->workspace;

	(void)arg;
	for (int64_t p = begin; p < end; p++) {
		float *own = sums + p * 2 * s.c;
		int64_t last = (p + 1) * rows < s.n ? (p + 1) * rows : s.n;
		memset(own, 0, (size_t)(2 * s.c) * sizeof(float));
		for (int64_t r = p * rows; r < last; r++)
			backward_row(c, r, (float *[]){own, own + s.c});
	}
}

static sl_status backward_run(const struct sl_call *c)
{
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);
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

static bool backward_accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_or_mixed(n, 1u | 1u << 4, 1);
}

const struct sl_kernel sl_kernel_vec_layer_norm_dx = {
	.name = "vec_layer_norm_dx",
	.op = "layer_norm_dx",
	.rank = 10,
	.accepts = backward_accepts,
	.prepare = backward_prepare,
	.run = backward_run,
};
