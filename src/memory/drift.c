/* SPDX-License-Identifier: Apache-2.0 */
/* Drift of measured times from those that a plan was made with. */
#include "memory/drift.h"

uint64_t sl_drift_sum(const uint64_t *ns, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += ns[i];
	return sum;
}

bool sl_drift_exceeds(uint64_t measured, uint64_t stored, double limit)
{
	uint64_t apart = measured > stored ? measured - stored : stored - measured;

	return (double)apart > limit * (double)stored;
}

uint64_t sl_drift_correct(uint64_t stored, uint64_t measured)
{
	/* Split by tens, so that no product overflows. */
	uint64_t tenths = measured % 10 * 9 + stored % 10;
	uint64_t ns = measured / 10 * 9 + stored / 10 + (tenths + 5) / 10;

	return ns > 0 ? ns : 1;
}
