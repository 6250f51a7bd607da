/* SPDX-License-Identifier: Apache-2.0 */
/* The residency table: each function is one arrow of the diagram in residency.h. */
#include "memory/residency.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"

#define IN(state) (1u << SL_RES_##state)

static const char *const state_names[] = {
#define X(name) #name,
	SL_RES_STATE_TABLE(X)
#undef X
};

const char *sl_res_state_name(enum sl_res_state s)
{
	return (size_t)s < SL_COUNT(state_names) ? state_names[s] : "?";
}

sl_status sl_residency_init(struct sl_residency *r, uint32_t n_values, uint32_t n_tiers)
{
	struct sl_residency x = {.n_values = n_values, .n_tiers = n_tiers};

	if (n_tiers > SL_RES_MAX_TIERS)
		return SL_FAIL(SL_E_LIMIT, "%u tiers; at most %u are possible", n_tiers,
			SL_RES_MAX_TIERS);
	x.state = sl_calloc(n_values, sizeof(*x.state));
	x.copies = sl_calloc(n_values, sizeof(*x.copies));
	x.at = sl_calloc(n_values, sizeof(*x.at));
	x.copy_at = sl_calloc((size_t)n_values * n_tiers, sizeof(*x.copy_at));
	if (!x.state || !x.copies || !x.at || !x.copy_at) {
		sl_residency_finish(&x);
		return SL_FAIL(
			SL_E_NOMEM, "no memory for the residency of %u values", n_values);
	}
	memset(x.at, 0xff, n_values * sizeof(*x.at));
	*r = x;
	return SL_OK;
}

void sl_residency_finish(struct sl_residency *r)
{
	sl_free(r->state);
	sl_free(r->copies);
	sl_free(r->at);
	sl_free(r->copy_at);
	*r = (struct sl_residency){0};
}

static inline bool is_in(const struct sl_residency *r, uint32_t v, unsigned states)
{
	SL_ASSERT(v < r->n_values);
	return SL_LIKELY((1u << r->state[v] & states) != 0);
}

static sl_status refuse(const struct sl_residency *r, uint32_t v, const char *what)
{
	return SL_FAIL(SL_E_INVALID, "value %u is %s with copies 0x%x: it cannot %s", v,
		state_names[r->state[v]], (unsigned)r->copies[v], what);
}

static void set_copy(struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t copy_at)
{
	SL_ASSERT(tier < r->n_tiers);
	r->copies[v] = (uint8_t)(r->copies[v] | 1u << tier);
	r->copy_at[(size_t)v * r->n_tiers + tier] = copy_at;
}

void sl_residency_place(struct sl_residency *r, uint32_t v, uint64_t at)
{
	SL_ASSERT(v < r->n_values);
	r->state[v] = at == SL_RES_NOWHERE ? SL_RES_ABSENT : SL_RES_RESIDENT;
	r->at[v] = at;
	r->copies[v] = 0;
}

void sl_residency_place_copy(
	struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t copy_at)
{
	SL_ASSERT(v < r->n_values);
	set_copy(r, v, tier, copy_at);
	if (r->state[v] == SL_RES_ABSENT)
		r->state[v] = SL_RES_AWAY;
}

static sl_status bear(struct sl_residency *r, uint32_t v, uint64_t at, unsigned states)
{
	if (!is_in(r, v, states))
		return refuse(r, v, "be born");
	r->state[v] = SL_RES_RESIDENT;
	r->at[v] = at;
	r->copies[v] = 0;
	return SL_OK;
}

sl_status sl_residency_birth(struct sl_residency *r, uint32_t v, uint64_t at)
{
	return bear(r, v, at, IN(ABSENT));
}

sl_status sl_residency_rebirth(struct sl_residency *r, uint32_t v, uint64_t at)
{
	return bear(r, v, at, IN(ABSENT) | IN(LEAVING) | IN(AWAY));
}

sl_status sl_residency_write(struct sl_residency *r, uint32_t v)
{
	if (!is_in(r, v, IN(RESIDENT)))
		return refuse(r, v, "be written");
	r->copies[v] = 0;
	return SL_OK;
}

sl_status sl_residency_move(struct sl_residency *r, uint32_t v, uint64_t at)
{
	if (!is_in(r, v, IN(RESIDENT)))
		return refuse(r, v, "move");
	r->at[v] = at;
	return SL_OK;
}

sl_status sl_residency_save(
	struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t copy_at)
{
	if (!is_in(r, v, IN(RESIDENT)) || tier >= r->n_tiers)
		return refuse(r, v, "go out");
	set_copy(r, v, tier, copy_at);
	return SL_OK;
}

sl_status sl_residency_out_begin(
	struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t copy_at)
{
	SL_TRY(sl_residency_save(r, v, tier, copy_at));
	r->state[v] = SL_RES_LEAVING;
	r->at[v] = SL_RES_NOWHERE;
	return SL_OK;
}

sl_status sl_residency_out_end(struct sl_residency *r, uint32_t v)
{
	if (!is_in(r, v, IN(LEAVING)))
		return refuse(r, v, "end going out");
	r->state[v] = SL_RES_AWAY;
	return SL_OK;
}

sl_status sl_residency_drop_clean(struct sl_residency *r, uint32_t v)
{
	if (!is_in(r, v, IN(RESIDENT)) || r->copies[v] == 0)
		return refuse(r, v, "be dropped as clean");
	r->state[v] = SL_RES_AWAY;
	r->at[v] = SL_RES_NOWHERE;
	return SL_OK;
}

sl_status sl_residency_in_begin(
	struct sl_residency *r, uint32_t v, uint32_t tier, uint64_t at)
{
	if (!is_in(r, v, IN(AWAY) | IN(LEAVING)) || tier >= r->n_tiers ||
		!sl_residency_has_copy(r, v, tier))
		return refuse(r, v, "come in");
	r->state[v] = SL_RES_COMING;
	r->at[v] = at;
	return SL_OK;
}

sl_status sl_residency_in_end(struct sl_residency *r, uint32_t v)
{
	if (!is_in(r, v, IN(COMING)))
		return refuse(r, v, "end coming in");
	r->state[v] = SL_RES_RESIDENT;
	return SL_OK;
}

void sl_residency_drop(struct sl_residency *r, uint32_t v)
{
	SL_ASSERT(v < r->n_values);
	r->state[v] = SL_RES_ABSENT;
	r->at[v] = SL_RES_NOWHERE;
	r->copies[v] = 0;
}
