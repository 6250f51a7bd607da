/* SPDX-License-Identifier: Apache-2.0 */
/* Which lane a job gets: the rule of the Salus paper. */
#include "share/lane.h"

/* a + b + c within the capacity, whatever they are. */
static bool within(const struct sl_lanes *v, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t room = v->capacity_bytes;

	if (a > room || b > room - a)
		return false;
	return c <= room - a - b;
}

static uint32_t unused(const struct sl_lanes *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (!v->items[i].open)
			return (uint32_t)i;
	return (uint32_t)v->n;
}

/* The smallest lane that holds E (joins) or does not (grows) and whose rule holds. */
static const struct sl_lane *smallest(const struct sl_lanes *v, uint64_t persistent,
	uint64_t ephemeral, bool at_boundary, bool joins)
{
	const struct sl_lane *best = NULL;

	for (size_t i = 0; i < v->n; i++) {
		const struct sl_lane *r = &v->items[i];
		uint64_t less = joins ? 0 : r->size_bytes, more = joins ? 0 : ephemeral;

		if (!r->open || (at_boundary && r->holder != SL_JOB_NONE) ||
			(r->size_bytes >= ephemeral) != joins)
			continue;
		if ((!best || r->size_bytes < best->size_bytes) &&
			within(v, v->granted_bytes - less, persistent, more))
			best = r;
	}
	return best;
}

struct sl_lane_fit sl_lane_find(const struct sl_lanes *v, uint64_t persistent,
	uint64_t ephemeral, bool at_boundary)
{
	const struct sl_lane *r;

	if (!within(v, v->granted_bytes, persistent, 0))
		return (struct sl_lane_fit){0};
	if ((v->most == 0 || v->open < v->most) &&
		within(v, v->granted_bytes, persistent, ephemeral))
		return (struct sl_lane_fit){true, unused(v), ephemeral};
	r = smallest(v, persistent, ephemeral, at_boundary, true);
	if (r)
		return (struct sl_lane_fit){
			true, (uint32_t)(r - v->items), r->size_bytes};
	r = smallest(v, persistent, ephemeral, at_boundary, false);
	if (r)
		return (struct sl_lane_fit){true, (uint32_t)(r - v->items), ephemeral};
	return (struct sl_lane_fit){0};
}
