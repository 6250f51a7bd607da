/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions whose axes collapse to rows [R1, K, R2] or to columns [A, R, B] (R reduced,
 * K, A and B kept); what is left goes to the reference. f32 (the input may be bf16), one
 * read of the input.
 *
 * Rows are added in double over blocks of 1024. One long row and the rows of one column
 * block are cut into fixed parts whose results lie in the workspace and are joined in
 * order, so that the number of workers cannot show.
 */
#include "kernel/cpu/cpu.h"

#include <math.h>

#include "kernel/cpu/collapse.h"
#include "kernel/cpu/low.h"
#include "sluice/attrs.h"

#define PART 65536 /* elements of a part of one long row */
#define PARTS_MAX 16 /* parts of the rows of a column block */
#define PART_ROWS 64 /* rows of such a part at least */
#define TILE 4096 /* columns at a time, so that the sums stay in the first cache */

struct geometry {
	bool columns;
	int64_t outer, n, inner; /* rows: R1, K, R2; columns: A, R, B */
	int64_t part; /* elements or rows of one part */
	int64_t parts;
	double reduced; /* elements for each result */
};

/* How one operator folds. */
struct fold {
	double empty;
	double (*row)(const float *x, int64_t n);
	double (*join)(double a, double b);
	void (*columns)(float *acc, const float *x, int64_t n);
};

struct job {
	struct geometry g;
	const struct fold *fold;
	double scale;
};

/* The input's strides in the result, 0 along reduced axes. */
static void result_strides(const struct sl_node_info *n, int64_t stride[SL_MAX_RANK])
{
	const struct sl_shape *x = &n->in[0].shape;
	const struct sl_reduce_attr *a = n->attr;
	int64_t step = 1;

	if (n->op->attr_bytes != sizeof(*a)) { /* sum_to */
		sl_broadcast_strides(&n->out[0].shape, x, stride);
		return;
	}
	for (int i = x->rank - 1; i >= 0; i--) {
		bool reduced = a->axes == 0 || (a->axes >> i & 1);
		stride[i] = reduced ? 0 : step;
		step *= reduced ? 1 : x->dim[i];
	}
}

static void cut(struct geometry *g)
{
	int64_t length = g->columns ? g->n : g->inner;

	g->parts = 1;
	g->part = length;
	if (!g->columns && g->n * g->outer == 1)
		g->part = PART;
	if (g->columns && g->outer == 1) {
		int64_t least = (length + PARTS_MAX - 1) / PARTS_MAX;
		g->part = least > PART_ROWS ? least : PART_ROWS;
	}
	if (g->part < length)
		g->parts = (length + g->part - 1) / g->part;
}

static void channels_last(int64_t axis[SL_MAX_RANK])
{
	int64_t channels = axis[1];

	axis[1] = axis[2];
	axis[2] = axis[3];
	axis[3] = channels;
}

static bool find_geometry(const struct sl_node_info *n, struct geometry *g)
{
	struct sl_shape x = n->in[0].shape;
	struct sl_collapsed w;
	int64_t dense[SL_MAX_RANK];
	int64_t result[SL_MAX_RANK];

	result_strides(n, result);
	if (n->nhwc) {
		channels_last(x.dim);
		channels_last(result);
	}
	sl_dense_strides(&x, dense);
	sl_collapse(&x, dense, result, &w);
	if (w.rank > 3 || sl_shape_count(&n->in[0].shape) == 0)
		return false;
	int64_t d0 = w.dim[0];
	int64_t d1 = w.rank > 1 ? w.dim[1] : 1;
	int64_t d2 = w.rank > 2 ? w.dim[2] : 1;
	*g = (struct geometry){
		.columns = w.stride[1][0] != 0, .outer = d2, .n = d1, .inner = d0};
	g->reduced = g->columns ? (double)d1 : (double)(d0 * d2);
	cut(g);
	return true;
}

static bool accepts(const struct sl_node_info *n)
{
	const struct sl_reduce_attr *a = n->attr;
	struct geometry g;

	/* Results that keep rows or columns of images would be plain, not in order. */
	if (n->nhwc && (a->axes & 0xc) != 0xc)
		return false;
	return sl_cpu_is_f32_or_mixed(n, 1, 0) && find_geometry(n, &g);
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct geometry g;

	(void)env;
	*out = (struct sl_prepared){0};
	if (!find_geometry(n, &g))
		return SL_FAIL(
			SL_E_UNSUPPORTED, "%s of this shape has no kernel", n->op->name);
	if (g.parts > 1)
		out->workspace_bytes =
			g.columns ? (size_t)(g.parts * g.inner) * sizeof(float)
				  : (size_t)g.parts * sizeof(double);
	return SL_OK;
}

/* n elements of the input from `at` on. */
static double fold_row(
	const struct sl_call *c, const struct fold *fold, int64_t at, int64_t n)
{
	enum sl_dtype t = c->node->in[0].dtype;
	double acc = fold->empty;
	float buf[SL_LOW_BLOCK];

	if (t == SL_F32)
		return fold->row((const float *)c->in[0] + at, n);
	for (int64_t m, i = 0; i < n; i += m) {
		m = sl_low_block(i, n);
		acc = fold->join(
			acc, fold->row(sl_low_load(c->in[0], t, at + i, m, buf), m));
	}
	return acc;
}

/* Results [begin, end), each over R1 rows of R2. */
static void rows_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const struct geometry *g = &job->g;
	float *y = c->out[0];

	for (int64_t k = begin; k < end; k++) {
		double acc = fold_row(c, job->fold, k * g->inner, g->inner);
		for (int64_t r = 1; r < g->outer; r++)
			acc = job->fold->join(
				acc, fold_row(c, job->fold, (r * g->n + k) * g->inner,
					     g->inner));
		y[k] = (float)(acc * job->scale);
	}
}

