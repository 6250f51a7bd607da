/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DATA_MASK_H
#define SL_DATA_MASK_H

#include "sluice/data.h"

/* Hidden tokens of a sample of n: 15 %, rounded, and at least one. */
int64_t sl_mask_count(int64_t n);

/*
 * Hides sl_mask_count(n) tokens of x behind `token`. y becomes what they were, and
 * SL_DATA_NO_LABEL elsewhere. Drawn by (seed, epoch, position in the epoch's order), as
 * augmentation is; as stored by the position alone.
 */
void sl_mask_apply(const struct sl_data_request *r, int64_t position, int32_t token,
	int64_t n, int32_t *x, int64_t *y);

#endif
