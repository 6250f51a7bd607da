/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout: the reference's mask, 128 elements at a time. f32 or bf16, in place; about 40
 * integer operations an element against 8 bytes.
 */
#include "kernel/cpu/cpu.h"

#include "kernel/cpu/low.h"
#include "kernel/cpu/philox.h"
#include "sluice/attrs.h"

struct job {
	struct sl_rng_key key;
	uint64_t base;
	uint32_t from; /* kept where (word >> 8) is at least this */
	float scale;
};

static void keep_some(
	const float *x, float *y, int64_t n, const uint32_t *word, const struct job *job)
{
	uint32_t from = job->from;
	float scale = job->scale;

#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = (word[i] >> 8) >= from ? x[i] * scale : 0;
}

static void dropout_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *job = arg;
	uint32_t word[SL_PHILOX_WORDS];
	enum sl_dtype t = c->node->out[0].dtype;
	float buf[2][SL_PHILOX_WORDS];

	for (int64_t i = begin; i < end;) {
		uint64_t element = job->base + (uint64_t)i;
		int64_t skip = (int64_t)(element % 4);
		int64_t n = SL_PHILOX_WORDS - skip < end - i ? SL_PHILOX_WORDS - skip
							     : end - i;
		sl_cpu_philox(&job->key, element / 4, word);
		keep_some(sl_low_load(c->in[0], t, i, n, buf[0]),
			sl_low_room(c->out[0], t, i, buf[1]), n, word + skip, job);
		sl_low_store(c->out[0], t, i, n, buf[1]);
		i += n;
	}
}

static sl_status dropout_run(const struct sl_call *c)
{
	const struct sl_dropout_attr *a = c->node->attr;
	struct job job = {
		.key = {.seed = c->run->seed,
			.stream = a->stream,
			.step = (uint32_t)c->run->step},
		.base = a->base,
		.from = sl_cpu_keep_from(a->ratio),
		.scale = a->ratio < 1 ? (float)(1 / (1 - a->ratio)) : 0,
	};

	sl_cpu_for(c, &job, sl_cpu_count_out(c, 0), SL_CPU_GRAIN, dropout_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_dropout = {
	.name = "vec_dropout",
	.op = "dropout",
	.rank = 10,
	.accepts = sl_cpu_is_f32_or_low,
	.run = dropout_run,
};
