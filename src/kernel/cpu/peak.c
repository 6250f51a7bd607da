/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that do nothing but multiply and add, or read and write: the roof over kernels.
 */
#include "kernel/peak.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

/* A register's floats. */
#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif
#define CHAINS 12
#define LOOPS 100000
/* A millisecond each: on a busy machine some burst has the cores for itself. */
#define CHUNKS 4 /* a thread */
#define BURSTS 32
#define PASSES 4
#define PAGE 4096
#define STREAM ((size_t)128 << 20)
#define PIECE ((size_t)1 << 20)

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* CHAINS independent sums hide the latency of a multiply-add; the result keeps the loop
 * alive. */
static void multiply_add(void *ctx, int64_t chunk)
{
	lanes sum[CHAINS];
	lanes a = {0};
	lanes b = {0};
	float *result = ctx;

	for (int i = 0; i < LANES; i++) {
		a[i] = 0.999f;
		b[i] = 1e-3f * (float)(i + 1);
	}
	for (int c = 0; c < CHAINS; c++)
		sum[c] = b * (float)c;
	for (int64_t n = 0; n < LOOPS; n++)
#pragma GCC unroll 12
		for (int c = 0; c < CHAINS; c++)
			sum[c] = sum[c] * a + b;
	for (int c = 1; c < CHAINS; c++)
		sum[0] += sum[c];
	result[chunk] = sum[0][0];
}

double sl_peak_flops(struct sl_pool *pool)
{
	float result[SL_POOL_WIDTH_MAX * CHUNKS];
	int64_t chunks = (int64_t)CHUNKS * sl_pool_width(pool);
	double best = 0;

	for (int i = 0; i < BURSTS; i++) {
		sl_ns begin = sl_clock_now();
		double ns, rate;

		sl_pool_run(pool, chunks, multiply_add, result);
		ns = (double)(sl_clock_now() - begin);
		rate = 2.0 * LANES * CHAINS * LOOPS * (double)chunks / ns * 1e9;
		best = rate > best ? rate : best;
	}
	return best;
}

/* In place: what is written only would be read first, and no operator counts that. */
static void pass(void *ctx, int64_t chunk)
{
	size_t n = PIECE / sizeof(float);
	float *at = (float *)ctx + (size_t)chunk * n;

	for (size_t i = 0; i < n; i++)
		at[i] = at[i] * 0.5f + 1;
}

static double stream_rate(struct sl_pool *pool, float *data)
{
	double best = 0;

	for (int i = 0; i <= PASSES; i++) {
		sl_ns begin = sl_clock_now();
		double rate;

		sl_pool_run(pool, (int64_t)(STREAM / PIECE), pass, data);
		rate = 2.0 * (double)STREAM / (double)(sl_clock_now() - begin) * 1e9;
		/* The first pass takes pages. */
		best = i > 0 && rate > best ? rate : best;
	}
	return best;
}

sl_status sl_peak_measure(struct sl_pool *pool, struct sl_peak *best)
{
	float *data = sl_alloc_aligned(PAGE, STREAM);
	double flops, bytes;

	if (data == NULL)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for a stream of %zu bytes", STREAM);
	bytes = stream_rate(pool, data);
	sl_free_aligned(data);
	flops = sl_peak_flops(pool);
	best->bytes_per_s = bytes > best->bytes_per_s ? bytes : best->bytes_per_s;
	best->flops_per_s = flops > best->flops_per_s ? flops : best->flops_per_s;
	return SL_OK;
}
