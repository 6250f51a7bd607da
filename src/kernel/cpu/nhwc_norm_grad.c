/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradients of batch normalisation on channels-last values: the sums of dy and of
 * dy (x - mean) over blocks of rows, joined in order in double, then dx in a second pass.
 * With ReLU, dy counts where the result was positive, which x tells again. f32; dx may
 * take the bytes of dy.
 */
#include "kernel/cpu/nhwc_norm.h"

#include "graph/op_attr.h"

/* x, gamma and, with ReLU, beta; then mean, variance, dy. */
struct job {
	struct sl_norm_rows r;
	bool relu;
	const float *x, *gamma, *beta, *mean, *var, *dy;
	float *sum, *product; /* [blocks, c] */
	float *scale, *slope,
		*offset; /* [c]: dx = scale (dy + (slope (x - mean) + offset)) */
};

/* What of dy passes; x centred in v. */
static SL_INLINE void pass(
	const sl_lanes *v, const sl_lanes *scale, const sl_lanes *beta, sl_lanes *dy)
{
	sl_lanes y = *v * *scale + *beta;

	sl_norm_pass(&y, dy);
}

/* n channels over one block; mean, scale and beta begin at the first of them. */
static SL_INLINE void block_sums(const struct job *job, const int64_t at[2], int64_t rows,
	int64_t n, float *out[2], bool relu)
{
	sl_lanes sum[SL_NORM_WIDE], product[SL_NORM_WIDE], m[SL_NORM_WIDE],
		s[SL_NORM_WIDE], b[SL_NORM_WIDE], v, d;
	int64_t c = job->r.c;

	for (int k = 0; k < SL_NORM_WIDE && k * SL_LANES < n; k++) {
		int64_t ch = at[1] + k * SL_LANES;
		sum[k] = product[k] = b[k] = (sl_lanes){0};
		sl_norm_load(job->mean + ch, job->r.c - ch, &m[k]);
		sl_norm_load(job->scale + ch, job->r.c - ch, &s[k]);
		if (relu)
			sl_norm_load(job->beta + ch, job->r.c - ch, &b[k]);
	}
	for (int64_t i = 0; i < rows; i++)
		for (int k = 0; k < SL_NORM_WIDE && k * SL_LANES < n; k++) {
			int64_t from = at[0] + i * c + k * SL_LANES;
			sl_norm_load(job->x + from, n - k * SL_LANES, &v);
			sl_norm_load(job->dy + from, n - k * SL_LANES, &d);
			v -= m[k];
			if (relu)
				pass(&v, &s[k], &b[k], &d);
			sum[k] += d;
			product[k] += d * v;
		}
	for (int k = 0; k < SL_NORM_WIDE && k * SL_LANES < n; k++) {
		sl_norm_store(out[0] + k * SL_LANES, n - k * SL_LANES, &sum[k]);
		sl_norm_store(out[1] + k * SL_LANES, n - k * SL_LANES, &product[k]);
	}
}

static SL_INLINE void sums(const struct job *job, int64_t block, bool relu)
{
	const int64_t most = SL_NORM_WIDE * SL_LANES;
	int64_t rows = sl_norm_block_rows(&job->r, block);

	for (int64_t ch = 0; ch < job->r.c; ch += most) {
		int64_t to = block * job->r.c + ch;
		const int64_t at[2] = {block * job->r.block * job->r.c + ch, ch};
		float *out[2] = {job->sum + to, job->product + to};
		/* Constants keep the sums in registers. */
		if (job->r.c - ch >= most)
			block_sums(job, at, rows, most, out, relu);
		else if (job->r.c - ch == most / 2)
			block_sums(job, at, rows, most / 2, out, relu);
		else
			block_sums(job, at, rows, job->r.c - ch, out, relu);
	}
}

SL_PLAIN static void sums_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;

	(void)c;
	for (int64_t b = begin; b < end; b++) {
		if (job->relu)
			sums(job, b, true);
		else
			sums(job, b, false);
	}
}

/* n channels from ch on: their sums over all blocks, block after block. */
static void join_strip(
	const struct job *job, int64_t ch, int64_t n, double *sum, double *product)
{
	for (int64_t i = 0; i < n; i++)
		sum[i] = product[i] = 0;
	for (int64_t b = 0; b < job->r.blocks; b++) {
		const float *s = job->sum + b * job->r.c + ch;
		const float *p = job->product + b * job->r.c + ch;
#pragma omp simd
		for (int64_t i = 0; i < n; i++) {
			sum[i] += (double)s[i];
			product[i] += (double)p[i];
		}
	}
}

