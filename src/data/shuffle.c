/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an epoch: a Feistel network over the least even number of bits that holds
 * n, walked until it lands below n. At most four times n values are in the domain, so
 * four steps suffice on average. No memory, any position at once: that is what makes
 * resuming exact.
 */
#include "data/shuffle.h"

#include "base/assert.h"
#include "base/rng.h"

#define ROUNDS 6
#define STREAM_ORDER 0x6f726472u /* "ordr": apart from every operator's stream */

static uint64_t feistel(
	const struct sl_rng_key *key, uint64_t epoch_high, int half, uint64_t v)
{
	uint64_t mask = ((uint64_t)1 << half) - 1;
	uint64_t left = v >> half;
	uint64_t right = v & mask;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint32_t word[4];
		/* Halves have at most 31 bits, so round and epoch fit above them. */
		sl_rng_block(key, epoch_high << 40 ^ round << 32 ^ right, word);
		uint64_t next = left ^ (word[0] & mask);
		left = right;
		right = next;
	}
	return left << half | right;
}

int64_t sl_shuffle_at(uint64_t seed, uint64_t epoch, int64_t n, int64_t position)
{
	struct sl_rng_key key = {
		.seed = seed, .stream = STREAM_ORDER, .step = (uint32_t)epoch};
	uint64_t v = (uint64_t)position;
	int half = 1;

	SL_ASSERT(n > 0 && position >= 0 && position < n);
	while (half < 31 && (uint64_t)n > (uint64_t)1 << (2 * half))
		half++;
	do
		v = feistel(&key, epoch >> 32, half, v);
	while (v >= (uint64_t)n);
	return (int64_t)v;
}
