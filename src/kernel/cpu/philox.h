/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_PHILOX_H
#define SL_KERNEL_CPU_PHILOX_H

#include "base/rng.h"

/*
 * The same words as sl_rng_block, SL_PHILOX_WORDS at a time: words of blocks block, block
 * + 1, ... one after the other, so that word i belongs to element 4 block + i.
 */
#define SL_PHILOX_WORDS 128

void sl_cpu_philox(
	const struct sl_rng_key *key, uint64_t block, uint32_t out[SL_PHILOX_WORDS]);

/*
 * dropout's rule (kept where the unit number of the word is at least the ratio) as a
 * comparison of integers: kept where (word >> 8) >= this.
 */
uint32_t sl_cpu_keep_from(double ratio);

#endif
