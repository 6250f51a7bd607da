/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox-4x32-10 over many counters at once: the lanes of one round are a loop that
 * vectorises. Constants and order of words as in base/rng.c.
 */
#include "kernel/cpu/philox.h"

#include <math.h>

#define ROUNDS 10
#define LANES (SL_PHILOX_WORDS / 4)
#define MUL0 0xD2511F53u
#define MUL1 0xCD9E8D57u
#define WEYL0 0x9E3779B9u
#define WEYL1 0xBB67AE85u

struct lanes {
	uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
};

static void one_round(struct lanes *v, uint32_t k0, uint32_t k1)
{
#pragma omp simd
	for (int i = 0; i < LANES; i++) {
		uint64_t p0 = (uint64_t)MUL0 * v->c0[i];
		uint64_t p1 = (uint64_t)MUL1 * v->c2[i];
		uint32_t c1 = v->c1[i];
		uint32_t c3 = v->c3[i];
		v->c0[i] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		v->c2[i] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		v->c1[i] = (uint32_t)p1;
		v->c3[i] = (uint32_t)p0;
	}
}

void sl_cpu_philox(
	const struct sl_rng_key *key, uint64_t block, uint32_t out[SL_PHILOX_WORDS])
{
	struct lanes v;
	uint32_t k0 = (uint32_t)key->seed;
	uint32_t k1 = (uint32_t)(key->seed >> 32);

	for (int i = 0; i < LANES; i++) {
		uint64_t b = block + (uint64_t)i;
		v.c0[i] = (uint32_t)b;
		v.c1[i] = (uint32_t)(b >> 32);
		v.c2[i] = key->stream;
		v.c3[i] = key->step;
	}
	for (int i = 0; i < ROUNDS; i++) {
		one_round(&v, k0, k1);
		k0 += WEYL0;
		k1 += WEYL1;
	}
	for (int i = 0; i < LANES; i++) {
		out[4 * i] = v.c0[i];
		out[4 * i + 1] = v.c1[i];
		out[4 * i + 2] = v.c2[i];
		out[4 * i + 3] = v.c3[i];
	}
}

uint32_t sl_cpu_keep_from(double ratio)
{
	/* unit = (word >> 8) / 2^24 exactly; 2^24 keeps nothing. */
	return (uint32_t)ceil(ratio * 0x1p24);
}
