/* SPDX-License-Identifier: Apache-2.0 */
/* What our own CPU kernels share: fixed chunks over the pool, type checks, a sum. */
#include "kernel/cpu/cpu.h"

#include "base/thread.h"

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

bool sl_cpu_is_f32(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_but(n, -1);
}

double sl_cpu_sum(const float *x, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i += 1024) {
		int64_t end = i + 1024 < n ? i + 1024 : n;
		float part = 0;
#pragma omp simd reduction(+ : part)
		for (int64_t j = i; j < end; j++)
			part += x[j];
		sum += (double)part;
	}
	return sum;
}
