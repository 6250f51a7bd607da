/* SPDX-License-Identifier: Apache-2.0 */
/* Which tiers a trace's links reach. */
#include "memory/policy/reach.h"

#include "memory/place.h"

/* A link for one direction: one that is drawn so, else one drawn the other way round. */
static uint32_t find_link(const struct sl_trace *t, uint32_t from, uint32_t to)
{
	uint32_t reversed = SL_NO_ID;

	for (uint32_t i = 0; i < t->n_links; i++) {
		if (t->links[i].from == from && t->links[i].to == to)
			return i;
		if (t->links[i].from == to && t->links[i].to == from &&
			reversed == SL_NO_ID)
			reversed = i;
	}
	return reversed;
}

uint32_t sl_reach_find(const struct sl_trace *t, struct sl_reach out[SL_REACH_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_tiers && n < SL_REACH_MAX; i++) {
		struct sl_reach r = {.tier = i + 1,
			.out_link = find_link(t, 0, i + 1),
			.in_link = find_link(t, i + 1, 0),
			.bytes = t->tiers[i].bytes & ~(SL_PAGE_BYTES - 1)};
		uint32_t k = n;

		if (r.out_link == SL_NO_ID || r.in_link == SL_NO_ID || r.bytes == 0)
			continue;
		for (; k > 0 && t->links[out[k - 1].in_link].bytes_per_s <
					t->links[r.in_link].bytes_per_s;
			k--)
			out[k] = out[k - 1];
		out[k] = r;
		n++;
	}
	return n;
}
