/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root mean square normalisation over the last axis, and its gradient. f32, squares added
 * in double.
 *
 * The gradient adds dgamma over fixed parts of the rows (at most 16) into the workspace,
 * and the parts in order. dx may take the bytes of dy.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "graph/op_attr.h"

#define PARTS_MAX 16
#define PART_ROWS 16

static void forward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_eps_attr *attr = c->node->attr;
	const float *gamma = c->in[1];
	int64_t n = sl_rows_of(&c->node->in[0].shape).c;

	(void)arg;
	for (int64_t r = begin; r < end; r++) {
		const float *x = (const float *)c->in[0] + r * n;
		float *y = (float *)c->out[0] + r * n;
		double mean = sl_cpu_sum_squares(x, n) / (double)n;
		float s = (float)(1 / sqrt(mean + attr->eps));
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] * s * gamma[i];
		((float *)c->out[1])[r] = s;
	}
}

static sl_status forward_run(const struct sl_call *c)
{
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);

	sl_cpu_for(c, NULL, s.n, sl_cpu_grain(s.c), forward_range);
	return SL_OK;
}

static int64_t part_rows(int64_t rows)
{
	int64_t least = (rows + PARTS_MAX - 1) / PARTS_MAX;

	return least > PART_ROWS ? least : PART_ROWS;
}

static sl_status backward_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	struct sl_rows s = sl_rows_of(&n->in[0].shape);

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(sl_cpu_chunks(s.n, part_rows(s.n)) * s.c) *
				   sizeof(float)};
	return SL_OK;
}

static void backward_row(const struct sl_call *c, int64_t r, float *dgamma)
{
	int64_t n = sl_rows_of(&c->node->in[0].shape).c;
	const float *x = (const float *)c->in[0] + r * n;
	const float *gamma = c->in[1];
	const float *dy = (const float *)c->in[3] + r * n;
	float *dx = (float *)c->out[0] + r * n;
	float rstd = ((const float *)c->in[2])[r];
	float sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += dy[i] * gamma[i] * (x[i] * rstd);
	float mean = sum / (float)n;
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		float xhat = x[i] * rstd;
		float d = dy[i];
		dgamma[i] += d * xhat;
		dx[i] = rstd * (d * gamma[i] - xhat * mean);
	}
}

static void backward_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);
	int64_t rows = part_rows(s.n);

	(void)arg;
	for (int64_t p = begin; p < end; p++) {
		float *own = (float *)c->workspace + p * s.c;
		int64_t last = (p + 1) * rows < s.n ? (p + 1) * rows : s.n;
		memset(own, 0, (size_t)s.c * sizeof(float));
		for (int64_t r = p * rows; r < last; r++)
			backward_row(c, r, own);
	}
}

static sl_status backward_run(const struct sl_call *c)
{
	struct sl_rows s = sl_rows_of(&c->node->in[0].shape);
	int64_t rows = part_rows(s.n);
	int64_t parts = sl_cpu_chunks(s.n, rows);
	float *dgamma = c->out[1];

	sl_cpu_for(c, NULL, parts, sl_cpu_grain(rows * s.c), backward_range);
	memset(dgamma, 0, (size_t)s.c * sizeof(float));
	for (int64_t p = 0; p < parts; p++) {
		const float *own = (const float *)c->workspace + p * s.c;
#pragma omp simd
		for (int64_t i = 0; i < s.c; i++)
			dgamma[i] += own[i];
	}
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_rms_norm = {
	.name = "vec_rms_norm",
	.op = "rms_norm",
	.rank = 10,
	.accepts = sl_cpu_is_f32,
	.run = forward_run,
};

const struct sl_kernel sl_kernel_vec_rms_norm_dx = {
	.name = "vec_rms_norm_dx",
	.op = "rms_norm_dx",
	.rank = 10,
	.accepts = sl_cpu_is_f32,
	.prepare = backward_prepare,
	.run = backward_run,
};
