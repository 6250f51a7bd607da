/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flips and crops of images. Draws are keyed by the sample's place in the epoch's order,
 * so that a resumed run, a split batch and a prefetched batch see the same pictures.
 */
#include "data/augment.h"

#include "base/rng.h"

#define STREAM_AUGMENT 0x6175676du /* "augm" */
#define CROP_SHARE 8

/* Uniform in [-most, most]. */
static int64_t shift(uint32_t word, int64_t most)
{
	return (int64_t)((uint64_t)word * (uint64_t)(2 * most + 1) >> 32) - most;
}

void sl_augment_draw(const struct sl_data_request *r, int64_t position,
	const struct sl_shape *image, struct sl_augment_draw *out)
{
	struct sl_rng_key key = {
		.seed = r->seed, .stream = STREAM_AUGMENT, .step = (uint32_t)r->epoch};
	uint32_t word[4];

	sl_rng_block(&key, (r->epoch >> 32) << 40 ^ (uint64_t)position, word);
	*out = (struct sl_augment_draw){0};
	if (r->augment & SL_AUGMENT_FLIP)
		out->flip = word[0] >> 31;
	if (r->augment & SL_AUGMENT_CROP) {
		out->down = shift(word[1], image->dim[1] / CROP_SHARE);
		out->right = shift(word[2], image->dim[2] / CROP_SHARE);
	}
}

static void apply_row(const struct sl_augment_draw *a, int64_t w, float pad,
	const float *src, float *dst)
{
	for (int64_t i = 0; i < w; i++) {
		int64_t from = (a->flip ? w - 1 - i : i) + a->right;
		dst[i] = src && from >= 0 && from < w ? src[from] : pad;
	}
}

void sl_augment_apply(const struct sl_augment_draw *a, const struct sl_shape *image,
	float pad, const float *src, float *dst)
{
	int64_t h = image->dim[1];
	int64_t w = image->dim[2];

	for (int64_t row = 0; row < image->dim[0] * h; row++) {
		int64_t from = row % h + a->down;
		bool inside = from >= 0 && from < h;
		apply_row(a, w, pad, inside ? src + (row + a->down) * w : NULL,
			dst + row * w);
	}
}
