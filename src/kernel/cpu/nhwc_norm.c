/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of channels-last values, alone or with ReLU and a sum: two passes
 * over memory. Each block of rows gives its mean and the squares around it, looked at
 * twice while it is in the cache; blocks are joined in order, in double. f32.
 *
 * What is written is (x - mean) scale + beta with the mean and variance as handed out, so
 * that the gradient finds the same signs.
 */
#include "kernel/cpu/nhwc_norm.h"

#include "graph/op_attr.h"

enum form { PLAIN, RELU, ADD_RELU };

struct job {
	struct sl_norm_rows r;
	enum form form;
	float *mean, *square; /* [blocks, c] */
	float *scale; /* [c] */
};

/* Mean and squares of `n` channels from ch on over one block. */
static SL_INLINE void block_moments(
	const struct job *job, const float *x, int64_t rows, int64_t n, float *out[2])
{
	sl_lanes near[SL_NORM_WIDE], sum[SL_NORM_WIDE], square[SL_NORM_WIDE], v;
	int64_t c = job->r.c;

	for (int k = 0; k < SL_NORM_WIDE; k++)
		near[k] = sum[k] = square[k] = (sl_lanes){0};
	for (int64_t i = 0; i < rows; i++)
		for (int k = 0; k < SL_NORM_WIDE && k * SL_LANES < n; k++) {
			sl_norm_load(x + i * c + k * SL_LANES, n - k * SL_LANES, &v);
			near[k] += v;
		}
	for (int k = 0; k < SL_NORM_WIDE; k++)
		near[k] /= (float)rows;
	for (int64_t i = 0; i < rows; i++)
		for (int k = 0; k < SL_NORM_WIDE && k * SL_LANES < n; k++) {
			sl_norm_load(x + i * c + k * SL_LANES, n - k * SL_LANES, &v);
			v -= near[k];
			sum[k] += v;
			square[k] += v * v;
		}
	for (int k = 0; k < SL_NORM_WIDE && k * SL_LANES < n; k++) {
		sl_lanes rest = sum[k] / (float)rows;
		sl_lanes inside = near[k] + rest;
		square[k] -= sum[k] * rest;
		/* Infinity stays what it is. */
		sl_mask odd = ~(inside <= (sl_lanes){0} + INFINITY);
		inside = (sl_lanes)((odd & (sl_mask)near[k]) | (~odd & (sl_mask)inside));
		sl_norm_store(out[0] + k * SL_LANES, n - k * SL_LANES, &inside);
		sl_norm_store(out[1] + k * SL_LANES, n - k * SL_LANES, &square[k]);
	}
}

SL_PLAIN static void moments_range(
	const struct sl_call *call, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const int64_t most = SL_NORM_WIDE * SL_LANES;

	for (int64_t b = begin; b < end; b++) {
		const float *x = (const float *)call->in[0] + b * job->r.block * job->r.c;
		int64_t rows = sl_norm_block_rows(&job->r, b);
		for (int64_t ch = 0; ch < job->r.c; ch += most) {
			int64_t n = job->r.c - ch;
			float *out[2] = {job->mean + b * job->r.c + ch,
				job->square + b * job->r.c + ch};
			/* Constants keep the sums in registers. */
			if (n >= most)
				block_moments(job, x + ch, rows, most, out);
			else if (n == most / 2)
				block_moments(job, x + ch, rows, most / 2, out);
			else
				block_moments(job, x + ch, rows, n, out);
		}
	}
}

/* n channels from ch on: their sums over all blocks, block after block. */
static void join_strip(
	const struct job *job, int64_t ch, int64_t n, double *mean, double *square)
{
	for (int64_t i = 0; i < n; i++)
		mean[i] = square[i] = 0;
	for (int64_t b = 0; b < job->r.blocks; b++) {
		const float *from = job->mean + b * job->r.c + ch;
		double rows = (double)sl_norm_block_rows(&job->r, b);
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			mean[i] += rows * (double)from[i];
	}
	for (int64_t i = 0; i < n; i++)
		mean[i] /= (double)job->r.rows;
	for (int64_t b = 0; b < job->r.blocks; b++) {
		const float *from = job->mean + b * job->r.c + ch;
		const float *inside = job->square + b * job->r.c + ch;
		double rows = (double)sl_norm_block_rows(&job->r, b);
#pragma omp simd
		for (int64_t i = 0; i < n; i++) {
			double d = (double)from[i] - mean[i];
			square[i] += (double)inside[i] + rows * d * d;
		}
	}
}

/* Strips [begin, end) of channels. */
static void join_range(
	const struct sl_call *call, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	float *mean = call->out[1];
	float *var = call->out[2];
	double sum[SL_NORM_STRIP], square[SL_NORM_STRIP];

	for (int64_t k = begin; k < end; k++) {
		int64_t ch = k * SL_NORM_STRIP;
		int64_t n = sl_norm_strip(&job->r, k);
		join_strip(job, ch, n, sum, square);
		for (int64_t i = 0; i < n; i++) {
			double v = square[i] / (double)job->r.rows;
			mean[ch + i] = (float)sum[i];
			var[ch + i] = (float)(v < 0 ? 0 : v);
		}
	}
}

static void set_scales(const struct sl_call *call, const struct job *job)
{
	const struct sl_eps_attr *attr = call->node->attr;
	const float *gamma = call->in[1];
	const float *var = call->out[2];

	for (int64_t ch = 0; ch < job->r.c; ch++)
		job->scale[ch] =
			(float)((double)gamma[ch] / sqrt((double)var[ch] + attr->eps));
}

