/* SPDX-License-Identifier: Apache-2.0 */
/* What our own CPU kernels share: fixed chunks over the pool, type checks, a sum. */
#include "kernel/cpu/cpu.h"

#include "base/thread.h"
#include "kernel/cpu/low.h"
#include "kernel/cpu/mathv.h"

#define BLOCK 1024

struct cut {
	const struct sl_call *c;
	const void *arg;
	int64_t count, grain;
	sl_cpu_range_fn fn;
};

static void run_chunk(void *ctx, int64_t chunk)
{
	const struct cut *cut = ctx;
	int64_t begin = chunk * cut->grain;
	int64_t end = begin + cut->grain < cut->count ? begin + cut->grain : cut->count;

	cut->fn(cut->c, cut->arg, begin, end);
}

void sl_cpu_for(const struct sl_call *c, const void *arg, int64_t count, int64_t grain,
	sl_cpu_range_fn fn)
{
	struct cut cut = {.c = c, .arg = arg, .count = count, .grain = grain, .fn = fn};

	sl_pool_run(c->run->pool, sl_cpu_chunks(count, grain), run_chunk, &cut);
}

bool sl_cpu_is_f32_but(const struct sl_node_info *n, int i)
{
	for (int k = 0; k < n->n_in; k++) {
		enum sl_dtype t = n->in[k].dtype;
		if (k == i ? t != SL_I32 && t != SL_I64
			   : sl_node_has(n, k) && t != SL_F32)
			return false;
	}
	for (int k = 0; k < n->n_out; k++)
		if (n->out[k].dtype != SL_F32)
			return false;
	return true;
}

bool sl_cpu_is_f32_or_mixed(
	const struct sl_node_info *n, uint32_t low_in, uint32_t low_out)
{
	if (sl_cpu_is_f32(n))
		return true;
	for (int k = 0; k < n->n_in; k++)
		if (sl_node_has(n, k) &&
			n->in[k].dtype != (low_in >> k & 1 ? SL_BF16 : SL_F32))
			return false;
	for (int k = 0; k < n->n_out; k++)
		if (n->out[k].dtype != (low_out >> k & 1 ? SL_BF16 : SL_F32))
			return false;
	return true;
}

bool sl_cpu_is_f32_or_low(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_or_mixed(n, UINT32_MAX, UINT32_MAX);
}

bool sl_cpu_is_f32(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_but(n, -1);
}

/* The end of the block that begins at i. */
static int64_t block_end(int64_t i, int64_t n)
{
	return i + BLOCK < n ? i + BLOCK : n;
}

double sl_cpu_sum(const float *x, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i += BLOCK) {
		int64_t end = block_end(i, n);
		float part = 0;
#pragma omp simd reduction(+ : part)
		for (int64_t j = i; j < end; j++)
			part += x[j];
		sum += (double)part;
	}
	return sum;
}

double sl_cpu_dot(const float *x, const float *y, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i += BLOCK) {
		int64_t end = block_end(i, n);
		float part = 0;
#pragma omp simd reduction(+ : part)
		for (int64_t j = i; j < end; j++)
			part += x[j] * y[j];
		sum += (double)part;
	}
	return sum;
}

double sl_cpu_sum_squares(const float *x, int64_t n)
{
	double sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return sum;
}

void sl_cpu_moments(const float *x, int64_t n, float shift, double out[2])
{
	for (int64_t i = 0; i < n; i += BLOCK) {
		int64_t end = block_end(i, n);
		float first = 0;
		float second = 0;
#pragma omp simd reduction(+ : first, second)
		for (int64_t j = i; j < end; j++) {
			float d = x[j] - shift;
			first += d;
			second += d * d;
		}
		out[0] += (double)first;
		out[1] += (double)second;
	}
}

void sl_cpu_weights(const float *w, const float *x, int64_t n, float shift, double out[2])
{
	for (int64_t i = 0; i < n; i += BLOCK) {
		int64_t end = block_end(i, n);
		float first = 0;
		float second = 0;
#pragma omp simd reduction(+ : first, second)
		for (int64_t j = i; j < end; j++) {
			first += w[j];
			second += w[j] * (x[j] - shift);
		}
		out[0] += (double)first;
		out[1] += (double)second;
	}
}

float sl_cpu_max(const float *x, int64_t n)
{
	float top = -__builtin_inff();
	int nan = 0;

#pragma omp simd reduction(max : top) reduction(| : nan)
	for (int64_t i = 0; i < n; i++) {
		top = x[i] > top ? x[i] : top;
		nan |= x[i] != x[i];
	}
	return nan ? __builtin_nanf("") : top;
}

static float exp_block(const float *x, float *y, int64_t n, float shift)
{
	float part = 0;

#pragma omp simd reduction(+ : part)
	for (int64_t j = 0; j < n; j++) {
		float e = sl_expf(x[j] - shift);
		y[j] = e;
		part += e;
	}
	return part;
}

static float exp_block_only(const float *x, int64_t n, float shift)
{
	float part = 0;

#pragma omp simd reduction(+ : part)
	for (int64_t j = 0; j < n; j++)
		part += sl_expf(x[j] - shift);
	return part;
}

double sl_cpu_exp_sum(const float *x, float *y, int64_t n, float shift)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i += BLOCK) {
		int64_t len = block_end(i, n) - i;
		sum += (double)(y ? exp_block(x + i, y + i, len, shift)
				  : exp_block_only(x + i, len, shift));
	}
	return sum;
}

void sl_cpu_scale(const float *x, float *y, int64_t n, const float k[4])
{
	float shift = k[0];
	float rest = k[1];
	float scale = k[2];
	float offset = k[3];

#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = (x[i] - shift - rest) * scale + offset;
}