/* Strips [begin, end) of channels. */
static void join_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const struct sl_eps_attr *attr = c->node->attr;
	double sum[SL_NORM_STRIP], product[SL_NORM_STRIP];
	double rows = (double)job->r.rows;

	for (int64_t k = begin; k < end; k++) {
		int64_t n = sl_norm_strip(&job->r, k);
		join_strip(job, k * SL_NORM_STRIP, n, sum, product);
		for (int64_t i = 0; i < n; i++) {
			int64_t ch = k * SL_NORM_STRIP + i;
			double r = 1 / sqrt((double)job->var[ch] + attr->eps);
			double dgamma = product[i] * r;
			job->slope[ch] = (float)(-r * dgamma / rows);
			job->offset[ch] = (float)(-sum[i] / rows);
			((float *)c->out[1])[ch] = (float)dgamma;
			((float *)c->out[2])[ch] = (float)sum[i];
		}
	}
}

static SL_INLINE void write_row(
	const struct job *job, float *dx, int64_t at, bool relu, bool whole)
{
	for (int64_t ch = 0; ch < job->r.c; ch += SL_LANES) {
		int64_t n = whole ? SL_LANES : job->r.c - ch;
		sl_lanes v, d, m, s, k, o, b;
		sl_norm_load(job->x + at + ch, n, &v);
		sl_norm_load(job->dy + at + ch, n, &d);
		sl_norm_load(job->mean + ch, n, &m);
		sl_norm_load(job->scale + ch, n, &s);
		sl_norm_load(job->slope + ch, n, &k);
		sl_norm_load(job->offset + ch, n, &o);
		v -= m;
		if (relu) {
			sl_norm_load(job->beta + ch, n, &b);
			pass(&v, &s, &b, &d);
		}
		d = s * (d + (k * v + o));
		sl_norm_store(dx + at + ch, n, &d);
	}
}

#define WRITE(name, relu, whole) \
	SL_PLAIN static void name( \
		const struct sl_call *call, const void *arg, int64_t begin, int64_t end) \
	{ \
		const struct job *job = arg; \
		for (int64_t row = begin; row < end; row++) \
			write_row(job, call->out[0], row * job->r.c, relu, whole); \
	}
WRITE(write_plain, false, true)
WRITE(write_relu, true, true)
WRITE(write_plain_cut, false, false)
WRITE(write_relu_cut, true, false)

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
		.workspace_bytes = (size_t)((2 * r.blocks + 3) * r.c) * sizeof(float),
	};
	return SL_OK;
}

static sl_status run(const struct sl_call *c, bool relu)
{
	static const sl_cpu_range_fn writers[2][2] = {
		{write_plain_cut, write_plain}, {write_relu_cut, write_relu}};
	const struct sl_eps_attr *attr = c->node->attr;
	int first = relu ? 3 : 2;
	struct job job = {
		.r = sl_norm_rows_of(&c->node->in[0].shape),
		.relu = relu,
		.x = c->in[0],
		.gamma = c->in[1],
		.beta = relu ? c->in[2] : NULL,
		.mean = c->in[first],
		.var = c->in[first + 1],
		.dy = c->in[first + 2],
	};

	job.scale = c->workspace;
	job.slope = job.scale + job.r.c;
	job.offset = job.slope + job.r.c;
	job.sum = job.offset + job.r.c;
	job.product = job.sum + job.r.blocks * job.r.c;
	for (int64_t ch = 0; ch < job.r.c; ch++)
		job.scale[ch] = (float)((double)job.gamma[ch] /
					sqrt((double)job.var[ch] + attr->eps));
	sl_cpu_for(c, &job, job.r.blocks, 1, sums_range);
	sl_cpu_for(c, &job, sl_norm_strips(&job.r),
		sl_cpu_grain(job.r.blocks * SL_NORM_STRIP), join_range);
	sl_cpu_for(
		c, &job, job.r.rows, job.r.block, writers[relu][job.r.c % SL_LANES == 0]);
	return SL_OK;
}

#define KERNEL(op_name, relu) \
	static sl_status op_name##_run(const struct sl_call *c) \
	{ \
		return run(c, relu); \
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
KERNEL(batch_norm_dx, false)
KERNEL(batch_norm_relu_dx, true)
