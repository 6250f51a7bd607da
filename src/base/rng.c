/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox-4x32-10: ten rounds of multiply and xor over a counter; source: Salmon, Moraes,
 * Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
 *
 * Counter words: block low, block high, stream, step. Key words: seed low, seed high.
 */
#include "base/rng.h"

#include <math.h>

#include "base/assert.h"

#define ROUNDS 10
#define MUL0 0xD2511F53u
#define MUL1 0xCD9E8D57u
#define WEYL0 0x9E3779B9u /* golden ratio */
#define WEYL1 0xBB67AE85u /* sqrt(3) - 1 */
#define TWO_PI 6.283185307179586476925

void sl_rng_block(const struct sl_rng_key *key, uint64_t block, uint32_t out[4])
{
	uint32_t k0 = (uint32_t)key->seed;
	uint32_t k1 = (uint32_t)(key->seed >> 32);
	uint32_t c0 = (uint32_t)block;
	uint32_t c1 = (uint32_t)(block >> 32);
	uint32_t c2 = key->stream;
	uint32_t c3 = key->step;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t p0 = (uint64_t)MUL0 * c0;
		uint64_t p1 = (uint64_t)MUL1 * c2;
		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c1 = (uint32_t)p1;
		c3 = (uint32_t)p0;
		k0 += WEYL0;
		k1 += WEYL1;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

uint32_t sl_rng_u32(const struct sl_rng_key *key, uint64_t element)
{
	uint32_t word[4];

	sl_rng_block(key, element / 4, word);
	return word[element % 4];
}

double sl_rng_normal(const struct sl_rng_key *key, uint64_t element)
{
	uint32_t word[4];

	sl_rng_block(key, element / 4, word);
	const uint32_t *pair = word + (element % 4 & 2u);
	/* (0, 1]: the logarithm of zero must not come up. */
	double radius = sqrt(-2 * log(((double)pair[0] + 1) * 0x1p-32));
	double angle = TWO_PI * ((double)pair[1] * 0x1p-32);
	return element % 2 ? radius * sin(angle) : radius * cos(angle);
}

uint64_t sl_rng_next(struct sl_rng *r)
{
	uint32_t word[4];

	sl_rng_block(&r->key, r->next / 2, word);
	const uint32_t *pair = word + (r->next % 2) * 2;
	r->next++;
	return (uint64_t)pair[1] << 32 | pair[0];
}

uint64_t sl_rng_below(struct sl_rng *r, uint64_t n)
{
	SL_ASSERT(n > 0);
	/* The first 2^64 mod n numbers are thrown away, so that each rest is equally
	 * likely. */
	uint64_t skip = (0 - n) % n;
	uint64_t v = sl_rng_next(r);

	while (v < skip)
		v = sl_rng_next(r);
	return v % n;
}
