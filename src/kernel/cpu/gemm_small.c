/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products too small for a parallel region, and products with a vector.
 *
 * gemm_small: one thread. Columns of b are packed in panels of 16 into the workspace; 8 x
 * 16 results live in registers while k runs. Under LIMIT multiplications this takes less
 * time than waking the threads of a library.
 *
 * gemv: m = 1 or n = 1; bound by reading the matrix once, 4 bytes for 2 flops. Fixed
 * chunks of results over the pool; each result's sum runs along k alone.
 *
 * f32 throughout; sums over contiguous k are added up in double every 1024 elements.
 */
#include "kernel/cpu/cpu.h"
#include "kernel/cpu/gemm_shape.h"

#include <string.h>

#define LIMIT (1 << 17)
#define ROWS 8
#define LANES 16

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

static int64_t padded(int64_t n)
{
	return (n + LANES - 1) / LANES * LANES;
}

static bool small_accepts(const struct sl_node_info *n)
{
	if (!sl_gemm_fits(n))
		return false;
	struct sl_gemm g = sl_gemm_of(n);
	/* No product below can overflow: operands have under 2^31 elements. */
	return g.k * padded(g.n) <= LIMIT && g.m <= LIMIT / g.n / g.k &&
	       sl_gemm_batches(&g) <= LIMIT / (g.m * g.n * g.k);
}

static sl_status small_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	struct sl_gemm g = sl_gemm_of(n);

	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(g.k * padded(g.n)) * sizeof(float)};
	return SL_OK;
}

/* b [k, n] as panels of [k, 16], zeros behind the last column. */
static void pack(const struct sl_gemm *g, const float *b, float *packed)
{
	int64_t row = g->trans_b ? 1 : g->n;
	int64_t col = g->trans_b ? g->k : 1;

	for (int64_t j = 0; j < padded(g->n); j += LANES) {
		int64_t width = g->n - j < LANES ? g->n - j : LANES;
		for (int64_t k = 0; k < g->k; k++, packed += LANES) {
			const float *from = b + k * row + j * col;
			int64_t i = 0;
			for (; i < width; i++)
				packed[i] = from[i * col];
			for (; i < LANES; i++)
				packed[i] = 0;
		}
	}
}

/* Rows past the last are the last again; they are computed and not stored. */
static void tile(const struct sl_gemm *g, const float *a, int64_t first,
	const lanes *panel, lanes sum[ROWS])
{
	int64_t col = g->trans_a ? g->m : 1;
	const float *row[ROWS];

	for (int r = 0; r < ROWS; r++) {
		int64_t i = first + r < g->m ? first + r : g->m - 1;
		row[r] = a + i * (g->trans_a ? 1 : g->k);
		sum[r] = (lanes){0};
	}
	for (int64_t k = 0; k < g->k; k++)
#pragma GCC unroll 8
		for (int r = 0; r < ROWS; r++)
			sum[r] += row[r][k * col] * panel[k];
}

static void store(float *y, const lanes *sum, const float *bias, int64_t width)
{
	float row[LANES];

	memcpy(row, sum, sizeof(row));
	for (int64_t i = 0; i < width; i++)
		y[i] = row[i] + (bias ? bias[i] : 0.0f);
}

static void product(const struct sl_gemm *g, const float *a, const lanes *packed,
	const float *bias, float *y)
{
	for (int64_t j = 0; j < g->n; j += LANES) {
		const lanes *panel = packed + j / LANES * g->k;
		int64_t width = g->n - j < LANES ? g->n - j : LANES;
		for (int64_t i = 0; i < g->m; i += ROWS) {
			lanes sum[ROWS];
			tile(g, a, i, panel, sum);
			for (int r = 0; r < ROWS && i + r < g->m; r++)
				store(y + (i + r) * g->n + j, &sum[r],
					bias ? bias + j : NULL, width);
		}
	}
}

static sl_status small_run(const struct sl_call *c)
{
	struct sl_gemm g = sl_gemm_of(c->node);
	int64_t batches = sl_gemm_batches(&g);
	float *y = c->out[0];

	for (int64_t i = 0; i < batches; i++) {
		int64_t a;
		int64_t b;
		sl_gemm_offsets(&g, i, &a, &b);
		pack(&g, (const float *)c->in[1] + b, c->workspace);
		product(&g, (const float *)c->in[0] + a, c->workspace, c->in[2],
			y + i * g.m * g.n);
	}
	return SL_OK;
}

/* A product of a [count, k] matrix (or its transpose) and a vector. */
struct gemv {
	const float *matrix, *vector, *bias;
	float *y;
	int64_t count, k;
	bool across; /* the matrix is stored [k, count] */
	bool one_bias; /* n = 1: a single bias for all */
};

static bool gemv_accepts(const struct sl_node_info *n)
{
	if (!sl_gemm_fits(n))
		return false;
	struct sl_gemm g = sl_gemm_of(n);
	return g.n_batch == 0 && (g.m == 1 || g.n == 1);
}

static float bias_at(const struct gemv *v, int64_t i)
{
	return v->bias ? v->bias[v->one_bias ? 0 : i] : 0.0f;
}

static double dot(const float *a, const float *b, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i += 1024) {
		int64_t end = i + 1024 < n ? i + 1024 : n;
		float part = 0;
#pragma omp simd reduction(+ : part)
		for (int64_t j = i; j < end; j++)
			part += a[j] * b[j];
		sum += (double)part;
	}
	return sum;
}

static void dots(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct gemv *v = arg;

	(void)c;
	for (int64_t i = begin; i < end; i++)
		v->y[i] = (float)(dot(v->matrix + i * v->k, v->vector, v->k) +
				  (double)bias_at(v, i));
}

static void sums(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct gemv *v = arg;

	(void)c;
	for (int64_t i = begin; i < end; i++)
		v->y[i] = bias_at(v, i);
	for (int64_t k = 0; k < v->k; k++) {
		const float *row = v->matrix + k * v->count;
		float factor = v->vector[k];
#pragma omp simd
		for (int64_t i = begin; i < end; i++)
			v->y[i] += factor * row[i];
	}
}

static sl_status gemv_run(const struct sl_call *c)
{
	struct sl_gemm g = sl_gemm_of(c->node);
	bool left = g.n == 1; /* a is the matrix */
	struct gemv v = {
		.matrix = c->in[left ? 0 : 1],
		.vector = c->in[left ? 1 : 0],
		.bias = c->in[2],
		.y = c->out[0],
		.count = left ? g.m : g.n,
		.k = g.k,
		.across = left ? g.trans_a : !g.trans_b,
		.one_bias = left,
	};

	if (v.across)
		sl_cpu_for(c, &v, v.count, 512, sums);
	else
		sl_cpu_for(c, &v, v.count, sl_cpu_grain(v.k), dots);
	return SL_OK;
}

const struct sl_kernel sl_kernel_gemm_small = {
	.name = "gemm_small",
	.op = "matmul",
	.rank = 40,
	.accepts = small_accepts,
	.prepare = small_prepare,
	.run = small_run,
};

const struct sl_kernel sl_kernel_gemv = {
	.name = "gemv",
	.op = "matmul",
	.rank = 50,
	.accepts = gemv_accepts,
	.run = gemv_run,
};