/* Mean and variance that were handed out before. */
static void take_known(const struct sl_call *call, const struct job *job)
{
	for (int i = 1; i < 3; i++)
		memcpy(call->out[i], call->in[2 + i], (size_t)job->r.c * sizeof(float));
}

static SL_INLINE void write_row(const struct sl_call *call, const struct job *job,
	int64_t at, enum form form, bool whole)
{
	const float *x = (const float *)call->in[0] + at;
	const float *z = form == ADD_RELU ? (const float *)call->in[3] + at : NULL;
	const float *mean = call->out[1];
	const float *beta = call->in[2];
	float *y = (float *)call->out[0] + at;

	for (int64_t ch = 0; ch < job->r.c; ch += SL_LANES) {
		int64_t n = whole ? SL_LANES : job->r.c - ch;
		sl_lanes v, m, s, b, w;
		sl_norm_load(x + ch, n, &v);
		sl_norm_load(mean + ch, n, &m);
		sl_norm_load(job->scale + ch, n, &s);
		sl_norm_load(beta + ch, n, &b);
		v = (v - m) * s + b;
		if (form == ADD_RELU) {
			sl_norm_load(z + ch, n, &w);
			v += w;
		}
		w = v;
		if (form != PLAIN)
			sl_norm_pass(&w, &v);
		sl_norm_store(y + ch, n, &v);
	}
}

#define WRITE(name, form, whole) \
	SL_PLAIN static void name( \
		const struct sl_call *call, const void *arg, int64_t begin, int64_t end) \
	{ \
		const struct job *job = arg; \
		for (int64_t row = begin; row < end; row++) \
			write_row(call, job, row * job->r.c, form, whole); \
	}
WRITE(write_plain, PLAIN, true)
WRITE(write_relu, RELU, true)
WRITE(write_add_relu, ADD_RELU, true)
WRITE(write_plain_cut, PLAIN, false)
WRITE(write_relu_cut, RELU, false)
WRITE(write_add_relu_cut, ADD_RELU, false)

static bool accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32(n) && n->in[0].shape.rank == 4 &&
	       sl_shape_count(&n->in[0].shape) > 0;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct sl_norm_rows r = sl_norm_rows_of(&n->in[0].shape);

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)((2 * r.blocks + 1) * r.c) * sizeof(float),
	};
	return SL_OK;
}

static sl_status run(const struct sl_call *c, enum form form)
{
	static const sl_cpu_range_fn writers[3][2] = {
		{write_plain_cut, write_plain},
		{write_relu_cut, write_relu},
		{write_add_relu_cut, write_add_relu},
	};
	struct job job = {.r = sl_norm_rows_of(&c->node->in[0].shape), .form = form};

	job.scale = c->workspace;
	job.mean = job.scale + job.r.c;
	job.square = job.mean + job.r.blocks * job.r.c;
	if (form == RELU && sl_node_has(c->node, 4)) {
		take_known(c, &job);
	} else {
		sl_cpu_for(c, &job, job.r.blocks, 1, moments_range);
		sl_cpu_for(c, &job, sl_norm_strips(&job.r),
			sl_cpu_grain(job.r.blocks * SL_NORM_STRIP), join_range);
	}
	set_scales(c, &job);
	sl_cpu_for(
		c, &job, job.r.rows, job.r.block, writers[form][job.r.c % SL_LANES == 0]);
	return SL_OK;
}

#define KERNEL(op_name, form) \
	static sl_status op_name##_run(const struct sl_call *c) \
	{ \
		return run(c, form); \
	} \
	const struct sl_kernel sl_kernel_nhwc_##op_name = { \
		.name = "nhwc_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.layouts = SL_KERNEL_NHWC, \
		.accepts = accepts, \
		.prepare = prepare, \
		.run = op_name##_run, \
	};
KERNEL(batch_norm, PLAIN)
KERNEL(batch_norm_relu, RELU)
KERNEL(batch_norm_add_relu, ADD_RELU)

/* Statistics from outside: rows alone. */
static void infer_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const float *scale = c->workspace;
	const float *x = c->in[0];
	const float *mean = c->in[3];
	const float *beta = c->in[2];
	float *y = c->out[0];
	int64_t n = *(const int64_t *)arg;

	for (int64_t row = begin; row < end; row++)
#pragma omp simd
		for (int64_t ch = 0; ch < n; ch++)
			y[row * n + ch] =
				(x[row * n + ch] - mean[ch]) * scale[ch] + beta[ch];
}

static sl_status infer_run(const struct sl_call *c)
{
	const struct sl_eps_attr *attr = c->node->attr;
	struct sl_norm_rows r = sl_norm_rows_of(&c->node->in[0].shape);
	float *scale = c->workspace;

	for (int64_t ch = 0; ch < r.c; ch++)
		scale[ch] =
			(float)((double)((const float *)c->in[1])[ch] /
				sqrt((double)((const float *)c->in[4])[ch] + attr->eps));
	sl_cpu_for(c, &r.c, r.rows, r.block, infer_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_nhwc_batch_norm_infer = {
	.name = "nhwc_batch_norm_infer",
	.op = "batch_norm_infer",
	.rank = 10,
	.layouts = SL_KERNEL_NHWC,
	.accepts = accepts,
	.prepare = prepare,
	.run = infer_run,
};
