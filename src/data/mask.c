/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hidden tokens for masked language models (Devlin et al. 2018, section 3.1). Each sample
 * has the same number of them, so that the mean loss of a batch is the mean of its parts,
 * however it is cut.
 */
#include "data/mask.h"

#include "base/rng.h"
#include "data/shuffle.h"

#define STREAM_MASK 0x6d61736bu /* "mask" */

int64_t sl_mask_count(int64_t n)
{
	int64_t count = (n * 15 + 50) / 100;

	return count > 0 ? count : 1;
}

void sl_mask_apply(const struct sl_data_request *r, int64_t position, int32_t token,
	int64_t n, int32_t *x, int64_t *y)
{
	uint64_t epoch = r->as_stored ? 0 : r->epoch;
	struct sl_rng_key key = {.seed = r->as_stored ? 0 : r->seed,
		.stream = STREAM_MASK,
		.step = (uint32_t)epoch};
	int64_t count = sl_mask_count(n);
	uint32_t word[4];

	sl_rng_block(&key, (epoch >> 32) << 40 ^ (uint64_t)position, word);
	for (int64_t i = 0; i < n; i++)
		y[i] = SL_DATA_NO_LABEL;
	for (int64_t i = 0; i < count; i++) {
		int64_t at = sl_shuffle_at((uint64_t)word[0] << 32 | word[1], 0, n, i);
		y[at] = x[at];
		x[at] = token;
	}
}
