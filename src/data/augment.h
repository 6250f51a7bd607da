/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DATA_AUGMENT_H
#define SL_DATA_AUGMENT_H

#include "sluice/data.h"

/* What is done to one image, drawn by (seed, epoch, position in the epoch's order). */
struct sl_augment_draw {
	bool flip;
	int64_t down, right; /* the window moves by these, in [-H / 8, H / 8] and of W */
};

void sl_augment_draw(const struct sl_data_request *r, int64_t position,
	const struct sl_shape *image, struct sl_augment_draw *out);
/* dst and src: [C, H, W], apart from each other; what comes from outside is `pad`. */
void sl_augment_apply(const struct sl_augment_draw *a, const struct sl_shape *image,
	float pad, const float *src, float *dst);

#endif
