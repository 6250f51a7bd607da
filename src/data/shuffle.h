/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DATA_SHUFFLE_H
#define SL_DATA_SHUFFLE_H

#include <stdint.h>

/*
 * Position -> sample: a permutation of [0, n) keyed by (seed, epoch), without a table. n
 * > 0, position in [0, n). Source: cycle walking over a balanced Feistel network (Black
 * and Rogaway, CT-RSA 2002).
 */
int64_t sl_shuffle_at(uint64_t seed, uint64_t epoch, int64_t n, int64_t position);

#endif
