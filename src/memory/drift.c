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

void sl_drift_correct_link(
	struct sl_trace_link *l, uint64_t copies, uint64_t bytes, uint64_t ns)
{
	double stored = (double)bytes / (double)l->bytes_per_s * 1e9 +
			(double)copies * (double)l->latency_ns;
	double slower, rate;

	if (!(stored > 0) || ns == 0)
		return;
	slower = 0.9 * (double)ns / stored + 0.1;
	rate = (double)l->bytes_per_s / slower;
	l->bytes_per_s = rate < 1 ? 1 : rate < 1e18 ? (uint64_t)rate : (uint64_t)1e18;
	l->latency_ns = (uint64_t)((double)l->latency_ns * slower);
}