/* Parts [begin, end) of the only row. */
static void parts_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const struct geometry *g = &job->g;
	double *part = c->workspace;

	for (int64_t p = begin; p < end; p++) {
		int64_t at = p * g->part;
		int64_t n = g->inner - at < g->part ? g->inner - at : g->part;
		part[p] = fold_row(c, job->fold, at, n);
	}
}

static void run_rows(const struct sl_call *c, const struct job *job)
{
	const struct geometry *g = &job->g;

	if (g->parts == 1) {
		sl_cpu_for(c, job, g->n, sl_cpu_grain(g->inner * g->outer), rows_range);
		return;
	}
	const double *part = c->workspace;
	float *y = c->out[0];
	double acc = job->fold->empty;
	sl_cpu_for(c, job, g->parts, 1, parts_range);
	for (int64_t p = 0; p < g->parts; p++)
		acc = job->fold->join(acc, part[p]);
	y[0] = (float)(acc * job->scale);
}

/* Columns to be folded: element `at` of data. */
struct source {
	const void *data;
	enum sl_dtype dtype;
	int64_t at;
};

/* acc[0..inner) folded over `rows` rows. */
static void fold_block(
	const struct job *job, float *acc, const struct source *x, int64_t rows)
{
	float buf[TILE];
	const struct geometry *g = &job->g;

	for (int64_t b = 0; b < g->inner; b += TILE) {
		int64_t n = g->inner - b < TILE ? g->inner - b : TILE;
		for (int64_t i = 0; i < n; i++)
			acc[b + i] = (float)job->fold->empty;
		for (int64_t r = 0; r < rows; r++)
			job->fold->columns(acc + b,
				sl_low_load(x->data, x->dtype, x->at + r * g->inner + b,
					n, buf),
				n);
	}
}

static void scale_row(float *y, int64_t n, float scale)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] *= scale;
}

/* Blocks [begin, end) of A. */
static void columns_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const struct geometry *g = &job->g;
	float *y = c->out[0];

	for (int64_t a = begin; a < end; a++) {
		struct source x = {c->in[0], c->node->in[0].dtype, a * g->n * g->inner};
		fold_block(job, y + a * g->inner, &x, g->n);
	}
	scale_row(y + begin * g->inner, (end - begin) * g->inner, (float)job->scale);
}

/* Parts [begin, end) of the rows of the only block. */
static void column_parts_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	const struct geometry *g = &job->g;
	float *part = c->workspace;

	for (int64_t p = begin; p < end; p++) {
		int64_t at = p * g->part;
		int64_t rows = g->n - at < g->part ? g->n - at : g->part;
		struct source x = {c->in[0], c->node->in[0].dtype, at * g->inner};
		fold_block(job, part + p * g->inner, &x, rows);
	}
}

static void run_columns(const struct sl_call *c, const struct job *job)
{
	const struct geometry *g = &job->g;

	if (g->parts == 1) {
		sl_cpu_for(
			c, job, g->outer, sl_cpu_grain(g->n * g->inner), columns_range);
		return;
	}
	struct job join = *job;
	float *y = c->out[0];
	sl_cpu_for(
		c, job, g->parts, sl_cpu_grain(g->part * g->inner), column_parts_range);
	join.g.n = g->parts;
	struct source x = {c->workspace, SL_F32, 0};
	fold_block(&join, y, &x, g->parts);
	scale_row(y, g->inner, (float)job->scale);
}

static sl_status run(const struct sl_call *c, const struct fold *fold, bool mean)
{
	struct job job = {.fold = fold, .scale = 1};

	if (!find_geometry(c->node, &job.g))
		return SL_FAIL(SL_E_UNSUPPORTED, "%s of this shape has no kernel",
			c->node->op->name);
	if (mean)
		job.scale = 1 / job.g.reduced;
	if (job.g.columns)
		run_columns(c, &job);
	else
		run_rows(c, &job);
	return SL_OK;
}

static double join_sum(double a, double b)
{
	return a + b;
}

static void add_columns(float *acc, const float *x, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		acc[i] += x[i];
}

static double row_max(const float *x, int64_t n)
{
	return (double)sl_cpu_max(x, n);
}

static double join_max(double a, double b)
{
	return b > a || b != b ? b : a;
}

static void max_columns(float *acc, const float *x, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		acc[i] = x[i] > acc[i] || x[i] != x[i] ? x[i] : acc[i];
}

static const struct fold fold_sum = {
	.empty = 0, .row = sl_cpu_sum, .join = join_sum, .columns = add_columns};
static const struct fold fold_max = {
	.empty = -HUGE_VAL, .row = row_max, .join = join_max, .columns = max_columns};

#define KERNEL(op_name, fold, mean, layouts_) \
	static sl_status op_name##_run(const struct sl_call *c) \
	{ \
		return run(c, &fold, mean); \
	} \
	const struct sl_kernel sl_kernel_vec_##op_name = { \
		.name = "vec_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.layouts = layouts_, \
		.accepts = accepts, \
		.prepare = prepare, \
		.run = op_name##_run, \
	};

KERNEL(sum, fold_sum, false, SL_KERNEL_ANY)
KERNEL(mean, fold_sum, true, SL_KERNEL_ANY)
KERNEL(max, fold_max, false, SL_KERNEL_ANY)
KERNEL(sum_to, fold_sum, false, SL_KERNEL_PLAIN)
