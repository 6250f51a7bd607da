/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_RNG_H
#define SL_BASE_RNG_H

#include <stdint.h>

/*
 * Counter-based random numbers: Philox-4x32-10 (Salmon et al., SC'11), so that the number
 * for (seed, stream, step, element) is the same whoever asks, in whatever order, however
 * often.
 */
struct sl_rng_key {
	uint64_t seed;
	uint32_t stream; /* the builder's stream id */
	uint32_t step;
};

/* The four words of block `block`; element e of a tensor is word e % 4 of block e / 4. */
void sl_rng_block(const struct sl_rng_key *key, uint64_t block, uint32_t out[4]);
uint32_t sl_rng_u32(const struct sl_rng_key *key, uint64_t element);
/* [0, 1) with 24 bits. */
static inline float sl_rng_unit(uint32_t word)
{
	return (float)(word >> 8) * 0x1p-24f;
}
/* Standard normal of element `element` (Box-Muller over the pair of words it belongs to).
 */
double sl_rng_normal(const struct sl_rng_key *key, uint64_t element);

/* A sequential generator for tests and shuffles: element 0, 1, 2, ... of a key. */
struct sl_rng {
	struct sl_rng_key key;
	uint64_t next;
};
uint64_t sl_rng_next(struct sl_rng *r);
uint64_t sl_rng_below(struct sl_rng *r, uint64_t n); /* uniform in [0, n), n > 0 */

#endif
