/* SPDX-License-Identifier: Apache-2.0 */
/* What would fit: for menus, and for those who ask why a job waits. */
#include "share/state_int.h"

#include "base/units.h"

/* Whether somebody else comes first to what is free. */
static bool is_behind(struct sl_share *s, const struct sl_job *j)
{
	const struct sl_job *aged = sl_share_first_aged(s);

	if (aged && aged != j)
		return true;
	for (size_t i = 0; i < s->n; i++) {
		const struct sl_job *o = s->jobs[i];

		if (o == j || o->resident || o->held || sl_share_wait_order(s, o, j) > 0)
			continue;
		if (!s->policy->passes || sl_share_claims(s, o))
			return true;
	}
	return false;
}

bool sl_share_fits_now(
	struct sl_share *s, uint32_t job, uint64_t persistent, uint64_t ephemeral)
{
	const struct sl_job *j = sl_share_find(s, job);

	return j && !j->resident && !j->held &&
	       sl_share_fits_ever(s, j->user, persistent, ephemeral) &&
	       sl_lane_find(&s->lanes, persistent, ephemeral, false).fits &&
	       sl_share_in_limit(s, j, persistent, ephemeral) && !is_behind(s, j);
}

bool sl_share_fits_ever(
	const struct sl_share *s, uint32_t user, uint64_t persistent, uint64_t ephemeral)
{
	uint64_t sum;

	return sl_add_u64(persistent, ephemeral, &sum) &&
	       sum <= s->rules.capacity_bytes && sum <= sl_share_limit(s, user);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t sl_share_room(const struct sl_share *s, uint32_t job, uint64_t persistent)
{
	const struct sl_lanes *v = &s->lanes;
	const struct sl_job *j = sl_share_find(s, job);
	uint64_t room = v->capacity_bytes - v->granted_bytes, best = UINT64_MAX, limit;
	uint64_t users = persistent;

	if (!j || persistent > room)
		return UINT64_MAX;
	room -= persistent;
	if (v->most == 0 || v->open < v->most)
		best = room;
	for (size_t i = 0; i < v->n; i++)
		if (v->items[i].open &&
			(best == UINT64_MAX || v->items[i].size_bytes + room > best))
			best = v->items[i].size_bytes + room;
	limit = sl_share_limit(s, j->user);
	if (best == UINT64_MAX || limit == UINT64_MAX)
		return best;
	users = sl_share_users_bytes(s, j) - j->persistent_bytes - j->ephemeral_bytes;
	if (!sl_add_u64(users, persistent, &users) || users > limit)
		return UINT64_MAX;
	return least(best, limit - users);
}
